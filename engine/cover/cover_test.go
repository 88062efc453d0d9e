package cover

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/changeset"
)

func createOf(address, value string) changeset.Entry {
	return entry(address, changeset.Create, write("n", "", value))
}

func statuses(r Report) map[string]Status {
	out := map[string]Status{}
	for _, v := range r.Members {
		out[v.Member] = v.Status
	}
	return out
}

func TestTwoPullRequestsThatEachChangedOneMemberCoverAPlanThatHoldsBoth(t *testing.T) {
	t.Parallel()
	one := Merge{PR: 1, Side: side(t, part(net, plan(t, "a"), createOf("a.x", "1")))}
	two := Merge{PR: 2, Side: side(t, part("app", plan(t, "b"), createOf("a.y", "2")))}
	fresh := side(t, part(net, plan(t, "a"), createOf("a.x", "1")), part("app", plan(t, "b"), createOf("a.y", "2")))
	r := ByMerges([]Merge{two, one}, fresh, nil)
	if !r.Complete() {
		t.Fatalf("uncovered: %+v", r.Uncovered())
	}
	for _, v := range r.Members {
		want := map[string]int{net: 1, "app": 2}[v.Member]
		if v.By == nil || v.By.PR != want {
			t.Errorf("%s is covered by %+v, want #%d", v.Member, v.By, want)
		}
	}
}

func TestByMerges(t *testing.T) {
	t.Parallel()
	x := func(value string) Side { return side(t, part(net, plan(t, "b"), createOf("a.x", value))) }
	fresh := side(t, part(net, plan(t, "a"), createOf("a.x", "1")))
	other := side(t, part("app", plan(t, "c")))
	tests := []struct {
		name   string
		merges []Merge // newest first
		by     int     // 0 for uncovered
		why    string
	}{
		{name: "no merge covers nothing", why: "no approved merge"},
		{name: "a merge that planned other members covers nothing", merges: []Merge{{PR: 2, Side: other}}, why: "no approved merge"},
		{name: "an older merge covers what a newer one did not plan", merges: []Merge{{PR: 2, Side: other}, {PR: 1, Side: x("1")}}, by: 1},
		{name: "the newest that planned the member covers it", merges: []Merge{{PR: 2, Side: x("1")}, {PR: 1, Side: x("9")}}, by: 2},
		{name: "an older merge does not cover what the newest that planned the member does not", merges: []Merge{{PR: 2, Side: x("9")}, {PR: 1, Side: x("1")}}, why: "`a.x`"},
		{name: "a revoked merge covers nothing", merges: []Merge{{PR: 1, Revoked: true, Side: x("1")}}, why: "revoked"},
		{name: "a revoked merge hides older ones", merges: []Merge{{PR: 2, Revoked: true, Side: x("9")}, {PR: 1, Side: x("1")}}, why: "#2"},
		{name: "a revoked merge hides nothing it did not plan", merges: []Merge{{PR: 2, Revoked: true, Side: other}, {PR: 1, Side: x("1")}}, by: 1},
		{name: "a plan that cannot be read may have planned the member", merges: []Merge{{PR: 2}, {PR: 1, Side: x("1")}}, why: "cannot be read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := ByMerges(tt.merges, fresh, nil)
			v := r.Members[0]
			if r.Complete() != (tt.by != 0) || len(r.Uncovered()) == 0 != r.Complete() {
				t.Errorf("complete %v, uncovered %v", r.Complete(), r.Uncovered())
			}
			by := 0
			if v.By != nil {
				by = v.By.PR
			}
			if by != tt.by || (v.Status == Covered) != (tt.by != 0) || (v.Reason == "") != (tt.why == "") || !strings.Contains(v.Reason, tt.why) {
				t.Errorf("%s by #%d, %q; want #%d, %q", v.Status, by, v.Reason, tt.by, tt.why)
			}
		})
	}
}

