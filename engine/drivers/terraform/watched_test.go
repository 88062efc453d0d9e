package terraform

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/project"
)

func tree(files ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return fsys
}

func TestWatchedPathsOfARoot(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		project string
		root    project.Root
		tree    fstest.MapFS
		want    []string
	}{
		"its directory": {
			project: ".", root: project.Root{Dir: "roots/net"},
			tree: tree("roots/net/main.tf", ""),
			want: []string{"roots/net"},
		},
		"modules of modules, each once": {
			project: ".", root: project.Root{Dir: "roots/net"},
			tree: tree(
				"roots/net/main.tf", `source = "../../modules/a"`+"\n"+`source="./sub"`,
				"modules/a/x.tofu", "source \t=\n \"../b\"",
				"modules/b/x.tf", `source = "../a"`,
				"roots/net/sub/x.tf", "",
			),
			want: []string{"modules/a", "modules/b", "roots/net", "roots/net/sub"},
		},
		"a commented-out call counts, subdirectories and JSON do not": {
			project: ".", root: project.Root{Dir: "r"},
			tree: tree(
				"r/main.tf", `# source = "../a"`, "r/deep/x.tf", `source = "../../b"`, "r/x.tf.json", `{"source": "../c"}`,
				"a/x", "", "b/x", "", "c/x", "",
			),
			want: []string{"a", "r"},
		},
		"double slashes are one": {
			project: ".", root: project.Root{Dir: "r"},
			tree: tree("r/main.tf", `source = "../mods//net"`, "mods/net/x.tf", ""),
			want: []string{"mods/net", "r"},
		},
		"sources that are no existing directory are left out": {
			project: ".", root: project.Root{Dir: "r"},
			tree: tree("r/main.tf", `source = "../gone"; source = "../file"; source = "../../../out"; source = "hashicorp/x/aws"; source = '../q'`, "file", "", "q/x", ""),
			want: []string{"r"},
		},
		"a parent directory": {
			project: ".", root: project.Root{Dir: "m/examples"},
			tree: tree("m/examples/main.tf", `source = ".."`, "m/x.tf", ""),
			want: []string{"m", "m/examples"},
		},
		"var files, existing or not": {
			project: ".", root: project.Root{Dir: "r", VarFiles: []string{"prod.tfvars", "../common.tfvars"}},
			tree: tree("r/main.tf", ""),
			want: []string{"common.tfvars", "r", "r/prod.tfvars"},
		},
		"relative to a project below the checkout": {
			project: "infra/net", root: project.Root{Dir: "r", VarFiles: []string{"../../x.tfvars"}},
			tree: tree("infra/net/r/main.tf", `source = "../../../modules/m"`+`source = "../.."`, "modules/m/x.tf", ""),
			want: []string{"..", "../../modules/m", "../x.tfvars", "r"},
		},
		"a root that is the project": {
			project: "p", root: project.Root{Dir: "."},
			tree: tree("p/main.tf", ""),
			want: []string{"."},
		},
		"a directory that is not there": {
			project: ".", root: project.Root{Dir: "gone"},
			tree: tree("x", ""),
			want: []string{"gone"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Watched(tc.project, tc.root, tc.tree)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("watched (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARootOutsideTheCheckoutIsAnError(t *testing.T) {
	t.Parallel()
	if got, err := Watched("p", project.Root{Dir: "../.."}, tree("x", "")); err == nil {
		t.Errorf("got %v", got)
	}
}

func TestChangedRoots(t *testing.T) {
	t.Parallel()
	fsys := tree(
		"p/roots/net/main.tf", `source = "../../../modules/m"`, "p/roots/app/main.tf", "", "p/roots/app-two/main.tf", "",
		"modules/m/x.tf", "", "p/main.tf", "",
	)
	roots := map[string]project.Root{
		"net": {Dir: "roots/net"}, "app": {Dir: "roots/app", VarFiles: []string{"../app.tfvars"}}, "app-two": {Dir: "roots/app-two"},
	}
	whole := map[string]project.Root{"all": {Dir: "."}}
	for name, tc := range map[string]struct {
		roots   map[string]project.Root
		changed []string
		want    []string
	}{
		"nothing":                              {roots, nil, nil},
		"a file under a root":                  {roots, []string{"roots/net/deep/x.tf"}, []string{"net"}},
		"a module outside the project":         {roots, []string{"../modules/m/y"}, []string{"net"}},
		"a name that only begins the same":     {roots, []string{"roots/app-two/x"}, []string{"app-two"}},
		"a var file":                           {roots, []string{"roots/app.tfvars"}, []string{"app"}},
		"the directory itself, made a file":    {roots, []string{"roots/app"}, []string{"app"}},
		"paths are normalised":                 {roots, []string{"./roots//net/../app/x"}, []string{"app"}},
		"several, sorted":                      {roots, []string{"roots/net/x", "roots/app/x"}, []string{"app", "net"}},
		"elsewhere":                            {roots, []string{"README.md", "../modules/mm/x"}, nil},
		"anything in a root that is a project": {whole, []string{"docs/x"}, []string{"all"}},
		"not what is above it":                 {whole, []string{"../x", ".."}, nil},
		"a name that begins with dots":         {whole, []string{"..x"}, []string{"all"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Changed("p", tc.roots, fsys, tc.changed)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSourcePathsHoldAllThatTheTextNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"p/r/main.tf": `
source = "../../modules/m"
x = file("../policy.json")
command = "sh ../scripts/deploy.sh --now; cat ../absent"
y = templatefile("${path.module}/../tpl/${var.name}.tpl", {})
`,
		"p/r/more.tf.json":        `{"module": {"j": {"source": "../../modules/j"}}}`,
		"p/r/.terraform.lock.hcl": "",
		"p/r/prod.tfvars":         "",
		"p/policy.json":           "", "p/scripts/deploy.sh": "", "p/tpl/a.tpl": "", "p/other.json": "",
		"modules/m/x.tf": `z = file("${path.root}/../other.json")`,
		"modules/j/x.tf": "", "shared/linked.tf": "", "shared/unused.tf": "", "unrelated/x": "",
		"p/r/.terraform/modules/x": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"p/r/linked.tf": "../../shared/linked.tf", "p/r/out": "/etc/hostname", "p/r/.terraform/l": "../../../unrelated"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := SourcePaths("p", project.Root{Name: "r", Dir: "r", VarFiles: []string{"prod.tfvars", "gone.tfvars"}}, os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"modules/j", "modules/m", "p/other.json", "p/policy.json", "p/r", "p/r/.terraform.lock.hcl", "p/r/prod.tfvars",
		"p/scripts/deploy.sh", "p/tpl", "shared/linked.tf",
	}
	// "../absent" is cut at nothing: its directory stands for it.
	want = append([]string{want[0], want[1], "p"}, want[2:]...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("source paths (-want +got):\n%s", diff)
	}
}

func TestSourcePathsOfAWholeCheckoutDoNotFail(t *testing.T) {
	t.Parallel()
	got, err := SourcePaths(".", project.Root{Name: "all", Dir: "."}, tree("main.tf", `x = "../../up"`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"."}, got); diff != "" {
		t.Error(diff)
	}
}

// soundness I1: what a script, a variable's value or a call in unusual words leads
// to is part of what was approved.
func TestSourcePathsFollowWhatFilesMention(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tree  fstest.MapFS
		want  []string // besides the root's directory
		given string
	}{
		"a script's library, and what that reads": {
			tree: tree("r/deploy.sh", `. "$(dirname "$0")/../lib/common.sh"`, "lib/common.sh", ". ../deep/more.sh", "deep/more.sh", "", "lib/other", ""),
			want: []string{"deep/more.sh", "lib/common.sh"},
		},
		"relative to where the root's scripts run": {
			tree: tree("r/scripts/deploy.sh", ". ../lib/common.sh", "lib/common.sh", ""), want: []string{"lib/common.sh"},
		},
		"what a script that was named calls beside it": {
			tree: tree("r/main.tf", `command = "sh ../bin/deploy.sh"`, "bin/deploy.sh", "sh $(dirname $0)/helper.sh", "bin/helper.sh", "", "bin/unused.sh", ""),
			want: []string{"bin/deploy.sh", "bin/helper.sh"},
		},
		"a name cut off at an expression": {
			tree: tree("r/deploy.sh", ". ../lib/on-$ENV.sh", "lib/on-prod.sh", ""), want: []string{"lib"},
		},
		"a name of nothing in a script": {
			tree: tree("r/index.js", `require("../gone")`, "x", ""), want: nil,
		},
		"a variable's value": {
			tree: tree("r/prod.tfvars", `policy = "../policies/p.json"`, "policies/p.json", ""), want: []string{"policies/p.json"},
		},
		"a value that a component gives": {
			tree: tree("policies/p.json", "", "r/main.tf", "p = file(var.policy)"), want: []string{"policies/p.json"}, given: `{"policy":"../policies/p.json"}`,
		},
		"a template's include": {
			tree: tree("r/t.tftpl", `${file("../policies/p.json")}`, "policies/p.json", ""), want: []string{"policies/p.json"},
		},
		"a module called in brackets, and what it calls": {
			tree: tree("r/main.tf", `source = ("../m")`, "m/x.tf", `source = ("../n")`, "n/x.tf", ""), want: []string{"m", "n"},
		},
		"a module in escaped words": {
			tree: tree("r/main.tf", `source = "\u002e\U0000002e\u002fm"`, "m/x.tf", ""), want: []string{"m"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := SourcePaths(".", project.Root{Name: "r", Dir: "r"}, tc.tree, tc.given)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append(slices.Clone(tc.want), "r"), got); diff != "" {
				t.Errorf("source paths (-want +got):\n%s", diff)
			}
		})
	}
}
