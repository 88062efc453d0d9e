package git

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

// openClone makes a clone of ours of a bare remote, and fetches.
func openClone(t *testing.T, remote string) *Clone {
	t.Helper()
	c, err := Open(t.Context(), filepath.Join(t.TempDir(), "clone.git"), remote, Auth{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

func files(pairs ...string) map[string][]byte {
	m := map[string][]byte{}
	for pair := range slices.Chunk(pairs, 2) {
		m[pair[0]] = []byte(pair[1])
	}
	return m
}

func write(t *testing.T, dir, branch string, pairs ...string) string {
	t.Helper()
	return gittest.Write(t, dir, gittest.Commit{Branch: branch, Files: files(pairs...)})
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
