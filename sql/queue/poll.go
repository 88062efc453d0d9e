package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"

	"github.com/chant-bot/chant/sql/store"
)

// A job that waits in a queue.
const anyWaiting = `SELECT 1 FROM river_job WHERE state = 'available' AND queue = $1 LIMIT 1`

// lookAnyway is how long a poll may rest on nothing having been committed: the
// queue moves jobs that were put off by itself.
const lookAnyway = 50 * time.Millisecond

// pollDriver looks beside the writer whether a job waits before it takes one,
// and only when something was committed since it last looked. The queue's own
// poll writes each time, which holds up whoever stores something, and is
// planned anew at each call: a busy idle. Its notifications are rows that somebody
// polls for; here the commit itself wakes the queues of this process.
type pollDriver struct {
	*riversqlite.Driver
	db     *store.DB
	queues []string
}

func newPollDriver(d *store.DB, queues []string) *pollDriver {
	return &pollDriver{Driver: riversqlite.New(d.Write), db: d, queues: queues}
}

// SupportsListenNotify implements riverdriver.Driver: no row is written for each
// job to tell of it.
func (*pollDriver) SupportsListenNotify() bool { return false }

// GetListener implements riverdriver.Driver.
func (d *pollDriver) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return &wakes{committed: d.db.Committed(), queues: d.queues}
}

// GetExecutor implements riverdriver.Driver.
func (d *pollDriver) GetExecutor() riverdriver.Executor {
	return &pollExecutor{Executor: d.Driver.GetExecutor(), db: d.db, empty: map[string]look{}}
}

type pollExecutor struct {
	riverdriver.Executor
	db *store.DB

	mu    sync.Mutex
	empty map[string]look // by queue: when no job waited
}

// look is a moment at which a queue was looked at.
type look struct {
	commits int64
	at      time.Time
}

// JobGetAvailable implements riverdriver.Executor.
func (e *pollExecutor) JobGetAvailable(ctx context.Context, params *riverdriver.JobGetAvailableParams) (*riverdriver.JobGetAvailableResult, error) {
	now := look{commits: e.db.Commits(), at: time.Now()}
	if e.emptySince(params.Queue, now) {
		return &riverdriver.JobGetAvailableResult{}, nil
	}
	var one int
	err := e.db.Read.QueryRowContext(ctx, anyWaiting, params.Queue).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.empty[params.Queue] = now
		return &riverdriver.JobGetAvailableResult{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for jobs in %s: %w", params.Queue, err)
	}
	return e.Executor.JobGetAvailable(ctx, params)
}

// emptySince tells whether a queue was empty a moment ago and nothing was
// committed since.
func (e *pollExecutor) emptySince(queue string, now look) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	last, found := e.empty[queue]
	return found && last.commits == now.commits && now.at.Sub(last.at) < lookAnyway
}
