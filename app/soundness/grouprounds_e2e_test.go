//go:build e2e

package soundness_test

import (
	"os"
	"path/filepath"
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

// The database is gone while a round waits: the ledger has that it was asked for exactly
// this plan, which the merge would cover by now, and it waits still (pr-loop §7.5).
func TestARoundThatWasAskedIsAskedWithoutADatabase(t *testing.T) {
	t.Parallel()
	p := grouped()
	p.roots[1].tf, p.roots[1].vars = both, object{"from": readsFrom("net")["from"], "zone": readsFrom("dns")["from"]}
	p.roots = append(p.roots, root{name: "dns", tf: plain("one")})
	w := newWorld(t, p, settings{})
	if err := os.WriteFile(w.StateFile("dns"), []byte(dnsState("here")), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	pr := w.propose("two", map[string]string{"roots/net/main.tf": plain("two"), "roots/app/main.tf": both + "# two\n"})
	w.approved(pr)
	merge := w.merged(pr, "merge")
	planned := w.tool.at(t, "show", "end")
	w.green(merge)
	planned.wait(w.ctx)
	if err := os.WriteFile(w.StateFile("dns"), []byte(dnsState("there")), 0o600); err != nil {
		t.Fatal(err)
	}
	planned.release()
	w.awaitRound(pr, "pr-apply-round-2")
	w.server.kill()
	for _, file := range must(filepath.Glob(filepath.Join(w.Dir, "server", "chant.db*")))(t) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	again := w.tool.at(t, "plan", "start")
	w.start()
	w.green(merge)
	again.wait(w.ctx)
	again.release()
	w.awaitStatus(merge, "chant/apply", "pending", "approval at pr-apply-round-2")
	w.holds("net", "")
	w.holds("app", "")
	if n := w.tool.runs("apply"); n != 0 {
		t.Errorf("terraform applied %d times", n)
	}
}
