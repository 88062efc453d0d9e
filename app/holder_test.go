package app

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOneStateDirectoryIsOneHolderAndACopyAnother(t *testing.T) {
	t.Parallel()
	holder := func(dir string) string {
		t.Helper()
		h, err := holderOf(dir)
		if err != nil || h == "" {
			t.Fatalf("%q, %v", h, err)
		}
		return h
	}
	dir, other := t.TempDir(), t.TempDir()
	first := holder(dir)
	if again := holder(dir); again != first {
		t.Errorf("after a restart the holder is %s, it was %s", again, first)
	}
	if err := os.CopyFS(other, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if copied := holder(other); copied == first {
		t.Error("a copy of the state directory is the same holder")
	}
	if err := os.WriteFile(filepath.Join(dir, holderFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if damaged := holder(dir); damaged == first {
		t.Error("a holder came out of a damaged file")
	}
}
