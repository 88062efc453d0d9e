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
	const secret = "correct-horse-"
	keeper := func(value string) string {
		return header + "resource \"terraform_data\" \"service\" {\n  input = \"for " + value + "\"\n}\n" +
			"output \"value\" {\n  value     = join(\"-\", [\"correct\", \"horse\", terraform_data.service.id])\n  sensitive = true\n}\n"
	}
	told := strings.Replace(passing, "  input", "  provisioner \"local-exec\" {\n    command     = \"echo told ${self.input}\"\n    working_dir = \"/\"\n  }\n  input", 1)
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
			w.server.stop()
			if strings.Contains(w.shown()+w.git("log", "-p", "--all"), secret) {
				t.Errorf("it is shown:\n%s", w.shown())
			}
			err := filepath.WalkDir(filepath.Join(w.Dir, "server"), func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				text, err := os.ReadFile(path)
				if bytes.Contains(text, []byte(secret)) {
					t.Errorf("it is in %s", path)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
