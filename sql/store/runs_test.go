package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

func TestARunIsSavedStepByStep(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewRuns(d)
		target := store.RunTarget{RepoKey: repoKey, Env: "prod"}
		id := must[int64](t)(s.Create(t.Context(), d.Write, target, "c1", "running", []byte(`{"step":0}`), at(1)))
		other := must[int64](t)(s.Create(t.Context(), d.Write, store.RunTarget{RepoKey: repoKey, Env: "staging"}, "c2", "running", nil, at(2)))
		if err := s.Save(t.Context(), d.Write, id, 0, "applied", []byte(`{"step":1}`), at(3)); err != nil {
			t.Fatal(err)
		}
		want := store.Run{ID: id, RunTarget: target, Commit: "c1", Status: "applied", State: []byte(`{"step":1}`), Saves: 1, Created: at(1), Updated: at(3)}
		for name, got := range map[string]store.Run{
			"Get":    must[store.Run](t)(s.Get(t.Context(), id)),
			"Newest": must[store.Run](t)(s.Newest(t.Context(), target)),
		} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		list := must[[]store.Run](t)(s.List(t.Context(), 0, 10))
		if len(list) != 2 || list[0].ID != other || list[1].ID != id || list[1].State != nil {
			t.Errorf("listed %+v", list)
		}
		for what, run := range map[string]int64{"that is unknown": 99, "that another saved": id} {
			if err := s.Save(t.Context(), d.Write, run, 0, "failed", nil, at(4)); !errors.Is(err, store.ErrOvertaken) {
				t.Errorf("saving a run %s: %v", what, err)
			}
		}
		if kept := must[store.Run](t)(s.Get(t.Context(), id)); kept.Status != "applied" {
			t.Errorf("it was written over: %+v", kept)
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
