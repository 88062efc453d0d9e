package store_test

import (
	"database/sql"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

// What is old goes, but never what an open pull request or a waiting gate needs.
func TestWhatIsOldAndNeededByNothingIsForgotten(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		plans, runs, subjects := store.NewPlans(d), store.NewRuns(d), store.NewSubjects(d)
		planIDs := map[string]int64{}
		for i, name := range []string{"closed", "open", "raised", "unknown"} {
			number := i + 1
			planIDs[name] = planned(t, d, planKey(func(k *store.PlanKey) { k.Number = number }), someDigest)
			sub := pull(number)
			tx(t, d, func(tx *sql.Tx) error {
				if name == "unknown" {
					return nil
				}
				generation, _, err := subjects.Raise(t.Context(), tx, sub, at(1))
				if err == nil && name != "raised" {
					_, err = subjects.EndSettle(t.Context(), tx, sub, generation)
				}
				return errors.Join(err, subjects.SetOpen(t.Context(), tx, sub, name == "open"))
			})
		}
		prod := store.RunTarget{RepoKey: repoKey, Env: "prod"}
		run := func(target store.RunTarget, status string, saved int64) int64 {
			id := must[int64](t)(runs.Create(t.Context(), d.Write, target, "c", store.RunState{Status: "running"}, at(1)))
			must[int64](t)(runs.Append(t.Context(), d.Write, id, []byte("1"), at(1)))
			err := errors.Join(runs.Save(t.Context(), d.Write, id, 0, store.RunState{Status: status}, at(saved)), runs.Carries(t.Context(), d.Write, target, id, []string{"m" + strconv.FormatInt(id, 10)}))
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		kept := map[int64]bool{
			run(prod, "ended", 2): false, run(prod, "running", 2): true, run(prod, "ended", 9): true, run(prod, "ended", 3): true,
			run(store.RunTarget{RepoKey: repoKey, Env: "staging"}, "ended", 2): true,
		}
		audit := store.NewAudit(d)
		for _, when := range []int64{1, 9} {
			tx(t, d, func(tx *sql.Tx) error {
				return audit.Record(t.Context(), tx, store.AuditEntry{At: at(when), RepoKey: repoKey, Action: strconv.FormatInt(when, 10)})
			})
		}

		forget := func(before time.Time) {
			tx(t, d, func(tx *sql.Tx) error {
				return errors.Join(store.Retention{}.Runs(t.Context(), tx, "ended", before), store.Retention{}.Audit(t.Context(), tx, before))
			})
		}
		forget(at(0))
		for name, id := range planIDs {
			if _, err := plans.Get(t.Context(), id); err != nil {
				t.Errorf("the plan of the %s one, where none is old: %v", name, err)
			}
		}
		forget(at(5))
		left := map[string]bool{}
		for name, id := range planIDs {
			_, err := plans.Get(t.Context(), id)
			left[name] = err == nil
		}
		if diff := cmp.Diff(map[string]bool{"closed": false, "open": true, "raised": true, "unknown": false}, left); diff != "" {
			t.Errorf("plans left (-want +got):\n%s", diff)
		}
		for id, want := range kept {
			_, err := runs.Get(t.Context(), id)
			_, carried := runs.Carrying(t.Context(), prod, "m"+strconv.FormatInt(id, 10))
			events := must[[]store.RunEvent](t)(runs.Events(t.Context(), id, 0, 10))
			if (err == nil) != want || (len(events) > 0) != want || !want && !errors.Is(carried, store.ErrNotFound) {
				t.Errorf("run %d: %v, %d events, carried %v; want it kept: %v", id, err, len(events), carried, want)
			}
		}
		if rows := must[[]store.AuditEntry](t)(audit.List(t.Context(), "", 0, 10)); len(rows) != 1 || rows[0].Action != "9" {
			t.Errorf("the audit trail holds %+v", rows)
		}
	})
}
