package git

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/drivers/exec"
)

// ChangedFiles lists the paths that differ between two commits, sorted; a
// rename is two paths (pr-loop §5.2). Trees are compared as they are read, since a
// process would cost more than most changes.
func (c *Clone) ChangedFiles(ctx context.Context, base, head string) ([]string, error) {
	base, err := c.TreeOf(ctx, base)
	if err != nil {
		return nil, err
	}
	if head, err = c.TreeOf(ctx, head); err != nil {
		return nil, err
	}
	d := &comparison{clone: c}
	if err := d.directory(ctx, base, head, ""); err != nil {
		return nil, fmt.Errorf("comparing the trees %s and %s: %w", base, head, err)
	}
	slices.Sort(d.paths)
	return d.paths, nil
}

// comparison collects the paths that differ. A few trees can name more paths than
// memory holds, so it ends where a process would have been stopped.
type comparison struct {
	clone *Clone
	paths []string
	size  int64 // bytes
}

func (d *comparison) add(path string) error {
	d.paths = append(d.paths, path)
	if d.size += int64(len(path)) + 1; d.size > exec.DefaultMaxOutput {
		return fmt.Errorf("the names of what differs are more than %d bytes", exec.DefaultMaxOutput)
	}
	return nil
}

// directory compares two trees by their ids, "" for none, that stand at a path.
func (d *comparison) directory(ctx context.Context, old, now, at string) error {
	if err := context.Cause(ctx); err != nil || old == now {
		return err
	}
	a, err := d.clone.readTree(ctx, old)
	if err != nil {
		return err
	}
	b, err := d.clone.readTree(ctx, now)
	if err != nil {
		return err
	}
	for i, j := 0, 0; i < len(a.starts) || j < len(b.starts); {
		order := a.against(i, b, j)
		if order == 0 && bytes.Equal(a.line(i), b.line(j)) {
			i, j = i+1, j+1
			continue
		}
		var gone, come *entry
		if order <= 0 {
			e := a.entry(i)
			gone, i = &e, i+1
		}
		if order >= 0 {
			e := b.entry(j)
			come, j = &e, j+1
		}
		if err := d.entry(ctx, gone, come, at); err != nil {
			return err
		}
	}
	return nil
}

// entry is one name that differs: what it was and what it is, nil for nothing.
func (d *comparison) entry(ctx context.Context, gone, come *entry, at string) error {
	var trees [2]string
	name, file := "", false
	for i, e := range []*entry{gone, come} {
		switch {
		case e == nil:
		case e.isTree():
			trees[i], name = e.oid, e.name
		case strings.HasPrefix(e.mode, "0"):
			return fmt.Errorf("%w: the mode %s of %q", errBadTree, e.mode, join(at, e.name))
		default:
			name, file = e.name, true
		}
	}
	if file {
		return d.add(join(at, name)) // a directory of its name stands elsewhere in the order
	}
	return d.directory(ctx, trees[0], trees[1], join(at, name))
}
