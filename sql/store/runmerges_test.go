package store_test

import (
	"errors"
	"testing"

	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

func TestTheNewestRunOfATargetThatCarriesAMergeIsFound(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewRuns(d)
		prod, staging := store.RunTarget{RepoKey: repoKey, Env: "prod"}, store.RunTarget{RepoKey: repoKey, Env: "staging"}
		var ids []int64
		for _, run := range []struct {
			target store.RunTarget
			merges []string
		}{{prod, []string{"m1"}}, {prod, []string{"m2", "m1"}}, {staging, []string{"m1"}}} {
			id := must[int64](t)(s.Create(t.Context(), d.Write, run.target, "c", store.RunState{Status: "running"}, at(1)))
			if err := s.Carries(t.Context(), d.Write, run.target, id, run.merges); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		if got := must[store.Run](t)(s.Carrying(t.Context(), prod, "m1")); got.ID != ids[1] {
			t.Errorf("m1 is carried by run %d, want %d", got.ID, ids[1])
		}
		if _, err := s.Carrying(t.Context(), staging, "m2"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a merge that no run of the target carries: %v", err)
		}
		if got := must[[]store.Run](t)(s.InStatus(t.Context(), "running")); len(got) != 3 {
			t.Errorf("%d runs are running, want 3", len(got))
		}
	})
}
