package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestACopyOfAWorktreeIsTheSameAndApart(t *testing.T) {
	t.Parallel()
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	if err := os.MkdirAll(filepath.Join(from, "a", "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"a/plain": 0o644, "run": 0o755} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a/plain", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	if err := CopyWorktree(from, to, "."); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a/plain", "run", "a/empty", "link"} {
		was, err := os.Lstat(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		is, err := os.Lstat(filepath.Join(to, name))
		if err != nil || is.Mode() != was.Mode() {
			t.Errorf("%s: %v, %v; want mode %s", name, is, err, was.Mode())
		}
	}
	if got, err := os.ReadFile(filepath.Join(to, "link")); err != nil || string(got) != "a/plain" {
		t.Errorf("through the link: %q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(to, "run"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(from, "run")); err != nil || string(got) != "run" {
		t.Errorf("writing to the copy changed the source: %q, %v", got, err)
	}
	if err := CopyWorktree(from, to, "."); err == nil {
		t.Error("a copy over what is there was taken")
	}
}

func TestACopyOfSomeDirectoriesHoldsNothingElse(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	for _, name := range []string{"top", "roots/a/main.tf", "roots/a/sub/x", "roots/b/main.tf", "modules/m/x.tf", "modules/n/x.tf"} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := CopyWorktree(from, to, "modules/m", "roots/a"); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			got = append(got, strings.TrimPrefix(path, to+"/"))
		}
		return err
	})
	if diff := cmp.Diff([]string{"modules/m/x.tf", "roots/a/main.tf", "roots/a/sub/x"}, got); diff != "" || err != nil {
		t.Errorf("%v\n(-want +got):\n%s", err, diff)
	}
}
