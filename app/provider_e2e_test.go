//go:build e2e

package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A provider that fails half way is a failed run; what it made stays, and the next
// apply makes the rest.
func TestAProviderThatFailsHalfWayIsAFailedRun(t *testing.T) {
	t.Parallel()
	w, cloud, tune := newCloudWorld(t)
	defer w.serveTuned(tune)()
	fails := filepath.Join(cloud, "second.fails")
	if err := os.WriteFile(fails, []byte("before create"), 0o600); err != nil {
		t.Fatal(err)
	}
	pr := w.proposeTargets(cloud, "first", "second")
	w.approved(pr, "pr-1")
	w.green(w.merge(pr))
	w.awaitStatus(pr.Head(), "chant/apply", "failure", "app")
	w.await("why, in the note", func() bool { return strings.Contains(w.notes(), "the cloud refuses to create second") })
	if !made(cloud, "first") || made(cloud, "second") {
		t.Errorf("first is made: %v, second: %v", made(cloud, "first"), made(cloud, "second"))
	}
	if err := os.Remove(fails); err != nil {
		t.Fatal(err)
	}
	w.said(pr, "chant apply")
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	if !made(cloud, "second") {
		t.Error("the rest was not made")
	}
}

// pr-loop §7.5: the serial of a target is known when the target is made, so what reads
// it is planned then, and takes an approval of its own.
func TestAValueKnownOnlyAfterTheApplyTakesItsReaderARound(t *testing.T) {
	t.Parallel()
	w, cloud, tune := newCloudWorld(t)
	defer w.serveTuned(tune)()
	pr := w.proposeFiles("serial", map[string]string{
		"roots/net/targets.tf": inCloud(cloud) + "resource \"probe_target\" \"net\" { name = \"net\" }\noutput \"serial\" { value = probe_target.net.serial }\n",
		"roots/app/targets.tf": inCloud(cloud) + "variable \"serial\" { type = number }\nresource \"probe_target\" \"app\" {\n  name  = \"app\"\n  value = \"reads ${var.serial}\"\n}\n",
		"app.component.json": strings.Replace(w.main("app.component.json"), `"vars": { `,
			`"vars": { "serial": { "stackOutput": { "stack": "net", "name": "serial" } }, `, 1),
	})
	w.approved(pr, "pr-1")
	merge := w.merge(pr)
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "approval at pr-apply-round-2")
	if !made(cloud, "net") || made(cloud, "app") {
		t.Errorf("net is made: %v, app: %v", made(cloud, "net"), made(cloud, "app"))
	}
	line := w.approveLineOf(pr, "green-"+merge[:12]+" pr-apply-round-2")
	must(t)(w.Forge.As(w.Alice).Comment(pr, line))
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	if text, err := os.ReadFile(filepath.Join(cloud, "app.json")); err != nil || !strings.Contains(string(text), `"value":"reads 1"`) {
		t.Errorf("app is %s, %v", text, err)
	}
}
