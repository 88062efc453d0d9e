package app_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chant-bot/chant/engine/drivers/terraform/testprovider"
	"github.com/chant-bot/chant/forges/forgetest"
)

// mirror holds the test provider.
var mirror testprovider.Mirror

// newCloudWorld is a world whose targets of the test provider are in a directory, and
// how its server is told where the provider is.
func newCloudWorld(t *testing.T) (w *world, cloud string, tune tuning) {
	t.Helper()
	w = newWorld(t)
	cloud = filepath.Join(w.State, "cloud")
	if err := os.Mkdir(cloud, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := mirror.Dir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return w, cloud, tuning{text: func(text string) string { return text + "providerMirror: " + dir + "\n" }}
}

// inCloud is the top of a root's files with targets.
func inCloud(cloud string) string {
	return fmt.Sprintf("terraform {\n  required_providers {\n    probe = { source = %q }\n  }\n}\nprovider \"probe\" { cloud = %q }\n", testprovider.Source, cloud)
}

// proposeTargets opens a pull request that adds targets to the root app, each made
// after the one before.
func (w *world) proposeTargets(cloud string, names ...string) *forgetest.Pull {
	w.t.Helper()
	var b strings.Builder
	b.WriteString(inCloud(cloud))
	for i, name := range names {
		fmt.Fprintf(&b, "resource \"probe_target\" %q {\n  name = %q\n", name, name)
		if i > 0 {
			fmt.Fprintf(&b, "  value = \"after ${probe_target.%s.serial}\"\n", names[i-1])
		}
		b.WriteString("}\n")
	}
	return w.proposeFiles("targets", map[string]string{"roots/app/targets.tf": b.String()})
}

// made tells whether the cloud has a target.
func made(cloud, name string) bool {
	_, err := os.Stat(filepath.Join(cloud, name+".json"))
	return err == nil
}

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

// A slow apply is nobody's reason to break it off: a server that is told to stop lets
// it end, and the next one knows how.
func TestAnApplyThatIsUnderWayWhenTheServerStopsIsNotBrokenOff(t *testing.T) {
	t.Parallel()
	w, cloud, tune := newCloudWorld(t)
	stop := w.serveTuned(tune)
	here, on := pipe(t, filepath.Join(cloud, "slow.here")), pipe(t, filepath.Join(cloud, "slow.on"))
	pr := w.proposeTargets(cloud, "slow")
	w.approved(pr, "pr-1")
	w.green(w.merge(pr))
	reached(w.ctx, t, here)
	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()
	w.await("the server to listen no more", func() bool {
		conn, err := net.Dial("tcp", w.addr)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	if _, err := on.WriteString("on\n"); err != nil {
		t.Fatal(err)
	}
	<-stopped
	if !made(cloud, "slow") {
		t.Error("the apply was broken off")
	}
	defer w.serveTuned(tune)()
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
}

// pipe makes one that is open on both ends, so that neither side of it blocks to open
// it.
func pipe(t *testing.T, path string) *os.File {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// reached returns once somebody wrote to a pipe.
func reached(ctx context.Context, t *testing.T, p *os.File) {
	t.Helper()
	defer context.AfterFunc(ctx, func() { _ = p.Close() })()
	if _, err := p.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
}
