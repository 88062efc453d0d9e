package usecase

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/declare"
	"github.com/chant-bot/chant/engine/drivers/git/gittest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
)

// keeping is a machine that has a kept state, or not.
type keeping struct {
	hostile

	here bool
	err  error
}

func (k *keeping) Keeps(id string) (bool, error) {
	return k.here && id == "0123456789ab", k.err
}

// A state that no backend took keeps its root from being planned wherever it is not, until it
// is stored or somebody answers for the present one (soundness I12, adr/0025).
func TestAKeptStateIsKnownToEveryMachine(t *testing.T) {
	t.Parallel()
	site, ctx := siteOf(t, gittest.Bare(t)), t.Context()
	st := &Stage{Now: time.Now}
	in := PlanInput{Site: site, Checkout: &Checkout{Commit: strings.Repeat("c", 40)}, Env: project.Env{Name: "prod"}}
	marks := st.keeper(in)
	state := engine.KeptState{ID: "0123456789ab", Member: "net", File: "/locks/kept/one"}
	for range 2 { // as one finds it that looks again
		if err := marks.Keep(ctx, state); err != nil {
			t.Fatal(err)
		}
	}
	waits := func(m *keeping) (openGroups, error) {
		e := &groupEnds{Stage: st, in: ApplyInput{Site: site}, env: in.Env, applier: m, waits: openGroups{}}
		var err error
		if e.marks, err = e.at().read(ctx); err != nil {
			t.Fatal(err)
		}
		return e.end(ctx, "")
	}
	elsewhere, err := waits(&keeping{})
	if err != nil || elsewhere.of("net") == nil {
		t.Fatalf("elsewhere %v waits, %v", elsewhere, err)
	}
	for _, part := range []string{"root net is neither planned nor applied in prod", "/locks/kept/one", "chant unlock 0123456789ab"} {
		if why := elsewhere.of("net").Error(); !strings.Contains(why, part) {
			t.Errorf("people are told %q, without %q", why, part)
		}
	}
	if void, err := marks.Void(ctx, state.ID); err != nil || void {
		t.Errorf("nobody released it, and void %v, %v", void, err)
	}
	if here, err := waits(&keeping{here: true}); err != nil || len(here) > 0 {
		t.Errorf("where it is the driver sees to it, and %v waits, %v", here, err)
	}
	if _, err := waits(&keeping{err: errors.New("broken disk")}); err == nil {
		t.Error("what can't be told is no refusal")
	}

	if err := marks.Stored(ctx, state.ID); err != nil {
		t.Fatal(err)
	}
	if none, err := waits(&keeping{}); err != nil || len(none) > 0 {
		t.Errorf("it is stored, and %v waits, %v", none, err)
	}

	if err := marks.Keep(ctx, state); err != nil {
		t.Fatal(err)
	}
	at := st.groupsOf(site, "", "prod")
	if err := at.change(ctx, "Unlocked", func(g *record.Groups) bool { return g.Release(state.ID, "github:alice", "now", "") }); err != nil {
		t.Fatal(err)
	}
	if void, err := marks.Void(ctx, state.ID); err != nil || !void {
		t.Errorf("it is released, and void %v, %v", void, err)
	}
	if err := marks.Keep(ctx, state); err != nil {
		t.Fatal(err)
	}
	if none, err := waits(&keeping{}); err != nil || len(none) > 0 {
		t.Errorf("it is released, and %v waits, %v", none, err)
	}

	_, err = site.Ledger.Update(ctx, "Break it", func(*ledger.Snapshot) ([]ledger.File, error) {
		return []ledger.File{{Path: record.GroupsPath("", "prod"), Content: []byte("{}")}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if void, err := marks.Void(ctx, state.ID); err == nil || void {
		t.Errorf("a record that can't be read says void %v, %v", void, err)
	}
}

// A root of a rollback that waits is declared, and keeps no other one waiting.
func TestTheRootOfARollbackIsDeclared(t *testing.T) {
	t.Parallel()
	apply := func(root string) []project.DeployPhase {
		node, err := declare.Parse([]byte(`{"name":"c","dependsOn":[],"deploy":[{"phase":"Apply","steps":[{"kind":"terraform-apply","root":"`+root+`"}]}]}`), "c.json")
		if err != nil {
			t.Fatal(err)
		}
		c, err := project.ParseComponent(node)
		if err != nil {
			t.Fatal(err)
		}
		return c.Deploy
	}
	got := membersOf(project.Project{Components: []*project.Component{{Name: "c", Deploy: apply("net"), Rollback: apply("undo")}}})
	if !slices.Equal(got, []string{"net", "undo"}) {
		t.Errorf("declared are %v", got)
	}
}
