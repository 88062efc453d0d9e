package soundness_test

import (
	"fmt"
	"maps"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What nobody can have meant is refused where it is planned, with what to do, and not
// first by the apply.
func TestWhatNobodyCanHaveMeantIsRefusedAtThePlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, grouped(), settings{})
	w.start()
	component := func(name string, vars object) string {
		return w.json(object{"name": name, "dependsOn": []string{}, "deploy": []object{
			{"phase": "Apply", "steps": []object{{"kind": "terraform-apply", "root": name, "vars": vars}}},
		}})
	}
	oneState := grouped()
	oneState.roots[1].backend = w.StateFile("net")
	oneState.roots[1].vars = nil
	oneStateHole := grouped()
	oneStateHole.roots[1].backend = w.StateFile("net")
	both := map[string]string{"roots/net/main.tf": plain("two"), "roots/app/main.tf": plain("two")}
	with := func(p project, files map[string]string) map[string]string {
		all := w.files(p)
		maps.Copy(all, files)
		return all
	}
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"a cycle through reads", map[string]string{"net.component.json": component("net", readsFrom("app"))}, "components depend on each other in a cycle"},
		{"a read of what is not declared", map[string]string{"app.component.json": component("app", object{"from": object{"stackOutput": object{"stack": "net", "name": "nope"}}})},
			"app reads the output \"nope\" of net, which declares none of that name"},
		{"an output that is read gets another name", tf("net", strings.Replace(plain("two"), `output "value"`, `output "other"`, 1)),
			"app reads the output \"value\" of net, which declares none of that name"},
		{"two roots in one state", with(oneState, both), "keep their state in one place"},
		{"two roots in one state, of which one can't be planned yet", with(oneStateHole, map[string]string{"roots/net/main.tf": plain("two")}), "net and app keep their state in one place"},
	} {
		pr := w.propose(strings.ReplaceAll(strings.ReplaceAll(tt.name, " ", "-"), ",", ""), tt.files)
		w.awaitStatus(pr.Head(), "chant/plan", "failure", "")
		if note := w.note(pr); !strings.Contains(note, tt.want) || strings.Contains(note, "chant approve") {
			t.Errorf("%s: the note says\n%s", tt.name, note)
		}
	}
}

const refusingTool = `#!/bin/sh
case "$1-$2 $PWD" in "state-push "*roots/net) test -e '%[1]s' && { echo "Error: no" >&2; exit 1; } ;; esac
exec '%[2]s' "$@"
`

// A backend takes no state of a member of a group any more: what was made is kept, and
// nothing of it is made again, whoever asks, until the state is where it belongs
// (soundness I12).
func TestWhatNoBackendTookIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, grouped(), settings{})
	refusing := filepath.Join(w.State, "refusing")
	if err := os.WriteFile(w.tool.path, fmt.Appendf(nil, refusingTool, refusing, w.tool.terraform), 0o755); err != nil {
		t.Fatal(err)
	}
	must(os.Create(refusing))(t)
	w.start()
	pr := w.changeBoth("two")
	w.approved(pr)
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "failure", "net")
	w.holds("net", "")
	w.holds("app", "reads two")
	kept := must(filepath.Glob(filepath.Join(w.Dir, "server", "locks", "kept", "*")))(t)
	if len(kept) != 1 || !strings.Contains(w.note(pr), kept[0]) {
		t.Fatalf("kept are %v\n%s", kept, w.shown())
	}

	if err := os.Remove(refusing); err != nil {
		t.Fatal(err)
	}
	must(w.Forge.As(w.Alice).Comment(pr, "chant apply"))(t)
	w.awaitStatus(pr.Head(), "chant/apply", "failure", "an earlier apply of a group")
	w.awaitNote(pr, "root net is not planned: an apply left its state in "+kept[0])
	w.holds("net", "")

	text := must(os.ReadFile(kept[0]))(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(plain("two")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-backend-config=path=" + w.StateFile("net")}, {"state", "push", kept[0]}} {
		cmd := osexec.Command(w.tool.terraform, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	must(w.Forge.As(w.Alice).Comment(pr, "chant apply"))(t)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "")
	w.holds("net", "two")
	w.eachOnce("net", "app")
	if now := must(os.ReadFile(w.StateFile("net")))(t); !strings.Contains(string(now), idIn(t, text)) {
		t.Errorf("what was made was made again: %s", now)
	}
	if got := w.applied("prod"); got != merge {
		t.Errorf("the ledger says %q was applied, want %q", got, merge)
	}
}

// idIn is the id of the one resource in a state.
func idIn(t *testing.T, state []byte) string {
	t.Helper()
	_, rest, ok := strings.Cut(string(state), `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if !ok || id == "" {
		t.Fatalf("no id in %s", state)
	}
	return id
}
