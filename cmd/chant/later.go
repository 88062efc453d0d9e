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
