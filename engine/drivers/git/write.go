package git

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Signature is who did something, and when.
type Signature struct {
	Person

	At time.Time
}

// CommitSpec is a commit to make. Times are stored to the second, in UTC.
type CommitSpec struct {
	Tree              string
	Parents           []string
	Author, Committer Signature
	Message           string
}

// WriteCommit stores a commit; no ref moves.
func (c *Clone) WriteCommit(s CommitSpec) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", s.Tree)
	for _, p := range s.Parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s", s.Author.line(), s.Committer.line(), s.Message)
	if !strings.HasSuffix(s.Message, "\n") {
		b.WriteByte('\n')
	}
	return c.writeObject("commit", []byte(b.String()))
}

func (s Signature) line() string {
	return fmt.Sprintf("%s <%s> %d +0000", headerSafe(s.Name), headerSafe(s.Email), s.At.Unix())
}

// headerSafe drops what would end a name or a header line early.
func headerSafe(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == '<' || r == '>' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// WriteTree stores the tree that base becomes with the given files added or
// replaced, and returns its id; base is a tree's id, "" for the empty one.
// Everything else of base is kept as it stands. Paths are slash-separated. A
// file never replaces a directory, nor a directory a file.
func (c *Clone) WriteTree(ctx context.Context, base string, files map[string][]byte) (string, error) {
	root := &treeEdit{}
	for path, content := range files {
		if err := CheckPath(path); err != nil {
			return "", err
		}
		oid, err := c.WriteBlob(content)
		if err != nil {
			return "", fmt.Errorf("storing %s: %w", path, err)
		}
		if !root.add(strings.Split(path, "/"), oid) {
			return "", fmt.Errorf("storing %s: it is both a file and a directory", path)
		}
	}
	return c.applyEdit(ctx, base, "", root)
}

// CheckPath tells whether a path may stand in a tree we write or check out.
func CheckPath(path string) error {
	for name := range strings.SplitSeq(path, "/") {
		if err := checkName(name); err != nil {
			return fmt.Errorf("path %q: %w", path, err)
		}
	}
	return nil
}

func checkName(name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return fmt.Errorf("%q is no file name", name)
	case strings.ContainsAny(name, "/\x00\n"):
		return fmt.Errorf("%q holds a character that no file name may hold", name)
	case strings.EqualFold(name, ".git"):
		return fmt.Errorf("%q is git's own", name)
	}
	return nil
}

// treeEdit is what is to change in one directory and below.
type treeEdit struct {
	files map[string]string // name to blob id
	dirs  map[string]*treeEdit
}

func (t *treeEdit) add(path []string, oid string) bool {
	name := path[0]
	if len(path) == 1 {
		if t.dirs[name] != nil {
			return false
		}
		if t.files == nil {
			t.files = map[string]string{}
		}
		t.files[name] = oid
		return true
	}
	if t.files[name] != "" {
		return false
	}
	if t.dirs == nil {
		t.dirs = map[string]*treeEdit{}
	}
	if t.dirs[name] == nil {
		t.dirs[name] = &treeEdit{}
	}
	return t.dirs[name].add(path[1:], oid)
}

func (c *Clone) applyEdit(ctx context.Context, base, at string, edit *treeEdit) (string, error) {
	old, err := c.readTree(ctx, base)
	if err != nil {
		return "", fmt.Errorf("reading directory %q: %w", at, err)
	}
	edits := make([]entry, 0, len(edit.files)+len(edit.dirs))
	for name, oid := range edit.files {
		if _, err := replaced(old, at, name, false); err != nil {
			return "", err
		}
		edits = append(edits, entry{mode: modeFile, name: name, oid: oid})
	}
	for name, below := range edit.dirs {
		before, err := replaced(old, at, name, true)
		if err != nil {
			return "", err
		}
		oid, err := c.applyEdit(ctx, before, join(at, name), below)
		if err != nil {
			return "", err
		}
		edits = append(edits, entry{mode: modeTree, name: name, oid: oid})
	}
	edited, err := old.edit(edits)
	if err != nil {
		return "", fmt.Errorf("writing directory %q: %w", at, err)
	}
	oid, err := c.writeObject("tree", edited.raw)
	if err != nil {
		return "", err
	}
	c.trees.put(oid, edited)
	return oid, nil
}

// replaced finds the id that name stands for now, "" when it is new.
func replaced(t *tree, at, name string, wantTree bool) (string, error) {
	old, found := t.find(name)
	if found && old.isTree() != wantTree {
		return "", fmt.Errorf("%s is already there as the other of file and directory", join(at, name))
	}
	return old.oid, nil
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
