package usecase

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/report"
)

// A failure of the planner is recorded as the merge's own only when that is known
// (soundness I8, I15): the record must not say what was not found.
func TestAMergeThatDidNotPlanIsRecordedOnceItIsKnownWhy(t *testing.T) {
	t.Parallel()
	planned := func(members ...string) draftRecord { return draftRecord{planned: members} }
	doubted := func(member string, planned ...string) draftRecord {
		return draftRecord{doubted: []string{member}, planned: planned, message: member + ": no answer"}
	}
	in := func(project string, d draftRecord) draftRecord { d.member = project; return d }
	for name, tt := range map[string]struct {
		commits  [][]draftRecord // oldest first
		lastTry  bool
		recorded string // commits by their number, after each of them
		waits    string // the oldest that waits
	}{
		"one that plans": {commits: [][]draftRecord{{planned("app")}}, recorded: "0"},
		"the newest that does not is tried again": {commits: [][]draftRecord{{planned("app")}, {doubted("app")}}, recorded: "0 -", waits: "1"},
		"a newer one plans: the older is to blame": {
			commits: [][]draftRecord{{doubted("app")}, {planned("app")}}, recorded: "- 01",
		},
		"a newer one that plans something else tells nothing, and waits": {
			commits: [][]draftRecord{{doubted("app")}, {planned("net")}}, recorded: "- -", waits: "0",
		},
		"nor does one that fails as well": {commits: [][]draftRecord{{doubted("app")}, {doubted("app")}}, recorded: "- -", waits: "0"},
		"nor a plan of the same name in another project": {
			commits: [][]draftRecord{{doubted("app")}, {in("other", planned("app"))}}, recorded: "- -", waits: "0",
		},
		"two fail and the third tells of both": {commits: [][]draftRecord{{doubted("app")}, {doubted("net", "app")}, {planned("net")}}, recorded: "- 0 12"},
		"one whose author has to mend it":      {commits: [][]draftRecord{{{message: "net.component.json:1: ..."}}}, recorded: "0"},
		"nothing to plan":                      {commits: [][]draftRecord{{{}}}, recorded: "0"},
		"the last try doubts nothing":          {commits: [][]draftRecord{{doubted("app")}, {doubted("app")}}, lastTry: true, recorded: "0 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var d doubts
			var recorded []string
			for i, drafts := range tt.commits {
				sha := string(rune('0' + i))
				step := ""
				for _, r := range d.add(&recording{commit: git.Commit{SHA: sha}, drafts: drafts}, tt.lastTry) {
					step += r.commit.SHA
				}
				if step == "" {
					step = "-"
				}
				recorded = append(recorded, step)
			}
			if diff := cmp.Diff(tt.recorded, strings.Join(recorded, " ")); diff != "" {
				t.Errorf("recorded after each commit (-want +got):\n%s", diff)
			}
			u, waits := errors.AsType[*Unplanned](d.unplanned())
			if waits != (tt.waits != "") || waits && (u.Commit != tt.waits || !strings.Contains(u.Message, "no answer")) {
				t.Errorf("%+v waits, want %q", u, tt.waits)
			}
		})
	}
}

// Whose failure it is, is told by its cause.
func TestOutcomesTellTheAuthorsFaultsFromThePlanners(t *testing.T) {
	t.Parallel()
	failed := func(cause error) *PlannedMember { return &PlannedMember{Error: cause.Error(), cause: cause} }
	word, mend, ours := errors.New("no answer"), Refusef("main.tf:1: ..."), &os.PathError{Op: "open", Path: "x", Err: os.ErrPermission}
	d := draftRecord{}
	if err := d.outcomes(&PlanSet{Members: map[string]*PlannedMember{"a": {}, "b": failed(word)}}); err != nil {
		t.Fatal(err)
	}
	want := draftRecord{planned: []string{"a"}, doubted: []string{"b"}, message: "b: no answer"}
	if diff := cmp.Diff(want, d, cmp.AllowUnexported(draftRecord{}), cmp.Comparer(func(a, b StoredPlan) bool { return a.Status == b.Status })); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	d = draftRecord{plan: StoredPlan{Status: string(report.PlanFailed)}}
	if err := d.outcomes(&PlanSet{Members: map[string]*PlannedMember{"a": failed(mend), "b": failed(word)}}); err != nil || len(d.doubted) > 0 {
		t.Errorf("what the author has to mend was doubted: %+v, %v", d, err)
	}
	if err := d.outcomes(&PlanSet{Members: map[string]*PlannedMember{"a": failed(ours)}}); err == nil {
		t.Error("a failure of this machine was taken for the planner's word")
	}
}

func TestWhatPassesIsNoWordOnThePlan(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		context.DeadlineExceeded, context.Canceled, fmt.Errorf("saving: %w", &fs.PathError{Op: "write", Path: "x", Err: errors.New("no space left")}),
	} {
		if !passes(err) {
			t.Errorf("%v would be recorded as the author's", err)
		}
	}
	if passes(errors.New("terraform plan exited with 1")) {
		t.Error("the planner's own word is taken for a failure of ours")
	}
}
