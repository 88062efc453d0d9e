package store_test

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// planned keeps one plan of a key.
func planned(t *testing.T, d *store.DB, key store.PlanKey, digest digest.Digest) (id int64) {
	t.Helper()
	tx(t, d, func(tx *sql.Tx) (err error) {
		id, err = store.NewPlans(d).Add(t.Context(), tx, store.Plan{PlanKey: key, Digest: digest, At: at(1)})
		return err
	})
	return id
}

var someDigest = func() digest.Digest {
	d, err := digest.Parse("jcs1-sha256:" + strings.Repeat("ab", 32))
	if err != nil {
		panic(err)
	}
	return d
}()

func TestAPlanIsReadBackWhole(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewPlans(d)
		want := store.Plan{
			PlanKey: planKey(nil), Tree: "tree1", Digest: someDigest, At: at(9),
			Document: []byte(`{"a":1}`), Report: []byte(`{"b":2}`), Sources: []byte(`{"c":3}`),
		}
		tx(t, d, func(tx *sql.Tx) (err error) {
			want.ID, err = s.Add(t.Context(), tx, want)
			return err
		})
		equal := cmp.Comparer(func(a, b digest.Digest) bool { return a == b })
		if diff := cmp.Diff(want, must[store.Plan](t)(s.Get(t.Context(), want.ID)), equal); diff != "" {
			t.Error(diff)
		}
	})
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
		with := func(change func(*store.PlanKey)) int64 { return planned(t, d, planKey(change), someDigest) }
		with(nil)
		staging := with(func(k *store.PlanKey) { k.Env = "staging" })
		moved := with(func(k *store.PlanKey) { k.BaseTip = "b2" })
		member := with(func(k *store.PlanKey) { k.Member = "net" })
		with(func(k *store.PlanKey) { k.Head = "h2" })
		with(func(k *store.PlanKey) { k.Number = 8 })
		with(func(k *store.PlanKey) { k.RepoKey = "github:github.com/43" })
		next := with(func(k *store.PlanKey) { k.BaseBranch = "next" })
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
		planned(t, d, planKey(nil), of("aa"))
		first := planned(t, d, planKey(nil), of("aa"))
		second := planned(t, d, planKey(nil), of("bb"))
		for range 30 {
			planned(t, d, planKey(nil), of("cc"))
			planned(t, d, planKey(func(k *store.PlanKey) { k.Env = "staging" }), of("dd"))
			planned(t, d, planKey(func(k *store.PlanKey) { k.Number = 8 }), of("ee"))
		}
		planned(t, d, planKey(nil), digest.Digest{})
		target := planKey(nil).PlanTarget
		if diff := cmp.Diff([]int64{second, first}, must[[]int64](t)(s.Earlier(t.Context(), target, of("cc"), 5))); diff != "" {
			t.Errorf("earlier plans (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int64{second}, must[[]int64](t)(s.Earlier(t.Context(), target, of("cc"), 1))); diff != "" {
			t.Errorf("the newest earlier plan (-want +got):\n%s", diff)
		}
	})
}

func TestPlansOfOneKeyMadeAtOnceAreAllKept(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		ids := make([]int64, 8)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				err := d.InTx(t.Context(), func(tx *sql.Tx) (err error) {
					ids[i], err = store.NewPlans(d).Add(t.Context(), tx, store.Plan{PlanKey: planKey(nil), At: at(1)})
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		slices.Sort(ids)
		if made := slices.Compact(ids); len(made) != 8 || made[0] == 0 {
			t.Errorf("plans %v were kept, want 8", made)
		}
	})
}
