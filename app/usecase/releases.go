package usecase

import (
	"context"

	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/release"
)

// Releases reads the releases of an environment, and how many of its lines are not
// understood.
func Releases(ctx context.Context, site *Site, member, env string) ([]release.Record, int, error) {
	path, err := release.Path(project.LedgerPrefix(member), env)
	if err != nil {
		return nil, 0, &Refusal{Message: err.Error()}
	}
	snap, err := site.Ledger.Snapshot(ctx)
	if err != nil {
		return nil, 0, err
	}
	data, _, err := snap.Read(path)
	if err != nil {
		return nil, 0, err
	}
	records, skipped := release.Parse(data)
	return records, skipped, nil
}

// AddRelease appends one release, stamped now. One that did not reach the remote is
// an error: what reads it next may run elsewhere.
func (st *Stage) AddRelease(ctx context.Context, site *Site, member string, r *release.Record) error {
	path, err := release.Path(project.LedgerPrefix(member), r.Env)
	if err != nil {
		return err
	}
	r.Timestamp = gate.Timestamp(st.Now())
	if err := r.Check(); err != nil {
		return err
	}
	return landed(site.Ledger.Update(ctx, "Release record", func(*ledger.Snapshot) ([]ledger.File, error) {
		return []ledger.File{{Path: path, Content: r.Line(), Append: true}}, nil
	}))
}
