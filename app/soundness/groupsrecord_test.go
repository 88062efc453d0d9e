package soundness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine/record"
)

// pushLedger puts a file on the ledger as somebody would who may push there; "" takes it
// away.
func (w *world) pushLedger(path, text string) {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "ledger")
	w.git("worktree", "add", "-q", "--detach", dir, ledgerRef)
	file := filepath.Join(dir, path)
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil && text == "" {
		err = os.Remove(file)
	} else if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.git("-C", dir, "add", "-A")
	w.git("-C", dir, "commit", "-qm", "By hand")
	w.git("update-ref", ledgerRef, w.git("-C", dir, "rev-parse", "HEAD"))
}

// The record of open groups is broken, or of somebody's making: nothing of its environment
// applies, everybody who asks is told which record it is and what to do, other
// environments go on, and so does it once the record is as it was (soundness I12, I14).
func TestARecordOfOpenGroupsThatIsBrokenIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, project{roots: []root{{name: "net", tf: plain("one")}}, envs: []object{
		{"name": "staging", "branch": "main", "gate": "staging-apply", "applyOnMerge": true},
		{"name": "prod", "branch": "main", "applyOnMerge": true},
	}}, settings{})
	w.start()
	pr := w.propose("two", tf("net", plain("two")))
	for _, env := range []string{"staging", "prod"} {
		must(w.Forge.As(w.Alice).Comment(pr, w.lineIn(pr, env, opOf(pr))))(t)
		w.await("the approval of "+env, func() bool { return strings.Contains(w.noteOf(pr, env), "Approved by") })
	}
	path := record.GroupsPath("", "staging")
	w.pushLedger(path, `{"version":1,"env":"staging","open":[{"id":"../../x","members":["net"]}]}`)
	merge := must(pr.Merge("merge", w.Alice))(t)
	w.awaitStatus(pr.Head(), "chant/apply@prod", "pending", "green")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply@prod", "success", "applied")
	w.holds("net", "two")
	w.awaitStatus(pr.Head(), "chant/apply@staging", "failure", "chant apply")
	plain := strings.NewReplacer("`", "")
	const says = "_groups/staging.json on the branch chant/lifecycle can't be read: reading open groups: open[0].id:"
	if note := plain.Replace(w.noteOf(pr, "staging")); !strings.Contains(note, says) || !strings.Contains(note, "Restore it as it was before") {
		t.Errorf("the note says\n%s", note)
	}
	asked := must(w.Forge.As(w.Alice).Comment(pr, "chant unlock 0123456789ab"))(t)
	w.awaitReaction(asked, "confused")
	w.await("the answer", func() bool {
		return strings.Contains(plain.Replace(w.shown()), "cannot be read. It says: "+says)
	})
	if strings.Contains(w.shown(), "internal error") {
		t.Errorf("it is said to be a fault of the machine\n%s", w.shown())
	}

	w.pushLedger(path, "")
	must(w.Forge.As(w.Alice).Comment(pr, "chant apply"))(t)
	w.awaitStatus(pr.Head(), "chant/apply@staging", "success", "nothing to apply")
}
