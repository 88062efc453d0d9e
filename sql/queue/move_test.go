package queue_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/riverqueue/river"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/sql/queue"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

func unique() *river.InsertOpts { return &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}} }

// installed fills every table of ours.
func installed(t *testing.T, d *store.DB) {
	t.Helper()
	ctx, at := t.Context(), time.Unix(1_800_000_000, 0)
	repo := engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: 42, Owner: "acme", Name: "infra"}
	target, ref := store.RunTarget{RepoKey: repo.Key(), Env: "prod"}, engine.CommentRef{Kind: engine.IssueComment, ID: 5, Number: 7}
	c := client(t, d, nil)
	inbox := store.NewInbox(d, func(context.Context, *sql.Tx) (bool, error) { return true, nil })
	for i := range 3 {
		delivery := store.Delivery{GUID: fmt.Sprint(i), Repo: repo, Body: []byte{0, 0xff}, State: store.DeliveryPending, Outcome: "a\x00b"}
		if _, err := inbox.Accept(ctx, delivery); err != nil {
			t.Fatal(err)
		}
	}
	if err := inbox.Close(); err != nil {
		t.Fatal(err)
	}
	err := d.InTx(ctx, func(tx *sql.Tx) error {
		_, _, raised := store.NewSubjects(d).Raise(ctx, tx, store.Subject{RepoKey: repo.Key(), Kind: store.SubjectPull, Name: "7"}, at)
		key := store.PlanKey{PlanTarget: store.PlanTarget{RepoKey: repo.Key(), Head: "h"}}
		_, planned := store.NewPlans(d).Add(ctx, tx, store.Plan{PlanKey: key, At: at, Document: []byte("{}")})
		run, created := store.NewRuns(d).Create(ctx, tx, target, "c", store.RunState{Status: "running", Summary: "s", State: []byte("{}")}, at)
		_, appended := store.NewRuns(d).Append(ctx, tx, run, []byte("{}"), at)
		_, received := store.NewComments(d).Receive(ctx, tx, repo.Key(), ref, at)
		_, queued := c.InsertTx(ctx, tx, args{"unique"}, unique())
		_, done := c.InsertTx(ctx, tx, args{"done"}, nil)
		return errors.Join(raised, planned, created, appended, received, queued, done,
			store.NewRepos(d).Upsert(ctx, tx, store.Repo{Repo: repo, UpdatedAt: at}),
			store.NewRuns(d).Carries(ctx, tx, target, run, []string{"m"}),
			store.NewPosts(d).Put(ctx, tx, repo.Key(), "note", store.Post{Hash: "h", PostedAt: at}),
			store.NewAudit(d).Record(ctx, tx, store.AuditEntry{At: at, Action: "approve"}),
			store.NewReports(d).Put(ctx, tx, store.Report{Repo: "acme/infra", RunID: "r", Body: []byte("{}")}, at),
			store.NewSettings(d).Put(ctx, tx, "k", []byte("v"), at))
	})
	if err != nil {
		t.Fatal(err)
	}
	execute(t, d, `UPDATE river_job SET state = 'completed', finalized_at = datetime('now') WHERE id = 2`)
}

func move(t *testing.T, from, to *store.DB) ([]store.Table, error) {
	t.Helper()
	return store.Move(t.Context(), from, to, queue.Move(from))
}

