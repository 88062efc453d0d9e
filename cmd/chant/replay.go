package main

import (
	"cmp"
	"context"
	"fmt"
	"os/user"

	"github.com/chant-bot/chant/app"
	"github.com/chant-bot/chant/app/cli"
)

// replayCmd works on the server's database, beside the server or without it.
type replayCmd struct {
	cli.ConfigOptions

	ID int64 `arg:"" help:"Number of the delivery, as the deliveries page shows it."`
}

// Run implements the command.
func (c *replayCmd) Run(ctx context.Context, h *cli.Host) error {
	settings, err := h.Settings(c.Config, c.Set)
	if err != nil {
		return err
	}
	what, queued, err := app.Replay(ctx, settings, c.ID, "operator:"+operator())
	if err != nil {
		return err
	}
	outcome := "is queued again; the deliveries page shows what it comes to"
	if !queued {
		outcome = "is queued already"
	}
	_, err = fmt.Fprintf(h.Stdout, "delivery %d, %s, %s\n", c.ID, what, outcome)
	return err
}

// operator is the account of this machine that runs the program.
func operator() string {
	who, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return cmp.Or(who.Username, who.Uid)
}
