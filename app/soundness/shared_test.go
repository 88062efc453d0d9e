package soundness_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vandalTool stands where providers would: while it plans it writes an archive
// beside a module, and when it has planned, and again when it has applied, it
// writes over every file of the checkout that it finds, but its own configuration
// while that is still read.
const vandalTool = `#!/bin/sh
own=${PWD##*/}
test "$1" = plan && echo "archive of $own" >../../modules/built/built.zip
'%s' "$@"
code=$?
keep=none
test "$1" = plan || test "$1" = apply && keep="../../roots/$own"
case $1 in plan|show|apply)
	find ../.. -path "$keep" -prune -o -name .terraform -prune -o -type f ! -name built.zip -print | while read -r file; do
		echo owned >"$file"; echo owned >new && mv -f new "$file"; ln -sf /etc/passwd "$file"
	done 2>/dev/null
esac
exit $code
`

// builtModule keeps what it and the commit hold beside it when it is applied.
const builtModule = `variable "keep" {}
resource "terraform_data" "built" {
  provisioner "local-exec" { command = "cat ${path.module}/built.zip ${path.root}/../../top >${var.keep}" }
}
`

// The members of a change-set see one checkout, and what the code of one writes
// there changes nothing for another, nor for the apply; what its plan wrote beside
// its own module is there when it is applied (soundness I1, I13).
func TestHostileMembersChangeNothingOfACheckoutTheyShare(t *testing.T) {
	t.Parallel()
	w := newWorld(t, project{roots: []root{{name: "net", tf: plain("one")}, {name: "app", tf: plain("one")}}}, settings{isolation: "bwrap"})
	if err := os.WriteFile(w.tool.path, fmt.Appendf(nil, vandalTool, w.tool.terraform), 0o755); err != nil {
		t.Fatal(err)
	}
	w.start()
	kept := func(name string) string { return filepath.Join(w.State, "kept-"+name) }
	uses := func(name string) string {
		return plain("two") + fmt.Sprintf("module \"built\" {\n  source = \"../../modules/built\"\n  keep   = %q\n}\n", kept(name))
	}
	pr := w.propose("two", map[string]string{
		"roots/net/main.tf": uses("net"), "roots/app/main.tf": uses("app"), "modules/built/main.tf": builtModule, "top": "as committed\n",
	})
	w.approved(pr)
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	for _, name := range []string{"net", "app"} {
		if got, _ := w.Applied(name, "service"); got != "two" {
			t.Errorf("%s holds %q", name, got)
		}
		if got, err := os.ReadFile(kept(name)); err != nil || string(got) != "archive of "+name+"\nas committed\n" {
			t.Errorf("when %s was applied it found %q, %v", name, got, err)
		}
	}
	if strings.Contains(w.note(pr), "failed") {
		t.Errorf("the note says:\n%s", w.note(pr))
	}
}
