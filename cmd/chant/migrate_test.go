package main

import (
	"context"
	"database/sql"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

// postgres starts a PostgreSQL server and sets a variable to the URL of an empty
// database on it: postgres NAME
func postgres(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: postgres name")
	}
	server, err := sqltest.Start(context.Background())
	ts.Check(err)
	ts.Defer(func() { ts.Check(server.Remove()) })
	ts.Setenv(args[0], server.URL)
}

// filled makes a database of one repository with some pull requests: filled
// SOURCE PULLS
func filled(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: filled source pulls")
	}
	pulls, err := strconv.Atoi(args[1])
	ts.Check(err)
	ctx := context.Background()
	d, err := store.Open(ctx, args[0])
	ts.Check(err)
	defer func() { ts.Check(d.Close()) }()
	repo := engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: 42, Owner: "acme", Name: "infra"}
	ts.Check(d.InTx(ctx, func(tx *sql.Tx) error {
		for n := range pulls {
			if _, _, err := store.NewSubjects(d).Raise(ctx, tx, store.Subject{RepoKey: repo.Key(), Kind: store.SubjectPull, Name: strconv.Itoa(n + 1)}, time.Now()); err != nil {
				return err
			}
		}
		return store.NewRepos(d).Upsert(ctx, tx, store.Repo{Repo: repo})
	}))
}

// pulls counts the pull requests in a database: pulls SOURCE COUNT
func pulls(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: pulls source count")
	}
	ctx := context.Background()
	d, err := store.Open(ctx, args[0])
	ts.Check(err)
	defer func() { ts.Check(d.Close()) }()
	open, err := store.NewSubjects(d).ToSettle(ctx)
	ts.Check(err)
	if got := strconv.Itoa(len(open)); got != args[1] {
		ts.Fatalf("%s pull requests are in %s, want %s", got, args[0], args[1])
	}
}
