package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	"github.com/chant-bot/chant/sql/queue"
	"github.com/chant-bot/chant/sql/store"
)

// Replay makes a stored delivery pending again and wakes who works the inbox
// off, in one transaction with what done does. It may run beside the server, and
// before it starts. queued is false, and nothing is done, where the delivery is
// pending already; store.ErrNotFound says that it is not kept.
func Replay(ctx context.Context, d *store.DB, id int64, done func(*sql.Tx, store.Delivery) error) (_ store.Delivery, queued bool, err error) {
	deliveries := store.NewDeliveries(d)
	delivery, err := deliveries.Get(ctx, id)
	if err != nil {
		return delivery, false, err
	}
	if len(delivery.Body) == 0 {
		return delivery, false, fmt.Errorf("delivery %d: its body was not kept, for its repository was not served when it came; have the forge send it again", id)
	}
	wake, err := waker(d)
	if err != nil {
		return delivery, false, err
	}
	err = d.InTx(ctx, func(tx *sql.Tx) error {
		if queued, err = deliveries.Replay(ctx, tx, id); err != nil || !queued {
			return err
		}
		if err := done(tx, delivery); err != nil {
			return err
		}
		_, err := wake(ctx, tx)
		return err
	})
	return delivery, queued, err
}

// waker is Jobs.Wake for a process that works nothing off.
func waker(d *store.DB) (store.Wake, error) {
	quiet := slog.New(slog.DiscardHandler)
	replica, err := queue.NewReplica(d, quiet)
	if err != nil {
		return nil, err
	}
	client, err := queue.New(replica, queue.Config(quiet))
	if err != nil {
		return nil, err
	}
	return queue.Wake(d, client, queueEvent, EventArgs{}), nil
}
