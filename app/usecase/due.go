package usecase

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
)

// firstContact is how many first-parent commits are looked back over where none
// was recorded yet, for merges approved before the newest one was seen.
const firstContact = 50

// Unrecorded lists the commits to record, oldest first: those above the newest
// one that is recorded, however many they are.
func (in RecordInput) Unrecorded(ctx context.Context, b Bound, env project.Env) ([]git.Commit, error) {
	snap, err := in.Site.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	for most := firstContact; ; most *= 8 {
		line, err := in.Site.Clone.FirstParents(ctx, in.Tip, git.Walk{Max: most})
		if err != nil {
			return nil, err
		}
		due, met, err := aboveRecorded(snap, b, env, line)
		if err != nil || met {
			return due, err
		}
		begun, err := anyRecorded(snap, b, env)
		if err != nil {
			return nil, err
		}
		// On first contact nothing older is recorded; nor is it where the branch
		// was pushed over everything that is.
		if !begun || len(line) < most {
			return in.beginning(ctx, snap, b, line[:min(len(line), firstContact)])
		}
	}
}

// aboveRecorded lists the commits of a line, newest first, that stand above the
// first recorded one, oldest first; met tells whether there is one. Every
// project of the tip is recorded with every commit, so any of them tells.
func aboveRecorded(snap *ledger.Snapshot, b Bound, env project.Env, line []git.Commit) (due []git.Commit, met bool, err error) {
	for _, c := range line {
		for _, member := range b.projects {
			_, found, err := snap.Read(record.MergePath(project.LedgerPrefix(member), env.Name, c.SHA))
			if err != nil {
				return nil, false, err
			}
			if found {
				slices.Reverse(due)
				return due, true, nil
			}
		}
		if c.Parent != "" { // nothing to measure a root commit from
			due = append(due, c)
		}
	}
	return nil, false, nil
}

// anyRecorded tells whether the ledger holds a merge record of an env at all.
func anyRecorded(snap *ledger.Snapshot, b Bound, env project.Env) (bool, error) {
	for _, member := range b.projects {
		held, err := snap.List(path.Dir(path.Dir(record.MergePath(project.LedgerPrefix(member), env.Name, strings.Repeat("0", 40)))))
		if err != nil || len(held) > 0 {
			return len(held) > 0, err
		}
	}
	return false, nil
}

// beginning lists where recording begins: the newest commit, or those above
// Since, and what older ones merged a pull request that speaks at a gate of ours
// already. Anything else was merged before chant came, and no approval could
// have covered it.
func (in RecordInput) beginning(ctx context.Context, snap *ledger.Snapshot, b Bound, line []git.Commit) ([]git.Commit, error) {
	newest := 1
	if at := slices.IndexFunc(line, func(c git.Commit) bool { return c.SHA == in.Since }); at >= 0 {
		newest = at
	}
	gates, err := pullGates(snap, b)
	if err != nil {
		return nil, err
	}
	var due []git.Commit
	for i, c := range line {
		if c.Parent == "" {
			continue
		}
		take := i < newest
		if !take && len(gates) > 0 {
			change, merged, err := in.Site.mergedBy(ctx, c.SHA, in.Branch)
			if err != nil {
				return nil, err
			}
			take = merged && gates[change.Number]
		}
		if take {
			due = append(due, c)
		}
	}
	slices.Reverse(due)
	return due, nil
}

// pullGates are the pull requests with a gate on the ledger.
func pullGates(snap *ledger.Snapshot, b Bound) (map[int]bool, error) {
	gates := map[int]bool{}
	for _, member := range b.projects {
		files, err := snap.List(path.Dir(gate.Path(project.LedgerPrefix(member), project.OpPull(1, member))))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if n, _, ok := project.PullOf(strings.TrimSuffix(file, ".jsonl")); ok {
				gates[n] = true
			}
		}
	}
	return gates, nil
}
