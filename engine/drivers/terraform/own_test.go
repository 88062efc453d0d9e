package terraform

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/project"
)

func TestARootOwnsItsDirectoryAndTheModulesItCalls(t *testing.T) {
	t.Parallel()
	calls := func(source string) string { return fmt.Sprintf("module \"m\" {\n  source = %q\n}\n", source) }
	for name, tc := range map[string]struct {
		files   map[string]string
		links   map[string]string
		project string
		dir     string
		want    []string
	}{
		"its directory": {files: map[string]string{"roots/net/main.tf": "", "roots/app/main.tf": ""}, want: []string{"roots/net"}},
		"modules of modules, in JSON too": {
			files: map[string]string{
				"roots/net/main.tf": calls("../../modules/a"), "modules/a/x.tf.json": `{"module": {"b": {"source": "../b"}}}`,
				"modules/b/x.tf": "", "modules/c/x.tf": "",
			},
			want: []string{"modules/a", "modules/b", "roots/net"},
		},
		"what lies in another is its": {
			files: map[string]string{"roots/net/main.tf": calls("./own") + calls("../net-b"), "roots/net/own/x.tf": "", "roots/net-b/x.tf": ""},
			want:  []string{"roots/net", "roots/net-b"},
		},
		"a root in a root":         {files: map[string]string{"roots/net/sub/main.tf": "", "roots/net/main.tf": ""}, dir: "roots/net/sub", want: []string{"roots/net/sub"}},
		"in a project below":       {files: map[string]string{"infra/roots/net/main.tf": calls("../../../lib"), "lib/x.tf": ""}, project: "infra", want: []string{"infra/roots/net", "lib"}},
		"files linked in":          {files: map[string]string{"roots/net/main.tf": "", "common/p.tf": ""}, links: map[string]string{"roots/net/p.tf": "../../common/p.tf"}, want: []string{"roots/net"}},
		"all: the top":             {files: map[string]string{"main.tf": ""}, dir: ".", want: []string{"."}},
		"all: a module at the top": {files: map[string]string{"examples/a/main.tf": calls("../.."), "x.tf": ""}, dir: "examples/a", want: []string{"."}},
		"all: a linked root":       {files: map[string]string{"real/main.tf": ""}, links: map[string]string{"roots/net": "../real"}, want: []string{"."}},
		"all: below a link":        {files: map[string]string{"real/net/main.tf": ""}, links: map[string]string{"roots": "real"}, want: []string{"."}},
		"all: a module by a link":  {files: map[string]string{"roots/net/main.tf": calls("./mods/a"), "modules/a/x.tf": ""}, links: map[string]string{"roots/net/mods": "../../modules"}, want: []string{"."}},
		"all: not there":           {files: map[string]string{"main.tf": ""}, want: []string{"."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, tc.files)
			for at, to := range tc.links {
				path := filepath.Join(s.checkout, at)
				if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(to, path); err != nil {
					t.Fatal(err)
				}
			}
			root, projectDir := project.Root{Name: "net", Dir: "roots/net"}, "."
			if tc.dir != "" {
				root.Dir = tc.dir
			}
			if tc.project != "" {
				projectDir = tc.project
			}
			got, err := s.driver().Own(s.checkout, projectDir, root)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v\n(-want +got):\n%s", err, diff)
			}
			none, err := exec.DetectWall(t.Context(), exec.WallNone)
			if err != nil {
				t.Fatal(err)
			}
			got, err = s.driver(func(c *Config) { c.Wall = none }).Own(s.checkout, projectDir, root)
			if diff := cmp.Diff([]string{"."}, got); diff != "" || err != nil {
				t.Errorf("where the wall can't mount: %v\n(-want +got):\n%s", err, diff)
			}
		})
	}
}

// share makes the site's checkout a base, and the target a worktree above it with
// only what its code may write to.
func (s *site) share(d *Driver) {
	s.t.Helper()
	own, err := d.Own(s.checkout, ".", s.target.Root)
	if err != nil {
		s.t.Fatal(err)
	}
	tree := filepath.Join(shortDir(s.t), "tree")
	if err := git.CopyWorktree(s.checkout, tree, own...); err != nil {
		s.t.Fatal(err)
	}
	s.target.Worktree, s.target.ProjectDir, s.target.Base, s.target.Own = tree, tree, s.checkout, own
}

