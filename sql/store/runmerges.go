package store

import (
	"context"
	"fmt"

	"github.com/chant-bot/chant/sql/db"
)

// Carries notes that a run carries merges, by their commits. The newest run that
// does so is found by Carrying.
func (s Runs) Carries(ctx context.Context, on Conn, t RunTarget, id int64, merges []string) error {
	for _, commit := range merges {
		err := new(db.Queries).CarryMerge(ctx, on, db.CarryMergeParams{
			RepoKey: t.RepoKey, Env: t.Env, Member: t.Member, CommitSha: commit, RunID: id,
		})
		if err != nil {
			return fmt.Errorf("noting that run %d carries %s: %w", id, commit, err)
		}
	}
	return nil
}

// Carrying reads the newest run of a target that carries a merge; ErrNotFound.
func (s Runs) Carrying(ctx context.Context, t RunTarget, merge string) (Run, error) {
	row, err := new(db.Queries).RunCarrying(ctx, s.db.Read, db.RunCarryingParams{
		RepoKey: t.RepoKey, Env: t.Env, Member: t.Member, CommitSha: merge,
	})
	return run(row, err)
}

// InStatus reads every run in a status, oldest first.
func (s Runs) InStatus(ctx context.Context, status string) ([]Run, error) {
	rows, err := new(db.Queries).RunsInStatus(ctx, s.db.Read, status)
	if err != nil {
		return nil, fmt.Errorf("listing runs that are %s: %w", status, err)
	}
	out := make([]Run, len(rows))
	for i, row := range rows {
		if out[i], err = run(row, nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}
