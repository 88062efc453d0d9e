package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// backendIn starts a backend of the kind http that keeps its states as files of a
// directory, and sets BACKEND to its address. It takes no state as long as there is a file
// named refuse: backend DIR
func backendIn(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: backend dir")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file := filepath.Join(dir, filepath.Base(r.URL.Path))
		if r.Method == http.MethodGet {
			http.ServeFile(w, r, file)
			return
		}
		body, err := io.ReadAll(r.Body)
		if _, refuses := os.Stat(filepath.Join(dir, "refuse")); err != nil || refuses == nil {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if err := os.WriteFile(file, body, 0o644); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	ts.Defer(server.Close)
	ts.Setenv("BACKEND", server.URL)
}
