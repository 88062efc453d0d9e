//go:build e2e

package soundness_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// journalsOf are the journals of groups in a replica's state directory.
func (r *replicas) journalsOf(i int) []string {
	return must(filepath.Glob(filepath.Join(r.Dir, fmt.Sprintf("server-%d", i), "locks", "groups", "*")))(r.t)
}

// One of two replicas is killed while it applies a group. The other takes its run over,
// applies nothing of the group and says which machine has to come back. When it does, that
// ends the apply by itself, with nothing asked of it, and the apply goes on, on whichever
// replica (soundness I6, I12).
func TestAGroupWaitsForTheReplicaThatWasKilled(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, grouped(), settings{sweep: "10s"})
	pr := r.changeBoth("two")
	r.approved(pr)
	merge := r.merged(pr, "merge")
	at := r.tool.at(t, "apply", "end")
	r.green(merge)
	at.wait(r.ctx)
	gone := 0
	if len(r.journalsOf(1)) > 0 {
		gone = 1
	}
	open := r.openGroups().Open
	if len(open) != 1 || len(r.journalsOf(gone)) != 1 || open[0].Journal != r.journalsOf(gone)[0] {
		t.Fatalf("the ledger says of the group under way: %+v; journals: %v", open, r.journalsOf(gone))
	}
	below := descendants(t, r.running[gone].cmd.Process.Pid)
	r.kill(gone)
	for _, pid := range below {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	at.release()
	r.git("update-ref", "-d", "refs/chant/lease/ci-apply/prod") // else it is waited for, for minutes

	r.awaitStatus(pr.Head(), "chant/apply", "failure", "an earlier apply of a group")
	r.awaitNote(pr, "chant unlock "+open[0].ID)
	r.holds("net", "")
	if n := r.tool.runs("apply"); n != 1 {
		t.Fatalf("terraform applied %d times, want once: what was made would be made again", n)
	}

	r.run(gone)
	r.await("the end of the group", func() bool { return len(r.openGroups().Open) == 0 })
	r.holds("net", "two")
	r.holds("app", "reads two")
	r.awaitStatus(pr.Head(), "chant/apply", "success", "nothing to apply")
	r.eachOnce("net", "app")
	if n := r.tool.runs("apply"); n != 1 {
		t.Errorf("terraform applied %d times, want once", n)
	}
	if left := append(r.journalsOf(0), r.journalsOf(1)...); len(left) > 0 {
		t.Errorf("journals are left: %v", left)
	}
	if _, err := os.Stat(open[0].Journal); err == nil {
		t.Error("the journal is left")
	}
	if got := r.applied("prod"); got != merge {
		t.Errorf("the ledger says %q was applied, want %q", got, merge)
	}
}