// Decision 15.
func TestNothing(t *testing.T) {
	t.Parallel()
	quiet := func() changeset.Part {
		return part(net, plan(t, "a"), entry("a.x", changeset.NoOp), entry("data.x", changeset.Read))
	}
	tests := []struct {
		name   string
		says   bool
		change func(*changeset.Part)
		want   bool
	}{
		{"reads and no-ops are nothing", true, func(*changeset.Part) {}, true},
		{"the planner has to say so: an output-only plan is something", false, func(*changeset.Part) {}, false},
		{"an import is something", true, func(p *changeset.Part) { p.Entries[0].Importing = true }, false},
		{"tfcmt#358: a forget is something", true, func(p *changeset.Part) { p.Entries[0].Action = changeset.Forget }, false},
		{"an update is something", true, func(p *changeset.Part) { p.Entries[0].Action = changeset.Update }, false},
		{"a hole is something", true, func(p *changeset.Part) { p.Member.Holes = []changeset.Hole{{Address: "a.y", Reason: "deferred"}} }, false},
		{"a side effect is something", true, func(p *changeset.Part) { p.SideEffects = []changeset.SideEffect{effect("x", "", "")} }, false},
		{"a failed plan is something", true, func(p *changeset.Part) { p.Member.Status = changeset.Failed }, false},
		{"a provisional plan is something", true, func(p *changeset.Part) { p.Member.Provisional = true }, false},
		{"a plan without a digest is something", true, func(p *changeset.Part) { p.Member.PlanDigest = nil }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := quiet()
			tt.change(&p)
			fresh := side(t, p)
			if got := Nothing(fresh.Doc, net, tt.says); got != tt.want {
				t.Errorf("nothing: %v", got)
			}
			status := ByMerges(nil, fresh, map[string]bool{net: tt.says}).Members[0].Status
			if (status == NothingToDo) != tt.want {
				t.Errorf("status %s", status)
			}
		})
	}
	if Nothing(side(t, quiet()).Doc, "app", true) {
		t.Error("a member that is not in the plan has nothing to say")
	}
}

// pr-loop §3.2, sources: an equal digest under other sources than were shown.
func TestUnderApproval(t *testing.T) {
	t.Parallel()
	fresh := side(t,
		part(net, plan(t, "a"), entry("a.x", changeset.Create, unknown("n", ""))),
		part("app", plan(t, "b"), createOf("a.y", "2")),
		part("idle", plan(t, "c")),
	)
	nothing := map[string]bool{"idle": true}
	shown := SourcesHash(fresh.Sources)
	want := map[string]Status{net: Covered, "app": Covered, "idle": NothingToDo}
	if diff := cmp.Diff(want, statuses(UnderApproval(fresh, shown, nothing))); diff != "" {
		t.Errorf("equal sources (-want +got):\n%s", diff)
	}
	want[net] = Uncovered
	for _, other := range []string{"", SourcesHash(map[string]string{net: "source-2"})} {
		if diff := cmp.Diff(want, statuses(UnderApproval(fresh, other, nothing))); diff != "" {
			t.Errorf("sources %q (-want +got):\n%s", other, diff)
		}
	}
	bare := Side{Doc: fresh.Doc, Code: fresh.Code}
	if diff := cmp.Diff(want, statuses(UnderApproval(bare, SourcesHash(nil), nothing))); diff != "" {
		t.Errorf("no sources on either side equal none (-want +got):\n%s", diff)
	}
}

func TestSourcesHash(t *testing.T) {
	t.Parallel()
	a := SourcesHash(map[string]string{"net": "1", "app": "2"})
	if a == "" || a != SourcesHash(map[string]string{"app": "2", "net": "1"}) {
		t.Errorf("the hash %q depends on order", a)
	}
	for _, other := range []map[string]string{nil, {"net": "1"}, {"net": "2", "app": "1"}, {"net": "1", "app": "2", "x": ""}} {
		if SourcesHash(other) == a {
			t.Errorf("%v hashes like another map", other)
		}
	}
}
