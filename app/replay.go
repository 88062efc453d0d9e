package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/app/facts"
	"github.com/chant-bot/chant/app/jobs"
	"github.com/chant-bot/chant/app/settle"
	"github.com/chant-bot/chant/sql/store"
)

// Replay has the server work a stored delivery off once more, by the rules and
// the state of the forge of that moment: what it asked for and was done is not
// done twice. by is who asks, for the audit. It returns the delivery in words, and
// whether it was queued: one that waits for its turn is left to it.
func Replay(ctx context.Context, c *config.Config, id int64, by string) (what string, queued bool, err error) {
	source := c.DataSource()
	if !store.IsURL(source) {
		if _, err := os.Stat(source); err != nil {
			return "", false, fmt.Errorf("opening the server's database: %w; give the configuration the server runs with", err)
		}
	}
	d, err := store.Open(ctx, source)
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	kept := facts.New(d, time.Now)
	delivery, queued, err := jobs.Replay(ctx, d, id, func(tx *sql.Tx, delivery store.Delivery) error {
		return kept.AuditTx(ctx, tx, delivery.Repo, settle.AuditRow{
			Actor: by, Delivery: delivery.GUID, Action: "replay", Rule: "replay on command", Result: "queued",
			Detail: fmt.Sprintf("delivery %d", delivery.ID),
		})
	})
	if errors.Is(err, store.ErrNotFound) {
		return "", false, fmt.Errorf("delivery %d is not kept; the deliveries page lists those that are: %w", id, err)
	}
	what = delivery.Event
	if delivery.Action != "" {
		what += " " + delivery.Action
	}
	if delivery.Repo.ID != 0 {
		what += " of " + delivery.Repo.FullName()
	}
	return what, queued, err
}
