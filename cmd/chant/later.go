package main

import (
	"github.com/alecthomas/kong"

	"github.com/chant-bot/chant/app/cli"
)

// later is a flag of a feature that a later version brings. It is refused by
// name, never accepted and ignored: a run that somebody believes to be gated or
// signed must not go on without. The tag instead says what to do.
type later bool

// Decode refuses the flag.
func (*later) Decode(ctx *kong.DecodeContext) error {
	return cli.NotBuilt("--"+ctx.Value.Name, ctx.Value.Tag.Get("instead"))
}

// IsBool lets the flag stand without a value, which it is refused with or
// without.
func (*later) IsBool() bool { return true }

// anything takes every argument of a command that a later version brings, so that the
// refusal is about the command.
type anything struct {
	Args []string `arg:"" optional:""`
}

type buildCmd struct{ anything }

// Run refuses.
func (buildCmd) Run() error {
	return cli.NotBuilt("build, which generates pipelines", "write the jobs yourself: they run chant ci run plan, ci run record, ci tick and ci run apply")
}

type workspaceCmd struct{ anything }

// Run refuses.
func (workspaceCmd) Run() error {
	return cli.NotBuilt("workspace", "chant components pr-plan names what is wrong in the declaration")
}
