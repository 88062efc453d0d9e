package store

import (
	"context"
	"database/sql"
	"time"
)

// The log is copied into the database beside the writer, not by it: a commit
// that has to copy as well takes ten times as long as one that does not.
const (
	// checkpointPause is how long commits gather before their pages are copied,
	// and checkpointBusy how long while more than checkpointBacklog pages are
	// left.
	checkpointPause   = 500 * time.Millisecond
	checkpointBusy    = 200 * time.Millisecond
	checkpointBacklog = 4000
	// writerCheckpoint is the log length in pages, 128 MiB, at which the writer
	// does copy the rest, so that the log starts again from its beginning:
	// under constant load the copying beside it never quite catches up.
	writerCheckpoint = "wal_autocheckpoint(32000)"
)

type checkpointer struct {
	conn   *sql.DB
	dirty  chan struct{} // has room for one
	cancel context.CancelFunc
	ended  chan struct{}
}

// startCheckpoints works until close, however long ctx lasts.
func startCheckpoints(ctx context.Context, conn *sql.DB) *checkpointer {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &checkpointer{conn: conn, dirty: make(chan struct{}, 1), cancel: cancel, ended: make(chan struct{})}
	go c.run(ctx)
	return c
}

// committed says that the log has grown.
func (c *checkpointer) committed() {
	if c == nil {
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
		for pause := checkpointPause; pause > 0; {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			if pause = 0; c.copy(ctx) > checkpointBacklog {
				pause = checkpointBusy
			}
		}
	}
}

// copy returns how many pages of the log are left. A failure is left to the
// writer's own checkpoint, whose commit reports it.
func (c *checkpointer) copy(ctx context.Context) int64 {
	var busy, log, done int64
	if err := c.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &log, &done); err != nil {
		return 0
	}
	return log - done
}

func (c *checkpointer) close() error {
	if c == nil {
		return nil
	}
	c.cancel()
	<-c.ended
	return c.conn.Close()
}
