package soundness_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A sensitive output that another root reads as a plain variable is shown nowhere:
// planned with it as one group, by itself against the value that stands, or in a round
// (pr-loop decision 9, §7.5).
func TestASecretThatIsReadIsShownNowhere(t *testing.T) {
	t.Parallel()
	for _, groups := range []bool{true, false} {
		t.Run(map[bool]string{true: "in a group", false: "in a round"}[groups], func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, project{groups: groups, roots: []root{{name: "net", tf: keeper("one")}, {name: "app", tf: told, vars: readsFrom("net")}}}, settings{})
			w.start()
			pr := w.propose("two", map[string]string{"roots/net/main.tf": keeper("two"), "roots/app/main.tf": told + "# two\n"})
			w.approved(pr)
			merge := w.merged(pr, "merge")
			w.green(merge)
			if !groups {
				w.awaitRound(pr, "pr-apply-round-2")
				w.approveRound(pr, merge, "pr-apply-round-2")
			}
			w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
			// By itself, against the value that stands.
			again := w.propose("three", map[string]string{"roots/app/main.tf": strings.Replace(told, "reads", "reads again", 1)})
			w.approved(again)
			w.green(w.merged(again, "merge"))
			w.awaitStatus(again.Head(), "chant/apply", "success", "applied")
			if got, _ := w.Applied("app", "service"); !strings.HasPrefix(got, "reads again "+secret) {
				t.Fatalf("app holds %q", got)
			}
			w.showsNowhere(secret)
		})
	}
}

const secret = "correct-horse-"

// keeper is a root that makes a secret, known once it is applied, and declares that it is
// one.
func keeper(value string) string {
	return header + "resource \"terraform_data\" \"service\" {\n  input = \"for " + value + "\"\n}\n" +
		"output \"value\" {\n  value     = join(\"-\", [\"correct\", \"horse\", terraform_data.service.id])\n  sensitive = true\n}\n"
}

// told is a root that hands on what it reads, and says it while it applies. Of neither
// does it say that it is a secret.
var told = strings.Replace(passing, "  input", "  provisioner \"local-exec\" {\n    command     = \"echo told ${self.input}\"\n    working_dir = \"/\"\n  }\n  input", 1)

// showsNowhere ends the server, and fails where a text is on the forge or in anything
// that the server keeps.
func (w *world) showsNowhere(text string) {
	w.t.Helper()
	w.server.stop()
	if strings.Contains(w.shown()+w.git("log", "-p", "--all"), text) {
		w.t.Errorf("it is shown:\n%s", w.shown())
	}
	err := filepath.WalkDir(filepath.Join(w.Dir, "server"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		kept, err := os.ReadFile(path)
		if bytes.Contains(kept, []byte(text)) {
			w.t.Errorf("it is in %s", path)
		}
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
}

// A root that reads a secret gets it as a plain value, and may hand it on in an output
// that is not declared a secret. What reads that, once removed, shows it neither: in the
// round after both were applied, nor planned by itself when the one that declares it is
// no part of the change.
func TestASecretThatIsHandedOnIsShownNowhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, project{roots: []root{
		{name: "net", tf: keeper("one")}, {name: "app", tf: told, vars: readsFrom("net")}, {name: "edge", tf: told, vars: readsFrom("app")},
	}}, settings{})
	w.start()
	pr := w.propose("two", map[string]string{
		"roots/net/main.tf": keeper("two"), "roots/app/main.tf": told + "# two\n", "roots/edge/main.tf": told + "# two\n",
	})
	w.approved(pr)
	merge := w.merged(pr, "merge")
	w.green(merge)
	for _, gate := range []string{"pr-apply-round-2", "pr-apply-round-3"} {
		w.awaitRound(pr, gate)
		w.approveRound(pr, merge, gate)
	}
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	again := w.propose("three", map[string]string{"roots/edge/main.tf": strings.Replace(told, "reads", "reads again", 1)})
	w.approved(again)
	w.green(w.merged(again, "merge"))
	w.awaitStatus(again.Head(), "chant/apply", "success", "applied")
	if got, _ := w.Applied("edge", "service"); !strings.HasPrefix(got, "reads again on from "+secret) {
		t.Fatalf("edge holds %q", got)
	}
	w.showsNowhere(secret)
}
