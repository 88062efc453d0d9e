package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

func TestAReportTellsMoreThanTheOneBeforeOrChangesNothing(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewReports(d)
		for i, r := range []store.Report{
			{Repo: "acme/infra", RunID: "a", Progress: 4, Body: []byte("first")},
			{Repo: "acme/infra", RunID: "a", Progress: 9, Body: []byte("more")},
			{Repo: "acme/infra", RunID: "a", Progress: 6, Body: []byte("late")},
			{Repo: "acme/infra", RunID: "a", Progress: 9, Body: []byte("twice")},
			{Repo: "acme/other", RunID: "a", Progress: 1, Body: []byte("another repository's")},
		} {
			if err := s.Put(t.Context(), d.Write, r, at(int64(i))); err != nil {
				t.Fatal(err)
			}
		}
		list := must[[]store.Report](t)(s.List(t.Context(), 10))
		if len(list) != 2 {
			t.Fatalf("%d reports: %+v", len(list), list)
		}
		want := store.Report{ID: list[1].ID, Repo: "acme/infra", RunID: "a", Progress: 9, Body: []byte("more"), Received: at(0), Updated: at(1)}
		if diff := cmp.Diff(want, must[store.Report](t)(s.Get(t.Context(), list[1].ID))); diff != "" {
			t.Error(diff)
		}
		if _, err := s.Get(t.Context(), 99); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an unknown report: %v", err)
		}
		if err := (store.Retention{}).Reports(t.Context(), d.Write, at(2)); err != nil {
			t.Fatal(err)
		}
		if left := must[[]store.Report](t)(s.List(t.Context(), 10)); len(left) != 1 || left[0].Repo != "acme/other" {
			t.Errorf("kept %+v", left)
		}
	})
}
