package fanout_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
)

// applies makes a component that claims a root of its own name.
func applies(name string, deps ...string) *project.Component {
	input := &project.Node{Kind: project.Object, Fields: []project.Field{{Name: "root", Value: &project.Node{Kind: project.String, Text: name}}}}
	return &project.Component{Name: name, DependsOn: deps, File: name + ".component.json",
		Deploy: []project.DeployPhase{{Name: "Apply", Steps: []project.Step{{Kind: "terraform-apply", Input: input}}}}}
}

// estate is web -> app -> net, edge -> dns, with db apart.
func estate() []*project.Component {
	return []*project.Component{applies("web", "app"), applies("app", "net"), applies("net"), applies("edge", "dns"), applies("dns"), applies("db")}
}

func plan(t interface{ Fatal(args ...any) }, components []*project.Component, changed ...string) fanout.Plan {
	s, err := fanout.Affected{Changed: changed}.Select(components)
	if err != nil {
		t.Fatal(err)
	}
	p, err := fanout.Derive(components, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAPlanReachesWhatFollowsAndSaysWhatDoesNotRun(t *testing.T) {
	t.Parallel()
	p := plan(t, estate(), "net", "dns", "nobody")
	want := fanout.Plan{
		Digest: p.Digest, Changed: []string{"dns", "net"}, Waves: [][]string{{"dns", "net"}, {"app", "edge"}, {"web"}}, Seeds: []string{},
		Unclaimed: []string{"nobody"}, Skipped: []fanout.Skip{{Component: "db", Reason: fanout.Unaffected}},
	}
	if diff := cmp.Diff(want, p, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "dependsOn" }, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
	if p.Digest.IsZero() {
		t.Error("the plan has no digest")
	}
}

func TestAnAffectedFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]*fanout.Affected{
		`{"changed":["net",7,"app"],"dependents":["web"],"indeterminate":[null,"dns"]}`: {Changed: []string{"app", "net", "web"}, Indeterminate: []string{"dns"}},
		`{"changed":[]}`:    {},
		`{}`:                nil,
		`{"changed":"net"}`: nil,
		`["net"]`:           nil,
	} {
		got, err := fanout.ParseAffected([]byte(text))
		if want == nil {
			if err == nil {
				t.Errorf("%s is taken as %v", text, got)
			}
			continue
		}
		if diff := cmp.Diff(*want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
}

func TestAnIndeterminateUnitIsReportedAndDoesNotRun(t *testing.T) {
	t.Parallel()
	s, err := fanout.Affected{Changed: []string{"net"}, Indeterminate: []string{"app", "db"}}.Select(estate())
	if err != nil {
		t.Fatal(err)
	}
	p, err := fanout.Derive(estate(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"net"}, {"app"}, {"web"}}, p.Waves); diff != "" {
		t.Errorf("changed beats indeterminate: %s", diff)
	}
	if !slices.Contains(p.Skipped, fanout.Skip{Component: "db", Reason: fanout.Indeterminate}) {
		t.Errorf("skipped: %v", p.Skipped)
	}
}

func TestTheDigestMovesWithTheSources(t *testing.T) {
	t.Parallel()
	s, err := graph.SelectChanges(estate(), graph.Changes{Components: []string{"net"}})
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]bool{}
	for _, source := range []string{"one", "two", "one"} {
		d, err := digest.Of("component-source", digest.StringOf(source))
		if err != nil {
			t.Fatal(err)
		}
		p, err := fanout.Derive(estate(), s, map[string]digest.Digest{"net": d})
		if err != nil {
			t.Fatal(err)
		}
		digests[p.Digest.String()] = true
	}
	if len(digests) != 2 {
		t.Errorf("two sources made %d digests", len(digests))
	}
}

func TestACanaryRunsFirstAndAlone(t *testing.T) {
	t.Parallel()
	s, err := fanout.Affected{Changed: []string{"net", "dns", "db"}}.Select(estate())
	if err != nil {
		t.Fatal(err)
	}
	first, err := fanout.WithCanary(estate(), s, []string{"dns"})
	if diff := cmp.Diff([][]string{{"dns"}, {"db", "edge", "net"}, {"app"}, {"web"}}, first.Waves); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := fanout.WithCanary(estate(), s, []string{"nobody"}); err == nil {
		t.Error("an unknown canary is taken")
	}
}

func TestAFailureBlocksWhatFollowsAndNothingElse(t *testing.T) {
	t.Parallel()
	run, _ := fanout.NewRun(plan(t, estate(), "net", "dns"), nil)
	run.Settle("net", fanout.Fail, nil)
	run.Settle("dns", fanout.OK, nil)
	if diff := cmp.Diff([]string{"edge"}, run.Due(run.Plan.Waves[1])); diff != "" {
		t.Error(diff)
	}
	blocked := []fanout.Skip{{Component: "app", Reason: fanout.Blocked, BlockedBy: "net"}, {Component: "web", Reason: fanout.Blocked, BlockedBy: "net"}}
	if diff := cmp.Diff(blocked, run.Blocked()); diff != "" {
		t.Error(diff)
	}
	run.Settle("edge", fanout.Gated, nil)
	if got := run.Status(false); got != fanout.Fail {
		t.Errorf("status %s: failed beats gated", got)
	}
}

