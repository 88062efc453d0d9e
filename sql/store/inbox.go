package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chant-bot/chant/sql/db"
)

// ErrClosed: the inbox takes nothing more; the forge must send it again.
var ErrClosed = errors.New("the inbox is closed")

// Bounds of one commit, so that one large body does not hold up many.
const (
	maxBatch      = 512
	maxBatchBytes = 16 << 20
)

// Wake queues the job that works pending deliveries off, in the transaction
// that stores them.
type Wake func(ctx context.Context, tx *sql.Tx) error

// Inbox stores deliveries durably, many in one commit and many commits in one
// trip to the disk: whatever arrives while one is under way goes into the next,
// without waiting for more.
type Inbox struct {
	db      *DB
	wake    Wake
	queue   chan *waiter
	closing chan struct{}
	closed  chan struct{}
	answers sync.WaitGroup
	inside  atomic.Int64 // Accept calls that wait
}

// waiter is one Accept that waits for its commit.
type waiter struct {
	row    db.InsertDeliveryParams
	header []byte
	body   []byte
	// answer receives once; it has room, so the writer never waits for it.
	answer chan accepted
}

type accepted struct {
	fresh bool
	err   error
}

// NewInbox starts the one writer of d's deliveries. Close ends it, not ctx: what
// was handed over is stored.
func NewInbox(ctx context.Context, d *DB, wake Wake) (*Inbox, error) {
	b := &Inbox{
		db:      d,
		wake:    wake,
		queue:   make(chan *waiter, maxBatch),
		closing: make(chan struct{}),
		closed:  make(chan struct{}),
	}
	go b.run(context.WithoutCancel(ctx))
	return b, nil
}

// Accept stores d and returns once it is durable. d.State is DeliveryPending,
// which wakes the worker, or DeliveryIgnored with its Outcome. fresh is false
// when this instance sent the GUID before; then nothing was stored and nobody
// woken. When ctx ends first the delivery may still be stored. Safe for
// concurrent use.
func (b *Inbox) Accept(ctx context.Context, d Delivery) (fresh bool, err error) {
	header, err := json.Marshal(d.Header)
	if err != nil {
		return false, fmt.Errorf("encoding the header of delivery %s: %w", d.GUID, err)
	}
	b.inside.Add(1)
	defer b.inside.Add(-1)
	w := &waiter{row: insertParams(d), header: header, body: blob(d.Body), answer: make(chan accepted, 1)}
	select {
	case b.queue <- w:
	case <-b.closing:
		return false, ErrClosed
	case <-ctx.Done():
		return false, ctx.Err()
	}
	select {
	case a := <-w.answer:
		return a.fresh, a.err
	case <-b.closed: // answered or never taken
		select {
		case a := <-w.answer:
			return a.fresh, a.err
		default:
			return false, ErrClosed
		}
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// A forge waits seconds for its answer and sends nothing again by itself; what
// was accepted can wait longer.
const (
	// rush is the number of deliveries waiting at once from which on whoever
	// works them off should stand back.
	rush      = 8
	rushCheck = 5 * time.Millisecond
)

// Yield waits while many deliveries wait to be stored, at most for the time
// given, so that taking them in is not slowed by working them off. Call it
// between deliveries.
func (b *Inbox) Yield(ctx context.Context, most time.Duration) {
	if b.inside.Load() < rush {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	again := time.NewTicker(rushCheck)
	defer again.Stop()
	for b.inside.Load() >= rush {
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// Close stores what was handed over and ends the writer. Call it once, before
// the database is closed.
func (b *Inbox) Close() error {
	close(b.closing)
	<-b.closed
	return nil
}

func (b *Inbox) run(ctx context.Context) {
	defer close(b.closed)
	defer b.answers.Wait()
	for {
		select {
		case w := <-b.queue:
			b.commit(ctx, b.gather(w))
		case <-b.closing:
			for {
				select {
				case w := <-b.queue:
					b.commit(ctx, b.gather(w))
				default:
					return
				}
			}
		}
	}
}

// gather takes what is queued by now.
func (b *Inbox) gather(first *waiter) []*waiter {
	batch, size := []*waiter{first}, len(first.body)
	for len(batch) < maxBatch && size < maxBatchBytes {
		select {
		case w := <-b.queue:
			batch, size = append(batch, w), size+len(w.body)
		default:
			return batch
		}
	}
	return batch
}

// commit stores a batch and has it answered. If one row spoils the transaction,
// each is tried alone: a bad delivery must not lose its neighbours, the forge
// sends nothing twice by itself.
func (b *Inbox) commit(ctx context.Context, batch []*waiter) {
	fresh, err := b.store(ctx, batch)
	switch {
	case err == nil && len(b.queue) == 0:
		b.answer(batch, fresh)
	case err == nil: // more to commit while the disk works
		b.answers.Go(func() { b.answer(batch, fresh) })
	case len(batch) > 1:
		for _, w := range batch {
			b.commit(ctx, []*waiter{w})
		}
	default:
		batch[0].answer <- accepted{err: fmt.Errorf("storing a delivery: %w", err)}
	}
}

// answer tells those who wait once their commit is on the disk. That a delivery
// is known is told no sooner: it may have come with the same batch.
func (b *Inbox) answer(batch []*waiter, fresh []bool) {
	err := b.db.log.wait()
	for i, w := range batch {
		w.answer <- accepted{fresh: fresh[i] && err == nil, err: err}
	}
}

// store runs under no request's context: a caller that leaves must not undo
// what others wait for.
func (b *Inbox) store(ctx context.Context, batch []*waiter) ([]bool, error) {
	fresh := make([]bool, len(batch))
	err := b.db.InLazyTx(ctx, func(tx *sql.Tx) error {
		q, pending := new(db.Queries), false
		for i, w := range batch {
			ids, err := q.InsertDelivery(ctx, tx, w.row)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				continue
			}
			content := db.InsertDeliveryContentParams{DeliveryID: ids[0], Header: w.header, Body: w.body}
			if err := q.InsertDeliveryContent(ctx, tx, content); err != nil {
				return err
			}
			fresh[i] = true
			pending = pending || w.row.State == string(DeliveryPending)
		}
		if !pending {
			return nil
		}
		return b.wake(ctx, tx)
	})
	return fresh, err
}

func insertParams(d Delivery) db.InsertDeliveryParams {
	return db.InsertDeliveryParams{
		Instance: d.Instance.String(), Guid: d.GUID, Event: d.Event, Action: d.Action, Installation: d.Installation,
		RepoID: d.Repo.ID, RepoOwner: d.Repo.Owner, RepoName: d.Repo.Name,
		SenderID: d.Sender.ID, Sender: d.Sender.Login, SenderBot: d.Sender.Bot, ReceivedAt: millis(d.ReceivedAt),
		State: string(d.State), Outcome: d.Outcome, OutcomeAt: millis(d.OutcomeAt),
	}
}
