package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/chant-bot/chant/app/demo"
)

// Demo plays the whole loop on this machine, with no account and nothing
// installed but git and terraform or tofu.
type Demo struct {
	Composed bool `help:"Play changes that reach what reads them: a group, a round, a wave gate and a failure that is carried on."`
	Keep     bool `help:"Leave the server and its pages up at the end."`
}

// demoTimeout bounds a demo that nobody asked to keep.
const demoTimeout = 5 * time.Minute

// Run implements the command.
func (d *Demo) Run() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		if terraform, err = exec.LookPath("tofu"); err != nil {
			return errors.New("neither terraform nor tofu is on PATH; `make demo` builds tofu, or install one of them")
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if !d.Keep {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, demoTimeout)
		defer cancel()
	}
	return demo.Play(ctx, demo.Options{Program: program, Terraform: terraform, Out: os.Stdout, Composed: d.Composed, Keep: d.Keep})
}
