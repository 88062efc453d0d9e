package soundness_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// twin is a root whose plan reads the same after a change of what it does.
type twin struct {
	name string
	// now and then are the file as approved and as changed afterwards; how says
	// what is different.
	now, then, how string
}

const header = "terraform {\n  backend \"local\" {}\n}\n"

var twins = []twin{
	{
		name: "command", how: "a provisioner's command",
		now:  header + "resource \"terraform_data\" \"service\" {\n  input = \"two\"\n  provisioner \"local-exec\" {\n    command = \"true # good\"\n  }\n}\n",
		then: header + "resource \"terraform_data\" \"service\" {\n  input = \"two\"\n  provisioner \"local-exec\" {\n    command = \"true # evil\"\n  }\n}\n",
	},
	{
		name: "expression", how: "the expression behind an unknown value",
		now:  header + "resource \"terraform_data\" \"seed\" {}\nresource \"terraform_data\" \"service\" {\n  input = \"good-${terraform_data.seed.id}\"\n}\n",
		then: header + "resource \"terraform_data\" \"seed\" {}\nresource \"terraform_data\" \"service\" {\n  input = \"evil-${terraform_data.seed.id}\"\n}\n",
	},
	{
		name: "provider", how: "the provider configuration of a resource",
		now:  header + "resource \"terraform_data\" \"service\" {\n  input = \"two\"\n}\n",
		then: header + "provider \"terraform\" {\n  alias = \"elsewhere\"\n}\nresource \"terraform_data\" \"service\" {\n  provider = terraform.elsewhere\n  input    = \"two\"\n}\n",
	},
}

// Pull request 1 is approved; pull request 2 changes what a root does without
// changing how its plan reads, and is merged without an approval. What both
// carry must not apply (soundness, first sequence; measured on terraform).
func TestAnEqualDigestUnderAnotherSourceIsNotApproved(t *testing.T) {
	t.Parallel()
	empty := header + "resource \"terraform_data\" \"nothing\" {\n  count = 0\n}\n"
	p := project{roots: []root{{name: "kept", tf: empty}, {name: "backend", tf: empty}, {name: "library", tf: empty}}}
	for _, tw := range twins {
		p.roots = append(p.roots, root{name: tw.name, tf: empty})
	}
	w := newWorld(t, p, settings{})
	w.start()
	w.begin()

	changes := map[string]string{}
	for _, tw := range twins {
		changes["roots/"+tw.name+"/main.tf"] = tw.now
	}
	changes["roots/kept/main.tf"] = plain("two")
	changes["roots/backend/main.tf"] = plain("two")
	changes["roots/library/main.tf"] = header + "resource \"terraform_data\" \"service\" {\n  provisioner \"local-exec\" {\n    command = \"sh run.sh\"\n  }\n}\n"
	changes["roots/library/run.sh"] = ". ../../lib/common.sh\n"
	changes["lib/common.sh"] = "true # good\n"
	first := w.propose("first", changes)
	w.approved(first)
	w.merged(first, "merge")

	changes = map[string]string{}
	for _, tw := range twins {
		changes["roots/"+tw.name+"/main.tf"] = tw.then
	}
	changes["lib/common.sh"] = "true # evil\n"
	for i := range p.roots {
		if p.roots[i].name == "backend" {
			p.roots[i].backend = w.StateFile("moved")
		}
	}
	changes["chant.config.json"] = w.files(p)["chant.config.json"]
	second := w.propose("second", changes)
	w.awaitStatus(second.Head(), "chant/plan", "success", "planned: ")
	merge := w.merged(second, "merge")
	w.green(merge)

	w.awaitStatus(second.Head(), "chant/apply", "pending", "not covered")
	line := w.line(second, "green-"+merge[:12])
	rows := covers(w.note(second))
	for _, tw := range twins {
		before, after := w.planDigest(first, tw.name), w.planDigest(second, tw.name)
		if before == "" || before != after {
			t.Fatalf("%s: the plans have the digests %q and %q; they prove nothing unless they are equal", tw.how, before, after)
		}
		uncovered(t, tw.how, rows[tw.name])
	}
	uncovered(t, "the place its state is kept in", rows["backend"])
	uncovered(t, "a library that its script reads", rows["library"])
	if n := w.tool.runs("apply"); n != 0 {
		t.Errorf("terraform applied %d times", n)
	}
	if !strings.Contains(rows["kept"], "`#1`") {
		t.Errorf("the root that nobody changed is not covered by its approval: %q", rows["kept"])
	}
	if files, _ := os.ReadDir(w.State); len(files) != 0 {
		t.Errorf("something was applied: %v", files)
	}
	must(w.Forge.As(w.Alice).Comment(second, line))(t)
	w.awaitStatus(second.Head(), "chant/apply", "success", "applied")
	w.holds("kept", "two")
}

// planDigest is a member's plan digest in the document that was approved or
// recorded for a pull request, read from the server's own page of the plan.
func (w *world) planDigest(pr interface{ Head() string }, member string) string {
	w.t.Helper()
	for _, p := range w.plans(pr.Head()) {
		for _, m := range p.Members {
			if m.Member == member && m.PlanDigest != nil {
				return m.PlanDigest.String()
			}
		}
	}
	return ""
}

var coverRow = regexp.MustCompile("(?m)^\\| +\\d+ \\| `([^`]+)` \\|.*\\| ([^|]*) \\|$")

// covers is what a note of an apply says of each member's coverage.
func covers(note string) map[string]string {
	out := map[string]string{}
	for _, m := range coverRow.FindAllStringSubmatch(note, -1) {
		out[m[1]] = m[2]
	}
	return out
}

func uncovered(t *testing.T, how, row string) {
	t.Helper()
	if !strings.HasPrefix(row, "not covered: what it was planned from is not what was approved") {
		t.Errorf("%s changed: %q", how, row)
	}
}
