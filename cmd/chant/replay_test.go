package main

import (
	"context"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/store"
)

// received puts two deliveries that were ignored into a database, the second
// without its body: received SOURCE
func received(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: received source")
	}
	ctx := context.Background()
	d, err := store.Open(ctx, args[0])
	ts.Check(err)
	defer func() { ts.Check(d.Close()) }()
	inbox := store.NewInbox(d, nil)
	defer func() { ts.Check(inbox.Close()) }()
	forge := engine.Instance{Kind: engine.GitHub, Host: "github.com"}
	for _, row := range []store.Delivery{{GUID: "one", Body: []byte("{}")}, {GUID: "two"}} {
		row.Instance, row.Event, row.Action, row.State, row.ReceivedAt = forge, "pull_request", "opened", store.DeliveryIgnored, time.Now()
		row.Repo = engine.Repo{Instance: forge, ID: 42, Owner: "acme", Name: "infra"}
		_, err := inbox.Accept(ctx, row)
		ts.Check(err)
	}
}
