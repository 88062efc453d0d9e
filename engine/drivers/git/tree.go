package git

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// treeCacheSize bounds the trees kept in memory, in bytes. Objects never
// change, so a kept one is never stale.
const treeCacheSize = 64 << 20

const (
	modeFile    = "100644"
	modeExec    = "100755"
	modeTree    = "40000" // as a tree object spells it
	modeLink    = "120000"
	modeGitlink = "160000"
)

// entry is one line of a tree object.
type entry struct {
	mode, name string
	oid        string // hex
}

func (e entry) isTree() bool { return e.mode == modeTree }

// rawEntry is an entry inside a tree object, not copied out of it.
type rawEntry struct{ mode, name, oid []byte }

func (r rawEntry) entry() entry {
	return entry{mode: string(r.mode), name: string(r.name), oid: hex.EncodeToString(r.oid)}
}

var errBadTree = errors.New("tree object is malformed")

// cutEntry splits the first entry off a tree object.
func cutEntry(raw []byte, idSize int) (e rawEntry, rest []byte, err error) {
	space := bytes.IndexByte(raw, ' ')
	if space <= 0 {
		return e, nil, errBadTree
	}
	end := bytes.IndexByte(raw[space:], 0)
	if end <= 1 || len(raw) < space+end+1+idSize {
		return e, nil, errBadTree
	}
	end += space
	e = rawEntry{mode: raw[:space], name: raw[space+1 : end], oid: raw[end+1 : end+1+idSize]}
	return e, raw[end+1+idSize:], nil
}

// parseTree lists a tree object's entries in its own order.
func parseTree(raw []byte, idSize int) ([]entry, error) {
	var entries []entry
	for len(raw) > 0 {
		e, rest, err := cutEntry(raw, idSize)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e.entry())
		raw = rest
	}
	return entries, nil
}

// findEntry looks one name up without copying the others out.
func findEntry(raw []byte, name string, idSize int) (entry, bool, error) {
	for len(raw) > 0 {
		e, rest, err := cutEntry(raw, idSize)
		if err != nil {
			return entry{}, false, err
		}
		if string(e.name) == name {
			return e.entry(), true, nil
		}
		raw = rest
	}
	return entry{}, false, nil
}

// editTree returns the tree object with entries added or replaced, every other
// entry kept as it stands. An edit never turns a file into a directory or back.
func editTree(raw []byte, edits []entry, idSize int) ([]byte, error) {
	edits = slices.Clone(edits)
	slices.SortFunc(edits, func(a, b entry) int { return strings.Compare(sortKey(a), sortKey(b)) })
	out := make([]byte, 0, len(raw)+len(edits)*64)
	for len(raw) > 0 {
		e, rest, err := cutEntry(raw, idSize)
		if err != nil {
			return nil, err
		}
		replaced := false
		for len(edits) > 0 {
			order := compareRaw(edits[0], e)
			if order > 0 {
				break
			}
			if out, err = appendEntry(out, edits[0]); err != nil {
				return nil, err
			}
			edits = edits[1:]
			replaced = replaced || order == 0
		}
		if !replaced {
			out = append(out, raw[:len(raw)-len(rest)]...)
		}
		raw = rest
	}
	for _, e := range edits {
		var err error
		if out, err = appendEntry(out, e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sortKey orders entries as git does: a directory as if its name ended in "/".
func sortKey(e entry) string {
	if e.isTree() {
		return e.name + "/"
	}
	return e.name
}

// compareRaw compares by sortKey without copying the raw entry's name.
func compareRaw(a entry, b rawEntry) int {
	shared := min(len(a.name), len(b.name))
	if c := strings.Compare(a.name[:shared], string(b.name[:shared])); c != 0 {
		return c
	}
	return int(byteAfter(a.name, shared, a.isTree())) - int(byteAfter(string(b.name), shared, string(b.mode) == modeTree))
}

func byteAfter(name string, at int, isTree bool) byte {
	switch {
	case at < len(name):
		return name[at]
	case isTree:
		return '/'
	}
	return 0
}

func appendEntry(out []byte, e entry) ([]byte, error) {
	id, err := hex.DecodeString(e.oid)
	if err != nil {
		return nil, fmt.Errorf("object id %q: %w", e.oid, err)
	}
	out = append(out, e.mode...)
	out = append(out, ' ')
	out = append(out, e.name...)
	out = append(out, 0)
	return append(out, id...), nil
}

// treeCache keeps tree objects by id up to a bound, then starts afresh.
type treeCache struct {
	mu    sync.Mutex
	bound int
	size  int
	trees map[string][]byte
}

func newTreeCache(bound int) *treeCache {
	return &treeCache{bound: bound, trees: map[string][]byte{}}
}

func (t *treeCache) get(oid string) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	raw, found := t.trees[oid]
	return raw, found
}

func (t *treeCache) put(oid string, raw []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, found := t.trees[oid]; found || len(raw) > t.bound/4 {
		return
	}
	if t.size+len(raw) > t.bound {
		clear(t.trees)
		t.size = 0
	}
	t.trees[oid] = raw
	t.size += len(raw)
}
