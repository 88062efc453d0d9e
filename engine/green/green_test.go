package green

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/project"
)

var rules = project.Green{
	Branch: "main",
	Phases: map[string]project.Phase{
		"check": {Runs: []string{"lint", "unit (*)"}},
		"e2e":   {Runs: []string{"e2e"}, SkippedPass: true},
		"extra": {Runs: []string{"never"}},
	},
	Require: []string{"check", "e2e"},
}

func run(id int64, name, conclusion string) CheckRun {
	status := "completed"
	if conclusion == "" {
		status = "in_progress"
	}
	return CheckRun{ID: id, Name: name, Status: status, Conclusion: conclusion, URL: "https://example.org/" + name}
}

func from(source string, r CheckRun) CheckRun {
	r.Source = source
	return r
}

func TestJudge(t *testing.T) {
	t.Parallel()
	lint, unit, e2e := run(1, "lint", "success"), run(2, "unit (1)", "success"), run(3, "e2e", "success")
	tests := []struct {
		name  string
		runs  []CheckRun
		want  State
		phase string
		run   string
	}{
		{"all phases pass", []CheckRun{lint, unit, e2e}, Pass, "", ""},
		{"a phase that is not required does not matter", []CheckRun{lint, unit, e2e, run(4, "never", "failure")}, Pass, "", ""},
		{"no run at all is pending", nil, Pending, "", ""},
		{"a pattern without a run is pending", []CheckRun{lint, e2e}, Pending, "", ""},
		{"a run that is not completed is pending", []CheckRun{lint, unit, run(3, "e2e", "")}, Pending, "", ""},
		{"a conclusion on a run that is not completed says nothing", []CheckRun{lint, unit, {ID: 3, Name: "e2e", Status: "queued", Conclusion: "failure"}}, Pending, "", ""},
		{"a failed run fails", []CheckRun{lint, run(2, "unit (1)", "failure"), e2e}, Fail, "check", "unit (1)"},
		{"a failure wins over what is pending", []CheckRun{run(2, "unit (1)", "failure")}, Fail, "check", "unit (1)"},
		{"a failure in a later phase wins over a pending earlier one", []CheckRun{lint, run(3, "e2e", "failure")}, Fail, "e2e", "e2e"},
		{"the first failing phase is named", []CheckRun{run(1, "lint", "failure"), run(3, "e2e", "failure")}, Fail, "check", "lint"},
		{"skipped fails by default", []CheckRun{run(1, "lint", "skipped"), unit, e2e}, Fail, "check", "lint"},
		{"skipped passes where the phase says so", []CheckRun{lint, unit, run(3, "e2e", "skipped")}, Pass, "", ""},
		{"neutral is no success", []CheckRun{run(1, "lint", "neutral"), unit, e2e}, Fail, "check", "lint"},
		{"cancelled is no success", []CheckRun{lint, unit, run(3, "e2e", "cancelled")}, Fail, "e2e", "e2e"},
		{"the latest attempt counts: now good", []CheckRun{run(1, "lint", "failure"), run(9, "lint", "success"), unit, e2e}, Pass, "", ""},
		{"the latest attempt counts: now bad", []CheckRun{run(9, "lint", "failure"), run(1, "lint", "success"), unit, e2e}, Fail, "check", "lint"},
		{"what one source says hides nothing of another", []CheckRun{from("ci", run(1, "lint", "failure")), from("bob", run(9, "lint", "success")), unit, e2e}, Fail, "check", "lint"},
		{"the latest attempt of each source counts", []CheckRun{from("ci", run(1, "lint", "failure")), from("bob", run(2, "lint", "success")), from("ci", run(9, "lint", "success")), unit, e2e}, Pass, "", ""},
		{"each run of a pattern counts", []CheckRun{lint, unit, run(5, "unit (2)", "failure"), e2e}, Fail, "check", "unit (2)"},
		{"a pattern meets whole names only", []CheckRun{lint, unit, run(3, "e2e / x", "success")}, Pending, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := Judge(rules, tt.runs)
			var failing string
			if v.Run != nil {
				failing = v.Run.Name
			}
			if v.State != tt.want || v.Phase != tt.phase || failing != tt.run {
				t.Errorf("%s, phase %q, run %q; want %s, %q, %q", v.State, v.Phase, failing, tt.want, tt.phase, tt.run)
			}
		})
	}
}