// sharedRoot reads around itself, by a link, a var file and a module, and its
// module writes beside its own files when it is applied.
func sharedRoot(command string) map[string]string {
	return map[string]string{
		"roots/net/main.tf": backend + `
variable "size" {}
module "built" {
  source = "../../modules/built"
}
output "read" { value = "${var.size} ${file("../../docs/policy")} ${local.linked}" }
`,
		"roots/net/.gitkeep": "", "docs/policy": "policy", "common.tfvars": `size = "large"`,
		"common/linked.tf": "variable \"linked\" {\n  type = string\n}\nlocals {\n  linked = var.linked\n}\n",
		"modules/built/main.tf": `
resource "terraform_data" "d" {
  provisioner "local-exec" { command = "` + command + `" }
}
`,
	}
}

func (s *site) linkAndVarFile() {
	s.t.Helper()
	if err := os.Symlink("../../common/linked.tf", filepath.Join(s.checkout, "roots/net/linked.tf")); err != nil {
		s.t.Fatal(err)
	}
	s.target.Root.VarFiles = []string{"../../common.tfvars"}
	s.target.Vars = map[string]digest.Value{"linked": digest.StringOf("linked")}
}

func TestAMemberPlansAndAppliesAboveASharedCheckout(t *testing.T) {
	t.Parallel()
	s := newSite(t, sharedRoot(`echo archive >${path.module}/built.zip`))
	s.linkAndVarFile()
	before := filesIn(t, s.checkout)
	d := s.driver(func(c *Config) { c.CacheDir = filepath.Join(s.state, "cache") })
	s.share(d)
	p := s.plan(d)
	planned := s.target.Worktree
	s.share(d) // an apply runs where no plan ran
	p.Target = s.target
	out := s.apply(d, p)
	if got := text(out.Outputs["read"].Value); got != `"large policy linked"` {
		t.Errorf("it read %s", got)
	}
	wrote, err := os.ReadFile(filepath.Join(s.target.Worktree, "modules/built/built.zip"))
	if err != nil || string(wrote) != "archive\n" {
		t.Errorf("its module wrote %q, %v", wrote, err)
	}
	if diff := cmp.Diff(before, filesIn(t, s.checkout)); diff != "" {
		t.Errorf("the checkout changed (-before +after):\n%s", diff)
	}
	for _, tree := range []string{planned, s.target.Worktree} {
		for _, shared := range []string{"docs", "common", "common.tfvars"} {
			if _, err := os.Lstat(filepath.Join(tree, shared)); err == nil {
				t.Errorf("%s was copied", shared)
			}
		}
	}
}

func TestARootThatWritesAboveItselfIsToldWhereItMay(t *testing.T) {
	t.Parallel()
	s := newSite(t, sharedRoot(`echo archive >${path.module}/../built.zip`))
	s.linkAndVarFile()
	d := s.driver()
	s.share(d)
	out, err := d.Apply(context.Background(), s.plan(d), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"root net", "modules/built/../built.zip", "Read-only file system", "below modules/built, roots/net only"} {
		if !strings.Contains(out.Error, want) {
			t.Errorf("%q is not in %q", want, out.Error)
		}
	}
}

// A var file that is missing is named though the worktree itself has few files.
func TestAVarFileIsLookedForInTheWholeCheckout(t *testing.T) {
	t.Parallel()
	s := newSite(t, sharedRoot("true"))
	s.linkAndVarFile()
	s.target.Root.VarFiles = []string{"../../gone.tfvars"}
	d := s.driver()
	s.share(d)
	if _, err := d.Plan(context.Background(), s.target, nil); err == nil || !strings.Contains(err.Error(), `"../../gone.tfvars"`) {
		t.Errorf("got %v", err)
	}
}

func TestAsManyMembersAreWorthStartingAsKeepThePoolBusy(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	if got := s.driver(func(c *Config) { c.Pool = exec.NewPool(3) }).Parallel(); got != 6 {
		t.Errorf("%d for a pool of 3", got)
	}
	if got := s.driver().Parallel(); got != 0 {
		t.Errorf("%d without a pool, which bounds nothing", got)
	}
}
