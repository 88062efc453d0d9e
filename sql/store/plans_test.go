package store_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

func planKey(change func(*store.PlanKey)) store.PlanKey {
	key := store.PlanKey{
		PlanTarget: store.PlanTarget{RepoKey: repoKey, Env: "prod", Number: 7, Head: "h1", BaseBranch: "main"},
		BaseTip:    "b1",
	}
	if change != nil {
		change(&key)
	}
	return key
}

func ensure(t *testing.T, d *store.DB, key store.PlanKey, again bool) (id int64, created bool) {
	t.Helper()
	tx(t, d, func(tx *sql.Tx) (err error) {
		id, created, err = store.NewPlans(d).Ensure(t.Context(), tx, key, again, at(1))
		return err
	})
	return id, created
}

var someDigest = func() digest.Digest {
	d, err := digest.Parse("jcs1-sha256:" + strings.Repeat("ab", 32))
	if err != nil {
		panic(err)
	}
	return d
}()

func TestEachPlanKeyIsPlannedOnce(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		first, created := ensure(t, d, planKey(nil), false)
		if !created {
			t.Fatal("the first plan was not created")
		}
		if again, created := ensure(t, d, planKey(nil), false); created || again != first {
			t.Errorf("the same key made plan %d, created %v", again, created)
		}
		for name, change := range map[string]func(*store.PlanKey){
			"repository":  func(k *store.PlanKey) { k.RepoKey = "github:github.com/43" },
			"environment": func(k *store.PlanKey) { k.Env = "staging" },
			"member":      func(k *store.PlanKey) { k.Member = "net" },
			"number":      func(k *store.PlanKey) { k.Number = 8 },
			"head":        func(k *store.PlanKey) { k.Head = "h2" },
			"base branch": func(k *store.PlanKey) { k.BaseBranch = "next" },
			"base tip":    func(k *store.PlanKey) { k.BaseTip = "b2" },
		} {
			if _, created := ensure(t, d, planKey(change), false); !created {
				t.Errorf("another %s made no other plan", name)
			}
		}
	})
}

func TestPlanningAgainWaitsForTheAttemptThatRuns(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewPlans(d)
		first, _ := ensure(t, d, planKey(nil), false)
		if id, created := ensure(t, d, planKey(nil), true); created || id != first {
			t.Error("a queued plan was queued again")
		}
		must[bool](t)(s.Start(t.Context(), d.Write, first, "tree1"))
		if id, created := ensure(t, d, planKey(nil), true); created || id != first {
			t.Error("a running plan was queued again")
		}
		must[bool](t)(s.Finish(t.Context(), d.Write, first, store.PlanResult{Status: store.PlanFailed, Error: "no"}, at(2)))
		if id, created := ensure(t, d, planKey(nil), true); !created || id == first {
			t.Error("a failed plan was not queued again when asked")
		}
	})
}

func TestAPlanEndsOnceAndIsReadBackWhole(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewPlans(d)
		id, _ := ensure(t, d, planKey(nil), false)
		must[bool](t)(s.Start(t.Context(), d.Write, id, "tree1"))
		result := store.PlanResult{
			Status: store.PlanDone, Digest: someDigest,
			Document: []byte(`{"a":1}`), Report: []byte(`{"b":2}`), Sources: []byte(`{"c":3}`),
		}
		if !must[bool](t)(s.Finish(t.Context(), d.Write, id, result, at(9))) {
			t.Fatal("not finished")
		}
		late := store.PlanResult{Status: store.PlanFailed, Error: "late"}
		if must[bool](t)(s.Finish(t.Context(), d.Write, id, late, at(10))) || must[bool](t)(s.Start(t.Context(), d.Write, id, "tree2")) {
			t.Error("a plan that ended began or ended again")
		}
		want := store.Plan{
			ID: id, PlanKey: planKey(nil), Attempt: 1, Tree: "tree1", Status: store.PlanDone, Digest: someDigest,
			Created: at(1), Finished: at(9), Document: result.Document, Report: result.Report, Sources: result.Sources,
		}
		equal := cmp.Comparer(func(a, b digest.Digest) bool { return a == b })
		if diff := cmp.Diff(want, must[store.Plan](t)(s.Get(t.Context(), id)), equal); diff != "" {
			t.Error(diff)
		}
		want.Document, want.Report, want.Sources = nil, nil, nil
		for name, list := range map[string][]store.Plan{
			"List":   must[[]store.Plan](t)(s.List(t.Context(), 0, 5)),
			"OfPull": must[[]store.Plan](t)(s.OfPull(t.Context(), repoKey, 7, 5)),
		} {
			if diff := cmp.Diff([]store.Plan{want}, list, equal, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	})
}

// pr-loop decision 1: a moved base tip alone does not re-plan.
func TestTheNewestPlanOfATargetCountsWhateverItsBaseTip(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewPlans(d)
		target := planKey(nil).PlanTarget
		if _, err := s.Newest(t.Context(), target); !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("before any plan: %v", err)
		}
		ensure(t, d, planKey(nil), false)
		second, _ := ensure(t, d, planKey(func(k *store.PlanKey) { k.BaseTip = "b2" }), false)
		ensure(t, d, planKey(func(k *store.PlanKey) { k.Head = "h2" }), false)
		ensure(t, d, planKey(func(k *store.PlanKey) { k.BaseBranch = "next" }), false)
		if got := must[store.Plan](t)(s.Newest(t.Context(), target)); got.ID != second {
			t.Errorf("newest is %d, want %d", got.ID, second)
		}
	})
}
