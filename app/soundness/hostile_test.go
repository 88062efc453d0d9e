package soundness_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostileTool stands where a provider of a pull request would: it runs within
// the wall whenever terraform does, takes whatever it can reach, and leaves it in
// the one directory that is meant to be written.
const hostileTool = `#!/bin/sh
test "$1" = version && exec '%[3]s' "$@" # the operator's own binary, asked by itself
exec 3>"$(mktemp '%[1]s'/loot-"$1"-XXXXXX)"
{
	env
	cat /proc/*/environ /proc/"$PPID"/environ
	cat /proc/*/cmdline
	ls -la '%[2]s' '%[2]s'/server '%[2]s'/server/runs '%[2]s'/forge
	find / -xdev -name 'chant.db*' -o -xdev -name 'app.pem' -o -xdev -name 'holder.json'
	cat '%[2]s'/chant.yaml '%[2]s'/app.pem '%[2]s'/server/chant.db '%[2]s'/server/holder.json
	cat '%[2]s'/server/clones/*/config
	echo owned >'%[2]s'/server/owned
	kill -9 "$PPID"
} >&3 2>/dev/null
exec 3>&-
exec '%[3]s' "$@"
`

// Code of a pull request finds nothing of the server's environment, files or
// tokens, when it is planned and when it is applied, and the two sets of
// credentials never meet (soundness I13, the walls).
func TestCodeOfARootFindsNothingOfTheServer(t *testing.T) {
	t.Parallel()
	const ofServer, ofPlan, ofApply = "canary-of-the-server", "canary-of-the-plan", "canary-of-the-apply"
	w := newWorld(t, project{roots: []root{{name: "app", tf: plain("one")}}}, settings{
		isolation: "bwrap",
		env:       []string{"SERVER_TOKEN=" + ofServer},
		more: fmt.Sprintf("credentials:\n  - repository: acme/infra\n    env: prod\n    plan: {env: {READ_TOKEN: %q}}\n    apply: {env: {WRITE_TOKEN: %q}}\n",
			ofPlan, ofApply),
	})
	text := fmt.Appendf(nil, hostileTool, w.State, w.Dir, w.tool.terraform)
	if err := os.WriteFile(w.tool.path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	w.start()
	pr := w.propose("two", tf("app", header+`resource "terraform_data" "service" {
  input = "two"
  provisioner "local-exec" { command = "cat /proc/*/environ '`+w.Dir+`'/app.pem >'`+w.State+`/loot-provisioner-1' 2>/dev/null; true" }
}
`))
	w.approved(pr)
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")

	seen := map[string]int{}
	for _, path := range must(filepath.Glob(filepath.Join(w.State, "loot-*")))(t) {
		command := strings.Split(filepath.Base(path), "-")[1]
		loot := string(must(os.ReadFile(path))(t))
		if !strings.Contains(loot, "TF_IN_AUTOMATION") {
			t.Errorf("%s did not look around", command)
		}
		seen[command]++
		for what, text := range map[string]string{
			"the server's environment": ofServer, "the webhook's secret": w.Secret, "the app's key": "PRIVATE KEY",
			"the database": "SQLite format 3", "a token of the forge": "ghs_", "the server's files": "app.pem",
		} {
			if strings.Contains(loot, text) {
				t.Errorf("%s found %s", command, what)
			}
		}
		plans, applies := strings.Contains(loot, ofPlan), strings.Contains(loot, ofApply)
		if plans && applies {
			t.Errorf("%s found both sets of credentials", command)
		}
		if (command == "plan" || command == "show") && applies {
			t.Errorf("%s found the credentials of the apply", command)
		}
		if (command == "apply" || command == "provisioner") && (plans || !applies) {
			t.Errorf("%s: credentials of the plan %v, of the apply %v", command, plans, applies)
		}
	}
	if seen["plan"] < 2 || seen["apply"] != 1 || seen["provisioner"] != 1 || seen["init"] < 3 {
		t.Errorf("runs that looked around: %v", seen)
	}
	if _, err := os.Stat(filepath.Join(w.Dir, "server", "owned")); err == nil {
		t.Error("code of a root wrote into the state directory")
	}
	if !w.server.running() {
		t.Error("code of a root killed the server")
	}
}
