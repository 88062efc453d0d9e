package green

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/project"
)

func TestWhatACommitWaitsForNamesTheChecksAndThePatternsNobodyMeets(t *testing.T) {
	t.Parallel()
	g := project.Green{
		Phases: map[string]project.Phase{
			"check": {Runs: []string{"lint", "ci / * (push)", "unit"}},
			"spare": {Runs: []string{"nightly"}},
		},
		Require: []string{"check"},
	}
	passed := func(name string) CheckRun { return CheckRun{Name: name, Status: "completed", Conclusion: "success"} }
	for name, tc := range map[string]struct {
		runs []CheckRun
		want Waits
	}{
		"no check at all": {nil, Waits{Missing: []string{"lint", "ci / * (push)", "unit"}}},
		"a check under another name": {
			[]CheckRun{passed("lint"), passed("ci / build (push)"), passed("unit (push)"), passed("nightly")},
			Waits{Missing: []string{"unit"}, Others: []string{"nightly", "unit (push)"}},
		},
		"failed and running": {
			[]CheckRun{{Name: "lint", Status: "completed", Conclusion: "failure"}, {Name: "ci / build (push)", Status: "in_progress"}, passed("unit")},
			Waits{Failed: []string{"lint"}, Running: []string{"ci / build (push)"}},
		},
		"green": {[]CheckRun{passed("lint"), passed("ci / build (push)"), passed("unit"), passed("other")}, Waits{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, WaitsFor(g, tc.runs)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
