package main

import (
	"context"

	"github.com/chant-bot/chant/app/cli"
)

type componentsCmd struct {
	PRPlan  prPlanCmd  `cmd:"" name:"pr-plan" help:"Plan the merge of a pull request into its base branch."`
	PRApply prApplyCmd `cmd:"" name:"pr-apply" help:"Apply a green commit under the approvals of the merges it carries."`

	PREnv pullEnvCmd `cmd:"" name:"pr-env" help:"Apply a pull request to an environment of its own, or destroy that."`

	Promote promoteCmd `cmd:"" help:"Deploy what was merged since the last release, where merges only record."`

	FanOut  fanOutCmd        `cmd:"" name:"fan-out" help:"Roll a change out to the components it reaches, wave by wave, without a pull request."`
	Release releaseCmd       `cmd:"" help:"Record that an artifact of a component was deployed."`
	Status  releaseStatusCmd `cmd:"" help:"List what of each component was released last to an environment."`
}

type prPlanCmd struct {
	cli.PlanOptions

	SeedOutputs later `hidden:"" instead:"outputs are read from the roots themselves"`
	ReportURL   later `hidden:"" name:"report-url" instead:"read the report files"`
}

// Run implements the command.
func (c *prPlanCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.PlanPull(ctx, h, c.PlanOptions)
}

// laterApply are the flags of an apply that later versions bring.
type laterApply struct {
	PR later `hidden:"" name:"pr" instead:"a green commit belongs to every pull request it carries: use --green alone"`
}

type prApplyCmd struct {
	cli.ApplyOptions
	laterApply
}

// Run implements the command.
func (c *prApplyCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.ApplyGreen(ctx, h, c.ApplyOptions)
}
