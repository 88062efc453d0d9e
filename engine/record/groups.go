package record

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Groups are the applies of groups of an environment that did not give every member
// its state yet, and those of single roots whose backend did not take it, as far as everybody
// can see: what they made is known to one machine alone, and a plan of a member made
// elsewhere would make it again (soundness I12).
type Groups struct {
	Version  int             `json:"version"`
	Env      string          `json:"env"`
	Open     []OpenGroup     `json:"open"`
	Released []ReleasedGroup `json:"released,omitempty"` // all there were: a machine may come back any time later
}

// OpenGroup is one of them.
type OpenGroup struct {
	ID      string   `json:"id"` // 12 hex digits
	Group   string   `json:"group"`
	Members []string `json:"members"`
	Commit  string   `json:"commit"`
	// Run is the token of the apply's attempt, "" where it has none.
	Run string `json:"run,omitempty"`
	// Machine and Journal say where what ends it is, for people.
	Machine   string `json:"machine"`
	Journal   string `json:"journal"`
	StartedAt string `json:"startedAt"`
	// Kept: it is one root by itself, and Journal the file of a state that its backend did
	// not take, since StartedAt.
	Kept bool `json:"kept,omitempty"`
}

// ReleasedGroup is one that somebody answers for: the members' states are right as
// they are, and its journal is void.
type ReleasedGroup struct {
	OpenGroup

	ReleasedBy string `json:"releasedBy"`
	ReleasedAt string `json:"releasedAt"`
	URL        string `json:"url,omitempty"` // where they said so
}

// GroupsPath is where the groups of an environment stand.
func GroupsPath(prefix, env string) string { return prefix + GroupsDir + envSegment(env) + ".json" }

// GroupsDir is where those of all environments stand, below a prefix.
const GroupsDir = "_groups/"

// Begin adds a group; changed is false for one that is there.
func (g *Groups) Begin(one OpenGroup) (changed bool) {
	if g.index(one.ID) >= 0 {
		return false
	}
	g.Open = append(g.Open, one)
	return true
}

// End takes a group out; changed is false for one that is not there.
func (g *Groups) End(id string) (changed bool) {
	i := g.index(id)
	if i < 0 {
		return false
	}
	g.Open = slices.Delete(g.Open, i, i+1)
	return true
}

// Release ends a group by somebody's word; found is false for one that is not open.
func (g *Groups) Release(id, by, at, url string) (found bool) {
	i := g.index(id)
	if i < 0 {
		return false
	}
	g.Released = append(g.Released, ReleasedGroup{OpenGroup: g.Open[i], ReleasedBy: by, ReleasedAt: at, URL: url})
	return g.End(id)
}

// IsOpen tells that a group is open.
func (g *Groups) IsOpen(id string) bool { return g.index(id) >= 0 }

// WasReleased tells that somebody released a group.
func (g *Groups) WasReleased(id string) bool {
	return slices.ContainsFunc(g.Released, func(r ReleasedGroup) bool { return r.ID == id })
}

func (g *Groups) index(id string) int {
	return slices.IndexFunc(g.Open, func(o OpenGroup) bool { return o.ID == id })
}

// String names a group, for people.
func (o OpenGroup) String() string {
	if o.Kept {
		return "root " + strings.Join(o.Members, ", ")
	}
	return fmt.Sprintf("the group of %s", strings.Join(o.Members, ", "))
}

// JSON is the record as stored: 2 spaces, final LF, no null lists.
func (g Groups) JSON() []byte {
	g.Version = Version
	if g.Open == nil {
		g.Open = []OpenGroup{}
	}
	return encode(g)
}

// maxGroups bounds the record, in bytes: some ten thousand groups.
const maxGroups = 8 << 20

// ParseGroups reads the groups of the environment whose record is at a path. Whoever can
// push may have written it, so the first thing in it that is not as it was written here is
// the error: what it says of a group goes into lines to copy, and before a terminal.
func ParseGroups(path string, data []byte) (Groups, error) {
	var g Groups
	err := fmt.Errorf("it has %d bytes, more than %d", len(data), maxGroups)
	if len(data) <= maxGroups {
		err = decode(data, &g, "version", "open")
	}
	if err == nil {
		err = errors.Join(version(g.Version), named("env", g.Env))
	}
	if err == nil && !strings.HasSuffix("/"+path, "/"+GroupsPath("", g.Env)) {
		err = fmt.Errorf("env: it is the record of %q", g.Env)
	}
	if err == nil {
		err = g.check()
	}
	if err != nil {
		return Groups{}, fmt.Errorf("reading open groups: %w", err)
	}
	return g, nil
}

// check finds the first group that is not as Begin and Release have them.
func (g *Groups) check() error {
	open := map[string]bool{}
	for i, o := range g.Open {
		err := o.check()
		if err == nil && open[o.ID] {
			err = fmt.Errorf("id: %s is there twice", o.ID)
		}
		if err != nil {
			return fmt.Errorf("open[%d].%w", i, err)
		}
		open[o.ID] = true
	}
	for i, r := range g.Released {
		if err := r.check(); err != nil {
			return fmt.Errorf("released[%d].%w", i, err)
		}
	}
	return nil
}

// groupID is what Begin is given as the id of a group.
var groupID = regexp.MustCompile(`^[0-9a-f]{12}$`)

func (o OpenGroup) check() error {
	if !groupID.MatchString(o.ID) {
		return fmt.Errorf("id: %.40q is not 12 hex digits", o.ID)
	}
	if len(o.Members) == 0 {
		return errors.New("members: missing")
	}
	if err := sha("commit", o.Commit); err != nil {
		return err
	}
	for _, text := range slices.Concat(o.Members, []string{o.Group, o.Run, o.Machine, o.Journal, o.StartedAt}) {
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return fmt.Errorf("%s: %.40q can't be shown", o.ID, text)
		}
	}
	return nil
}
