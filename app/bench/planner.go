package main

import (
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"time"
)

// planner is this program acting as terraform: it notes when it ran, and either
// runs the real one or answers for it.
type planner struct{ real, log string }

// What a planner finds in its environment. Only runs of a plan have it, which
// is what is counted.
const (
	planLog  = "BENCH_PLANNER_LOG"
	planReal = "BENCH_PLANNER_REAL"
)

// actingPlanner tells by the name it was started under.
func actingPlanner(args []string) (planner, bool) {
	if filepath.Base(args[0]) != "terraform" {
		return planner{}, false
	}
	return planner{real: os.Getenv(planReal), log: os.Getenv(planLog)}, true //nolint:forbidigo // as the tool it stands for
}

// plannerIn copies this program into a directory under a planner's name and
// returns its path. A link would not do: a wall opens the file it leads to.
func (b *bench) plannerIn(dir string) (string, error) {
	path := filepath.Join(dir, "terraform")
	from, err := os.Open(b.self)
	if err != nil {
		return "", err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755) //nolint:gosec // a program
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(to, from); err != nil {
		return "", err
	}
	return path, to.Close()
}

func (p planner) run(args []string) error {
	if len(args) > 0 && args[0] == "version" {
		_, err := fmt.Println(`{"terraform_version":"1.11.4"}`) //nolint:forbidigo // its answer
		return err
	}
	if err := p.note("start"); err != nil {
		return err
	}
	err := p.answer(args)
	if noting := p.note("end"); err == nil {
		err = noting
	}
	return err
}

// note appends a line; a line this short is written whole.
func (p planner) note(what string) (err error) {
	if p.log == "" {
		return nil
	}
	file, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%s %d\n", what, time.Now().UnixNano())
	if closing := file.Close(); err == nil {
		err = closing
	}
	return err
}

func (p planner) answer(args []string) error {
	if p.real != "" {
		cmd := osexec.Command(p.real, args...) //nolint:noctx,gosec // ends with its own signals, and runs what the bench names
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		return cmd.Run()
	}
	switch args[0] {
	case "init":
		return p.init(args[1:])
	case "plan":
		for _, arg := range args {
			if out, found := strings.CutPrefix(arg, "-out="); found {
				if err := os.WriteFile(out, []byte("a plan\n"), 0o600); err != nil {
					return err
				}
			}
		}
		_ = p.note("end")
		os.Exit(2) //nolint:forbidigo // terraform's exit code for a plan with changes
	case "show":
		_, err := fmt.Print(shownPlan) //nolint:forbidigo // its answer
		return err
	case "output":
		_, err := fmt.Println("{}") //nolint:forbidigo // its answer
		return err
	}
	return fmt.Errorf("terraform %s: the stand-in does not do that", args[0])
}

// init leaves what the driver looks for: where the state is kept.
func (planner) init(args []string) error {
	path := ""
	for _, arg := range args {
		if p, found := strings.CutPrefix(arg, "-backend-config=path="); found {
			path = p
		}
	}
	if err := os.MkdirAll(".terraform", 0o700); err != nil {
		return err
	}
	state := fmt.Sprintf(`{"version":3,"backend":{"type":"local","config":{"path":%q,"workspace_dir":null},"hash":1}}`, path)
	return os.WriteFile(filepath.Join(".terraform", "terraform.tfstate"), []byte(state), 0o600)
}

// shownPlan is what terraform shows of a plan that creates one terraform_data.
const shownPlan = `{"format_version":"1.2","terraform_version":"1.11.4","planned_values":{"root_module":{"resources":[{"address":"terraform_data.this","mode":"managed","type":"terraform_data","name":"this","provider_name":"terraform.io/builtin/terraform","schema_version":0,"values":{"input":"second","triggers_replace":null},"sensitive_values":{}}]}},"resource_changes":[{"address":"terraform_data.this","mode":"managed","type":"terraform_data","name":"this","provider_name":"terraform.io/builtin/terraform","change":{"actions":["create"],"before":null,"after":{"input":"second","triggers_replace":null},"after_unknown":{"id":true,"output":true},"before_sensitive":false,"after_sensitive":{}}}],"configuration":{"provider_config":{},"root_module":{"resources":[{"address":"terraform_data.this","mode":"managed","type":"terraform_data","name":"this","provider_config_key":"terraform","expressions":{"input":{"constant_value":"second"}},"schema_version":0}]}},"timestamp":"2026-01-01T00:00:00Z","applyable":true,"complete":true,"errored":false}
`
