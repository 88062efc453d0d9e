package jobs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chant-bot/chant/engine/drivers/exec"
)

// soundness I12: the files of what still lives stay, however the state directory is named.
func TestTheDirectoryOfARunStaysWhileItsApplyLives(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "no [pattern]", "apply-1")
	apply := filepath.Join(dir, "members", "m-net", "apply")
	if err := os.MkdirAll(apply, 0o700); err != nil {
		t.Fatal(err)
	}
	held, err := exec.LockFile(t.Context(), filepath.Join(apply, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	dropRun(dir)
	if _, err := os.Stat(apply); err != nil {
		t.Errorf("while it lives: %v", err)
	}
	held.Unlock()
	dropRun(dir)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("after its end: %v, want none", err)
	}
}
