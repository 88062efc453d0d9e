package main

import (
	"context"

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

type gatesCmd struct{ cli.GatesOptions }

// Run implements the command.
func (c *gatesCmd) Run(ctx context.Context, h *cli.Host) error {
	return cli.Gates(ctx, h, c.GatesOptions)
}

type ledgerCmd struct {
	Accept ledgerAcceptCmd `cmd:"" help:"Take the ledger as the remote has it, after looking at why it was refused."`
}

type ledgerAcceptCmd struct{}

// Run implements the command.
func (ledgerAcceptCmd) Run(ctx context.Context, h *cli.Host) error { return cli.AcceptLedger(ctx, h) }
