package main

import (
	"context"

	"github.com/chant-bot/chant/app/cli"
)

type ciCmd struct {
	Run       ciRunCmd     `cmd:"" help:"Run one stage, as a CI job does."`
	Tick      tickCmd      `cmd:"" help:"Judge commits by their checks and push the ci/green and ci/revoked tags due."`
	LastGreen lastGreenCmd `cmd:"" help:"Print the newest green commit; nothing is fetched."`
	Serve     ciServeCmd   `cmd:"" hidden:"" passthrough:"" help:"Not built yet."`
}

type ciServeCmd struct{ anything }

// Run refuses.
func (ciServeCmd) Run() error {
	return cli.NotBuilt("ci serve", "chant serve does the same from webhooks")
}

type ciRunCmd struct {
	Plan   runPlanCmd   `cmd:"" help:"Plan the pull request whose job this is."`
	Record runRecordCmd `cmd:"" help:"Record the merges of the branch that have no record yet; deploys nothing."`
	Apply  runApplyCmd  `cmd:"" help:"Apply the newest green commit, or the one GREEN_SHA names."`
}

type runPlanCmd struct {
	cli.PlanOptions

	ReportURL later `hidden:"" name:"report-url" instead:"read the report files"`
}

// Run implements the command.
func (c *runPlanCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.JobPlan(ctx, h, c.PlanOptions)
}

type runRecordCmd struct{ cli.RecordOptions }

// Run implements the command.
func (c *runRecordCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.JobRecord(ctx, h, c.RecordOptions)
}

type runApplyCmd struct {
	cli.ApplyOptions
	laterApply
}

// Run implements the command.
func (c *runApplyCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.JobApply(ctx, h, c.ApplyOptions)
}

type tickCmd struct{ cli.TickOptions }

// Run implements the command.
func (c *tickCmd) Run(ctx context.Context, h *cli.Host) error { return cli.Tick(ctx, h, c.TickOptions) }

type lastGreenCmd struct{ cli.LastGreenOptions }

// Run implements the command.
func (c *lastGreenCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.LastGreen(ctx, h, c.LastGreenOptions)
}
