package store_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

func TestARunIsSavedStepByStep(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewRuns(d)
		target := store.RunTarget{RepoKey: repoKey, Env: "prod"}
		id := must[int64](t)(s.Create(t.Context(), d.Write, target, "c1", store.RunState{Status: "running", State: []byte(`{"step":0}`)}, at(1)))
		other := must[int64](t)(s.Create(t.Context(), d.Write, store.RunTarget{RepoKey: repoKey, Env: "staging"}, "c2", store.RunState{Status: "running"}, at(2)))
		if err := s.Save(t.Context(), d.Write, id, 0, store.RunState{Status: "applied", Summary: "two steps", State: []byte(`{"step":1}`)}, at(3)); err != nil {
			t.Fatal(err)
		}
		want := store.Run{ID: id, RunTarget: target, Commit: "c1", RunState: store.RunState{Status: "applied", Summary: "two steps", State: []byte(`{"step":1}`)}, Saves: 1, Created: at(1), Updated: at(3)}
		for name, got := range map[string]store.Run{
			"Get":    must[store.Run](t)(s.Get(t.Context(), id)),
			"Newest": must[store.Run](t)(s.Newest(t.Context(), target)),
		} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		if list := must[[]store.ListedRun](t)(s.List(t.Context(), other, 10)); len(list) != 1 || list[0].ID != id {
			t.Errorf("listed before %d: %+v", other, list)
		}
		for what, run := range map[string]int64{"that is unknown": 99, "that another saved": id} {
			if err := s.Save(t.Context(), d.Write, run, 0, store.RunState{Status: "failed"}, at(4)); !errors.Is(err, store.ErrOvertaken) {
				t.Errorf("saving a run %s: %v", what, err)
			}
		}
		if kept := must[store.Run](t)(s.Get(t.Context(), id)); kept.Status != "applied" {
			t.Errorf("it was written over: %+v", kept)
		}
	})
}

// A list brings what its rows show: what a run says of itself, and what its repository is
// called; the states, which hold every plan, stay where they are.
func TestAListOfRunsBringsWhatItsRowsShow(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewRuns(d)
		known := store.Repo{Repo: engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: 7, Owner: "acme", Name: "estate"}}
		if err := store.NewRepos(d).Upsert(t.Context(), d.Write, known); err != nil {
			t.Fatal(err)
		}
		var all []store.ListedRun // newest first
		for i, target := range []store.RunTarget{
			{RepoKey: known.Key(), Env: "prod"}, {RepoKey: known.Key(), Env: "prod"}, {RepoKey: known.Key(), Env: "prod", Member: "m"}, {RepoKey: "gone", Env: "prod"},
		} {
			state := store.RunState{Status: "ended", Summary: strconv.Itoa(i), State: []byte("{}")}
			one := store.ListedRun{Run: store.Run{RunTarget: target, Commit: "c", RunState: state, Created: at(int64(i)), Updated: at(int64(i))}}
			one.ID = must[int64](t)(s.Create(t.Context(), d.Write, target, "c", state, at(int64(i))))
			if one.State = nil; target.RepoKey != "gone" {
				one.RepoName = "acme/estate"
			}
			all = slices.Insert(all, 0, one)
		}
		if diff := cmp.Diff(all, must[[]store.ListedRun](t)(s.List(t.Context(), 0, 10))); diff != "" {
			t.Errorf("all (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(all[:3], must[[]store.ListedRun](t)(s.NewestOfEach(t.Context(), 10))); diff != "" {
			t.Errorf("the newest of each (-want +got):\n%s", diff)
		}
		if got := must[[]store.ListedRun](t)(s.NewestOfEach(t.Context(), 2)); len(got) != 2 {
			t.Errorf("of two listed %+v", got)
		}
	})
}

func TestRunEventsAreNumberedWithoutGapsPerRun(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewRuns(d)
		for _, step := range []struct {
			run  int64
			want int64
		}{{1, 1}, {1, 2}, {2, 1}, {1, 3}} {
			if got := must[int64](t)(s.Append(t.Context(), d.Write, step.run, []byte(`"e"`), at(4))); got != step.want {
				t.Errorf("run %d: event %d, want %d", step.run, got, step.want)
			}
		}
		want := []store.RunEvent{{Seq: 2, At: at(4), Event: []byte(`"e"`)}, {Seq: 3, At: at(4), Event: []byte(`"e"`)}}
		if diff := cmp.Diff(want, must[[]store.RunEvent](t)(s.Events(t.Context(), 1, 1, 10))); diff != "" {
			t.Error(diff)
		}
	})
}
