package main

import "github.com/chant-bot/chant/app/cli"

type changeSetCmd struct {
	Part    partCmd    `cmd:"" help:"Read a plan into a change-set part."`
	Compose composeCmd `cmd:"" help:"Join parts into one document."`
	Verify  verifyCmd  `cmd:"" help:"Recompute the digest of a document."`
	Digest  digestCmd  `cmd:"" help:"Compute the digest of a subject."`
	Summary summaryCmd `cmd:"" hidden:"" help:"Not built yet."`
}

type partCmd struct{ cli.PartOptions }

// Run implements the command.
func (c *partCmd) Run(h *cli.Host) error { return cli.Part(h, c.PartOptions) }

type composeCmd struct{ cli.ComposeOptions }

// Run implements the command.
func (c *composeCmd) Run(h *cli.Host) error { return cli.Compose(h, c.ComposeOptions) }

type verifyCmd struct{ cli.VerifyOptions }

// Run implements the command.
func (c *verifyCmd) Run(h *cli.Host) error { return cli.Verify(h, c.VerifyOptions) }

type digestCmd struct{ cli.DigestOptions }

// Run implements the command.
func (c *digestCmd) Run(h *cli.Host) error { return cli.Digest(h, c.DigestOptions) }

type summaryCmd struct {
	Args []string `arg:"" optional:"" passthrough:""`
}

// Run refuses.
func (summaryCmd) Run() error {
	return cli.NotBuilt("change-set summary", "the note of a report shows the plan grouped by what it does")
}
