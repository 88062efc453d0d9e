// Command bench measures every number this project promises and exits 1 when
// one is missed, naming it. Speeds are ratios to a floor that runs beside ours
// in the same minutes, so that a slow or busy machine is slow for both. It
// drives the real program against a forge on loopback; it may not change what
// it measures.
//
//	go run ./app/bench [-short] [-chant bin/chant] [BAR ...]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// bars in the order they are measured; what needs a quiet machine most comes
// first.
func bars() []bar {
	return []bar{
		{"idle", "start and memory of a server that has nothing to do", idle},
		{"digest", "bytes of a plan to its digest", digests},
		{"compose", "composing a change set", composing},
		{"derive", "what runs, in which order and together with what", derive},
		{"cover", "which approval covers which member", covered},
		{"ledger", "appending to the ledger", ledgers},
		{"intake", "deliveries acknowledged after they are stored", intake},
		{"notes", "delivery to note, and what is written on the forge for it", notes},
		{"apply", "merge to applied", applies},
		{"crash", "kill -9 with deliveries acknowledged", crash},
		{"pushes", "a storm of pushes", pushes},
	}
}

func main() {
	if done, err := helper(os.Args); done {
		end(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // the program's own
	defer stop()
	end(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
	os.Exit(0) //nolint:forbidigo // this is main
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	short := flags.Bool("short", false, "small sizes and few rounds, to see that everything works; the figures mean little")
	tool := flags.Bool("real", false, "plan the storm of pushes with terraform itself, which takes ten minutes and more; otherwise a stand-in plans it")
	chant := flags.String("chant", "bin/chant", "the program to measure")
	flags.Usage = func() {
		fmt.Fprintln(progress, "usage: bench [flags] [BAR ...]")
		flags.PrintDefaults()
		for _, b := range bars() {
			fmt.Fprintf(progress, "  %-8s %s\n", b.name, b.about)
		}
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	b, err := newBench(*chant, progress)
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	b.short, b.real = *short, *tool
	chosen, err := choose(flags.Args())
	if err != nil {
		return err
	}
	for _, one := range chosen {
		fmt.Fprintf(progress, "%s: %s\n", one.name, one.about)
		b.bar = one.name
		if err := one.measure(ctx, b); err != nil {
			b.print(out)
			return fmt.Errorf("measuring %s: %w", one.name, err)
		}
	}
	b.print(out)
	return b.missed()
}

func choose(names []string) ([]bar, error) {
	if len(names) == 0 {
		return bars(), nil
	}
	var chosen []bar
	for _, one := range bars() {
		for _, name := range names {
			if one.name == name {
				chosen = append(chosen, one)
			}
		}
	}
	if len(chosen) != len(names) {
		return nil, fmt.Errorf("there is no such bar among %s; see -h", strings.Join(names, ", "))
	}
	return chosen, nil
}

func newBench(chant string, progress io.Writer) (*bench, error) {
	path, err := filepath.Abs(chant)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("finding the program to measure: %w; make build makes it", err)
	}
	terraform, err := osexec.LookPath("terraform")
	if err != nil {
		if terraform, err = osexec.LookPath("tofu"); err != nil {
			return nil, errors.New("neither terraform nor tofu is on PATH")
		}
	}
	if terraform, err = filepath.Abs(terraform); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "chant-bench-")
	return &bench{chant: path, terraform: terraform, self: self, dir: dir, progress: progress}, err
}
