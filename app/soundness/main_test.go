// Package soundness_test proves the promise of the product on the real server,
// real git and real terraform: what was approved is what applies, whatever is
// killed, lost, doubled, reordered or forged (soundness). It looks at the server
// from outside only: what the forge shows, what the ledger holds, what terraform
// did. Nothing in the server helps it to fail.
package soundness_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/chant-bot/chant/app"
	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/engine/drivers/exec"
)

// serveArg makes this test binary the server: the process that gets killed.
const serveArg = "__serve"

// readyFD is where the server says its address, once it takes deliveries.
const readyFD = 3

func TestMain(m *testing.M) {
	exec.SupervisorMain(os.Args)
	if len(os.Args) == 3 && os.Args[1] == serveArg {
		if err := serve(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given { // most of a test is waiting for other processes
		_ = flag.Set("test.parallel", "4") // it is a number
	}
	os.Exit(m.Run())
}

// serve is `chant serve` with an address told through a pipe.
func serve(path string) error {
	c, err := config.Load(config.Source{Path: path, Environ: os.Environ()})
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server, err := app.New(ctx, c, "test", log)
	if err != nil {
		return err
	}
	syscall.CloseOnExec(readyFD)
	ready := os.NewFile(readyFD, "ready")
	return server.Run(ctx, func(addr string) {
		fmt.Fprintln(ready, addr)
		_ = ready.Close()
	})
}
