//go:build e2e

package soundness_test

import (
	"strings"
	"syscall"
	"testing"
)

// rooted can be in no group: it asks where it runs.
func rooted(value string) string { return plain(value) + "locals { here = path.root }\n" }

// What waits for a value is planned as a group in its round, which is approved once; the
// server is killed with all that it started while that group is applied, and each member
// has its state all the same (pr-loop §7.5, §8.2, soundness I6, I12).
func TestAGroupOfARoundWhoseServerIsKilledEndsOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		command, place string
		applies        int
	}{
		"before terraform applies": {"apply", "start", 3},
		"between the states":       {"state-push", "end", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, project{groups: true, roots: []root{
				{name: "net", tf: rooted("one")}, {name: "app", tf: passing, vars: readsFrom("net")}, {name: "edge", tf: reader, vars: readsFrom("app")},
			}}, settings{})
			w.start()
			pr := w.propose("two", map[string]string{
				"roots/net/main.tf": rooted("two"), "roots/app/main.tf": passing + "# two\n", "roots/edge/main.tf": reader + "# two\n",
			})
			w.approved(pr)
			merge := w.merged(pr, "merge")
			w.green(merge)
			w.awaitRound(pr, "pr-apply-round-2")
			w.holds("net", "two")
			w.holds("app", "")
			at := w.tool.at(t, tt.command, tt.place)
			w.approveRound(pr, merge, "pr-apply-round-2")
			at.wait(w.ctx)
			below := descendants(t, w.server.cmd.Process.Pid)
			w.server.kill()
			for _, pid := range below {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			at.release()
			w.start()
			w.await("the apply to end", func() bool { return w.applied("prod") == merge })
			w.holds("app", "reads two")
			w.holds("edge", "reads on from two")
			w.eachOnce("net", "app", "edge")
			if n := w.tool.runs("apply"); n != tt.applies {
				t.Errorf("terraform applied %d times, want %d", n, tt.applies)
			}
			if note := w.note(pr); strings.Contains(note, "pr-apply-round-3 --plan") {
				t.Errorf("it asks once more:\n%s", note)
			}
		})
	}
}
