package soundness_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/chant-bot/chant/engine/record"
)

// The server, the supervisor and terraform all die: nobody saw how the step
// ended, so its plan is never applied again. A fresh plan of the same commit
// decides (soundness I6).
func TestAnApplyNobodySawEndIsPlannedAnewAndNotRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRoot(), settings{})
	w.start()
	pr := w.propose("two", tf("app", plain("two")))
	w.approved(pr)
	merge := w.merged(pr, "merge")
	running := w.tool.at(t, "apply", "start")
	w.green(merge)
	running.wait(w.ctx)
	planned := w.tool.runs("plan")
	below := descendants(t, w.server.cmd.Process.Pid)
	w.server.kill()
	for _, pid := range below {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	w.start()
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("app", "two")
	if n := w.tool.runs("plan") - planned; n != 1 {
		t.Errorf("%d fresh plans, want one", n)
	}
	if n := w.tool.runs("apply"); n != 2 { // the one that died before it did anything, and the fresh plan's
		t.Errorf("terraform applied %d times", n)
	}
	if got := w.applied("prod"); got != merge {
		t.Errorf("the ledger says %q was applied", got)
	}
}

// While a server was down another one applied in its place: what it had planned
// before is over, and a fresh plan decides (decision 18).
func TestARunThatWasTakenOverAppliesNoPlanOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRoot(), settings{})
	w.start()
	pr := w.propose("two", tf("app", plain("two")))
	w.approved(pr)
	merge := w.merged(pr, "merge")
	claimed := w.proxy.at(after, attempt(w))
	w.green(merge)
	claimed.wait(w.ctx, t)
	w.server.kill()
	claimed.on <- drop
	planned := w.tool.runs("plan")

	path := record.AttemptPath("", "prod")
	other := must(record.ParseAttempt([]byte(w.git("show", ledgerRef+":"+path))))(t)
	other.Token = "another server's"
	must(w.Repo.Commit("chant/lifecycle", map[string]string{path: string(other.JSON())}, w.Bob))(t)
	w.start()
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("app", "two")
	if n := w.tool.runs("plan") - planned; n != 1 {
		t.Errorf("%d fresh plans, want one", n)
	}
	if n := w.tool.runs("apply"); n != 1 {
		t.Errorf("terraform applied %d times", n)
	}
}

// The record is on the ledger and the server dies before it told anybody: a pull
// request that was looked at meanwhile is told all the same.
func TestAPullRequestIsToldOfAnApplyThatWasKilledAtItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRoot(), settings{})
	w.start()
	pr := w.propose("two", tf("app", plain("two")))
	w.approved(pr)
	merge := w.merged(pr, "merge")
	recorded := w.proxy.at(after, applyRecord(w))
	w.green(merge)
	recorded.wait(w.ctx, t)
	must(w.Forge.As(w.Alice).Review(pr, "APPROVE", ""))(t) // it is settled for that
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "applying")
	released := w.proxy.at(after, removal(leaseRefs))
	recorded.on <- goOn
	released.wait(w.ctx, t)
	w.server.kill()
	released.on <- drop
	w.start()
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.awaitNote(pr, "applied")
	w.ended(pr, "two")
}

// descendants are the processes that a process started, and theirs.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	var out []int
	for _, path := range must(filepath.Glob("/proc/[0-9]*/stat"))(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		fields := strings.Fields(rest)
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if len(fields) > 1 && fields[1] == fmt.Sprint(pid) {
			out = append(append(out, child), descendants(t, child)...)
		}
	}
	return out
}

// A commit that goes green while an older one is applied waits for a run of its
// own, which is measured from there.
func TestACommitThatGoesGreenDuringAnApplyFollowsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, project{roots: []root{{name: "one", tf: plain("a")}, {name: "two", tf: plain("a")}}}, settings{})
	w.start()
	first := w.propose("first", tf("one", plain("b")))
	w.approved(first)
	merge := w.merged(first, "merge")
	running := w.tool.at(t, "apply", "start")
	w.green(merge)
	running.wait(w.ctx)
	second := w.propose("second", tf("two", plain("b")))
	w.approved(second)
	newer := w.merged(second, "merge")
	w.green(newer)
	w.await("the green tag", func() bool { return w.tagged("ci/green/" + newer) })
	w.holds("two", "")
	running.release()
	w.awaitStatus(second.Head(), "chant/apply", "success", "applied: 1 member")
	w.holds("one", "b")
	w.holds("two", "b")
	if n := w.tool.runs("apply"); n != 2 {
		t.Errorf("terraform applied %d times, want twice", n)
	}
	if files := w.onLedger("_applies/prod/"); len(files) != 2 || w.applied("prod") != newer {
		t.Errorf("apply records: %v, last %s", files, w.applied("prod"))
	}
}
