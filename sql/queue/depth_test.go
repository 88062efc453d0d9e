package queue_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/riverqueue/river"

	"github.com/chant-bot/chant/sql/queue"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

func TestJobsAreCountedByKindAndStateUntilTheyAreOver(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		c := client(t, d, func(context.Context, *river.Job[args]) error { return nil })
		for _, opts := range []*river.InsertOpts{nil, nil, {ScheduledAt: time.Now().Add(time.Hour)}} {
			if _, err := c.Insert(t.Context(), args{"x"}, opts); err != nil {
				t.Fatal(err)
			}
		}
		over, err := c.Insert(t.Context(), args{"over"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.JobCancel(t.Context(), over.Job.ID); err != nil {
			t.Fatal(err)
		}
		got, err := queue.Depths(t.Context(), d)
		want := []queue.Depth{{Kind: "test", State: "available", Jobs: 2}, {Kind: "test", State: "scheduled", Jobs: 1}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}
