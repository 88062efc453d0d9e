//go:build e2e

package demo_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app/demo"
)

// Play fails where terraform's state holds anything but what it tells.
func TestTheDemosEndWell(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	program := filepath.Join(t.TempDir(), "chant")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/chant-bot/chant/cmd/chant")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		terraform, err = exec.LookPath("tofu")
	}
	if err != nil {
		t.Fatal("neither terraform nor tofu is on PATH; install one of them to run this test")
	}
	for name, composed := range map[string]bool{"loop": false, "composed": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			var out bytes.Buffer
			err := demo.Play(ctx, demo.Options{Program: program, Terraform: terraform, Out: &out, Composed: composed})
			if err != nil || !strings.Contains(out.String(), ". Done: ") {
				t.Fatalf("%v\n%s", err, &out)
			}
			if composed {
				isQuoted(t, out.String())
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "chant-demo-*")); len(left) > 0 {
		t.Errorf("directories of demos that are over: %v", left)
	}
}

var (
	quotes = regexp.MustCompile(`(?ms)^~~~text\n(.*?)\n~~~$`)
	// what differs from one run to the next
	runs = regexp.MustCompile(`\b[0-9a-f]{12,64}\b`)
	here = regexp.MustCompile(`github@127\.0\.0\.1:\d+:`)
	dirs = regexp.MustCompile(`"\S*/state/`)
)

// isQuoted holds what docs/composed.md quotes against what was printed.
func isQuoted(t *testing.T, printed string) {
	t.Helper()
	printed = strings.ReplaceAll("\n"+printed, "\n    | ", "\n")
	printed = dirs.ReplaceAllString(here.ReplaceAllString(runs.ReplaceAllString(printed, "#"), "github:"), `"/srv/`)
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "composed.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := quotes.FindAllStringSubmatch(string(text), -1)
	for _, quote := range found {
		if !strings.Contains(printed, runs.ReplaceAllString(quote[1], "#")) {
			t.Errorf("docs/composed.md quotes what the demo does not print:\n%s", quote[1])
		}
	}
	if len(found) == 0 {
		t.Error("docs/composed.md quotes nothing")
	}
	if t.Failed() {
		t.Log(printed)
	}
}
