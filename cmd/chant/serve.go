package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/chant-bot/chant/app"
	"github.com/chant-bot/chant/app/cli"
)

// Serve runs the server until it is told to stop.
type Serve struct {
	Config string            `help:"Configuration file." type:"existingfile" placeholder:"FILE" env:"CHANT_CONFIG"`
	Set    map[string]string `help:"One setting over file and environment, such as logLevel=debug; config print shows all. May be repeated." placeholder:"KEY=VALUE"`
}

// Run implements the command. SIGTERM and SIGINT stop it gracefully.
func (s *Serve) Run(h *cli.Host) error {
	c, err := h.Settings(s.Config, s.Set)
	if err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return fmt.Errorf("logLevel: %w", err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	server, err := app.New(ctx, c, version(), log)
	if err != nil {
		return err
	}
	return server.Run(ctx, func(string) {})
}
