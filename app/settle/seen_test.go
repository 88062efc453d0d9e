package settle

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/git/gittest"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/forges"
)

// What the job that planned a pull request saw of it is for the settle that its plan
// asked for: where anything else came since, only a look can tell what.
func TestASettleGoesByWhatThePlanSawUnlessAnotherFactCame(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"a": []byte("1")}})
	known := cloned(t, remote)
	if _, err := known.Ledger.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone(t, remote)
	ended := make(chan struct{})
	close(ended)
	for name, tt := range map[string]struct {
		saw        seen
		generation int64
		age        time.Duration
		stored     error
		want       bool
	}{
		"nothing else came":         {saw: seen{reading: reading{generation: 4}}, generation: 5, want: true},
		"another fact came":         {saw: seen{reading: reading{generation: 4}}, generation: 6},
		"none came of the plan":     {saw: seen{reading: reading{generation: 4}}, generation: 4},
		"the plan was not stored":   {saw: seen{reading: reading{generation: 4}}, generation: 5, stored: errors.New("disk full")},
		"it could not be read":      {saw: seen{reading: reading{generation: 4}, err: errors.New("502")}, generation: 5},
		"it was closed by then":     {saw: seen{reading: reading{generation: 4, change: engine.Change{State: engine.Closed}}}, generation: 5},
		"it was merged by then":     {saw: seen{reading: reading{generation: 4, change: engine.Change{State: engine.Merged}}}, generation: 5},
		"the settle came too late":  {saw: seen{reading: reading{generation: 4}}, generation: 5, age: handedFor + time.Millisecond},
		"nothing was read meantime": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			s := &Settler{Stage: &usecase.Stage{Now: func() time.Time { return now.Add(tt.age) }}}
			saw := tt.saw
			if saw.generation != 0 {
				saw.at, saw.done, saw.stored, saw.branch = now, ended, make(chan struct{}), "main"
			}
			if saw.change.State == "" {
				saw.change.State = engine.Open
			}
			s.HandOver(engine.Repo{}, 3, &PlannedChange{seen: &saw})(tt.stored)
			site := &usecase.Site{Clone: known.Clone, Ledger: known.Ledger}
			if _, got := s.takeSeen(t.Context(), site, 3, tt.generation); got != tt.want || knows(t, site) != tt.want {
				t.Errorf("taken: %v, want %v", got, tt.want)
			}
			if _, twice := s.takeSeen(t.Context(), site, 3, tt.generation); twice {
				t.Error("taken twice")
			}
		})
	}
}

// gone takes a remote away: what is known of it by now is all there is.
func gone(t *testing.T, remote string) {
	t.Helper()
	if err := os.Rename(remote, remote+".gone"); err != nil {
		t.Fatal(err)
	}
}

// knows tells whether a site has its branch and the ledger without asking the remote.
func knows(t *testing.T, site *usecase.Site) bool {
	t.Helper()
	_, err := site.Snapshot(t.Context())
	return err == nil && site.FetchBranch(t.Context(), "main") == nil
}

// raised is a subject's generation.
type raised struct {
	Facts
	generation int64
	order      *[]string
}

func (r raised) Generation(context.Context, engine.Repo, Subject) (int64, error) {
	*r.order = append(*r.order, "generation")
	return r.generation, nil
}

// looked is a forge that says when the pull request was read.
type looked struct {
	commented
	order *[]string
}

func (a *looked) Change(context.Context, engine.Repo, int) (engine.Change, error) {
	*a.order = append(*a.order, "change")
	return engine.Change{Number: 3, State: engine.Open, Head: "head", BaseBranch: "main"}, nil
}

// A fact that comes while the pull request is read must count as one that was not
// seen.
func TestHowManyFactsCameIsReadBeforeThePullRequestIs(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"a": []byte("1")}})
	site := cloned(t, remote)
	var order []string
	site.Forge = &looked{order: &order, commented: commented{on: map[int][]string{}}}
	said := saidBefore{noteTarget(3, project.NoteMarker("prod", "api")): Post{Hash: "said"}}
	s := &Settler{Stage: &usecase.Stage{Now: time.Now}, Facts: raised{generation: 4, order: &order}, Poster: &Poster{Posts: said}}
	done := &PlannedChange{seen: &seen{}}
	places := []usecase.StatusPlace{{Env: project.Env{Name: "prod"}}, {Env: project.Env{Name: "prod"}, Member: "api"}}
	s.see(t.Context(), site, engine.Change{Number: 3, Head: "head", BaseBranch: "main"}, places, done.seen)
	done.Wait()
	if done.seen.err != nil || done.seen.generation != 4 || done.seen.change.Head != "head" {
		t.Errorf("seen %+v", done.seen)
	}
	if diff := cmp.Diff([]string{"generation", "change"}, order); diff != "" {
		t.Error(diff)
	}
	bare := map[string]bool{project.NoteMarker("prod", ""): true, project.NoteMarker("prod", "api"): false}
	if diff := cmp.Diff(bare, done.seen.bare); diff != "" {
		t.Error(diff)
	}
	if gone(t, remote); knows(t, site) {
		t.Error("the plan's own site was written to beside the planning")
	}

	order = nil
	just := &PlannedChange{seen: &seen{reading: reading{at: time.Now(), generation: 3, change: done.seen.change}}}
	s.see(t.Context(), site, just.seen.change, places, just.seen)
	just.Wait()
	if just.seen.err != nil || just.seen.generation != 3 || len(order) > 0 || !cmp.Equal(bare, just.seen.bare) {
		t.Errorf("what the settle read just now was read again: %v, %+v", order, just.seen)
	}
}

// sought counts how often a note was looked for.
type sought struct {
	commented
	times int
}

func (f *sought) FindNote(ctx context.Context, repo engine.Repo, number int, marker string) (forges.Note, error) {
	f.times++
	return f.commented.FindNote(ctx, repo, number, marker)
}

// A note is not looked for again where nobody had written it a moment ago, unless we
// began to since: then it may stand there.
func TestANoteThatNobodyWroteIsWrittenWithoutAnotherLook(t *testing.T) {
	t.Parallel()
	const marker = "<!-- m -->"
	for name, tt := range map[string]struct {
		said saidBefore
		bare bool
		want int
	}{
		"nobody wrote it":      {saidBefore{}, true, 0},
		"nobody looked":        {saidBefore{}, false, 1},
		"we began to write it": {saidBefore{noteTarget(3, marker): Post{Hash: unanswered + "x"}}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forge := &sought{commented: commented{on: map[int][]string{}}}
			site := &usecase.Site{Forge: forge, Bare: map[string]bool{marker: tt.bare}}
			if err := (&Poster{Posts: tt.said}).Note(t.Context(), site, 3, marker, note.Input{Marker: marker}); err != nil {
				t.Fatal(err)
			}
			if forge.times != tt.want || len(forge.on[3]) != 1 {
				t.Errorf("looked %d times and wrote %d, want %d and one", forge.times, len(forge.on[3]), tt.want)
			}
		})
	}
}
