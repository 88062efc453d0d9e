package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/gate"
)

// maxAttempts bounds how often a group is decided and written again because
// another writer was faster.
const maxAttempts = 10

// errAgain says that another writer was faster: decide on what stands now.
var errAgain = errors.New("another writer was faster")

// serve writes one group, again as often as others are faster.
func (l *Ledger) serve(ctx context.Context, group []*request) {
	var last error
	for attempt := range maxAttempts {
		err := l.round(ctx, group)
		if !errors.Is(err, errAgain) {
			l.settle(ctx, group, err)
			return
		}
		last = err
		l.contended.Add(1)
		if !pause(ctx, attempt) {
			break
		}
	}
	l.settle(ctx, group, fmt.Errorf("%w: %w", ErrContended, last))
}

// settle passes a group's failure on. A group of several is tried one by one
// first, so that a write that can't be made fails nobody else's.
func (l *Ledger) settle(ctx context.Context, group []*request, err error) {
	switch {
	case err == nil:
	case errors.Is(err, errBadGroup) && len(group) > 1:
		for _, r := range group {
			l.serve(ctx, []*request{r})
		}
	default:
		for _, r := range group {
			r.finish(Written{}, err)
		}
	}
}

// pause waits a little longer after each lost attempt, each writer its own
// time; false when ctx ended.
func pause(ctx context.Context, attempt int) bool {
	most := min(20*time.Millisecond<<attempt, time.Second)
	timer := time.NewTimer(rand.N(most)) //nolint:gosec // spreads writers, guards nothing
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// decision is what one member of a group wants.
type decision struct {
	request *request
	wrote   bool
	err     error
}

// round fetches, has each member decide, and writes. When it returns nil every
// member has its outcome. An answer may rest on what a member before it is
// about to write, so none is given out before that is written.
func (l *Ledger) round(ctx context.Context, group []*request) error {
	at, err := l.sync(ctx)
	if errors.Is(err, git.ErrRefMoved) {
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	if err != nil {
		return err
	}
	base, err := l.at(ctx, at.tip)
	if err != nil {
		return err
	}
	decisions, files, message := decideAll(base, group)
	written := Written{Tip: at.tip, Pushed: at.remote != "" && at.remote == at.tip}
	if len(files) > 0 {
		if written, err = l.write(ctx, at, base, files, message); err != nil {
			return err
		}
	}
	for _, d := range decisions {
		switch {
		case d.err != nil:
			d.request.finish(Written{}, d.err)
		case d.wrote:
			d.request.finish(written, nil)
		default:
			d.request.finish(Written{Tip: written.Tip, Pushed: written.Pushed}, nil)
		}
	}
	return nil
}

// decideAll runs the decisions in order of arrival, each on what those before
// it add.
func decideAll(base *Snapshot, group []*request) ([]decision, map[string][]byte, string) {
	var decisions []decision
	var messages []string
	added := map[string][]byte{}
	for _, r := range group {
		seen := base.with(r.ctx, added)
		a, present := r.ask(seen)
		if !present {
			continue
		}
		d := decision{request: r, err: a.err}
		if a.err == nil && len(a.files) > 0 {
			var next map[string][]byte
			if next, d.err = seen.after(a.files); d.err == nil {
				added, d.wrote = next, true
				messages = append(messages, r.message)
			}
		}
		decisions = append(decisions, d)
	}
	return decisions, added, commitMessage(messages)
}

// after is what was added so far with these files on top.
func (s *Snapshot) after(files []File) (map[string][]byte, error) {
	next := s.with(s.ctx, s.added)
	if next.added == nil {
		next.added = map[string][]byte{}
	}
	for _, f := range files {
		if err := git.CheckPath(f.Path); err != nil {
			return nil, err
		}
		content := slices.Clone(f.Content)
		if f.Append {
			if len(f.Content) == 0 || bytes.ContainsAny(f.Content, "\n\r") {
				return nil, fmt.Errorf("appending to %s: a line must be one non-empty line", f.Path)
			}
			old, _, err := next.Read(f.Path)
			if err != nil {
				return nil, err
			}
			content = gate.AppendLine(old, f.Content)
		}
		next.added[f.Path] = content
	}
	return next.added, nil
}

// commitMessage is the common message of a group, or a subject that counts with
// the messages below.
func commitMessage(messages []string) string {
	distinct := slices.Compact(slices.Sorted(slices.Values(messages)))
	if len(distinct) == 1 {
		return distinct[0]
	}
	return fmt.Sprintf("%d ledger records\n\n%s", len(messages), strings.Join(distinct, "\n"))
}

// errBadGroup says that what a group decided can't be written together.
var errBadGroup = errors.New("these files can't be written")

// write makes one commit on exactly the tip that was decided on, and lands it.
func (l *Ledger) write(ctx context.Context, at state, base *Snapshot, files map[string][]byte, message string) (Written, error) {
	tree, err := l.clone.WriteTree(ctx, base.tree, files)
	if err != nil {
		return Written{}, fmt.Errorf("%w: %w", errBadGroup, err)
	}
	if tree == base.tree {
		return Written{Tip: at.tip, Pushed: at.remote != "" && at.remote == at.tip}, nil
	}
	who, err := l.clone.Committer()
	if err != nil {
		return Written{}, err
	}
	by := git.Signature{Person: who, At: l.now()}
	spec := git.CommitSpec{Tree: tree, Author: by, Committer: by, Message: message}
	if at.tip != "" {
		spec.Parents = []string{at.tip}
	}
	commit, err := l.clone.WriteCommit(spec)
	if err != nil {
		return Written{}, fmt.Errorf("writing %s: %w", named(files), err)
	}
	written, err := l.land(ctx, at, commit)
	if err != nil {
		return Written{}, fmt.Errorf("writing %s: %w", named(files), err)
	}
	l.appended.Add(1)
	return written, nil
}

// named lists the paths of a write for people, the first few of many.
func named(files map[string][]byte) string {
	const most = 3
	paths := slices.Sorted(maps.Keys(files))
	if len(paths) <= most {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
}
