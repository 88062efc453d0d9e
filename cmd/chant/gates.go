package main

import (
	"context"
	"fmt"

	"github.com/chant-bot/chant/app"
	"github.com/chant-bot/chant/app/cli"
)

type approveCmd struct {
	cli.ApproveOptions

	Sign      later `hidden:"" instead:"leave it out; a gate that counts only signed approvals stays shut in this version, and says so"`
	RelayedBy later `hidden:"" instead:"have the approver approve in person"`
	Expire    later `hidden:"" instead:"use chant revoke <op> <gate>"`
}

// Run implements the command.
func (c *approveCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.Approve(ctx, h, c.ApproveOptions)
}

type revokeCmd struct{ cli.RevokeOptions }

// Run implements the command.
func (c *revokeCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.Revoke(ctx, h, c.RevokeOptions)
}

type unlockCmd struct{ cli.UnlockOptions }

// Run implements the command.
func (c *unlockCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.Unlock(ctx, h, c.UnlockOptions)
}

type gatesCmd struct{ cli.GatesOptions }

// Run implements the command.
func (c *gatesCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.Gates(ctx, h, c.GatesOptions)
}

type ledgerCmd struct {
	Accept ledgerAcceptCmd `cmd:"" help:"Take the ledger as the remote has it, after looking at why it was refused."`
}

// ledgerAcceptCmd accepts in the checkout it runs in, or in the clone of a
// server.
type ledgerAcceptCmd struct {
	Config     string `help:"Configuration of a server: accept in its clone instead of this checkout. Each server has a clone of its own." placeholder:"FILE" type:"existingfile" and:"server"`
	Repository string `help:"Repository of the server to accept the ledger of." placeholder:"OWNER/NAME" and:"server"`
}

// Run implements the command.
func (c *ledgerAcceptCmd) Run(ctx context.Context, h *cli.Host) error {
	if c.Config == "" {
		return cli.AcceptLedger(ctx, h)
	}
	settings, err := h.Settings(c.Config, nil)
	if err != nil {
		return err
	}
	tip, err := app.AcceptLedger(ctx, settings, c.Repository)
	if err != nil {
		return err
	}
	if tip == "" {
		tip = "nothing: it does not exist"
	}
	_, err = fmt.Fprintf(h.Stdout, "accepted: the ledger of %s is at %s\n", c.Repository, tip)
	return err
}
