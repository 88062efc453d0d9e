package soundness_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chant-bot/chant/forges/forgetest"
)

// grouped is a root and the reader of its output, which are planned together.
func grouped() project {
	return project{groups: true, roots: []root{{name: "net", tf: plain("one")}, {name: "app", tf: reader, vars: readsFrom("net")}}}
}

// changeBoth proposes another value of net, and app with it.
func (w *world) changeBoth(value string) *forgetest.Pull {
	w.t.Helper()
	return w.propose(value, map[string]string{
		"roots/net/main.tf": plain(value), "roots/app/main.tf": reader + "# " + value + "\n",
	})
}

// A change that reaches a component and the reader of its output is planned together,
// approved once and applied in one run, in which the value reaches its reader (pr-loop
// §8.1, seed 001).
func TestAChangeOfWhatIsReadIsApprovedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, grouped(), settings{})
	w.start()
	for _, value := range []string{"two", "three"} {
		pr := w.changeBoth(value)
		w.approved(pr)
		w.green(w.merged(pr, "merge"))
		w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
		w.holds("net", value)
		w.holds("app", "reads "+value)
		if note := w.note(pr); !strings.Contains(note, "one group") || strings.Contains(note, "Round") {
			t.Errorf("the note of %s says\n%s", value, note)
		}
	}
	w.eachOnce("net", "app")
}

// eachOnce checks that the resource of each root is in that root's state alone, and
// that no journal of a group is left (soundness I12).
func (w *world) eachOnce(roots ...string) {
	w.t.Helper()
	for _, root := range roots {
		var state struct {
			Lineage   string                                      `json:"lineage"`
			Resources []struct{ Module, Mode, Type, Name string } `json:"resources"`
		}
		if err := json.Unmarshal(must(os.ReadFile(w.StateFile(root)))(w.t), &state); err != nil {
			w.t.Fatal(err)
		}
		managed := []string{}
		for _, r := range state.Resources {
			if r.Mode == "managed" {
				managed = append(managed, r.Module+r.Type+"."+r.Name)
			}
		}
		if fmt.Sprint(managed) != "[terraform_data.service]" || state.Lineage == "" {
			w.t.Errorf("the state of %s, lineage %q, holds %v", root, state.Lineage, managed)
		}
	}
	if left := w.journals(); len(left) > 0 {
		w.t.Errorf("journals are left: %v", left)
	}
}

// journals are those of applies of groups that did not end.
func (w *world) journals() []string {
	return must(filepath.Glob(filepath.Join(w.Dir, "server", "locks", "groups", "*")))(w.t)
}

// kill -9 of the server at the steps of a group's apply, and of everything it started
// with it: the apply ends, each resource is in one state, and what ended is not
// repeated (soundness I6, I12).
func TestAGroupWhoseServerIsKilledEndsOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, command, place string
		all                  bool // what the server started is killed too
		applies              int
		end                  string // what is said at the end, "" is "applied"
	}{
		{name: "while the locks are taken", command: "console", place: "start", applies: 1},
		{name: "before terraform applies", command: "apply", place: "start", applies: 1},
		{name: "before terraform applies and it with the server", command: "apply", place: "start", all: true, applies: 2},
		{name: "after terraform applied", command: "apply", place: "end", applies: 1},
		{name: "after terraform applied and its supervisor with the server", command: "apply", place: "end", all: true, applies: 1, end: "nothing to apply"},
		{name: "before the first state is given back", command: "state-push", place: "start", applies: 1},
		{name: "between the states", command: "state-push", place: "end", applies: 1},
		{name: "between the states and all with the server", command: "state-push", place: "end", all: true, applies: 1},
	} {
		if !heavy && tt.all != (tt.place == "start") {
			continue // most of them
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, grouped(), settings{})
			w.start()
			pr := w.changeBoth("two")
			w.approved(pr)
			merge := w.merged(pr, "merge")
			at := w.tool.at(t, tt.command, tt.place)
			w.green(merge)
			at.wait(w.ctx)
			below := descendants(t, w.server.cmd.Process.Pid)
			w.server.kill()
			if tt.all {
				for _, pid := range below {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			at.release() // what lives goes on
			w.start()
			w.awaitStatus(pr.Head(), "chant/apply", "success", cmp.Or(tt.end, "applied"))
			w.holds("net", "two")
			w.holds("app", "reads two")
			w.eachOnce("net", "app")
			if n := w.tool.runs("apply"); n != tt.applies {
				t.Errorf("terraform applied %d times, want %d", n, tt.applies)
			}
			if got := w.applied("prod"); got != merge {
				t.Errorf("the ledger says %q was applied, want %q", got, merge)
			}
		})
	}
}

// late is a reader that reads a state of somebody else once it made its resource, and
// fails as long as that is not there.
func late(value, path string) string {
	return header + fmt.Sprintf(`variable "from" { type = string }
resource "terraform_data" "service" {
  input = "reads ${var.from}"
}
data "terraform_remote_state" "word" {
  backend    = "local"
  config     = { path = %q }
  depends_on = [terraform_data.service]
}
output "value" { value = "${terraform_data.service.output} %s ${data.terraform_remote_state.word.outputs.word}" }
`, path, value)
}

const aWord = `{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"11111111-2222-3333-4444-555555555555","outputs":{"word":{"value":"and more","type":"string"}},"resources":[]}`

