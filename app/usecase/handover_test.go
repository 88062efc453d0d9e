package usecase

import (
	"testing"
	"time"

	"github.com/chant-bot/chant/engine"
)

// What a settle read is for the plan of exactly the head it read, once, and for a
// moment: the code of a pull request runs by it.
func TestAHandoverIsForThePlanOfItsHeadOnceAndForAMoment(t *testing.T) {
	t.Parallel()
	repo := engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "example.com"}, ID: 7}
	change := engine.Change{Number: 3, Head: "head", BaseBranch: "main"}
	wish := PlanWish{Number: 3, Head: "head", BaseBranch: "main"}
	other := repo
	other.ID = 8
	fetched := make(chan struct{})
	close(fetched)
	for name, tt := range map[string]struct {
		repo engine.Repo
		wish PlanWish
		age  time.Duration
		want bool
	}{
		"that plan":                   {repo, wish, time.Second, true},
		"one that had to wait":        {repo, wish, handedFor + time.Millisecond, false},
		"another head's":              {repo, PlanWish{Number: 3, Head: "newer", BaseBranch: "main"}, 0, false},
		"another base branch's":       {repo, PlanWish{Number: 3, Head: "head", BaseBranch: "release"}, 0, false},
		"another pull request's":      {repo, PlanWish{Number: 4, Head: "head", BaseBranch: "main"}, 0, false},
		"another repository's":        {other, wish, 0, false},
		"one that a person asked for": {repo, PlanWish{Number: 3, Head: "head", BaseBranch: "main", Again: true}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h handovers
			now := time.Now()
			h.give(repo, handover{change: change, at: now, head: fetched})
			site := &Site{Repo: tt.repo}
			if _, got := h.take(t.Context(), site, tt.wish, now.Add(tt.age)); got != tt.want || site.fetched["main"] != tt.want {
				t.Errorf("taken: %v, want %v", got, tt.want)
			}
			if _, twice := h.take(t.Context(), site, tt.wish, now); twice && tt.want {
				t.Error("taken a second time")
			}
		})
	}
}

func TestAHandoverNobodyTookIsDropped(t *testing.T) {
	t.Parallel()
	var h handovers
	now := time.Now()
	for number := 1; number <= 3; number++ {
		h.give(engine.Repo{}, handover{change: engine.Change{Number: number}, at: now})
		now = now.Add(2 * handedFor)
	}
	if len(h.pulls) != 1 {
		t.Errorf("%d are kept, want the last", len(h.pulls))
	}
}
