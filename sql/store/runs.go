package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/db"
)

// RunTarget is what one apply works on.
type RunTarget struct {
	RepoKey, Env, Member string
}

// RunState is how far a run came, in the words of whoever runs it. State is the whole of
// it, which lists leave out; Summary is what they show.
type RunState struct {
	Status  string
	Summary string
	State   []byte
}

// Run is one apply of a commit.
type Run struct {
	ID int64
	RunTarget
	RunState
	Commit  string
	Saves   int64 // how often it was saved since it was created
	Created time.Time
	Updated time.Time
}

// ListedRun is a run without its state, with the name of its repository, "" for one that
// is not known.
type ListedRun struct {
	Run
	RepoName string
}

// RunEvent is one thing that happened in a run; Event is JSON.
type RunEvent struct {
	Seq   int64 // from 1, without gaps
	At    time.Time
	Event []byte
}

// Runs keeps applies, step by step. What must be known before a step starts is
// saved with DB.InTx.
type Runs struct{ db *DB }

// NewRuns is the store of runs in d.
func NewRuns(d *DB) Runs { return Runs{d} }

// Create stores a new run and returns its ID.
func (s Runs) Create(ctx context.Context, on Conn, t RunTarget, commit string, state RunState, at time.Time) (int64, error) {
	id, err := new(db.Queries).InsertRun(ctx, on, db.InsertRunParams{
		RepoKey: t.RepoKey, Env: t.Env, Member: t.Member, CommitSha: commit, Status: state.Status, Summary: state.Summary, State: blob(state.State), CreatedAt: millis(at),
	})
	if err != nil {
		return 0, fmt.Errorf("storing a run of %s: %w", commit, err)
	}
	return id, nil
}

// ErrOvertaken is a run that is gone, or that another saved meanwhile.
var ErrOvertaken = errors.New("another carried it on")

// Save replaces the state of a run that was saved so often; ErrOvertaken.
func (s Runs) Save(ctx context.Context, on Conn, id, saves int64, state RunState, at time.Time) error {
	n, err := new(db.Queries).SaveRun(ctx, on, db.SaveRunParams{
		ID: id, Saves: saves, Status: state.Status, Summary: state.Summary, State: blob(state.State), UpdatedAt: millis(at),
	})
	if err == nil && n == 0 {
		err = ErrOvertaken
	}
	if err != nil {
		return fmt.Errorf("saving run %d: %w", id, err)
	}
	return nil
}

// Get reads one run; ErrNotFound.
func (s Runs) Get(ctx context.Context, id int64) (Run, error) {
	row, err := new(db.Queries).GetRun(ctx, s.db.Read, id)
	return run(row, err)
}

// Newest reads the newest run of a target; ErrNotFound.
func (s Runs) Newest(ctx context.Context, t RunTarget) (Run, error) {
	row, err := new(db.Queries).NewestRun(ctx, s.db.Read, db.NewestRunParams{RepoKey: t.RepoKey, Env: t.Env, Member: t.Member})
	return run(row, err)
}

// NewestCommits lists the commits of the newest run of every target in a
// repository.
func (s Runs) NewestCommits(ctx context.Context, repoKey string) ([]string, error) {
	commits, err := new(db.Queries).NewestRunCommits(ctx, s.db.Read, repoKey)
	if err != nil {
		return nil, fmt.Errorf("listing the newest commits of %s: %w", repoKey, err)
	}
	return commits, nil
}

// Status reads the status of a run and the number of its last event, 0 for none;
// ErrNotFound.
func (s Runs) Status(ctx context.Context, id int64) (status string, last int64, err error) {
	row, err := new(db.Queries).RunStatus(ctx, s.db.Read, id)
	if err != nil {
		return "", 0, notFound(err, "reading run %d", id)
	}
	return row.Status, row.LastEvent, nil
}

// List pages through runs, newest first. before is the ID to go on from, 0 for the
// newest.
func (s Runs) List(ctx context.Context, before int64, limit int) ([]ListedRun, error) {
	rows, err := new(db.Queries).ListRuns(ctx, s.db.Read, db.ListRunsParams{Before: orNewest(before), Count: clampLimit(limit)})
	return listed(rows, err)
}

// NewestOfEach lists the newest run of every target, newest first.
func (s Runs) NewestOfEach(ctx context.Context, limit int) ([]ListedRun, error) {
	newest, err := new(db.Queries).NewestRuns(ctx, s.db.Read, clampLimit(limit))
	rows := make([]db.ListRunsRow, len(newest))
	for i, row := range newest {
		rows[i] = db.ListRunsRow(row)
	}
	return listed(rows, err)
}

func listed(rows []db.ListRunsRow, err error) ([]ListedRun, error) {
	if err != nil {
		return nil, fmt.Errorf("listing runs: %w", err)
	}
	out := make([]ListedRun, len(rows))
	for i, row := range rows {
		out[i].Run, _ = run(db.Run{
			ID: row.ID, RepoKey: row.RepoKey, Env: row.Env, Member: row.Member, CommitSha: row.CommitSha,
			Status: row.Status, Summary: row.Summary, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
		}, nil)
		if row.Owner.Valid {
			out[i].RepoName = engine.Repo{Owner: row.Owner.String, Name: row.Name.String}.FullName()
		}
	}
	return out, nil
}

// Append adds one event and returns its number.
func (s Runs) Append(ctx context.Context, on Conn, id int64, event []byte, at time.Time) (int64, error) {
	seq, err := new(db.Queries).AppendRunEvent(ctx, on, db.AppendRunEventParams{RunID: id, At: millis(at), Event: blob(event)})
	if err != nil {
		return 0, fmt.Errorf("adding an event to run %d: %w", id, err)
	}
	return seq, nil
}

// Events lists events of a run numbered above after, in order.
func (s Runs) Events(ctx context.Context, id, after int64, limit int) ([]RunEvent, error) {
	rows, err := new(db.Queries).RunEvents(ctx, s.db.Read, db.RunEventsParams{RunID: id, Seq: after, Limit: clampLimit(limit)})
	if err != nil {
		return nil, fmt.Errorf("reading events of run %d: %w", id, err)
	}
	out := make([]RunEvent, len(rows))
	for i, row := range rows {
		out[i] = RunEvent{Seq: row.Seq, At: fromMillis(row.At), Event: row.Event}
	}
	return out, nil
}

func run(row db.Run, err error) (Run, error) {
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return Run{}, fmt.Errorf("reading a run: %w", err)
	}
	return Run{
		ID:        row.ID,
		RunTarget: RunTarget{RepoKey: row.RepoKey, Env: row.Env, Member: row.Member},
		RunState:  RunState{Status: row.Status, Summary: row.Summary, State: row.State},
		Commit:    row.CommitSha, Saves: row.Saves,
		Created: fromMillis(row.CreatedAt), Updated: fromMillis(row.UpdatedAt),
	}, nil
}
