package git

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
)

// TreeOf is the id of a commit's tree.
func (c *Clone) TreeOf(ctx context.Context, commit string) (string, error) {
	o, err := c.cat.info(ctx, commit+"^{tree}")
	if err != nil {
		return "", fmt.Errorf("resolving the tree of %q: %w", commit, err)
	}
	return o.oid, nil
}

// ReadFile reads a file of a commit. A path that is not there is no error; one
// that is a directory, a symbolic link or a submodule is.
func (c *Clone) ReadFile(ctx context.Context, commit, path string) ([]byte, bool, error) {
	tree, err := c.TreeOf(ctx, commit)
	if err != nil {
		return nil, false, err
	}
	return c.ReadTreeFile(ctx, tree, path)
}

// ReadTreeFile is ReadFile from a tree's id; the empty id is the empty tree.
func (c *Clone) ReadTreeFile(ctx context.Context, tree, path string) ([]byte, bool, error) {
	e, found, err := c.lookup(ctx, tree, path)
	if err != nil || !found {
		return nil, false, err
	}
	if e.Mode != modeFile && e.Mode != modeExec {
		return nil, false, &UnfitError{fmt.Sprintf("reading %s: it is %s, not a file", path, kindOf(e.Mode))}
	}
	data, err := c.ReadBlob(ctx, e.OID)
	if err != nil {
		return nil, false, fmt.Errorf("reading %s: %w", path, err)
	}
	return data, true, nil
}

// ListTree lists one directory of a commit in git's order, "" or "." being the
// root. A directory that is not there is ErrUnknownRevision.
func (c *Clone) ListTree(ctx context.Context, commit, dir string) ([]TreeEntry, error) {
	tree, err := c.TreeOf(ctx, commit)
	if err != nil {
		return nil, err
	}
	entries, found, err := c.ListSubtree(ctx, tree, dir)
	if err == nil && !found {
		err = fmt.Errorf("listing %s of %s: %w", dir, commit, ErrUnknownRevision)
	}
	return entries, err
}

// ListSubtree is ListTree from a tree's id; a directory that is not there is no
// error.
func (c *Clone) ListSubtree(ctx context.Context, tree, dir string) ([]TreeEntry, bool, error) {
	dir = cleanPath(dir)
	if dir != "" {
		e, found, err := c.lookup(ctx, tree, dir)
		if err != nil || !found {
			return nil, false, err
		}
		if e.Type != "tree" {
			return nil, false, &UnfitError{fmt.Sprintf("listing %s: it is %s, not a directory", dir, kindOf(e.Mode))}
		}
		tree = e.OID
	}
	t, err := c.readTree(ctx, tree)
	if err != nil {
		return nil, false, fmt.Errorf("listing %q: %w", dir, err)
	}
	list := make([]TreeEntry, 0, len(t.starts))
	for _, e := range t.entries() {
		list = append(list, treeEntry(e, dir))
	}
	return list, true, nil
}

// ObjectIDs finds the object id of each path in a commit; a path that is not
// there is not in the result. A directory's id covers all below it.
func (c *Clone) ObjectIDs(ctx context.Context, commit string, paths ...string) (map[string]string, error) {
	tree, err := c.TreeOf(ctx, commit)
	if err != nil {
		return nil, err
	}
	ids := make(map[string]string, len(paths))
	for _, p := range paths {
		if cleanPath(p) == "" {
			ids[p] = tree
			continue
		}
		e, found, err := c.lookup(ctx, tree, p)
		if err != nil {
			return nil, err
		}
		if found {
			ids[p] = e.OID
		}
	}
	return ids, nil
}

// lookup walks down a tree. It asks for objects by id only: a path never
// reaches git as a name to interpret.
func (c *Clone) lookup(ctx context.Context, tree, at string) (TreeEntry, bool, error) {
	names := strings.Split(cleanPath(at), "/")
	for i, name := range names {
		t, err := c.readTree(ctx, tree)
		if err != nil {
			return TreeEntry{}, false, fmt.Errorf("reading %s: %w", at, err)
		}
		e, found := t.find(name)
		if !found || i < len(names)-1 && !e.isTree() {
			return TreeEntry{}, false, nil
		}
		if i == len(names)-1 {
			return treeEntry(e, strings.Join(names[:i], "/")), true, nil
		}
		tree = e.oid
	}
	return TreeEntry{}, false, errors.New("reading an empty path")
}

func treeEntry(e entry, dir string) TreeEntry {
	t := TreeEntry{Mode: e.mode, Type: "blob", OID: e.oid, Path: join(dir, e.name)}
	switch e.mode {
	case modeTree:
		t.Mode, t.Type = "040000", "tree"
	case modeGitlink:
		t.Type = "commit"
	}
	return t
}

func kindOf(mode string) string {
	switch mode {
	case "040000":
		return "a directory"
	case modeLink:
		return "a symbolic link"
	case modeGitlink:
		return "a submodule"
	}
	return "of mode " + mode
}

// cleanPath removes what does not name anything; the root is "". A path that
// leads out of the tree names nothing in it.
func cleanPath(p string) string {
	if p = path.Clean(p); p == "." {
		return ""
	}
	return p
}