func TestALaterRunTakesOverOnlyWhatCompletedOfTheVerySamePlan(t *testing.T) {
	t.Parallel()
	p := plan(t, estate(), "net", "dns")
	first, _ := fanout.NewRun(p, nil)
	first.Settle("net", fanout.OK, map[string]digest.Value{"cidr": digest.StringOf("10.0.0.0/16")})
	first.Settle("dns", fanout.Fail, nil)
	text, err := first.Record().JSON()
	if err != nil {
		t.Fatal(err)
	}
	record, err := fanout.ParseRecord(text)
	if err != nil {
		t.Fatal(err)
	}
	again, same := fanout.NewRun(p, &record)
	if diff := cmp.Diff([]string{"dns"}, again.Due(again.Plan.Waves[0])); diff != "" || !same {
		t.Errorf("same %v: %s", same, diff)
	}
	if diff := cmp.Diff([]string{"app", "edge"}, again.Due(again.Plan.Waves[1])); diff != "" {
		t.Errorf("a failure is tried again: %s", diff)
	}
	if got, _ := again.Outputs()["net"]["cidr"].Text(); got != "10.0.0.0/16" {
		t.Errorf("outputs %v", again.Outputs())
	}
	other, same := fanout.NewRun(plan(t, estate(), "net"), &record)
	if same || len(other.Earlier) > 0 {
		t.Errorf("the record of another plan is taken: %v", other.Earlier)
	}
}

func TestAWaveWaitsForTheOnesBefore(t *testing.T) {
	t.Parallel()
	run, _ := fanout.NewRun(plan(t, estate(), "net", "dns"), nil)
	if err := run.LeftBefore(1); err != nil {
		t.Error(err)
	}
	if err := run.LeftBefore(2); err == nil || !strings.Contains(err.Error(), "wave 1 has work left: dns, net") {
		t.Errorf("wave 2 is taken: %v", err)
	}
	run.Settle("dns", fanout.OK, nil)
	run.Settle("net", fanout.OK, nil)
	if err := run.LeftBefore(2); err != nil {
		t.Error(err)
	}
	if err := run.LeftBefore(9); err == nil {
		t.Error("a wave past the last one is taken while waves have work left")
	}
}

func TestARecordThatDoesNotReadIsAnError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "[]", `{"digest":"short"}`, `{"completed":"net"}`, `{}`, `{"changed":["net"]}`, "null"} {
		if _, err := fanout.ParseRecord([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// Whatever ends how, each component of a plan runs at most once, none before what it
// follows, and each one is accounted for.
func TestEveryComponentRunsOnceInOrderOrIsBlockedByItsCause(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var components []*project.Component
		names := []string{"a", "b", "c", "d", "e", "f", "g"}
		for i, name := range names {
			components = append(components, applies(name, rapid.SliceOfNDistinct(rapid.SampledFrom(append([]string{""}, names[:i]...)), 0, i, rapid.ID).
				Filter(func(deps []string) bool { return !slices.Contains(deps, "") }).Draw(t, "deps")...))
		}
		p := plan(t, components, rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(t, "changed")...)
		run, _ := fanout.NewRun(p, nil)
		ended := map[string]fanout.Status{}
		for k := range p.Waves {
			for _, name := range run.Due(run.Plan.Waves[k]) {
				end := rapid.SampledFrom([]fanout.Status{fanout.OK, fanout.OK, fanout.Fail, fanout.Gated}).Draw(t, name)
				for _, c := range components {
					for _, dep := range c.DependsOn {
						if c.Name == name && slices.Contains(p.Order(), dep) && ended[dep] != fanout.OK {
							t.Fatalf("%s runs although %s is %q", name, dep, ended[dep])
						}
					}
				}
				if _, twice := ended[name]; twice {
					t.Fatalf("%s runs twice", name)
				}
				ended[name] = end
				run.Settle(name, end, nil)
			}
		}
		for _, b := range run.Blocked() {
			if _, ran := ended[b.Component]; ran || ended[b.BlockedBy] == fanout.OK || ended[b.BlockedBy] == "" {
				t.Fatalf("%s is blocked by %s, which ended %q", b.Component, b.BlockedBy, ended[b.BlockedBy])
			}
		}
		if len(ended)+len(run.Blocked()) != len(p.Order()) {
			t.Fatalf("%d ended and %d are blocked, of %d", len(ended), len(run.Blocked()), len(p.Order()))
		}
	})
}
