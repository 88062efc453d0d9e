package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/drivers/git"
)

// Snapshot is the ledger at one tip: what it answers never changes, whatever is
// written meanwhile. It may be used concurrently and is good for as long as the
// context it was made with.
type Snapshot struct {
	ctx   context.Context //nolint:containedctx // the contract's Read and List take none
	clone *git.Clone
	tip   string
	tree  string
	added map[string][]byte // by writers before this one in the same group
}

// Snapshot fetches, refuses a ledger that can't be trusted, and pins the tip.
// git.ErrUnreachable, ErrDiverged and ErrRewound mean that nothing is known of what
// was approved; a ledger that is not there yet reads as empty.
func (l *Ledger) Snapshot(ctx context.Context) (*Snapshot, error) {
	return l.pinned(ctx, l.sync)
}

// Fetched is Snapshot where Refspec was fetched a moment ago, with other things.
func (l *Ledger) Fetched(ctx context.Context) (*Snapshot, error) {
	return l.pinned(ctx, l.moveOn)
}

func (l *Ledger) pinned(ctx context.Context, look func(context.Context) (state, error)) (*Snapshot, error) {
	s, err := look(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	return l.at(ctx, s.tip)
}

func (l *Ledger) at(ctx context.Context, tip string) (*Snapshot, error) {
	s := &Snapshot{ctx: ctx, clone: l.clone, tip: tip}
	if tip == "" {
		return s, nil
	}
	var err error
	if s.tree, err = l.clone.TreeOf(ctx, tip); err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	return s, nil
}

// Tip is the commit the snapshot reads from, "" for a ledger that is not there.
func (s *Snapshot) Tip() string { return s.tip }

// Read returns a file's content; a file that is not there is no error.
func (s *Snapshot) Read(path string) ([]byte, bool, error) {
	if content, found := s.added[path]; found {
		return slices.Clone(content), true, nil
	}
	if s.tree == "" {
		return nil, false, nil
	}
	content, found, err := s.clone.ReadTreeFile(s.ctx, s.tree, path)
	if err != nil {
		return nil, false, fmt.Errorf("reading %s on %s: %w", path, Branch, err)
	}
	return content, found, nil
}

// List names what a directory holds, sorted; a directory in it ends in "/". A
// directory that is not there is empty. "" is the root.
func (s *Snapshot) List(dir string) ([]string, error) {
	dir = strings.Trim(dir, "/")
	entries, _, err := s.clone.ListSubtree(s.ctx, s.tree, dir)
	if err != nil {
		return nil, fmt.Errorf("listing %s on %s: %w", dir, Branch, err)
	}
	prefix := ""
	if dir != "" {
		prefix = dir + "/"
	}
	names := map[string]bool{}
	for _, e := range entries {
		name := strings.TrimPrefix(e.Path, prefix)
		if e.Type == "tree" {
			name += "/"
		}
		names[name] = true
	}
	for path := range s.added {
		if rest, below := strings.CutPrefix(path, prefix); below {
			if first, _, deeper := strings.Cut(rest, "/"); deeper {
				names[first+"/"] = true
			} else {
				names[first] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// with is the same tip seen after files were added to it.
func (s *Snapshot) with(ctx context.Context, added map[string][]byte) *Snapshot {
	next := *s
	next.ctx, next.added = ctx, maps.Clone(added)
	return &next
}
