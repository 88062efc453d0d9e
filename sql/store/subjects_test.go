package store_test

import (
	"database/sql"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

const repoKey = "github:github.com/42"

func pull(number int) store.Subject {
	return store.Subject{RepoKey: repoKey, Kind: store.SubjectPull, Name: strconv.Itoa(number)}
}

// Whatever the order of facts and settles, two settles at once included: when
// every fact was followed by the settles it asked for, the newest fact was seen
// by a settle that began after it.
func TestNoFactIsLostBetweenSettles(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewSubjects(d)
		number := 0
		rapid.Check(t, func(rt *rapid.T) {
			number++
			ctx, sub := t.Context(), pull(number)
			facts, seen := int64(0), int64(0)
			var running []int64 // generations of settles that have begun
			queued := false
			step := func(err error) {
				if err != nil {
					rt.Fatal(err)
				}
			}
			begin := func() {
				state, err := s.Get(ctx, sub)
				step(err)
				running, queued = append(running, state.Generation), false
			}
			end := func(i int) {
				again, err := s.EndSettle(ctx, d.Write, sub, running[i])
				step(err)
				seen, queued = max(seen, running[i]), queued || again
				running = append(running[:i], running[i+1:]...)
			}
			for range rapid.IntRange(1, 20).Draw(rt, "steps") {
				switch rapid.SampledFrom([]string{"fact", "begin", "end"}).Draw(rt, "step") {
				case "fact":
					generation, first, err := s.Raise(ctx, d.Write, sub, at(0))
					step(err)
					if facts++; generation != facts {
						rt.Fatalf("fact %d raised to %d", facts, generation)
					}
					queued = queued || first // otherwise the settle under way queues the next
				case "begin":
					if queued {
						begin()
					}
				case "end":
					if len(running) > 0 {
						end(rapid.IntRange(0, len(running)-1).Draw(rt, "which"))
					}
				}
			}
			for queued || len(running) > 0 {
				if len(running) == 0 {
					begin()
				}
				end(0)
			}
			if seen != facts {
				rt.Fatalf("settled up to %d of %d facts and nothing is queued", seen, facts)
			}
		})
	})
}

func TestASubjectNobodyRaisedHasNothingToSettle(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewSubjects(d)
		sub := store.Subject{RepoKey: repoKey, Kind: store.SubjectBranch, Name: "main"}
		if must[bool](t)(s.EndSettle(t.Context(), d.Write, sub, 0)) {
			t.Error("settles again")
		}
	})
}

func TestSweepsVisitWhatIsOpenOrBehind(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewSubjects(d)
		open, closed, behind := pull(1), pull(2), pull(3)
		for _, sub := range []store.Subject{open, closed, behind} {
			generation, _, err := s.Raise(t.Context(), d.Write, sub, at(5))
			if err != nil {
				t.Fatal(err)
			}
			must[bool](t)(s.EndSettle(t.Context(), d.Write, sub, generation))
		}
		for _, sub := range []store.Subject{closed, behind} {
			if err := s.SetOpen(t.Context(), d.Write, sub, false); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := s.Raise(t.Context(), d.Write, behind, at(6)); err != nil {
			t.Fatal(err)
		}
		want := []store.SubjectState{
			{Subject: open, Generation: 1, Settled: 1, Open: true},
			{Subject: behind, Generation: 2, Settled: 1, Open: false},
		}
		if diff := cmp.Diff(want, must[[]store.SubjectState](t)(s.ToSettle(t.Context()))); diff != "" {
			t.Error(diff)
		}
	})
}

func TestFactsThatComeAtOnceAreAllCounted(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s, sub := store.NewSubjects(d), pull(1)
		const facts = 20
		var firsts atomic.Int64
		var wg sync.WaitGroup
		for range facts {
			wg.Go(func() {
				err := d.InTx(t.Context(), func(tx *sql.Tx) error {
					_, first, err := s.Raise(t.Context(), tx, sub, at(1))
					if first {
						firsts.Add(1)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := must[store.SubjectState](t)(s.Get(t.Context(), sub)).Generation; got != facts || firsts.Load() != 1 {
			t.Errorf("generation %d, and %d facts queue a settle; want %d and 1", got, firsts.Load(), facts)
		}
	})
}
