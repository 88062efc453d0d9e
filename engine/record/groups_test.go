package record

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	idOne = "0123456789ab"
	idTwo = "0123456789ac"
)

func openOne(id string) OpenGroup {
	return OpenGroup{
		ID: id, Group: "net", Members: []string{"net", "app"}, Commit: sha1, Run: "token",
		Machine: "host", Journal: "/state/groups/" + id, StartedAt: "2026-11-30T11:00:00.000Z",
	}
}

// A group is open from its begin to its end or release, whatever the others do; each move
// is made once.
func TestAGroupIsOpenUntilItEndsOrIsReleased(t *testing.T) {
	t.Parallel()
	g := Groups{Env: "prod"}
	for _, id := range []string{idOne, idTwo} {
		if !g.Begin(openOne(id)) || g.Begin(openOne(id)) || !g.IsOpen(id) {
			t.Fatalf("%s: %+v", id, g)
		}
	}
	if !g.End(idOne) || g.End(idOne) || g.IsOpen(idOne) || !g.IsOpen(idTwo) || g.WasReleased(idOne) {
		t.Errorf("after the end of one: %+v", g)
	}
	if g.Release(idOne, "github:alice", "now", "") || !g.Release(idTwo, "github:alice", "now", "https://forge/1") || g.IsOpen(idTwo) || !g.WasReleased(idTwo) {
		t.Errorf("after the release of two: %+v", g)
	}
	back, err := ParseGroups("_groups/prod.json", g.JSON())
	if err != nil {
		t.Fatal(err)
	}
	g.Version, g.Open = Version, []OpenGroup{}
	if diff := cmp.Diff(g, back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

// A record that can't be read is never read as "no group is open", nor is one that
// somebody else wrote shown to anybody.
func TestGroupsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	with := func(change func(*OpenGroup)) string {
		one := openOne(idOne)
		change(&one)
		return string(Groups{Env: "prod", Open: []OpenGroup{openOne(idTwo), one}}.JSON())
	}
	for name, tt := range map[string]struct{ text, want string }{
		"no list":               {`{"version":1,"env":"prod"}`, "open: missing"},
		"another version":       {`{"version":2,"env":"prod","open":[]}`, "version: 2"},
		"no version":            {`{"env":"prod","open":[]}`, "version: missing"},
		"no env":                {`{"version":1,"open":[]}`, "env: missing"},
		"another env":           {`{"version":1,"env":"staging","open":[]}`, `env: it is the record of "staging"`},
		"an env elsewhere":      {`{"version":1,"env":"../prod","open":[]}`, `env: it is the record of "../prod"`},
		"nothing":               {``, "end"},
		"no object":             {`[]`, "want an object"},
		"cut off":               {`{"version":1,"env":"prod","open":[`, "end"},
		"another kind":          {`{"version":1,"env":"prod","open":{}}`, "cannot unmarshal"},
		"more than there is":    {`{"version":1,"env":"prod","open":[]` + strings.Repeat(" ", maxGroups) + `}`, "more than 8388608"},
		"no members":            {with(func(o *OpenGroup) { o.Members = nil }), "open[1].members: missing"},
		"no id":                 {with(func(o *OpenGroup) { o.ID = "" }), `open[1].id: "" is not 12 hex digits`},
		"an id that is a path":  {with(func(o *OpenGroup) { o.ID = "../../../x" }), "is not 12 hex digits"},
		"an id with a pattern":  {with(func(o *OpenGroup) { o.ID = "*[a]?{b,c}**" }), "is not 12 hex digits"},
		"an id of two lines":    {with(func(o *OpenGroup) { o.ID = idOne + "\n" }), "is not 12 hex digits"},
		"an id twice":           {with(func(o *OpenGroup) { o.ID = idTwo }), "is there twice"},
		"no commit":             {with(func(o *OpenGroup) { o.Commit = "main" }), `commit: "main" is not a full commit sha`},
		"a terminal's sequence": {with(func(o *OpenGroup) { o.Machine = "\x1b[2J" }), "can't be shown"},
		"lines of its own":      {with(func(o *OpenGroup) { o.Members = []string{"net\n\nAll is well"} }), "can't be shown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseGroups("_groups/prod.json", []byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			if len(err.Error()) > 300 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("the error itself can't be shown: %q", err)
			}
		})
	}
}

// Ten thousand groups are read and looked through like one.
func TestTenThousandGroupsAreRead(t *testing.T) {
	t.Parallel()
	g := Groups{Env: "prod"}
	for i := range 10_000 {
		g.Open = append(g.Open, openOne(fmt.Sprintf("%012x", i)))
	}
	back, err := ParseGroups("_members/a/_groups/prod.json", g.JSON())
	if err != nil || len(back.Open) != len(g.Open) {
		t.Fatalf("%d of %d groups are read: %v", len(back.Open), len(g.Open), err)
	}
}
