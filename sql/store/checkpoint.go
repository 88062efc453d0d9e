package store

import (
	"context"
	"database/sql"
	"time"
)

// The log is copied into the database beside the writer, not by it: a commit
// that has to copy as well takes ten times as long as one that does not. And it
// is copied when little is written, for both want the same disk: a burst is
// taken in at the log's speed.
const (
	// checkpointPause is how long commits gather before their pages are copied.
	checkpointPause = 500 * time.Millisecond
	// Commits are calm when fewer than calmCommits came in calmTime. Those that
	// do not calm down are copied after mostGathered: some 400 MB of them.
	calmTime     = 100 * time.Millisecond
	calmCommits  = 15
	mostGathered = 4 * time.Second
	// writerCheckpoint is the log length in pages, 1 GB, at which the writer
	// does copy the rest, should the copying beside it fail.
	writerCheckpoint = "wal_autocheckpoint(250000)"
)

type checkpointer struct {
	conn    *sql.DB
	write   *sql.DB
	commits func() int64
	dirty   chan struct{} // has room for one
	cancel  context.CancelFunc
	ended   chan struct{}
}

// startCheckpoints works until close, however long ctx lasts. commits counts
// those on write, the one connection that makes any; conn is another.
func startCheckpoints(ctx context.Context, conn, write *sql.DB, commits func() int64) *checkpointer {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &checkpointer{
		conn: conn, write: write, commits: commits,
		dirty: make(chan struct{}, 1), cancel: cancel, ended: make(chan struct{}),
	}
	go c.run(ctx)
	return c
}

// committed says that the log has grown.
func (c *checkpointer) committed() {
	if c == nil { // a database without a log of ours
		return
	}
	select {
	case c.dirty <- struct{}{}:
	default:
	}
}

func (c *checkpointer) run(ctx context.Context) {
	defer close(c.ended)
	for {
		select {
		case <-c.dirty:
		case <-ctx.Done():
			return
		}
		calm, err := c.gather(ctx)
		if err != nil {
			return
		}
		c.copy(ctx)
		if !calm {
			c.copyAll(ctx)
		}
	}
}

// gather waits while commits come. calm is false when it waited long enough and
// they still do.
func (c *checkpointer) gather(ctx context.Context) (calm bool, err error) {
	for waited, pause := time.Duration(0), checkpointPause; waited < mostGathered; waited, pause = waited+pause, calmTime {
		before := c.commits()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false, ctx.Err()
		}
		if c.commits()-before < calmCommits*int64(pause/calmTime) {
			return true, nil
		}
	}
	return false, nil
}

// copyAll copies until nothing is left, which lets the log start again from its
// beginning. Commits that go on would never let it end: what came during one
// pass is copied in the next, a fifth of it, and the last little with no commit
// beside it.
func (c *checkpointer) copyAll(ctx context.Context) {
	for range 2 {
		c.copy(ctx)
	}
	held, err := c.write.Conn(ctx)
	if err != nil {
		return
	}
	c.copy(ctx)
	_ = held.Close() // goes back to its pool
}

// copy leaves a failure to the writer's own checkpoint, whose commit reports it.
func (c *checkpointer) copy(ctx context.Context) {
	_, _ = c.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
}

func (c *checkpointer) close() error {
	if c == nil {
		return nil
	}
	c.cancel()
	<-c.ended
	return c.conn.Close()
}
