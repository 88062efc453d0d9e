package soundness_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/forges/forgetest"
)

// openGroups are the groups of prod that the ledger says have not ended.
func (w *world) openGroups() record.Groups {
	w.t.Helper()
	path := record.GroupsPath("", "prod")
	if len(w.onLedger(path)) == 0 {
		return record.Groups{}
	}
	return must(record.ParseGroups(path, []byte(w.git("show", ledgerRef+":"+path))))(w.t)
}

// machine moves the files of one machine away and those of another in their place.
func (w *world) machine(from, to string) {
	w.t.Helper()
	w.server.kill()
	here := filepath.Join(w.Dir, "server")
	if err := os.Rename(here, here+from); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(here+to, here); err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	// Its holder would be waited for.
	w.git("update-ref", "-d", "refs/chant/lease/ci-apply/prod")
	w.start()
}

// dies kills the server and all that it started where a group of net and app applied, and
// before anybody was given a state.
func (w *world) dies(t *testing.T, pr *forgetest.Pull) (merge string) {
	t.Helper()
	w.approved(pr)
	merge = w.merged(pr, "merge")
	at := w.tool.at(t, "apply", "end")
	w.green(merge)
	at.wait(w.ctx)
	below := descendants(t, w.server.cmd.Process.Pid)
	w.server.kill()
	for _, pid := range below {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	at.release()
	return merge
}

// The machine of a group's apply is gone, and with it what the apply made: another one
// applies nothing of the members, says why, and goes on when an administrator answers for
// their states. When the machine comes back its journal is void (soundness I12).
func TestAGroupWhoseMachineIsGoneIsUnlockedByAnAdministrator(t *testing.T) {
	t.Parallel()
	w := newWorld(t, grouped(), settings{})
	w.start()
	pr := w.changeBoth("two")
	merge := w.dies(t, pr)
	open := w.openGroups().Open
	if len(open) != 1 || len(open[0].Members) != 2 || open[0].Commit != merge {
		t.Fatalf("the ledger says of the group under way: %+v", open)
	}

	w.machine("-gone", "-new")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "failure", "an earlier apply of a group")
	w.awaitNote(pr, "chant unlock "+open[0].ID)
	w.awaitNote(pr, open[0].Journal)
	w.holds("net", "")
	if n := w.tool.runs("apply"); n != 1 {
		t.Fatalf("terraform applied %d times, want once: what was made would be made again", n)
	}
	refused := must(w.Forge.As(w.Bob).Comment(pr, "chant unlock "+open[0].ID))(t)
	w.awaitReaction(refused, "confused")

	must(w.Forge.As(w.Alice).Comment(pr, "chant unlock "+open[0].ID))(t)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("net", "two")
	w.holds("app", "reads two")
	if got := w.openGroups(); len(got.Open) != 0 || len(got.Released) != 1 || got.Released[0].ReleasedBy != w.principal("alice") {
		t.Errorf("afterwards the ledger says %+v", got)
	}
	applied := must(os.ReadFile(w.StateFile("net")))(t)

	w.machine("-new", "-gone")
	w.green(merge)
	w.await("the void journal to be put aside", func() bool { return len(w.journals()) == 0 })
	if after := must(os.ReadFile(w.StateFile("net")))(t); string(after) != string(applied) {
		t.Error("the machine that came back changed the state that somebody answered for")
	}
}
