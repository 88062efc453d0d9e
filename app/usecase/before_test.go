package usecase

import (
	"testing"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/run"
)

// pr-loop §5.12: what an apply came to counts for the next one of the same commit,
// base and gate alone.
func TestAnApplyFollowsTheOneBeforeOfTheSameCommitOnly(t *testing.T) {
	t.Parallel()
	earlier := kept(t)
	move(t, earlier.State.Start("net"))
	move(t, earlier.State.Settle("net", run.Outcome{}))
	read, _ := run.PlannedRead("net", "cidr", digest.Value{}, false).Moved(digest.StringOf("10.0.0.0/16"), false)
	move(t, earlier.State.Hold("app", []run.InputRead{read}))
	for name, tt := range map[string]struct {
		change  func(a *Apply)
		follows bool
	}{
		"the same":       {func(*Apply) {}, true},
		"another commit": {func(a *Apply) { a.Report.Head = "other" }, false},
		"another base":   {func(a *Apply) { a.Report.Base = "other" }, false},
		"another gate":   {func(a *Apply) { a.Report.Gate = "other" }, false},
		"another env":    {func(a *Apply) { a.Report.Env = "other" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := kept(t)
			tt.change(a)
			a.follow(earlier)
			_, applied := a.Before.Applied["net"]
			if held := len(a.Before.Held["app"]) == 1; applied != tt.follows || held != tt.follows {
				t.Errorf("applied %v and held %v are taken over, want %v", applied, held, tt.follows)
			}
		})
	}
}
