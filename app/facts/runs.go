package facts

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/chant-bot/chant/app/settle"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
	"github.com/chant-bot/chant/sql/store"
)

// NewestRun implements settle.Facts.
func (f *Facts) NewestRun(ctx context.Context, repo engine.Repo, env, member string) (settle.KeptRun, bool, error) {
	row, err := f.Runs.Newest(ctx, store.RunTarget{RepoKey: repo.Key(), Env: env, Member: member})
	if errors.Is(err, store.ErrNotFound) {
		return settle.KeptRun{}, false, nil
	}
	if err != nil {
		return settle.KeptRun{}, false, err
	}
	k, err := keptRun(row)
	return k, err == nil, err
}

// RunCarrying implements settle.Facts.
func (f *Facts) RunCarrying(ctx context.Context, repo engine.Repo, env, member, merge string) (settle.KeptRun, bool, error) {
	row, err := f.Runs.Carrying(ctx, store.RunTarget{RepoKey: repo.Key(), Env: env, Member: member}, merge)
	if errors.Is(err, store.ErrNotFound) {
		return settle.KeptRun{}, false, nil
	}
	if err != nil {
		return settle.KeptRun{}, false, err
	}
	k, err := keptRun(row)
	return k, err == nil, err
}

// RunDirs are the directories of the applies that are to be carried on.
func (f *Facts) RunDirs(ctx context.Context) ([]string, error) {
	rows, err := f.Runs.InStatus(ctx, string(settle.RunRunning))
	if err != nil {
		return nil, err
	}
	dirs := make([]string, 0, len(rows))
	for _, row := range rows {
		k, err := keptRun(row)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, k.Apply.Dir)
	}
	return dirs, nil
}

// Run reads one run by its id; store.ErrNotFound.
func (f *Facts) Run(ctx context.Context, id int64) (settle.KeptRun, error) {
	row, err := f.Runs.Get(ctx, id)
	if err != nil {
		return settle.KeptRun{}, err
	}
	return keptRun(row)
}

func keptRun(row store.Run) (settle.KeptRun, error) {
	k := settle.KeptRun{ID: row.ID, Saves: row.Saves, Status: settle.RunStatus(row.Status), Apply: &usecase.Apply{}}
	if err := json.Unmarshal(row.State, k.Apply); err != nil {
		return k, fmt.Errorf("state of run %d: %w", row.ID, err)
	}
	return k, nil
}

// Journal keeps one apply as a run row. It implements usecase.Journal.
type Journal struct {
	facts  *Facts
	target store.RunTarget

	mu sync.Mutex
	kept
}

// kept is what is stored of an apply.
type kept struct {
	id     int64 // 0 until the first Save
	saves  int64 // how often it was saved since
	events int   // how many of the run's own events are stored
}

// NewJournal keeps an apply that is about to start.
func (f *Facts) NewJournal(repo engine.Repo, env, member string) *Journal {
	return &Journal{facts: f, target: store.RunTarget{RepoKey: repo.Key(), Env: env, Member: member}}
}

// Reopen goes on keeping an apply that is stored.
func (f *Facts) Reopen(repo engine.Repo, k settle.KeptRun) *Journal {
	j := f.NewJournal(repo, k.Apply.Report.Env, k.Apply.Member)
	j.kept = kept{k.ID, k.Saves, len(eventsOf(k.Apply))}
	return j
}

// Kept tells whether the apply is stored, so that a later job carries it on.
func (j *Journal) Kept() bool { return j.ID() != 0 }

// ID is the run that the apply is stored as, 0 before it is.
func (j *Journal) ID() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.id
}

// LogValue implements slog.LogValuer: the run, once there is one.
func (j *Journal) LogValue() slog.Value { return slog.Int64Value(j.ID()) }

// Save stores the apply and what happened since the last Save. Its last word is
// left to SaveTx, in the transaction that queues what follows from it: a crash
// between the two would leave an apply that ended and that nobody is told of.
func (j *Journal) Save(ctx context.Context, a *usecase.Apply) error {
	if a.Report.Status != report.Planned {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	before := j.kept
	err := j.facts.DB.InTx(ctx, func(tx *sql.Tx) error { return j.save(ctx, tx, a) })
	if err != nil {
		j.kept = before // the rows went back with the transaction
	}
	return err
}

// SaveTx is Save inside a transaction, and the last one.
func (j *Journal) SaveTx(ctx context.Context, tx *sql.Tx, a *usecase.Apply) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.save(ctx, tx, a)
}

func (j *Journal) save(ctx context.Context, tx *sql.Tx, a *usecase.Apply) error {
	state, err := stateOf(a)
	if err != nil {
		return err
	}
	now := j.facts.Now()
	if j.id == 0 {
		id, err := j.facts.Runs.Create(ctx, tx, j.target, a.Report.Head, state, now)
		if err == nil {
			err = j.facts.Runs.Carries(ctx, tx, j.target, id, mergesOf(a))
		}
		if err != nil {
			return err
		}
		j.id = id
	} else {
		if err := j.facts.Runs.Save(ctx, tx, j.id, j.saves, state, now); err != nil {
			return err
		}
		j.saves++
	}
	events := eventsOf(a)
	for _, e := range events[min(j.events, len(events)):] {
		data, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("storing an event: %w", err)
		}
		if _, err := j.facts.Runs.Append(ctx, tx, j.id, data, now); err != nil {
			return err
		}
	}
	j.events = max(j.events, len(events))
	return nil
}

// stateOf is an apply as its row has it.
func stateOf(a *usecase.Apply) (store.RunState, error) {
	status := settle.RunEnded
	if a.Report.Status == report.Planned {
		status = settle.RunRunning
	}
	state, err := json.Marshal(a)
	if err != nil {
		return store.RunState{}, fmt.Errorf("storing the apply: %w", err)
	}
	summary, err := json.Marshal(Summary(settle.KeptRun{Status: status, Apply: a}))
	if err != nil {
		return store.RunState{}, fmt.Errorf("storing the summary of the apply: %w", err)
	}
	return store.RunState{Status: string(status), Summary: string(summary), State: state}, nil
}

// eventsOf is what happened in the apply so far.
func eventsOf(a *usecase.Apply) []run.Event {
	return a.Passes().Events(a.Report.Status != report.Planned)
}

// mergesOf are the commits of the apply's range.
func mergesOf(a *usecase.Apply) []string {
	var out []string
	if g := a.Report.Green; g != nil {
		for _, m := range g.Merges {
			out = append(out, m.Commit)
		}
	}
	return out
}
