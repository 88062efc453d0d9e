package usecase

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAnApplyTakesOverWhatItsPlanWroteAndNothingOfTheCommit(t *testing.T) {
	t.Parallel()
	planned, fresh, outside := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(planned, "roots/app/main.tf", "rewritten while planning")
	write(fresh, "roots/app/main.tf", "as committed")
	write(planned, "roots/app/build/lambda.zip", "archive")
	write(planned, "roots/app/.terraform/providers/x", "a provider")
	write(outside, "secret", "a token")
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(planned, "link")); err != nil {
		t.Fatal(err)
	}
	// A directory of the plan that the commit has as a link out of the tree.
	write(planned, "out/stolen", "x")
	if err := os.Symlink(outside, filepath.Join(fresh, "out")); err != nil {
		t.Fatal(err)
	}
	err := addWritten(planned, fresh)
	if err == nil {
		t.Error("a file is written through a link that leads out")
	}
	if _, err := os.Lstat(filepath.Join(outside, "stolen")); err == nil {
		t.Error("a file was written outside")
	}
	if err := os.Remove(filepath.Join(fresh, "out")); err != nil {
		t.Fatal(err)
	}
	if err := addWritten(planned, fresh); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"roots/app/main.tf": "as committed", "roots/app/build/lambda.zip": "archive"} {
		if got, err := os.ReadFile(filepath.Join(fresh, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q (%v), want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"link", "roots/app/.terraform"} {
		if _, err := os.Lstat(filepath.Join(fresh, name)); err == nil {
			t.Errorf("%s was taken over", name)
		}
	}
	if err := addWritten(filepath.Join(planned, "gone"), fresh); err != nil {
		t.Errorf("where nothing was planned there is nothing to take over: %v", err)
	}
}
