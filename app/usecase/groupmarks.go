package usecase

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/run"
)

// groupsAt is where the open groups of one environment stand on a ledger.
type groupsAt struct {
	st          *Stage
	site        *Site
	prefix, env string
}

func (st *Stage) groupsOf(site *Site, member, env string) groupsAt {
	return groupsAt{st, site, project.LedgerPrefix(member), env}
}

// ReadGroups reads which groups of an env did not end.
func ReadGroups(snap *ledger.Snapshot, prefix, env string) (record.Groups, error) {
	groups, found, err := groupsIn(snap, record.GroupsPath(prefix, env))
	if err == nil && !found {
		groups.Env = env
	}
	return groups, err
}

// groupsIn reads one record.
func groupsIn(snap *ledger.Snapshot, path string) (groups record.Groups, found bool, err error) {
	data, found, err := snap.Read(path)
	_, unfit := errors.AsType[*git.UnfitError](err)
	if err != nil && !unfit || !found && !unfit {
		return record.Groups{}, false, err
	}
	if err == nil {
		groups, err = record.ParseGroups(path, data)
	}
	if err != nil {
		return record.Groups{}, false, GroupsUnreadableError{path, err}
	}
	return groups, true, nil
}

// GroupsUnreadableError is a record of open groups that says nothing for certain, until it is
// as it was before. No unlock helps.
type GroupsUnreadableError struct {
	path string
	why  error
}

func (g GroupsUnreadableError) Unwrap() error { return &Refusal{Message: g.Error()} }

func (g GroupsUnreadableError) Error() string {
	return fmt.Sprintf("%s on the branch %s can't be read: %v. It says which applies of groups did not end, so nothing of its environment is applied until it can. "+
		"Its history there says who wrote it. Restore it as it was before, by a new commit on that branch, and apply again.", g.path, ledger.Branch, g.why)
}

// read is the record as the remote has it now.
func (at groupsAt) read(ctx context.Context) (record.Groups, error) {
	snap, err := at.site.Ledger.Snapshot(ctx)
	if err != nil {
		return record.Groups{}, err
	}
	return ReadGroups(snap, at.prefix, at.env)
}

// change makes a move of the record. It returns when the remote has it. What could not be
// read again is not written: nobody could take it away.
func (at groupsAt) change(ctx context.Context, message string, move func(*record.Groups) (changed bool)) error {
	return landed(at.site.Ledger.Update(ctx, message, func(snap *ledger.Snapshot) ([]ledger.File, error) {
		groups, err := ReadGroups(snap, at.prefix, at.env)
		if err != nil || !move(&groups) {
			return nil, err
		}
		f := ledger.File{Path: record.GroupsPath(at.prefix, at.env), Content: groups.JSON()}
		if _, err := record.ParseGroups(f.Path, f.Content); err != nil {
			return nil, err
		}
		return []ledger.File{f}, nil
	}))
}

// mark has everybody see the apply of a group from before it starts until its members
// have their states: what it makes meanwhile is known to this machine alone. What ends it
// after a crash takes the mark away too, by the same name.
func (at groupsAt) mark(ctx context.Context, g *GroupPlan, commit, run string, t *engine.GroupTarget) {
	ctx = context.WithoutCancel(ctx)
	t.Begun = func(journal string) error {
		machine, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("naming this machine: %w", err)
		}
		err = at.change(ctx, "Group apply begins", func(groups *record.Groups) bool {
			return groups.Begin(record.OpenGroup{
				ID: g.mark(), Group: g.ID, Members: g.Members, Commit: commit, Run: run,
				Machine: machine, Journal: journal, StartedAt: gate.Timestamp(at.st.Now()),
			})
		})
		if err != nil {
			return fmt.Errorf("noting on the ledger that the apply of %s begins: %w", g, err)
		}
		return nil
	}
	t.Settled = func() error {
		err := at.change(ctx, "Group apply ended", func(groups *record.Groups) bool { return groups.End(g.mark()) })
		if err != nil {
			return fmt.Errorf("noting on the ledger that the apply of %s ended: %w", g, err)
		}
		return nil
	}
}

