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