func TestADeclarationThatRequiresNothingNeverPasses(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]project.Green{
		"no required phase":        {Branch: "main"},
		"a phase without patterns": {Branch: "main", Phases: map[string]project.Phase{"p": {}}, Require: []string{"p"}},
		"an undeclared phase":      {Branch: "main", Require: []string{"p"}},
	} {
		if v := Judge(g, []CheckRun{run(1, "lint", "success")}); v.State != Pending {
			t.Errorf("%s: %s", name, v.State)
		}
	}
}

func TestARunThatTwoPatternsMeetIsListedOnce(t *testing.T) {
	t.Parallel()
	g := project.Green{Phases: map[string]project.Phase{"p": {Runs: []string{"e2e", "e*"}}}, Require: []string{"p"}}
	v := Judge(g, []CheckRun{run(1, "e2e", "success"), run(2, "extra", "success")})
	if diff := cmp.Diff([]CheckRun{run(1, "e2e", "success"), run(2, "extra", "success")}, v.Phases["p"]); diff != "" || v.State != Pass {
		t.Errorf("%s with runs (-want +got):\n%s", v.State, diff)
	}
}

func TestOfTwoRunsThatCannotBeToldApartTheWorseCounts(t *testing.T) {
	t.Parallel()
	g := project.Green{Phases: map[string]project.Phase{"p": {Runs: []string{"e2e"}}}, Require: []string{"p"}}
	good, bad := run(0, "e2e", "success"), run(0, "e2e", "failure")
	for _, runs := range [][]CheckRun{{good, bad}, {bad, good}} {
		if v := Judge(g, runs); v.State != Fail {
			t.Errorf("%v: %s", runs, v.State)
		}
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"lint", "lint", true}, {"lint", "lint2", false}, {"lint", "Lint", false},
		{"*", "", true}, {"*", "anything", true},
		{"unit (*)", "unit (1, linux)", true}, {"unit (*)", "unit ()", true}, {"unit (*)", "unit (", false},
		{"a*b*c", "abc", true}, {"a*b*c", "a-b-b-c", true}, {"a*b*c", "acb", false}, {"a*x*c", "abc", false}, {"a*b", "axc", false}, {"a*b", "xb", false}, {"a*a", "a", false},
		{"a.c", "abc", false}, {"[ab]", "a", false}, {"a?", "ab", false},
	}
	for _, tt := range tests {
		if got := matches(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%q on %q: %v", tt.pattern, tt.name, got)
		}
	}
}

// The order a forge lists runs in never matters, and a failing run never makes a
// commit greener.
func TestJudgeProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var runs []CheckRun
		for i := range rapid.IntRange(0, 8).Draw(t, "runs") {
			name := rapid.SampledFrom([]string{"lint", "unit (1)", "unit (2)", "e2e"}).Draw(t, "name")
			conclusion := rapid.SampledFrom([]string{"", "success", "success", "skipped", "failure"}).Draw(t, "conclusion")
			runs = append(runs, run(int64(i), name, conclusion))
		}
		v := Judge(rules, runs)
		shuffled := rapid.Permutation(runs).Draw(t, "order")
		if diff := cmp.Diff(v, Judge(rules, shuffled)); diff != "" {
			t.Fatalf("order changed the verdict:\n%s", diff)
		}
		worse := append(slices.Clone(runs), run(100, "lint", "failure"))
		if Judge(rules, worse).State != Fail {
			t.Fatal("a failing required run must fail the commit")
		}
		if v.State == Pass && slices.ContainsFunc(v.Phases["check"], func(r CheckRun) bool { return r.Conclusion != "success" }) {
			t.Fatal("passed with a run that did not succeed")
		}
	})
}