// A member of a group fails half way: the others end as they did, and the next apply
// is of a smaller group under the approval there was (pr-loop §8.2).
func TestWhatAGroupLeftIsASmallerGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, project{groups: true, roots: []root{
		{name: "net", tf: plain("one")}, {name: "app", tf: reader, vars: readsFrom("net")}, {name: "edge", tf: reader, vars: readsFrom("app")},
	}}, settings{})
	w.start()
	word := filepath.Join(w.State, "word.tfstate")
	pr := w.propose("two", map[string]string{
		"roots/net/main.tf": plain("two"), "roots/app/main.tf": late("two", word), "roots/edge/main.tf": reader + "# two\n",
	})
	w.approved(pr)
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "failure", "app")
	w.holds("net", "two")
	w.holds("app", "reads two")
	w.holds("edge", "")
	before := must(os.ReadFile(w.StateFile("net")))(t)

	if err := os.WriteFile(word, []byte(aWord), 0o600); err != nil {
		t.Fatal(err)
	}
	must(w.Forge.As(w.Alice).Comment(pr, "chant apply"))(t)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("edge", "reads reads two two and more")
	w.eachOnce("net", "app", "edge")
	if n := w.tool.runs("apply"); n != 2 {
		t.Errorf("terraform applied %d times, want twice", n)
	}
	if after := must(os.ReadFile(w.StateFile("net")))(t); string(after) != string(before) {
		t.Error("net, which had applied, was applied again")
	}
	w.awaitNote(pr, "`app`, `edge`")
	if got := w.applied("prod"); got != merge {
		t.Errorf("the ledger says %q was applied, want %q", got, merge)
	}
}

// An approval that is revoked before a group starts starts none of it (soundness I2).
func TestAGroupWhoseApprovalFellDoesNotStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, grouped(), settings{})
	w.start()
	pr := w.changeBoth("two")
	w.approved(pr)
	merge := w.merged(pr, "merge")
	planning := w.tool.at(t, "plan", "start")
	w.green(merge)
	planning.wait(w.ctx)
	w.Forge.Advance(2e9)
	w.revoked(pr, opOf(pr))
	planning.release()
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "not covered")
	if n := w.tool.runs("apply"); n != 0 {
		t.Errorf("terraform applied %d times", n)
	}
	w.holds("net", "")
	w.holds("app", "")
}

// A value that a member reads from outside its group moved since the plan: the whole
// group is held, planned again, and applied once its round is approved (pr-loop §7.5,
// soundness I7).
func TestAMovedInputHoldsAWholeGroupBack(t *testing.T) {
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
	w.holds("net", "")
	w.holds("app", "")
	w.awaitNote(pr, "`app` reads `dns.value`: planned with `\"here\"`, now `\"there\"`")
	w.approveRound(pr, merge, "pr-apply-round-2")
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("net", "two")
	w.holds("app", "reads two in there")
	w.eachOnce("net", "app")
	if n := w.tool.runs("apply"); n != 1 {
		t.Errorf("terraform applied %d times, want once", n)
	}
}

// both reads of two others.
const both = header + `variable "from" { type = string }
variable "zone" { type = string }
resource "terraform_data" "service" {
  input = "reads ${var.from} in ${var.zone}"
}
`

func dnsState(value string) string {
	return fmt.Sprintf(`{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"11111111-2222-3333-4444-666666666666","outputs":{"value":{"value":%q,"type":"string"}},"resources":[]}`, value)
}

// The key of the journals is gone: what a killed server left is refused by name, stays
// as it is, and ends once the key is there again.
func TestAJournalWithoutItsKeyWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, grouped(), settings{})
	w.start()
	pr := w.changeBoth("two")
	w.approved(pr)
	merge := w.merged(pr, "merge")
	applied := w.tool.at(t, "apply", "end")
	w.green(merge)
	applied.wait(w.ctx)
	w.server.kill()
	applied.release()
	key := filepath.Join(w.Dir, "server", "groups.key")
	text := must(os.ReadFile(key))(t)
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.awaitLog("reading the journal of a group")
	if n := len(w.journals()); n != 1 {
		t.Fatalf("%d journals are left, want the one there was", n)
	}
	w.holds("app", "") // what applied is in the journal still
	w.server.kill()
	if err := os.WriteFile(key, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("net", "two")
	w.holds("app", "reads two")
	w.eachOnce("net", "app")
	if n := w.tool.runs("apply"); n != 1 {
		t.Errorf("terraform applied %d times, want once", n)
	}
}

// The database is gone, and with it the run: the next apply of the environment gives
// the members of the group their states before it plans, under a key that the operator
// keeps (soundness I12).
func TestAJournalNobodyWorksOnIsEndedByTheNextApply(t *testing.T) {
	t.Parallel()
	w := newWorld(t, grouped(), settings{more: "groupKey: env:GROUP_KEY\n", env: []string{"GROUP_KEY=" + strings.Repeat("5a", 32)}})
	w.start()
	pr := w.changeBoth("two")
	w.approved(pr)
	merge := w.merged(pr, "merge")
	applied := w.tool.at(t, "apply", "end")
	w.green(merge)
	applied.wait(w.ctx)
	w.server.kill()
	applied.release()
	for _, file := range must(filepath.Glob(filepath.Join(w.Dir, "server", "chant.db*")))(t) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	w.start()
	w.awaitLog("an apply of a group did not end")
	w.green(merge)
	w.awaitStatus(merge, "chant/apply", "success", "nothing to apply")
	w.holds("net", "two")
	w.holds("app", "reads two")
	w.eachOnce("net", "app")
	if n := w.tool.runs("apply"); n != 1 {
		t.Errorf("terraform applied %d times, want once", n)
	}
}
