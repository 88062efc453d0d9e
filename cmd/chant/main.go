// Command chant is the whole program: the server, and the stages of the loop on
// a command line. Each command here is a thin file; app and app/cli do the work.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/chant-bot/chant/app/cli"
	"github.com/chant-bot/chant/engine/drivers/exec"
)

// commands is the command line. Every Run may take a context.Context, which
// ends with the first signal, and a *cli.Host.
type commands struct {
	Serve      Serve         `cmd:"" help:"Serve webhooks and pages."`
	Demo       Demo          `cmd:"" help:"Play the whole loop on this machine."`
	Components componentsCmd `cmd:"" help:"Plan and apply the components of this checkout."`
	Run        runCmd        `cmd:"" help:"Run one component of this checkout, or all of them, without a pull request."`
	CI         ciCmd         `cmd:"" name:"ci" help:"Green commits, and what a CI job runs."`
	Approve    approveCmd    `cmd:"" help:"Approve exactly one plan at a gate."`
	Revoke     revokeCmd     `cmd:"" help:"Take back every approval of a gate, for good."`
	Unlock     unlockCmd     `cmd:"" help:"Plan roots again, from the states they have, whose apply left what it made on a machine that is gone for good."`
	Gates      gatesCmd      `cmd:"" help:"List the gates that wait, by the ledger. Those of open pull requests are in their notes."`
	Ledger     ledgerCmd     `cmd:"" help:"The branch that keeps approvals and records."`
	ChangeSet  changeSetCmd  `cmd:"" name:"change-set" help:"Parts, documents and digests."`
	Config     configCmd     `cmd:"" help:"The server's configuration."`
	Migrate    migrateCmd    `cmd:"" help:"Bring the server's database up to date, or move it to PostgreSQL."`
	Replay     replayCmd     `cmd:"" help:"Have the server work a stored delivery off once more."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
	Build      buildCmd      `cmd:"" hidden:"" passthrough:"" help:"Not built yet."`
	Workspace  workspaceCmd  `cmd:"" hidden:"" passthrough:"" help:"Not built yet."`
}

const description = "A self-hosted forge bot: what was approved is what applies.\n\n" +
	"Results go to standard output, progress to standard error. " +
	"Exit codes: 0 done, 1 failed, 2 wrong command line, 3 refused or waiting."

func main() {
	exec.SupervisorMain(os.Args)
	os.Exit(chant())
}

// chant runs the program with the process's own arguments and streams.
func chant() int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chant: finding the working directory:", err)
		return cli.Failed
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once; a running apply goes on under its supervisor
	}()
	return execute(ctx, os.Args[1:], &cli.Host{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Dir: dir, Environ: os.Environ(), Version: version(), Now: time.Now,
	})
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, host *cli.Host) int {
	var all commands
	ended := -1 // set when help was asked for
	parser, err := newParser(&all, host.Stdout, host.Stderr, func(code int) { ended = code })
	if err != nil {
		host.Report(err)
		return cli.Failed
	}
	if len(args) == 0 {
		// Somebody who tries the program out; a script that lost its command
		// still fails.
		_, _ = parser.Parse([]string{"--help"}) // ends by kong.Exit
		return cli.Misused
	}
	line, err := parser.Parse(args)
	if ended >= 0 {
		return ended
	}
	if err != nil {
		host.Report(misused(err))
		return cli.Misused
	}
	line.BindTo(ctx, (*context.Context)(nil))
	err = line.Run(host)
	host.Report(err)
	return cli.CodeOf(err)
}

// misused is a parser's error in words for people. A refusal of ours says all by
// itself.
func misused(err error) error {
	if refused, ok := errors.AsType[*cli.ExitError](err); ok {
		return refused
	}
	help := "chant --help"
	if wrong, ok := errors.AsType[*kong.ParseError](err); ok && wrong.Context.Selected() != nil {
		help = wrong.Context.Selected().FullPath() + " --help"
	}
	return fmt.Errorf("%w; see %s", err, help)
}

func newParser(all *commands, stdout, stderr io.Writer, exit func(int)) (*kong.Kong, error) {
	return kong.New(all,
		kong.Name("chant"), kong.Description(description), kong.Writers(stdout, stderr), kong.Exit(exit),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
}
