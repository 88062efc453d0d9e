//go:build e2e

// Package gitea_test plays the loop on a real Gitea: its webhooks reach a whole
// server in this process, real terraform plans and applies, several people act
// with tokens of their own, and what the server tells is read back through
// Gitea's API and on its pages. What every forge has in common is proved by
// app/conformance; here stands what only a real forge can say.
package gitea_test

import (
	"os"
	"testing"

	"github.com/chant-bot/chant/engine/drivers/exec"
)

func TestMain(m *testing.M) {
	exec.SupervisorMain(os.Args)
	os.Exit(m.Run())
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
