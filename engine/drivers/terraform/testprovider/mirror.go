// Package testprovider is the provider that tests of real plans and applies use. Its
// source is a module of its own, testdata/provider of the driver, so that what a
// provider is built from is nothing the program depends on. Only tests use it.
package testprovider

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Source is the provider's address, as required_providers names it.
const Source = "example.test/chant/probe"

// Version is the one there is.
const Version = "1.0.0"

// Mirror is a directory that terraform and tofu install the provider from: their
// filesystem mirror. The zero value builds it when it is asked for the first time; the
// test program removes it at its end.
type Mirror struct {
	once sync.Once
	dir  string
	err  error
}

// Dir is the mirror's path. Any user may read it.
func (m *Mirror) Dir(ctx context.Context) (string, error) {
	m.once.Do(func() { m.err = m.build(ctx) })
	return m.dir, m.err
}

// Remove removes what was built.
func (m *Mirror) Remove() error {
	if m.dir == "" {
		return nil
	}
	return os.RemoveAll(m.dir)
}

func (m *Mirror) build(ctx context.Context) error {
	const driver = "github.com/chant-bot/chant/engine/drivers/terraform"
	source, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", driver).Output()
	if err != nil {
		return fmt.Errorf("finding the test provider: %w", err)
	}
	if m.dir, err = os.MkdirTemp("", "chant-mirror-"); err != nil {
		return err
	}
	if err := os.Chmod(m.dir, 0o755); err != nil { //nolint:gosec // other users' runs read it
		return err
	}
	binary := filepath.Join(m.dir, filepath.FromSlash(Source), Version, runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-probe_v"+Version)
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, ".")
	build.Dir = filepath.Join(strings.TrimSpace(string(source)), "testdata", "provider")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the test provider: %w: %s", err, out)
	}
	return nil
}
