package main

import (
	"context"

	"github.com/chant-bot/chant/app/cli"
)

// laterDeploy are the flags of deploying components that later versions bring.
type laterDeploy struct {
	SeedOutputs later `hidden:"" instead:"outputs are read from the roots themselves"`
	DumpOutputs later `hidden:"" instead:"--json prints the outputs"`
	Sandbox     later `hidden:"" instead:"use --isolation"`
	Param       later `hidden:"" instead:"declare x-bot.envs[].vars"`
	ParamsFile  later `hidden:"" instead:"declare x-bot.envs[].vars"`
}

type fanOutCmd struct {
	cli.FanOutOptions
	laterDeploy
}

// Run implements the command.
func (c *fanOutCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.FanOut(ctx, h, c.FanOutOptions)
}

type runCmd struct {
	cli.RunOfOptions
	laterDeploy

	DigestFile later `hidden:"" instead:"no step publishes an artifact yet"`
}

// Run implements the command.
func (c *runCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.RunComponents(ctx, h, c.RunOfOptions)
}

type releaseCmd struct{ cli.ReleaseOptions }

// Run implements the command.
func (c *releaseCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.Release(ctx, h, c.ReleaseOptions)
}

type releaseStatusCmd struct{ cli.ReleaseStatusOptions }

// Run implements the command.
func (c *releaseStatusCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.ReleaseStatus(ctx, h, c.ReleaseStatusOptions)
}

type pullEnvCmd struct{ cli.PullEnvOptions }

// Run implements the command.
func (c *pullEnvCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.PullEnv(ctx, h, c.PullEnvOptions)
}

type promoteCmd struct {
	cli.PromoteOptions

	From        later `hidden:"" instead:"no step publishes an artifact yet: use --release"`
	Component   later `hidden:"" instead:"no step publishes an artifact yet: use --release"`
	Digest      later `hidden:"" instead:"no step publishes an artifact yet: use --release"`
	SeedOutputs later `hidden:"" instead:"outputs are read from the roots themselves"`
	Sandbox     later `hidden:"" instead:"use --isolation"`
	Param       later `hidden:"" instead:"declare x-bot.envs[].vars"`
	ParamsFile  later `hidden:"" instead:"declare x-bot.envs[].vars"`
}

// Run implements the command.
func (c *promoteCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.Promote(ctx, h, c.PromoteOptions)
}
