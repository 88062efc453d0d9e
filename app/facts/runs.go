package facts

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
	"github.com/chant-bot/chant/sql/store"
)

// NewestRun implements usecase.Facts.
func (f *Facts) NewestRun(ctx context.Context, repo engine.Repo, env, member string) (usecase.KeptRun, bool, error) {
	row, err := f.Runs.Newest(ctx, store.RunTarget{RepoKey: repo.Key(), Env: env, Member: member})
	if errors.Is(err, store.ErrNotFound) {
		return usecase.KeptRun{}, false, nil
	}
	if err != nil {
		return usecase.KeptRun{}, false, err
	}
	k, err := keptRun(row)
	return k, err == nil, err
}

// RunCarrying implements usecase.Facts. It looks at the newest runs; an older
// one has long said its last word.
func (f *Facts) RunCarrying(ctx context.Context, repo engine.Repo, env, member, merge string) (usecase.KeptRun, bool, error) {
	rows, err := f.Runs.List(ctx, 0, maxListed)
	if err != nil {
		return usecase.KeptRun{}, false, err
	}
	target := store.RunTarget{RepoKey: repo.Key(), Env: env, Member: member}
	for _, row := range rows {
		if row.RunTarget != target {
			continue
		}
		k, err := f.Run(ctx, row.ID)
		if err != nil {
			return usecase.KeptRun{}, false, err
		}
		if g := k.Apply.Report.Green; g != nil {
			for _, m := range g.Merges {
				if m.Commit == merge {
					return k, true, nil
				}
			}
		}
	}
	return usecase.KeptRun{}, false, nil
}

// Run reads one run by its id; store.ErrNotFound.
func (f *Facts) Run(ctx context.Context, id int64) (usecase.KeptRun, error) {
	row, err := f.Runs.Get(ctx, id)
	if err != nil {
		return usecase.KeptRun{}, err
	}
	return keptRun(row)
}

func keptRun(row store.Run) (usecase.KeptRun, error) {
	k := usecase.KeptRun{ID: row.ID, Status: usecase.RunStatus(row.Status), Apply: &usecase.Apply{}}
	if err := json.Unmarshal(row.State, k.Apply); err != nil {
		return k, fmt.Errorf("state of run %d: %w", row.ID, err)
	}
	return k, nil
}

// Journal keeps one apply as a run row. It implements usecase.Journal.
type Journal struct {
	facts  *Facts
	target store.RunTarget

	mu     sync.Mutex
	id     int64 // 0 until the first Save
	events int   // how many of the run's own events are stored
}

// NewJournal keeps an apply that is about to start.
func (f *Facts) NewJournal(repo engine.Repo, env, member string) *Journal {
	return &Journal{facts: f, target: store.RunTarget{RepoKey: repo.Key(), Env: env, Member: member}}
}

// Reopen goes on keeping an apply that is stored.
func (f *Facts) Reopen(repo engine.Repo, k usecase.KeptRun) *Journal {
	j := f.NewJournal(repo, k.Apply.Report.Env, k.Apply.Member)
	j.id, j.events = k.ID, len(k.Apply.State.Events())
	return j
}

// Save stores the apply and what happened since the last Save.
func (j *Journal) Save(ctx context.Context, a *usecase.Apply) error {
	return j.facts.DB.InTx(ctx, func(tx *sql.Tx) error { return j.SaveTx(ctx, tx, a) })
}

// SaveTx is Save inside a transaction.
func (j *Journal) SaveTx(ctx context.Context, tx *sql.Tx, a *usecase.Apply) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	state, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("storing the apply: %w", err)
	}
	status := usecase.RunEnded
	if a.Report.Status == report.Planned {
		status = usecase.RunRunning
	}
	now := j.facts.Now()
	if j.id == 0 {
		if j.id, err = j.facts.Runs.Create(ctx, tx, j.target, a.Report.Head, string(status), state, now); err != nil {
			return err
		}
	} else if err := j.facts.Runs.Save(ctx, tx, j.id, string(status), state, now); err != nil {
		return err
	}
	var events []run.Event
	if len(a.State.Members) > 0 {
		events = a.State.Events()
	}
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