func TestAMoveTakesEveryRowAlongAndGoesOnNumbering(t *testing.T) {
	t.Parallel()
	from, to := sqltest.Open(t), sqltest.OpenAt(t, sqltest.Postgres(t))
	installed(t, from)
	tables, err := move(t, from, to)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, table := range tables {
		names = append(names, table.Name)
		if want := map[string]int64{"deliveries": 3, "delivery_contents": 3}[table.Name]; table.Rows != max(want, 1) {
			t.Errorf("%d rows of %s were moved", table.Rows, table.Name)
		}
	}
	if diff := cmp.Diff(tablesOf(t, to), names, cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
		t.Errorf("not every table was moved: %s", diff)
	}
	equal := cmp.Comparer(func(a, b digest.Digest) bool { return a == b })
	for what, read := range map[string]func(*store.DB) (any, error){
		"deliveries": func(d *store.DB) (any, error) {
			list, err := store.NewDeliveries(d).Pending(t.Context(), 9)
			for i := range list {
				list[i].Outcome = "" // a text that PostgreSQL does not take as it is
			}
			return list, err
		},
		"subjects": func(d *store.DB) (any, error) { return store.NewSubjects(d).ToSettle(t.Context()) },
		"plans":    func(d *store.DB) (any, error) { return store.NewPlans(d).Get(t.Context(), 1) },
		"runs":     func(d *store.DB) (any, error) { return store.NewRuns(d).Get(t.Context(), 1) },
		"repos":    func(d *store.DB) (any, error) { return store.NewRepos(d).List(t.Context()) },
	} {
		before, err := read(from)
		after, afterErr := read(to)
		if diff := cmp.Diff(before, after, equal, cmpopts.EquateEmpty()); diff != "" || err != nil || afterErr != nil {
			t.Errorf("%s: %v %v %s", what, err, afterErr, diff)
		}
	}
	id, err := store.NewRuns(to).Create(t.Context(), to.Write, store.RunTarget{}, "c", store.RunState{Status: "running"}, time.Now())
	if err != nil || id != 2 {
		t.Errorf("the next run is %d, %v; want 2", id, err)
	}
}

// tablesOf are the tables that a move must know.
func tablesOf(t *testing.T, d *store.DB) []string {
	t.Helper()
	rows, err := d.Read.Query(`SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'
		AND table_name NOT LIKE 'river%' AND table_name NOT LIKE 'goose%' AND table_name NOT IN ('replicas', 'job_locks')`)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"jobs"}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestAJobThatWasMovedIsTheOneItWas(t *testing.T) {
	t.Parallel()
	from, to := sqltest.Open(t), sqltest.OpenAt(t, sqltest.Postgres(t))
	installed(t, from)
	if _, err := move(t, from, to); err != nil {
		t.Fatal(err)
	}
	ran := make(chan string, 2)
	c := client(t, to, func(_ context.Context, job *river.Job[args]) error {
		ran <- job.Args.Name
		return nil
	})
	again, err := c.Insert(t.Context(), args{"unique"}, unique())
	if err != nil || !again.UniqueSkippedAsDuplicate {
		t.Errorf("an equal job was queued beside it: %v", err)
	}
	start(t, c)
	if name := await(t, ran); name != "unique" {
		t.Errorf("%s ran", name)
	}
}

func TestAMoveIsRefusedIntoWhatIsNotEmpty(t *testing.T) {
	t.Parallel()
	from, to := sqltest.Open(t), sqltest.OpenAt(t, sqltest.Postgres(t))
	installed(t, from)
	if _, err := move(t, from, to); err != nil {
		t.Fatal(err)
	}
	_, err := move(t, from, to)
	if full, ok := errors.AsType[*store.OccupiedError](err); !ok || !slices.Contains(full.Tables, "plans") {
		t.Errorf("got %v", err)
	}
}

func TestAMoveThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	from, to := sqltest.Open(t), sqltest.OpenAt(t, sqltest.Postgres(t))
	installed(t, from)
	execute(t, to, `ALTER TABLE settings ADD CHECK (name <> 'k')`) // the last of the tables
	if _, err := move(t, from, to); err == nil {
		t.Fatal("it did not fail")
	}
	if list, err := store.NewRepos(to).List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%d repositories are left, %v", len(list), err)
	}
	execute(t, to, `ALTER TABLE settings DROP CONSTRAINT settings_name_check`)
	if _, err := move(t, from, to); err != nil {
		t.Errorf("the next try: %v", err)
	}
}
