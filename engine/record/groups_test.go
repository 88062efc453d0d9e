package record

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	for _, id := range []string{"one", "two"} {
		if !g.Begin(openOne(id)) || g.Begin(openOne(id)) || !g.IsOpen(id) {
			t.Fatalf("%s: %+v", id, g)
		}
	}
	if !g.End("one") || g.End("one") || g.IsOpen("one") || !g.IsOpen("two") || g.WasReleased("one") {
		t.Errorf("after the end of one: %+v", g)
	}
	if g.Release("one", "github:alice", "now", "") || !g.Release("two", "github:alice", "now", "https://forge/1") || g.IsOpen("two") || !g.WasReleased("two") {
		t.Errorf("after the release of two: %+v", g)
	}
	back, err := ParseGroups(g.JSON())
	if err != nil {
		t.Fatal(err)
	}
	g.Version, g.Open = Version, []OpenGroup{}
	if diff := cmp.Diff(g, back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

// A record that can't be read is never read as "no group is open".
func TestGroupsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"version":1,"env":"prod"}`:                                    "open: missing",
		`{"version":2,"env":"prod","open":[]}`:                          "version: 2",
		`{"version":1,"open":[]}`:                                       "env: missing",
		`{"version":1,"env":"prod","open":[{"id":"","members":["a"]}]}`: "id: missing",
		`{"version":1,"env":"prod","open":[{"id":"one"}]}`:              "members: missing",
		`[]`: "want an object",
		`{"version":1,"env":"prod","open":[{"id":"one","members":["a"]}]`: "",
	} {
		if _, err := ParseGroups([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
