package store

import (
	"context"
	"fmt"
	"time"

	"github.com/chant-bot/chant/sql/db"
)

// SubjectKind is what settle works on.
type SubjectKind string

// The kinds of subjects.
const (
	SubjectPull   SubjectKind = "pull"
	SubjectBranch SubjectKind = "branch"
	SubjectQueue  SubjectKind = "queue"
)

// Subject is one pull request, named by its number, one branch, or one commit
// that a merge queue made.
type Subject struct {
	RepoKey string
	Kind    SubjectKind
	Name    string
}

// SubjectState is how far settle is behind the facts.
type SubjectState struct {
	Subject
	Generation, Settled int64
	Open                bool
}

// Subjects counts the facts about what settle works on, so that a fact which
// arrives while a settle runs is never taken for settled. The queue alone
// cannot: it drops a job that equals a running one.
type Subjects struct{ db *DB }

// NewSubjects is the store of subjects in d.
func NewSubjects(d *DB) Subjects { return Subjects{d} }

// Raise says that a new fact about s is stored. Call it in the transaction
// that stores the fact and queues the settle. It returns the new generation, and
// whether every fact before this one is settled: if not, a settle is queued or
// running that will find this one too. A subject that was never raised starts
// open.
func (s Subjects) Raise(ctx context.Context, on Conn, sub Subject, at time.Time) (generation int64, first bool, err error) {
	row, err := new(db.Queries).RaiseSubject(ctx, on, db.RaiseSubjectParams{
		RepoKey: sub.RepoKey, Kind: string(sub.Kind), Name: sub.Name, UpdatedAt: millis(at),
	})
	if err != nil {
		return 0, false, fmt.Errorf("raising %s %s: %w", sub.Kind, sub.Name, err)
	}
	return row.Generation, row.SettledGeneration == row.Generation-1, nil
}

// EndSettle records that a settle saw the generation whole, and reports whether
// a newer one exists: then settle runs again. Call it in the transaction that
// stores what settle found and queues the next one.
func (s Subjects) EndSettle(ctx context.Context, on Conn, sub Subject, generation int64) (again bool, err error) {
	newest, err := new(db.Queries).EndSettle(ctx, on, db.EndSettleParams{
		RepoKey: sub.RepoKey, Kind: string(sub.Kind), Name: sub.Name, Seen: generation,
	})
	if err != nil {
		err = notFound(err, "ending the settle of %s %s", sub.Kind, sub.Name)
		return false, ignoreNotFound(err)
	}
	return newest > generation, nil
}

// SetOpen says whether sweeps visit s. Only what a settle read from the forge
// counts, an event does not.
func (s Subjects) SetOpen(ctx context.Context, on Conn, sub Subject, open bool) error {
	err := new(db.Queries).SetSubjectOpen(ctx, on, db.SetSubjectOpenParams{
		RepoKey: sub.RepoKey, Kind: string(sub.Kind), Name: sub.Name, Open: open,
	})
	if err != nil {
		return fmt.Errorf("opening or closing %s %s: %w", sub.Kind, sub.Name, err)
	}
	return nil
}

// Get reads one subject; ErrNotFound. A settle that asks before it reads the first fact
// sees that generation whole.
func (s Subjects) Get(ctx context.Context, sub Subject) (SubjectState, error) {
	row, err := new(db.Queries).GetSubject(ctx, s.db.Read, db.GetSubjectParams{
		RepoKey: sub.RepoKey, Kind: string(sub.Kind), Name: sub.Name,
	})
	if err != nil {
		return SubjectState{}, notFound(err, "reading %s %s", sub.Kind, sub.Name)
	}
	return subject(row), nil
}

// ToSettle lists what a sweep visits: every open subject, and closed ones whose
// last facts no settle has seen.
func (s Subjects) ToSettle(ctx context.Context) ([]SubjectState, error) {
	rows, err := new(db.Queries).ListSubjectsToSettle(ctx, s.db.Read)
	if err != nil {
		return nil, fmt.Errorf("listing what to settle: %w", err)
	}
	out := make([]SubjectState, len(rows))
	for i, row := range rows {
		out[i] = subject(row)
	}
	return out, nil
}

func subject(row db.Subject) SubjectState {
	return SubjectState{
		Subject:    Subject{RepoKey: row.RepoKey, Kind: SubjectKind(row.Kind), Name: row.Name},
		Generation: row.Generation, Settled: row.SettledGeneration, Open: row.Open,
	}
}
