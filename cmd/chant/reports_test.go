package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/chant-bot/chant/app/reports"
)

// reportsTo starts a server that keeps the last report it got in a file, and sets
// REPORTS to its address: reports FILE
func reportsTo(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: reports file")
	}
	file := ts.MkAbs(args[0])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := reports.Parse(r.Body)
		var text []byte
		if err == nil {
			text, err = json.Marshal(body)
		}
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	ts.Defer(server.Close)
	ts.Setenv("REPORTS", server.URL)
}
