package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/chant-bot/chant/app"
	"github.com/chant-bot/chant/app/cli"
	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/sql/store"
)

// migrateCmd works on the database that a server is configured with, or on the
// one it is told.
type migrateCmd struct {
	cli.ConfigOptions

	From string `placeholder:"FILE" type:"existingfile" help:"Move everything in this SQLite database, which no server uses now, into an empty PostgreSQL database."`
	To   string `placeholder:"URL" help:"The PostgreSQL database to move it into, instead of the configured one. Its password comes from CHANT_DATABASE_PASSWORD, as itself or as file:PATH, or as PostgreSQL's own programs find it; the URL holds none."`
}

// Run implements the command.
func (c *migrateCmd) Run(ctx context.Context, h *cli.Host) error {
	if c.To != "" && c.From == "" {
		return cli.Misuse("--to: say with --from which database is moved")
	}
	source, err := c.source(h)
	if err != nil {
		return err
	}
	if c.From == "" {
		if err := app.Migrate(ctx, source); err != nil {
			return err
		}
		_, err = fmt.Fprintln(h.Stdout, "the schema is up to date")
		return err
	}
	if !store.IsURL(source) {
		return cli.Misuse("--to: give the postgres:// URL of the database to move into; an SQLite database is moved as the file it is")
	}
	tables, err := app.MoveDatabase(ctx, c.From, source)
	if _, ok := errors.AsType[*store.OccupiedError](err); ok {
		return &cli.ExitError{Code: cli.Refused, Err: err}
	}
	if err != nil {
		return err
	}
	for _, t := range tables {
		if _, err := fmt.Fprintf(h.Stdout, "%s: %d\n", t.Name, t.Rows); err != nil {
			return err
		}
	}
	return nil
}

// source is the database to work on, with its password.
func (c *migrateCmd) source(h *cli.Host) (string, error) {
	if c.To == "" {
		settings, err := h.Settings(c.Config, c.Set)
		if err != nil {
			return "", err
		}
		return settings.DataSource(), nil
	}
	if !store.IsURL(c.To) {
		return "", cli.Misuse("--to: want a URL such as postgres://chant@db.example.com/chant")
	}
	source, err := config.DataSourceAt(c.To, h.Dir, h.Environ)
	if err != nil {
		return "", cli.Misuse("--to: %w", err)
	}
	return source, nil
}
