package app

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app/config"
)

// unprepared is a configuration of which nothing is there.
func unprepared(t *testing.T) *config.Config {
	t.Helper()
	dir := t.TempDir()
	c := config.Default()
	c.StateDir, c.Isolation, c.Terraform = dir, "moat", filepath.Join(dir, "terraform")
	c.WritablePaths = []string{filepath.Join(dir, "state")}
	c.ProviderMirror = filepath.Join(dir, "providers")
	c.Credentials = []config.Credentials{{
		Repository: "acme/infra", Env: "prod",
		Plan:  config.CredentialsSet{File: filepath.Join(dir, "plan.env")},
		Apply: config.CredentialsSet{Command: []string{filepath.Join(dir, "mint")}},
	}}
	return &c
}

func TestAllThatIsMissingIsSaidBeforeTheServerStarts(t *testing.T) {
	t.Parallel()
	c := unprepared(t)
	_, _, err := preflight(t.Context(), c, direct)
	if err == nil {
		t.Fatal("the server would start")
	}
	for _, want := range []string{
		`isolation: isolation "moat" is unknown`,
		"terraform: " + c.Terraform + " does not exist; install it",
		"writablePaths[0]: " + c.WritablePaths[0] + " is no directory; make it",
		"providerMirror: " + c.ProviderMirror + " is no directory; make it",
		"credentials[0].plan: reading credentials: open " + c.Credentials[0].Plan.File,
		"credentials[0].apply: the command " + c.Credentials[0].Apply.Command[0] + " cannot be found",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
}

func TestACredentialsFileIsReadBeforeTheServerStarts(t *testing.T) {
	t.Parallel()
	c := unprepared(t)
	if err := os.WriteFile(c.Credentials[0].Plan.File, []byte("A=b\nhunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := prerequisites(c)
	if want := "plan.env, line 2: want KEY=VALUE"; err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestASecondServerIsToldOfTheFirst(t *testing.T) {
	t.Parallel()
	c := unprepared(t)
	first := &Server{config: c}
	if err := first.takeState(t.Context()); err != nil {
		t.Fatal(err)
	}
	waited, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	err := (&Server{config: c}).takeState(waited)
	want := "another server, process " + strconv.Itoa(os.Getpid()) + ", uses the state directory " + c.StateDir + "; stop it, or give this one a stateDir of its own"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
	first.lock.Unlock()
	if err := (&Server{config: c}).takeState(t.Context()); err != nil {
		t.Errorf("the first one ended: %v", err)
	}
}
