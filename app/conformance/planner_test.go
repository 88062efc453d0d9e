package conformance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// planArg makes this test binary the stand-in for terraform.
const planArg = "__terraform"

// planner answers as terraform does for a root with one terraform_data.service,
// whose state is its input alone. Where the root holds a file named realMarker
// it is terraform itself.
type planner struct{ real string }

const realMarker = "planned-by-terraform"

// newPlanner writes the program a server runs as terraform.
func newPlanner(t testing.TB, dir, real string) string {
	t.Helper()
	self := must(os.Executable())(t)
	path := filepath.Join(dir, "terraform")
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' %s '%s' \"$@\"\n", self, planArg, real)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return path
}

func (p planner) run(args []string) (code int, err error) {
	if _, err := os.Stat(realMarker); err == nil {
		return 1, syscall.Exec(p.real, append([]string{p.real}, args...), os.Environ()) //nolint:gosec // the tests' own
	}
	switch args[0] {
	case "version":
		fmt.Println(`{"terraform_version":"1.11.4"}`)
	case "init":
		err = p.init(args)
	case "plan":
		return p.plan(args)
	case "show":
		err = p.show(args[len(args)-1])
	case "apply":
		err = p.apply(args[len(args)-1])
	case "output":
		fmt.Println(`{}`)
	default:
		err = fmt.Errorf("the stand-in does not %s", args[0])
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// backendFile is where the driver looks for the state's place.
const backendFile = ".terraform/terraform.tfstate"

type backend struct {
	Version int `json:"version"`
	Backend struct {
		Type   string            `json:"type"`
		Config map[string]string `json:"config"`
		Hash   int               `json:"hash"`
	} `json:"backend"`
}

func (planner) init(args []string) error {
	b := backend{Version: 3}
	b.Backend.Type, b.Backend.Hash = "local", 1
	for _, arg := range args {
		if path, ok := strings.CutPrefix(arg, "-backend-config=path="); ok {
			b.Backend.Config = map[string]string{"path": path}
		}
	}
	text, err := json.Marshal(b)
	return errors.Join(err, os.MkdirAll(filepath.Dir(backendFile), 0o700), os.WriteFile(backendFile, text, 0o600))
}

// state is where the root keeps what was applied, and what that is.
func (planner) state() (path, value string, err error) {
	text, err := os.ReadFile(backendFile)
	if err != nil {
		return "", "", err
	}
	var b backend
	if err := json.Unmarshal(text, &b); err != nil {
		return "", "", err
	}
	path = b.Backend.Config["path"]
	held, err := os.ReadFile(path) //nolint:gosec // the tests' own
	return path, string(held), err
}

var inputLine = regexp.MustCompile(`(?m)^  input = (".*")$`)

// saved is the stand-in's plan file.
type saved struct{ From, To string }

func (p planner) plan(args []string) (code int, err error) {
	text, err := os.ReadFile("main.tf")
	if err != nil {
		return 1, err
	}
	m := inputLine.FindSubmatch(text)
	if m == nil {
		return 1, errors.New("Error: main.tf sets no input") //nolint:staticcheck // as terraform says it
	}
	var s saved
	if err := json.Unmarshal(m[1], &s.To); err != nil {
		return 1, err
	}
	if _, s.From, err = p.state(); err != nil {
		return 1, err
	}
	data, err := json.Marshal(s)
	for _, arg := range args {
		if out, ok := strings.CutPrefix(arg, "-out="); ok {
			err = errors.Join(err, os.WriteFile(out, data, 0o600))
		}
	}
	switch {
	case err != nil:
		return 1, err
	case s.From == s.To:
		return 0, nil
	}
	return 2, nil // terraform's exit code for changes
}

func read(path string) (saved, error) {
	var s saved
	data, err := os.ReadFile(path) //nolint:gosec // the driver's own
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	return s, err
}

func (p planner) apply(path string) error {
	s, err := read(path)
	if err != nil {
		return err
	}
	at, held, err := p.state()
	if err == nil && held != s.From {
		err = errors.New("Error: Saved plan is stale") //nolint:staticcheck // as terraform says it
	}
	if err != nil {
		return err
	}
	return os.WriteFile(at, []byte(s.To), 0o600)
}

// show writes the plan as terraform 1.11 shows one.
func (planner) show(path string) error {
	s, err := read(path)
	if err != nil {
		return err
	}
	const address, provider = "terraform_data.service", "terraform.io/builtin/terraform"
	object := func(input string) map[string]any {
		return map[string]any{"id": "6f1c", "input": input, "output": input, "triggers_replace": nil}
	}
	change := map[string]any{
		"actions": []string{"update"}, "before": object(s.From), "after": object(s.To),
		"after_unknown": map[string]any{}, "before_sensitive": map[string]any{}, "after_sensitive": map[string]any{},
	}
	if s.From == s.To {
		change["actions"] = []string{"no-op"}
	}
	of := map[string]any{"address": address, "mode": "managed", "type": "terraform_data", "name": "service", "provider_name": provider}
	of["change"] = change
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"format_version": "1.2", "terraform_version": "1.11.4", "resource_changes": []any{of},
		"configuration": map[string]any{"provider_config": map[string]any{}, "root_module": map[string]any{"resources": []any{map[string]any{
			"address": address, "mode": "managed", "type": "terraform_data", "name": "service", "provider_config_key": "terraform",
			"expressions": map[string]any{"input": map[string]any{"constant_value": s.To}}, "schema_version": 0,
		}}}},
		"timestamp": "2026-01-01T00:00:00Z", "applyable": s.From != s.To, "complete": true, "errored": false,
	})
}
