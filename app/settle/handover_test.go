package settle

import (
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

// What a settle read is for the plan of exactly the head it read, once, and for a
// moment: the code of a pull request runs by it.
func TestAHandoverIsForThePlanOfItsHeadOnceAndForAMoment(t *testing.T) {
	t.Parallel()
	repo := engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "example.com"}, ID: 7}
	change := engine.Change{Number: 3, Head: "head", BaseBranch: "main"}
	wish := PlanWish{Number: 3, Head: "head", BaseBranch: "main"}
	remote := gittest.Bare(t)
	gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"a": []byte("1")}})
	known := cloned(t, remote)
	gone(t, remote)
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
			now := time.Now()
			s := &Settler{Stage: &usecase.Stage{Now: func() time.Time { return now.Add(tt.age) }}}
			s.toPlan.give(repo, 3, toPlan{reading: reading{change: change}, head: fetched}, now)
			site := &usecase.Site{Repo: tt.repo, Clone: known.Clone}
			if _, got := s.takePlan(t.Context(), site, tt.wish); got != tt.want || (site.FetchBranch(t.Context(), "main") == nil) != tt.want {
				t.Errorf("taken: %v, want %v", got, tt.want)
			}
			if _, twice := s.takePlan(t.Context(), site, tt.wish); twice && tt.want {
				t.Error("taken a second time")
			}
		})
	}
}

func TestAHandoverNobodyTookIsDropped(t *testing.T) {
	t.Parallel()
	var h handovers[string]
	now := time.Now()
	for number := 1; number <= 3; number++ {
		h.give(engine.Repo{}, number, "head", now)
		now = now.Add(2 * handedFor)
	}
	if len(h.pulls) != 1 {
		t.Errorf("%d are kept, want the last", len(h.pulls))
	}
}

// What a delivery names as its head becomes an argument of git.
func TestOnlyACommitIsExpectedAsAHead(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]bool{
		strings.Repeat("a", 40):  true,
		strings.Repeat("0f", 32): true,
		"":                       false,
		strings.Repeat("a", 39):  false,
		"--upload-pack=x":        false,
		strings.Repeat("a", 40) + ":refs/heads/main":    false,
		strings.Repeat("a", 40) + "\n":                  false,
		"refs/heads/" + strings.Repeat("a", 40-11) + "": false,
	} {
		s := &Settler{Stage: &usecase.Stage{Now: time.Now}}
		s.Expect(engine.Repo{}, 1, head)
		if _, got := s.expected.take(engine.Repo{}, 1, time.Now()); got != want {
			t.Errorf("%q is expected: %v, want %v", head, got, want)
		}
	}
}
