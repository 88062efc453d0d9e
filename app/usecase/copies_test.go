package usecase

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/drivers/terraform"
	"github.com/chant-bot/chant/engine/project"
)

// wide is a checkout of n roots that call one module, and of as many files that no
// root may write to.
func wide(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("modules/m/main.tf", "")
	for i := range n {
		write(fmt.Sprintf("roots/r%d/main.tf", i), `module "m" { source = "../../modules/m" }`)
		write(fmt.Sprintf("docs/%d.md", i), "")
	}
	return dir
}

// filesIn counts the files below a directory.
func filesIn(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAMemberCostsCopiesOfWhatItMayWriteTo(t *testing.T) {
	t.Parallel()
	const roots, whole = 50, 50 + 50 + 1
	from := wide(t, roots)
	for isolation, each := range map[string]int{exec.WallBwrap: 2, exec.WallNone: whole} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			wall, err := exec.DetectWall(t.Context(), isolation)
			if err != nil {
				t.Fatal(err)
			}
			planner, err := terraform.New(terraform.Config{Binary: "terraform", Wall: wall})
			if err != nil {
				t.Fatal(err)
			}
			stage := &Stage{NewID: uuid.NewString}
			laid, err := stage.newTrees(&Checkout{Dir: from}, planner, t.TempDir(), "planning")
			if err != nil {
				t.Fatal(err)
			}
			for i := range roots {
				name := fmt.Sprintf("r%d", i)
				target := engine.Target{Member: name, Root: project.Root{Name: name, Dir: "roots/" + name}}
				if err := laid.lay(&target, "."); err != nil {
					t.Fatal(err)
				}
				again := engine.Target{Member: name, Root: target.Root}
				if err := laid.lay(&again, "."); err != nil || again.Worktree != target.Worktree || again.Base != target.Base {
					t.Fatalf("asked again, %s is in %+v, %v", name, again, err)
				}
				if shared := each != whole; (target.Base == from) != shared || (len(target.Own) == 2) != shared {
					t.Fatalf("%s sees %q but for %v", name, target.Base, target.Own)
				}
			}
			if got := filesIn(t, laid.dir); got != roots*each {
				t.Errorf("%d roots have %d files, want %d", roots, got, roots*each)
			}
			for i := range roots {
				laid.drop(fmt.Sprintf("r%d", i))
			}
			if got := filesIn(t, laid.dir); got != 0 {
				t.Errorf("%d files are left", got)
			}
		})
	}
}

// crowd is a driver that works on two members at a time and looks how many have
// files while it plans one of them.
type crowd struct {
	hostile
	mu          sync.Mutex
	plans, most int
}

func (c *crowd) For(engine.Repo, string, string, CredentialKind) (Driver, error) { return c, nil }

func (c *crowd) Plan(_ context.Context, t engine.Target, _ engine.Sink) (engine.Planned, error) {
	laid, err := os.ReadDir(filepath.Dir(t.Worktree))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plans, c.most = c.plans+1, max(c.most, len(laid))
	return engine.Planned{Part: failedPart(t.Member, "not planned")}, err
}

func TestOnlyMembersThatAreWorkedOnHaveFiles(t *testing.T) {
	t.Parallel()
	const roots = 8
	driver := &crowd{}
	files := map[string][]byte{"chant.workspace.json": []byte(`{"name": "wide", "schema": 1, "minReader": "0.108.0"}`)}
	declared := map[string]any{}
	for i := range roots {
		name := fmt.Sprintf("r%d", i)
		declared[name] = map[string]string{"dir": "roots/" + name}
		files["roots/"+name+"/main.tf"] = []byte("# nothing\n")
		files[name+".component.json"] = fmt.Appendf(nil, `{"name": %q, "dependsOn": [], "deploy": [{"phase": "Apply", "steps": [{"kind": "terraform-apply", "root": %q}]}]}`, name, name)
	}
	config, err := json.Marshal(map[string]any{"lexicons": []string{"terraform"}, "terraform": map[string]any{"roots": declared}})
	if err != nil {
		t.Fatal(err)
	}
	files["chant.config.json"] = config
	planned(t, driver, files)
	if driver.plans != roots || driver.most > driver.Parallel() {
		t.Errorf("%d plans, and %d members had files at one time", driver.plans, driver.most)
	}
}

func TestEachDoesAllAndNoMoreAtATimeThanItMay(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{0: 10, 1: 1, 3: 3, 20: 10} {
		synctest.Test(t, func(t *testing.T) {
			var done, now, most atomic.Int32
			each(limit, make([]int, 10), func(int) {
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(time.Second) // of the bubble: when all that may run do
				now.Add(-1)
				done.Add(1)
			})
			if done.Load() != 10 || most.Load() != int32(want) {
				t.Errorf("limit %d: %d done, %d at one time", limit, done.Load(), most.Load())
			}
		})
	}
}
