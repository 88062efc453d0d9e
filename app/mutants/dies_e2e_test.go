//go:build e2e

package mutants

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEveryMutantDies(t *testing.T) {
	t.Parallel()
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.dies(t)
		})
	}
}

func (m mutant) dies(t *testing.T) {
	t.Helper()
	args := []string{"test", "-overlay", m.overlay(t), "-count=1", "-failfast", "-vet=off", "-ldflags=-s -w"}
	if m.run != "" {
		args = append(args, "-run", m.run)
	}
	if m.slow {
		args = append(args, "-tags", "e2e")
	}
	args = append(args, strings.Fields(m.killers)...)
	if m.drawn(t) {
		args = append(args, "-rapid.nofailfile", "-rapid.shrinktime=1ms") // nobody reads what kills a mutant
	}
	if m.killers == "./app/soundness" {
		args = append(args, "-patience=2m") // many times what it takes where nothing waits in vain
	}
	out, err := goTool(t, args...)
	var exit *exec.ExitError
	switch {
	case strings.Contains(out, "[build failed]"):
		t.Errorf("the mutant does not build, so that nothing is proven:\n%s", out)
	case err == nil:
		t.Errorf("no test of %s noticed that %q became %q", m.killers, m.old, m.new)
	case !errors.As(err, &exit) || !strings.Contains(out, "--- FAIL"):
		t.Errorf("the tests did not fail but break: %v\n%s", err, out)
	}
}

// drawn tells whether the killers draw random input, and keep what made them fail.
func (m mutant) drawn(t *testing.T) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, m.killers, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "pgregory.net/rapid")
	})
}

// overlay has the toolchain read the broken file.
func (m mutant) overlay(t *testing.T) string {
	t.Helper()
	text := m.text(t)
	file, err := filepath.Abs(filepath.Join(root, m.file))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.go")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: broken}})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	for path, data := range map[string][]byte{
		broken:  []byte(strings.Replace(text, m.old, m.new, 1)),
		overlay: replace,
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}

func goTool(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}
