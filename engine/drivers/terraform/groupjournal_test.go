package terraform

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/sealed"
)

// soundness I11, I12: an apply of a group that did not end is found by whoever applies
// to the same, with what its caller kept, and a wrong key says so.
func TestAnUnendedGroupIsFoundWhereItWasApplied(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "no [pattern]")
	of := func(scope, key string) *Grouper {
		k, err := sealed.ParseKey([]byte(strings.Repeat(key, 32)))
		if err != nil {
			t.Fatal(err)
		}
		return &Grouper{d: &Driver{cfg: Config{StateDir: dir, Scope: scope}}, key: k, passed: func(string) {}}
	}
	unended := func(g *Grouper) []engine.UnendedGroup {
		found, err := g.Unended()
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	g := of("repo prod", "5a")
	target := engine.GroupTarget{Group: "net", RunDir: filepath.Join(dir, "runs", "1")}
	if got := unended(g); len(got) > 0 {
		t.Errorf("before anything was applied there is %v", got)
	}
	if err := g.journal(target).write(journaled{Group: "net", RunDir: target.RunDir, Memo: []byte("of the caller")}); err != nil {
		t.Fatal(err)
	}
	if got := unended(g); len(got) != 1 || string(got[0].Memo) != "of the caller" || got[0].Err != nil {
		t.Errorf("found %v", got)
	}
	if got := unended(of("repo staging", "5a")); len(got) > 0 {
		t.Errorf("another environment finds %v", got)
	}
	if got := unended(of("repo prod", "a5")); len(got) != 1 || got[0].Err == nil || got[0].Memo != nil {
		t.Errorf("another key finds %v", got)
	}
	begun := filepath.Join(g.journals(), "."+filepath.Base(g.journal(target).path)+".1.tmp")
	if err := os.Rename(g.journal(target).path, begun); err != nil { // written, and killed before it was in place
		t.Fatal(err)
	}
	if got, err := Unended(dir, g.key); len(got) > 0 || err != nil {
		t.Errorf("of a write that was killed there is %v, %v", got, err)
	}
	if got := unended(g); len(got) > 0 {
		t.Errorf("after its end there is %v", got)
	}
}

// soundness I12: the files of a run go only once every state was given back.
func TestARunIsUnsettledUntilItsOutcomeIsNoted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "no [pattern]")
	write := func(name string) {
		path := filepath.Join(dir, "net-1", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(planFile)
	if UnsettledIn(dir) {
		t.Error("a plan alone is unsettled")
	}
	write(filepath.Join(applyDir, "started"))
	if !UnsettledIn(dir) {
		t.Error("an apply that began is settled")
	}
	write(outcomeFile)
	if UnsettledIn(dir) {
		t.Error("an apply with an outcome is unsettled")
	}
}

// soundness I12: a state that nobody touched is not taken for one that moved.
func TestAStateHasOneNameHoweverItWasPulled(t *testing.T) {
	t.Parallel()
	name := func(serial, checks string) digest.Digest {
		state, err := digest.Decode([]byte(`{"version":4,"serial":` + serial + `,"lineage":"l","outputs":{},"resources":[],"check_results":[` + checks + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		d, err := stateDigest(state)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	const x, y = `{"config_addr":"var.x","objects":null}`, `{"config_addr":"var.y","objects":null}`
	if !digest.Same(name("7", x+","+y), name("7", y+","+x)) {
		t.Error("another order of check results is another state")
	}
	if digest.Same(name("7", x+","+y), name("8", x+","+y)) || digest.Same(name("7", x), name("7", y)) {
		t.Error("another state has the name of the first")
	}
}
