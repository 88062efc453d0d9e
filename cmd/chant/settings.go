package main

import (
	"runtime/debug"

	"github.com/chant-bot/chant/app/cli"
)

type configCmd struct {
	Print configPrintCmd `cmd:"" help:"Print the configuration in force, without its secrets."`
}

type configPrintCmd struct{ cli.ConfigOptions }

// Run implements the command.
func (c *configPrintCmd) Run(h *cli.Host) error { return cli.PrintConfig(h, c.ConfigOptions) }

type versionCmd struct{ cli.VersionOptions }

// Run implements the command.
func (c *versionCmd) Run(h *cli.Host) error { return cli.PrintVersion(h, c.VersionOptions) }

// version is the module version this program was built from, "devel" for one
// built from a working tree.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