// mark is the word by which everybody names the apply of the group: the name of its
// run's directory is of this apply alone.
func (g *GroupPlan) mark() string {
	sum := sha256.Sum256([]byte(filepath.Base(g.RunDir)))
	return hex.EncodeToString(sum[:6])
}

// openGroups are why members can't be planned or applied: an apply of a group that they
// are in did not give them their states, and nothing here can end it.
type openGroups map[string]error

// openGroupError is the reason, typed: the mark is what has to go before.
type openGroupError struct {
	error

	mark string
}

func (o openGroupError) Unwrap() error { return o.error }

// add has all members of a group wait.
func (o openGroups) add(members []string, mark string, why error) {
	for _, name := range members {
		if o[name] == nil {
			o[name] = openGroupError{why, mark}
		}
	}
}

// spread has everything that is declared wait where one that waits is not declared any
// more: renamed, it would be planned by another name from the state that lacks what its
// group made (soundness I12).
func (o openGroups) spread(declared []string) {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if slices.Contains(declared, name) {
			continue
		}
		var mark string
		if open, ok := errors.AsType[openGroupError](o[name]); ok {
			mark = open.mark
		}
		o.add(declared, mark, Refusef("%v. This commit declares no root %s, and which of its roots has that state now can't be told, so all of them wait", o[name], name))
	}
}

// of is why one of the members waits, nil when none does.
func (o openGroups) of(members ...string) error {
	for _, name := range members {
		if o[name] != nil {
			return o[name]
		}
	}
	return nil
}

// behind is why a planned member waits: for its own state, or for that of what it reads.
func (o openGroups) behind(proj project.Project, name string, m *PlannedMember) error {
	if why := o.of(name); why != nil {
		return why
	}
	for _, c := range proj.Components {
		reads := slices.ContainsFunc(m.Reads, func(r run.InputRead) bool { return r.From == c.Name }) ||
			slices.ContainsFunc(m.Unknown, func(r project.Read) bool { return r.Component == c.Name })
		for _, s := range c.Steps() {
			if why := o.of(memberName(c, s)); reads && s.RootOf() != "" && why != nil {
				return why
			}
		}
	}
	return nil
}

// openElsewhere is what people are told of a mark whose journal is not here.
func (e *groupEnds) openElsewhere(o record.OpenGroup) error {
	again := "Start chant there again"
	if e.from != nil {
		again = "Run chant components pr-env for this pull request there again, to apply or with --destroy"
	}
	return Refusef("%s is neither planned nor applied in %s: an apply of it at commit %s%s, begun %s on %s, is not seen to have ended, and what it made is in no state. "+
		"Its journal is %s of that machine. %s, on the same files, and it ends by itself. %s",
		o, e.env.Name, project.Short(o.Commit), inRun(o.Run), o.StartedAt, o.Machine, o.Journal, again, e.answerFor("the machine or those files are gone for good", o.ID))
}

// answerFor is how people go on where nothing can end a group any more.
func (e *groupEnds) answerFor(lost, mark string) string {
	return fmt.Sprintf("If %s, %s, and then %s", lost, e.mendByHand(), unlockLine(mark))
}

// mendByHand is what is to be done where what was made is in no state. A pull request's
// environment takes nothing over: what exists is not imported into it, but deleted.
func (e *groupEnds) mendByHand() string {
	if e.from != nil {
		return "nothing else ends it: delete by hand what it made, since no state names that and --destroy does not find it"
	}
	return "compare the state of each of these roots with what exists, import what is missing"
}

func unlockLine(mark string) string {
	return fmt.Sprintf("have an administrator comment: chant unlock %s (or whoever may write the ledger run that in a checkout)", mark)
}

func inRun(token string) string {
	if token == "" {
		return ""
	}
	return ", run " + project.Short(token)
}
