package git

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sort"
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

func (e entry) sortKey() string {
	if e.isTree() {
		return e.name + "/"
	}
	return e.name
}

var errBadTree = errors.New("tree object is malformed")

// tree is a tree object with the place of each entry in it. A flat directory of
// many files is looked up and rewritten with every file added to it, so neither
// may cost a walk over all names. A tree is never changed once made.
type tree struct {
	raw    []byte
	starts []int32 // where each entry begins
	idSize int
}

// parseTree finds the entries of a tree object and checks their order: lookups
// rely on it, and an entry out of order would be hidden from them.
func parseTree(raw []byte, idSize int) (*tree, error) {
	t := &tree{raw: raw, idSize: idSize, starts: make([]int32, 0, len(raw)/(idSize+16))}
	for at := 0; at < len(raw); {
		space := bytes.IndexByte(raw[at:], ' ')
		if space <= 0 {
			return nil, errBadTree
		}
		end := bytes.IndexByte(raw[at+space:], 0)
		next := at + space + end + 1 + idSize
		if end <= 1 || next > len(raw) {
			return nil, errBadTree
		}
		t.starts = append(t.starts, int32(at))
		if n := len(t.starts); n > 1 {
			// Not t.name, which takes the last entry for all that is left.
			name, isTree := raw[at+space+1:at+space+end], string(raw[at:at+space]) == modeTree
			if t.compare(n-2, name, isTree) >= 0 {
				return nil, fmt.Errorf("%w: %q is not in its place", errBadTree, name)
			}
		}
		at = next
	}
	return t, nil
}

// end is where entry i ends.
func (t *tree) end(i int) int {
	if i+1 < len(t.starts) {
		return int(t.starts[i+1])
	}
	return len(t.raw)
}

func (t *tree) name(i int) (mode, name []byte, isTree bool) {
	line := t.raw[t.starts[i] : t.end(i)-t.idSize-1]
	space := bytes.IndexByte(line, ' ')
	return line[:space], line[space+1:], string(line[:space]) == modeTree
}

func (t *tree) entry(i int) entry {
	mode, name, _ := t.name(i)
	end := t.end(i)
	return entry{mode: string(mode), name: string(name), oid: hex.EncodeToString(t.raw[end-t.idSize : end])}
}

func (t *tree) entries() []entry {
	all := make([]entry, len(t.starts))
	for i := range t.starts {
		all[i] = t.entry(i)
	}
	return all
}

// compare orders entry i against a name as git does: a directory as if its name
// ended in "/".
func (t *tree) compare(i int, name []byte, isTree bool) int {
	_, mine, mineIsTree := t.name(i)
	shared := min(len(mine), len(name))
	if c := bytes.Compare(mine[:shared], name[:shared]); c != 0 {
		return c
	}
	return int(byteAfter(mine, shared, mineIsTree)) - int(byteAfter(name, shared, isTree))
}

// against orders entry i against entry j of another tree; the end of a tree comes
// after all names.
func (t *tree) against(i int, other *tree, j int) int {
	switch {
	case i == len(t.starts):
		return 1
	case j == len(other.starts):
		return -1
	}
	_, name, isTree := other.name(j)
	return t.compare(i, name, isTree)
}

// line is entry i as it is written.
func (t *tree) line(i int) []byte { return t.raw[t.starts[i]:t.end(i)] }

func byteAfter(name []byte, at int, isTree bool) byte {
	switch {
	case at < len(name):
		return name[at]
	case isTree:
		return '/'
	}
	return 0
}

// place is where a name stands, or would.
func (t *tree) place(name []byte, isTree bool) (i int, found bool) {
	return sort.Find(len(t.starts), func(i int) int { return -t.compare(i, name, isTree) })
}

// find looks a name up, whatever it is.
func (t *tree) find(name string) (entry, bool) {
	for _, isTree := range []bool{false, true} {
		if i, found := t.place([]byte(name), isTree); found {
			return t.entry(i), true
		}
	}
	return entry{}, false
}

// edit is the tree with entries added or replaced, every other entry kept as it
// stands. The caller makes sure that no edit turns a file into a directory or
// back.
func (t *tree) edit(edits []entry) (*tree, error) {
	type change struct {
		entry

		at       int
		replaces bool
	}
	changes := make([]change, len(edits))
	for i, e := range edits {
		at, found := t.place([]byte(e.name), e.isTree())
		changes[i] = change{entry: e, at: at, replaces: found}
	}
	slices.SortFunc(changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.sortKey(), b.sortKey()))
	})
	out := &tree{
		raw: make([]byte, 0, len(t.raw)+len(edits)*128), starts: make([]int32, 0, len(t.starts)+len(edits)), idSize: t.idSize,
	}
	kept := 0
	for _, c := range changes {
		out.copy(t, kept, c.at)
		if err := out.append(c.entry); err != nil {
			return nil, err
		}
		if kept = c.at; c.replaces {
			kept++
		}
	}
	out.copy(t, kept, len(t.starts))
	return out, nil
}

// copy takes the entries of a range over as they stand.
func (t *tree) copy(src *tree, from, to int) {
	if from >= to {
		return
	}
	start := src.starts[from]
	shift := int32(len(t.raw)) - start //nolint:gosec // objects are bounded far below
	for _, s := range src.starts[from:to] {
		t.starts = append(t.starts, s+shift)
	}
	t.raw = append(t.raw, src.raw[start:src.end(to-1)]...)
}

func (t *tree) append(e entry) error {
	id, err := hex.DecodeString(e.oid)
	if err != nil {
		return fmt.Errorf("object id %q: %w", e.oid, err)
	}
	t.starts = append(t.starts, int32(len(t.raw))) //nolint:gosec // objects are bounded far below
	t.raw = append(t.raw, e.mode...)
	t.raw = append(t.raw, ' ')
	t.raw = append(t.raw, e.name...)
	t.raw = append(t.raw, 0)
	t.raw = append(t.raw, id...)
	return nil
}

// treeCache keeps trees by object id up to a bound of bytes, then starts afresh.
type treeCache struct {
	mu    sync.Mutex
	bound int
	size  int
	trees map[string]*tree
}

func newTreeCache(bound int) *treeCache {
	return &treeCache{bound: bound, trees: map[string]*tree{}}
}

func (c *treeCache) get(oid string) (*tree, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, found := c.trees[oid]
	return t, found
}

func (c *treeCache) put(oid string, t *tree) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, found := c.trees[oid]; found || len(t.raw) > c.bound/4 {
		return
	}
	if c.size+len(t.raw) > c.bound {
		clear(c.trees)
		c.size = 0
	}
	c.trees[oid] = t
	c.size += len(t.raw)
}
