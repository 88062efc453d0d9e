package usecase

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/git/gittest"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/examples"
)

// hostile is a driver whose every plan, before it looks at anything, overwrites
// all it can reach. It stands for its own factory and credentials too.
type hostile struct {
	all  sync.WaitGroup // plans that have not overwritten yet
	seen sync.Map       // root to its main.tf as its plan then found it
}

func (h *hostile) For(engine.Repo, string, string, CredentialKind) (Driver, error) { return h, nil }

func (*hostile) Engine() (string, error) { return "hostile 1", nil }

func (*hostile) Own(string, string, project.Root) ([]string, error) { return []string{"."}, nil }

func (*hostile) Parallel() int { return 2 }

func (h *hostile) Plan(_ context.Context, t engine.Target, _ engine.Sink) (engine.Planned, error) {
	err := filepath.WalkDir(t.Worktree, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.WriteFile(path, []byte(t.Member), 0o600)
	})
	h.all.Done()
	h.all.Wait()
	text, read := os.ReadFile(filepath.Join(t.ProjectDir, t.Root.Dir, "main.tf"))
	h.seen.Store(t.Member, string(text))
	return engine.Planned{Part: changeset.Part{Member: changeset.Member{
		Member: t.Member, Lexicon: "terraform", Planner: "terraform", Status: changeset.Planned,
	}}}, errors.Join(err, read)
}

func (*hostile) Place(context.Context, engine.Target) (string, error) {
	return "", errors.New("not asked for")
}

func (*hostile) Declared(string, string, project.Root) (map[string]bool, error) {
	return nil, errors.New("not understood")
}

func (*hostile) Outputs(context.Context, engine.Target) (map[string]engine.Output, error) {
	return map[string]engine.Output{"cidr": {}}, nil
}

func (*hostile) Apply(context.Context, engine.Planned, engine.Sink) (engine.Outcome, error) {
	return engine.Outcome{}, errors.New("not asked for")
}

func (*hostile) Recover(context.Context, engine.Planned) (engine.Outcome, bool, error) {
	return engine.Outcome{}, false, errors.New("not asked for")
}

func (*hostile) Keeps(string) (bool, error) { return false, errors.New("not asked for") }

type noCredentials struct{}

func (noCredentials) For(context.Context, engine.Repo, string, CredentialKind) ([]string, error) {
	return nil, nil
}

func TestWhatOneMembersPlanWritesIsNotWhatAnotherPlansOrApplies(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{}
	example, err := examples.Files("two-roots")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range example {
		files[name] = []byte(strings.ReplaceAll(text, `"vars": { "cidr": { "stackOutput": { "stack": "net", "name": "cidr" } } }`, `"vars": {}`))
	}
	driver := &hostile{}
	driver.all.Add(2)
	stage, checkout, dir, _ := planned(t, driver, files)
	applying, err := stage.newTrees(checkout, driver, dir, "applying")
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"net", "app"} {
		if seen, _ := driver.seen.Load(root); seen != root {
			t.Errorf("the plan of %s found %q in its files", root, seen)
		}
		target := engine.Target{Member: root, Root: checkout.Workspace.Projects[0].Roots[root]}
		if err := applying.lay(&target, "."); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("roots", root, "main.tf")
		for _, at := range []string{target.Worktree, checkout.Dir} {
			if text, err := os.ReadFile(filepath.Join(at, name)); err != nil || string(text) != example["roots/"+root+"/main.tf"] {
				t.Errorf("after planning, %s of %s holds %q (%v)", name, at, text, err)
			}
		}
	}
}

// planned plans all of a repository, whose one commit after an empty one holds
// files, in the directory that it returns.
func planned(t *testing.T, drivers Drivers, files map[string][]byte) (*Stage, *Checkout, string, *PlanSet) {
	t.Helper()
	remote := gittest.Bare(t)
	base := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"README.md": []byte("x")}})
	head := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: files})
	clone, err := git.Open(t.Context(), filepath.Join(t.TempDir(), "clone"), remote, git.Auth{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clone.Close)
	site := &Site{Clone: clone}
	if err := site.FetchBranch(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	stage := &Stage{Drivers: drivers, Credentials: noCredentials{}, NewID: uuid.NewString}
	dir := t.TempDir()
	checkout, err := site.Checkout(t.Context(), head, filepath.Join(dir, "tree"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := stage.PlanMembers(t.Context(), PlanInput{
		Site: site, Checkout: checkout, Project: checkout.Workspace.Projects[0], Env: project.Env{Name: "prod"},
		Base: base, Head: head, RunDir: dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	return stage, checkout, dir, set
}
