//go:build e2e

package hooktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
)

// examples is where the sources of the public example payloads are named, seen
// from a decoder's folder.
const examples = "../../.tools/webhook-examples"

// Module is the folder of one of its Go modules, fetched when the module cache
// does not have it.
func Module(t *testing.T, path string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", path)
	cmd.Dir = examples
	out, err := cmd.Output()
	var found struct{ Dir string }
	if err := errors.Join(err, json.Unmarshal(out, &found)); err != nil || found.Dir == "" {
		t.Fatalf("%s is missing: run `cd .tools/webhook-examples && go mod download %s` (%v)", path, path, err)
	}
	return found.Dir
}

// Octokit are GitHub's own example payloads by event: of github.com and of every
// Enterprise Server in the package.
func Octokit(t *testing.T) map[string][]json.RawMessage {
	t.Helper()
	all, err := filepath.Glob(examples + "/node_modules/@octokit/webhooks-examples/*/index.json")
	if err != nil || len(all) == 0 {
		t.Fatal("the example payloads are missing: run `npm ci --prefix .tools/webhook-examples`")
	}
	found := map[string][]json.RawMessage{}
	for _, path := range all {
		var events []struct {
			Name     string
			Examples []json.RawMessage
		}
		if err := json.Unmarshal(Read(t, path), &events); err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			found[e.Name] = append(found[e.Name], e.Examples...)
		}
	}
	return found
}

// Files are the payloads in a folder, by name without .json.
func Files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all, err := filepath.Glob(dir + "/*.json")
	if err != nil || len(all) == 0 {
		t.Fatalf("no payloads in %s: %v", dir, err)
	}
	found := map[string][]byte{}
	for _, path := range all {
		found[strings.TrimSuffix(filepath.Base(path), ".json")] = Read(t, path)
	}
	return found
}

// Becomes proves that an example becomes one of the events named, such as
// "BranchPushed", and says where it happened; or is ignored for a reason when
// that is among them. It returns the name.
func Becomes(t *testing.T, d webhooks.Delivery, err error, want ...string) string {
	t.Helper()
	if err != nil {
		t.Errorf("%s %s: %v", d.Event, d.Action, err)
		return ""
	}
	name := strings.TrimPrefix(fmt.Sprintf("%T", d.Decoded), "engine.")
	if !slices.Contains(want, name) {
		t.Errorf("%s %s became %+v, want %v", d.Event, d.Action, d.Decoded, want)
	}
	switch e := d.Decoded.(type) {
	case engine.Ignored:
		if e.Reason == "" {
			t.Error("ignored for no reason")
		}
	case engine.InstallationChanged:
	default:
		if d.Repo.ID == 0 || d.Repo.Owner == "" || d.Repo.Name == "" {
			t.Errorf("%s of the repository %+v", name, d.Repo)
		}
	}
	return name
}
