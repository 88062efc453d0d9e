package terraform

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
)

func TestErrorsNameTheRootAndWhatToDo(t *testing.T) {
	t.Parallel()
	binary, _ := toolVersion(t)
	tf := filepath.Base(binary)
	for name, tc := range map[string]struct {
		main   string
		change func(*engine.Target)
		want   []string
	}{
		"a syntax error":      {main: "resource \"x\" {", want: []string{"root net", tf + " init exited with 1", "main.tf line"}},
		"a failing plan":      {main: backend + "output \"o\" {\n  value = file(\"absent\")\n}\n", want: []string{"root net", tf + " plan exited with 1", "absent"}},
		"a path in its words": {main: backend + "output \"o\" {\n  value = file(\"${abspath(path.root)}/absent\")\n}\n", want: []string{"root net", "roots/net/absent"}},
		"an unset variable":   {main: backend + "variable \"v\" {}\n", want: []string{"root net", "\"v\""}},
		"a missing directory": {
			change: func(t *engine.Target) { t.Root.Dir = "roots/nat" },
			want:   []string{"chant.config.json:3", "roots/nat", "net", `correct "dir"`},
		},
		"a directory outside": {
			change: func(t *engine.Target) { t.Root.Dir = "../../etc" },
			want:   []string{"root net", `correct "dir"`},
		},
		"a var file outside": {
			change: func(t *engine.Target) { t.Root.VarFiles = []string{"../../../etc/hostname"} },
			want:   []string{"root net", `correct "varFiles"`},
		},
		"an absolute var file": {
			change: func(t *engine.Target) { t.Root.VarFiles = []string{"/etc/hostname"} },
			want:   []string{"root net", `correct "varFiles"`},
		},
		"a bad variable name": {
			main:   backend,
			change: func(t *engine.Target) { t.Vars = map[string]digest.Value{"a=b": digest.StringOf("c")} },
			want:   []string{"root net", "no variable a=b", `"vars"`},
		},
		"no backend":          {main: "output \"o\" {\n  value = 1\n}\n", change: noBackend, want: []string{"root net", "not kept", `"path"`}},
		"a relative state":    {main: backend, change: func(t *engine.Target) { t.Root.BackendConfig["path"] = "x.tfstate" }, want: []string{"root net", "not kept"}},
		"a state elsewhere":   {main: backend, change: func(t *engine.Target) { t.Root.BackendConfig["path"] = "/srv/x.tfstate" }, want: []string{"root net", "(/srv/x.tfstate)", "not kept"}},
		"a state by dots":     {main: backend, change: func(t *engine.Target) { t.Root.BackendConfig["path"] += "/../../x" }, want: []string{"root net", "not kept"}},
		"a workspace's state": {main: backend, change: func(t *engine.Target) { t.Root.Workspace = "prod" }, want: []string{"root net", `"workspace_dir"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]string{"roots/net/main.tf": tc.main})
			if tc.change != nil {
				tc.change(&s.target)
			}
			_, err := s.driver().Plan(context.Background(), s.target, nil)
			if err == nil {
				t.Fatal("no error")
			}
			var told *engine.Told
			if !errors.As(err, &told) || strings.Contains(err.Error(), s.target.Worktree) {
				t.Errorf("%q is not for people", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %q", want, err)
				}
			}
		})
	}
}

func noBackend(t *engine.Target) { t.Root.BackendConfig = nil }

func TestARootLinkedFromOutsideIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/keep": ""})
	outside := shortDir(t)
	s.write(outside, map[string]string{"main.tf": netRoot})
	if err := os.Symlink(outside, filepath.Join(s.checkout, "roots/net")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.driver().Plan(context.Background(), s.target, nil); err == nil || !strings.Contains(err.Error(), "not a directory of the checkout") {
		t.Errorf("got %v", err)
	}
}

// soundness I1: init takes modules it finds for what it would download, from
// wherever a list beside them says, which is no part of a member's source.
func TestModulesThatTheRepositoryBringsAreNotTakenForDownloadedOnes(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"roots/net/main.tf":                         backend + "module \"m\" {\n  source = \"git::file:///absent\"\n}\n",
		"roots/net/.terraform/modules/modules.json": `{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"m","Source":"git::file:///absent","Dir":"../../planted"}]}`,
		"planted/main.tf":                           "output \"o\" {\n  value = 1\n}\n",
	})
	if _, err := s.driver().Plan(t.Context(), s.target, s.lines.add); err == nil || !strings.Contains(err.Error(), "git::file:///absent") {
		t.Errorf("a module that is nowhere gave %v", err)
	}
}
