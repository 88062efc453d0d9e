package store_test

import (
	"database/sql"
	"errors"
	"strings"
	"sync"
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
		if diff := cmp.Diff([]store.Plan{want}, must[[]store.Plan](t)(s.List(t.Context(), 0, 5)), equal, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}

// finished is a plan that is done.
func finished(t *testing.T, d *store.DB, key store.PlanKey, digest digest.Digest) int64 {
	t.Helper()
	id, _ := ensure(t, d, key, true)
	must[bool](t)(store.NewPlans(d).Finish(t.Context(), d.Write, id, store.PlanResult{Status: store.PlanDone, Digest: digest}, at(2)))
	return id
}

// pr-loop decision 1: a moved base tip alone does not re-plan.
func TestTheNewestFinishedPlanOfAHeadCounts(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewPlans(d)
		target := planKey(nil).PlanTarget
		if _, err := s.Newest(t.Context(), target); !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("before any plan: %v", err)
		}
		with := func(change func(*store.PlanKey)) int64 { return finished(t, d, planKey(change), someDigest) }
		with(nil)
		staging := with(func(k *store.PlanKey) { k.Env = "staging" })
		moved := with(func(k *store.PlanKey) { k.BaseTip = "b2" })
		member := with(func(k *store.PlanKey) { k.Member = "net" })
		with(func(k *store.PlanKey) { k.Head = "h2" })
		with(func(k *store.PlanKey) { k.Number = 8 })
		with(func(k *store.PlanKey) { k.RepoKey = "github:github.com/43" })
		next := with(func(k *store.PlanKey) { k.BaseBranch = "next" })
		ensure(t, d, planKey(func(k *store.PlanKey) { k.BaseTip = "b3" }), false) // not finished
		want := []int64{staging, moved, member}
		if diff := cmp.Diff(want, must[[]int64](t)(s.OfHead(t.Context(), repoKey, 7, "h1", "main"))); diff != "" {
			t.Errorf("plans of the head (-want +got):\n%s", diff)
		}
		if got := must[store.Plan](t)(s.Newest(t.Context(), target)); got.ID != next {
			t.Errorf("the newest is %d, want %d", got.ID, next)
		}
	})
}

// However many plans a pull request has, none that counts is hidden by others.
func TestEarlierPlansAreOnePerDigestWhateverCameBetween(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewPlans(d)
		of := func(hex string) digest.Digest {
			dg, err := digest.Parse("jcs1-sha256:" + strings.Repeat(hex, 32))
			if err != nil {
				t.Fatal(err)
			}
			return dg
		}
		finished(t, d, planKey(nil), of("aa"))
		first := finished(t, d, planKey(nil), of("aa"))
		second := finished(t, d, planKey(nil), of("bb"))
		for range 30 {
			finished(t, d, planKey(nil), of("cc"))
			finished(t, d, planKey(func(k *store.PlanKey) { k.Env = "staging" }), of("dd"))
			finished(t, d, planKey(func(k *store.PlanKey) { k.Number = 8 }), of("ee"))
		}
		finished(t, d, planKey(nil), digest.Digest{})
		target := planKey(nil).PlanTarget
		if diff := cmp.Diff([]int64{second, first}, must[[]int64](t)(s.Earlier(t.Context(), target, of("cc"), 5))); diff != "" {
			t.Errorf("earlier plans (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int64{second}, must[[]int64](t)(s.Earlier(t.Context(), target, of("cc"), 1))); diff != "" {
			t.Errorf("the newest earlier plan (-want +got):\n%s", diff)
		}
	})
}

func TestPlansOfOneKeyQueuedAtOnceAreOneAndThoseMadeAtOnceAreMany(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewPlans(d)
		attempts := func(change func(*store.PlanKey), again bool, do func(tx *sql.Tx, id int64) error) map[int64]bool {
			ids := make([]int64, 8)
			var wg sync.WaitGroup
			for i := range ids {
				wg.Go(func() {
					err := d.InTx(t.Context(), func(tx *sql.Tx) (err error) {
						if ids[i], _, err = s.Ensure(t.Context(), tx, planKey(change), again, at(1)); err != nil {
							return err
						}
						return do(tx, ids[i])
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			different := map[int64]bool{}
			for _, id := range ids {
				different[id] = true
			}
			return different
		}
		queued := attempts(nil, true, func(*sql.Tx, int64) error { return nil })
		if len(queued) != 1 {
			t.Errorf("%d plans were queued, want 1", len(queued))
		}
		made := attempts(func(k *store.PlanKey) { k.Head = "h2" }, true, func(tx *sql.Tx, id int64) error {
			_, err := s.Finish(t.Context(), tx, id, store.PlanResult{Status: store.PlanFailed}, at(2))
			return err
		})
		if len(made) != 8 {
			t.Errorf("%d attempts were made, want 8", len(made))
		}
	})
}
