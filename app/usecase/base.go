package usecase

import (
	"context"

	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
)

// baseOf is where the change is measured from (pr-loop §6.4, step 2): the commit
// last applied. Where nothing was applied yet it is the furthest back of what the
// ledger and the caller name, so that what waited, failed or was tried before
// stays part of the change until it is applied; a wider range plans more and
// applies nothing twice, since what is applied already plans empty. Only where
// none of them is below the commit is it the green commit before, else the
// parent.
func baseOf(commit, given string, line []git.Commit, attempt *record.Attempt, applied *record.Apply, first *record.Base, counting green.Counting) string {
	if applied != nil {
		return applied.Commit
	}
	named := map[string]bool{given: given != ""}
	if attempt != nil {
		named[attempt.Base] = true
	}
	if first != nil {
		named[first.Commit] = true
	}
	below, parent, before, furthest := false, "", "", ""
	for _, c := range line {
		if below && named[c.SHA] {
			furthest = c.SHA
		}
		if below && before == "" && counting.Green[c.SHA] {
			before = c.SHA
		}
		if c.SHA == commit {
			below, parent = true, c.Parent
		}
	}
	for _, base := range []string{furthest, given, before} {
		if base != "" {
			return base
		}
	}
	return parent
}

// readBase reads from where an env was first measured, nil when it never was.
func readBase(snap *ledger.Snapshot, prefix, env string) (*record.Base, error) {
	data, found, err := snap.Read(record.BasePath(prefix, env))
	if err != nil || !found {
		return nil, err
	}
	b, err := record.ParseBase(data)
	if err != nil {
		return nil, err
	}
	return &b, nil
}

// recordedFrom is the commit before the furthest back of those that are recorded,
// nil for none: what they merged before anything went green would else be no part
// of the first change (soundness I8).
func recordedFrom(snap *ledger.Snapshot, prefix, env string, line []git.Commit) (*record.Base, error) {
	var first *record.Base
	since := 0
	for _, c := range line {
		_, found, err := snap.Read(record.MergePath(prefix, env, c.SHA))
		if err != nil {
			return nil, err
		}
		if since++; found {
			first, since = &record.Base{Env: env, Commit: c.Parent}, 0
		}
		if since > firstContact { // recording began no further back
			break
		}
	}
	return first, nil
}

// keepBase writes from where an env of which nothing was applied yet is measured,
// before anything is planned, once. Without it §6.4 step 2 would measure the next
// green commit from this one, whatever becomes of this one, and its changes would
// be lost (soundness I8). It is in the ledger, where a server and a pipeline that
// take turns both see it, and means nothing any more once something was applied.
func (st *Stage) keepBase(ctx context.Context, in ApplyInput, t Target) error {
	if !t.first || t.Done {
		return nil
	}
	snap, err := in.Site.Snapshot(ctx)
	if err != nil {
		return err
	}
	if kept, err := readBase(snap, t.Prefix, in.Env); err != nil || kept != nil && kept.Commit == t.base {
		return err
	}
	path := record.BasePath(t.Prefix, in.Env)
	written, err := in.Site.Ledger.Update(ctx, "Base of the first apply", func(snap *ledger.Snapshot) ([]ledger.File, error) {
		kept, err := readBase(snap, t.Prefix, in.Env)
		if err != nil || kept != nil && kept.Commit == t.base {
			return nil, err
		}
		if kept != nil && furtherBack(t.line, kept.Commit, t.base) {
			return nil, nil
		}
		return []ledger.File{{Path: path, Content: record.Base{Env: in.Env, Commit: t.base}.JSON()}}, nil
	})
	return landed(written, err)
}

// furtherBack tells whether a stands below b on the line, newest first.
func furtherBack(line []git.Commit, a, b string) bool {
	seen := false
	for _, c := range line {
		if seen && c.SHA == a {
			return true
		}
		seen = seen || c.SHA == b
	}
	return false
}

// AppliedWith finds the record of the apply that carried a merge, whoever made it;
// nil when there is none. Applies follow one another along the branch, so it is
// the first at or above the merge.
func (s *Site) AppliedWith(ctx context.Context, snap *ledger.Snapshot, branch, member, env, merge string) (*record.Apply, error) {
	prefix := project.LedgerPrefix(member)
	_, newest, err := readProgress(snap, prefix, env)
	if err != nil || newest == nil {
		return nil, err
	}
	_, line, err := s.lineOf(ctx, branch)
	if err != nil {
		return nil, err
	}
	if newest.Commit != merge && !furtherBack(line, merge, newest.Commit) {
		return nil, nil //nolint:nilnil // none is an answer
	}
	carrying := newest
	for _, c := range line { // newest first: the last one found stands lowest
		data, found, err := snap.Read(record.AppliesPath(prefix, env, c.SHA))
		if err != nil {
			return nil, err
		}
		if found {
			a, err := record.ParseApply(data)
			if err != nil {
				return nil, err
			}
			carrying = &a
		}
		if c.SHA == merge {
			break
		}
	}
	if !furtherBack(line, carrying.Base, merge) {
		return nil, nil //nolint:nilnil // it was measured from above the merge
	}
	return carrying, nil
}

// GreenSince tells whether a commit of a branch, or one after it, is green.
func (s *Site) GreenSince(ctx context.Context, branch, commit string) (bool, error) {
	_, line, err := s.lineOf(ctx, branch)
	if err != nil {
		return false, err
	}
	tags, err := s.greenTags(ctx)
	if err != nil {
		return false, err
	}
	last, found := green.Last(shas(line), tags)
	return found && (last == commit || furtherBack(line, commit, last)), nil
}
