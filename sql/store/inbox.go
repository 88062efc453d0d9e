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

// commitTime is how long storing a batch may take: longer than a forge waits for
// its answer, since what is stored too late for it is not lost, and bounded, since
// a connection that died unnoticed would keep out all that comes after.
const commitTime = time.Minute

// Wake queues the job that works pending deliveries off, in the transaction
// that stores them. queued is false when one waits already.
type Wake func(ctx context.Context, tx *sql.Tx) (queued bool, err error)

// Inbox stores deliveries durably, many in one commit and many commits in one
// trip to the disk: whatever arrives while one is under way goes into the next,
// without waiting for more. Whoever finds none under way commits in its own
// goroutine, so that a single delivery is handed to nobody and back.
type Inbox struct {
	db    *DB
	wake  Wake
	limit time.Duration // of one commit

	mu      sync.Mutex
	waiting []*waiter
	leading bool // somebody commits, and will take what waits by then
	closed  bool
	leaders sync.WaitGroup

	arrivals arrivals
}

// waiter is one Accept that waits for its commit.
type waiter struct {
	row    db.InsertDeliveryParams
	header []byte
	body   []byte // packed
	// answer receives once; it has room, so who commits never waits for it.
	answer chan accepted
}

type accepted struct {
	fresh bool
	err   error
}

// NewInbox takes deliveries into d. Close it before d.
func NewInbox(d *DB, wake Wake) *Inbox {
	begin := time.Now()
	return &Inbox{db: d, wake: wake, limit: commitTime, arrivals: arrivals{now: func() time.Duration { return time.Since(begin) }}}
}

// Accept stores d and returns once it is durable. d.State is DeliveryPending,
// which wakes the worker, or DeliveryIgnored with its Outcome. fresh is false
// when this instance sent the GUID before; then nothing was stored and nobody
// woken. When ctx ends first the delivery may still be stored; its body is
// not looked at any more. Safe for concurrent use.
func (b *Inbox) Accept(ctx context.Context, d Delivery) (fresh bool, err error) {
	header, err := json.Marshal(d.Header)
	if err != nil {
		return false, fmt.Errorf("encoding the header of delivery %s: %w", d.GUID, err)
	}
	b.arrivals.note()
	w := &waiter{row: insertParams(d), header: header, body: pack(d.Body), answer: make(chan accepted, 1)}
	lead, err := b.enter(w)
	if err != nil {
		return false, err
	}
	if lead {
		// A caller that leaves must not undo what others wait for.
		b.lead(context.WithoutCancel(ctx))
	}
	select {
	case a := <-w.answer:
		return a.fresh, a.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// enter puts w to what the next commit takes. lead tells its caller to make it.
func (b *Inbox) enter(w *waiter) (lead bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false, ErrClosed
	}
	b.waiting = append(b.waiting, w)
	if b.leading {
		return false, nil
	}
	b.leading = true
	b.leaders.Add(1)
	return true, nil
}

// lead makes one commit of what waits and has another goroutine make the next,
// if more came meanwhile, before it waits for the disk.
func (b *Inbox) lead(ctx context.Context) {
	defer b.leaders.Done()
	batch := b.take()
	limited, cancel := context.WithTimeout(ctx, b.limit)
	answers := b.commit(limited, batch)
	cancel()
	b.mu.Lock()
	if b.leading = len(b.waiting) > 0; b.leading {
		b.leaders.Add(1)
		go b.lead(ctx)
	}
	b.mu.Unlock()
	// That a delivery is known is told no sooner than that it is stored: it may
	// have come with the same batch.
	if err := b.db.log.wait(); err != nil {
		for i := range answers {
			answers[i] = accepted{err: err}
		}
	}
	for i, w := range batch {
		w.answer <- answers[i]
	}
}

// take takes what one commit can hold.
func (b *Inbox) take() []*waiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, size := 0, 0
	for n < len(b.waiting) && n < maxBatch && size < maxBatchBytes {
		size += len(b.waiting[n].body)
		n++
	}
	batch := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	if len(b.waiting) == 0 {
		b.waiting = nil
	}
	return batch
}

// commit stores a batch. If one row spoils the transaction, each is tried alone:
// a bad delivery must not lose its neighbours, the forge sends nothing twice by
// itself.
func (b *Inbox) commit(ctx context.Context, batch []*waiter) []accepted {
	fresh, err := b.store(ctx, batch)
	answers := make([]accepted, len(batch))
	for i := range batch {
		switch {
		case err == nil:
			answers[i].fresh = fresh[i]
		case len(batch) > 1:
			answers[i] = b.commit(ctx, batch[i:i+1])[0]
		default:
			answers[i].err = fmt.Errorf("storing a delivery: %w", err)
		}
	}
	return answers
}

// Deliveries rush in when rush of them came within rushTime: one push or comment
// makes two to four.
const (
	rush     = 8
	rushTime = 20 * time.Millisecond
)

// arrivals keeps when the last rush deliveries came, each at its number modulo
// rush.
type arrivals struct {
	now   func() time.Duration // since the inbox was opened
	count atomic.Uint64
	times [rush]atomic.Int64
}

func (a *arrivals) note() {
	a.times[a.count.Add(1)%rush].Store(int64(a.now()))
}

// rushing tells whether the oldest of them came a moment ago.
func (a *arrivals) rushing() bool {
	count := a.count.Load()
	return count >= rush && a.now()-time.Duration(a.times[(count+1)%rush].Load()) < rushTime
}

// Yield waits while deliveries rush in, at most for the time given, so that
// taking them in is not slowed by working them off: a forge waits seconds for
// its answer and sends nothing again by itself, what was accepted can wait
// longer. Call it between deliveries.
func (b *Inbox) Yield(ctx context.Context, most time.Duration) {
	if !b.arrivals.rushing() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	again := time.NewTicker(rushTime / 4)
	defer again.Stop()
	for b.arrivals.rushing() {
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// Close refuses what comes from now on and returns when what was handed over is
// stored. Close it before the database.
func (b *Inbox) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.leaders.Wait()
	return nil
}

func (b *Inbox) store(ctx context.Context, batch []*waiter) ([]bool, error) {
	fresh, queued := make([]bool, len(batch)), false
	rows := ctx
	if b.db.Postgres == nil {
		// Nothing of it can hang on SQLite, whose driver starts a goroutine for every
		// statement that can be stopped.
		rows = context.WithoutCancel(ctx)
	}
	err := b.db.lazyTx(rows, func(tx *sql.Tx) (err error) {
		q, pending := new(db.Queries), false
		for i, w := range batch {
			ids, err := q.InsertDelivery(rows, tx, w.row)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				continue
			}
			content := db.InsertDeliveryContentParams{DeliveryID: ids[0], Header: w.header, Body: w.body}
			if err := q.InsertDeliveryContent(rows, tx, content); err != nil {
				return err
			}
			fresh[i] = true
			pending = pending || w.row.State == string(DeliveryPending)
		}
		if !pending {
			return nil
		}
		queued, err = b.wake(ctx, tx)
		return err
	})
	if queued && err == nil {
		b.db.mayHaveQueued()
	}
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
