package main

import (
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/chant-bot/chant/engine/drivers/exec"
)

func TestMain(m *testing.M) {
	exec.SupervisorMain(os.Args)
	testscript.Main(m, map[string]func(){"chant": func() { os.Exit(chant()) }})
}

// TestScripts plays whole journeys on the command line, with real git and real
// terraform.
func TestScripts(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 scripts,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"example":  func(ts *testscript.TestScript, _ bool, args []string) { example(ts, examples, args) },
			"expand":   expand,
			"setenv":   setenv,
			"exitcode": exitcode,
			"copied":   copied,
			"forge":    new(fakes).command,
			"postgres": postgres,
			"filled":   filled,
			"received": received,
			"pulls":    pulls,
			"reports":  reportsTo,
			"backend":  backendIn,
		},
	})
}

// setup gives a script a home with a git identity, and a directory for state
// that planned code may write. CI is set, so that a machine without a wall runs
// the scripts too.
func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	state := filepath.Join(env.WorkDir, "state")
	for _, dir := range []string{home, state} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	identity := "[user]\n\tname = Alice\n\temail = alice@example.com\n[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(identity), 0o644); err != nil {
		return err
	}
	if err := tool(env); err != nil {
		return err
	}
	// For a script that takes everything else from PATH.
	program, err := osexec.LookPath("chant")
	if err != nil {
		return err
	}
	env.Setenv("PROGRAM", program)
	for _, pair := range []string{"HOME=" + home, "STATE=" + state, "CHANT_WRITABLE=" + state, "CI=true"} {
		key, value, _ := strings.Cut(pair, "=")
		env.Setenv(key, value)
	}
	return nil
}

// tool has a script run tofu where terraform, which it would run by itself, is
// not there.
func tool(env *testscript.Env) error {
	if _, err := osexec.LookPath("terraform"); err == nil {
		return nil
	}
	tofu, err := osexec.LookPath("tofu")
	if err != nil {
		return errors.New("neither terraform nor tofu is on PATH; install one of them to run these tests")
	}
	env.Setenv("CHANT_TERRAFORM", tofu)
	return nil
}

// example copies an example repository: example NAME DIR.
func example(ts *testscript.TestScript, examples string, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: example name dir")
	}
	ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(filepath.Join(examples, args[0]))))
}

// expand replaces $NAME by the script's variables in files: expand FILE...
func expand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
}

// setenv sets a variable to the first line of a file: setenv NAME stdout
func setenv(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: setenv name file [after-word]")
	}
	text := ts.ReadFile(args[1])
	if len(args) == 3 {
		_, after, found := strings.Cut(text, args[2])
		if !found {
			ts.Fatalf("no %q in %s", args[2], args[1])
		}
		text = strings.TrimLeft(after, " ")
		text = strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \n\t\",", r) })[0]
	}
	line, _, _ := strings.Cut(text, "\n")
	ts.Setenv(args[0], strings.TrimSpace(line))
}

// copied approves as a person does who copies the line of each gate that the last command
// said, with their own name in it: copied WHO GATE...
func copied(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: copied who gate...")
	}
	said := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	for _, gate := range args[1:] {
		lines := regexp.MustCompile(`(?m)^ *(chant approve \S+ `+regexp.QuoteMeta(gate)+` .* --approver )<you>(.*)$`).FindAllStringSubmatch(said, -1)
		if len(lines) != 1 {
			ts.Fatalf("%d lines approve at %s", len(lines), gate)
		}
		ts.Check(ts.Exec("sh", "-c", lines[0][1]+args[0]+lines[0][2]))
	}
}

// exitcode runs a command and wants one exit code: exitcode N COMMAND...
func exitcode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exitcode n command...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%s: exit code %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
	ts.Logf("exit code %s", got)
}
