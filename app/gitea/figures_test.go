//go:build e2e

package gitea_test

import (
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chant-bot/chant/forges/forgejo/giteatest"
)

// TestANoteFollowsItsDelivery prints how long a note takes from the delivery of
// the pull request to the end of the request that posts it, beside what init, plan
// and show take by hand. It asserts no time: other things run beside tests.
func TestANoteFollowsItsDelivery(t *testing.T) {
	const rounds = 3
	for _, roots := range []int{1, 10, 50} {
		t.Run(fmt.Sprintf("%d roots", roots), func(t *testing.T) {
			dir := t.TempDir()
			w := newWorld(t, dir, manyRoots(t, dir, roots))
			w.serve(never)
			giteatest.Eventually(t, "the first commit to be recorded", func() bool { return w.logged(`job done.* kind=record `) })
			var notes, raws []time.Duration
			for i := 0; len(notes) < rounds; i++ {
				value := fmt.Sprintf("value-%d", i)
				files := map[string]string{}
				for n := range roots {
					files[rootFile(n)] = rootText(value)
				}
				w.clear()
				p := w.propose(value, "To "+value, files)
				var took time.Duration
				giteatest.Eventually(t, "the note", func() (done bool) { took, done = w.took("pull_request"); return done })
				w.status(p.head, "chant/plan", "success", fmt.Sprintf("%d to change", roots))
				if took <= 0 {
					continue // the push that recorded the base came late, and the pull request was found with it
				}
				notes = append(notes, took)
				raws = append(raws, rawPlan(t, roots, value))
			}
			note, raw := median(notes), median(raws)
			t.Logf("%d roots: delivery to note %v of %v, raw commands %v of %v, ratio %.2f; %s",
				roots, note, notes, raw, raws, float64(note)/float64(raw), load())
		})
	}
}

func median(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2].Round(time.Millisecond)
}

// load is how busy the machine was.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	return "load " + string(text)
}

func rootFile(i int) string { return fmt.Sprintf("roots/r%02d/main.tf", i) }

func rootText(value string) string {
	return fmt.Sprintf("terraform {\n  backend \"local\" {}\n}\n\nresource \"terraform_data\" \"this\" {\n  input = %q\n}\n", value)
}

// manyRoots is a repository of roots that do not depend on each other.
func manyRoots(t *testing.T, dir string, n int) map[string]string {
	t.Helper()
	state := filepath.Join(dir, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	roots := object{}
	files := map[string]string{
		"chant.workspace.json": `{"name": "roots", "schema": 1, "minReader": "0.108.0", "x-bot": {"envs": [{"name": "prod", "branch": "main"}]}}`,
	}
	for i := range n {
		name := fmt.Sprintf("r%02d", i)
		roots[name] = object{"dir": "roots/" + name, "backendConfig": object{"path": filepath.Join(state, name+".tfstate")}}
		files[name+".component.json"] = fmt.Sprintf(`{"name": %q, "dependsOn": [], "deploy": [{"phase": "Apply", "steps": [{"kind": "terraform-apply", "root": %q}]}]}`, name, name)
		files[rootFile(i)] = rootText("first")
	}
	files["chant.config.json"] = string(must(json.Marshal(object{
		"lexicons": []string{"terraform"}, "terraform": object{"binary": "terraform", "roots": roots},
	}))(t))
	return files
}

// rawPlan times init, plan and show of fresh roots, as many at a time as the
// server plans.
func rawPlan(t *testing.T, roots int, value string) time.Duration {
	t.Helper()
	home, binary := t.TempDir(), terraform(t)
	dirs := make([]string, roots)
	for i := range dirs {
		file := filepath.Join(home, rootFile(i))
		dirs[i] = filepath.Dir(file)
		if err := os.MkdirAll(dirs[i], 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(rootText(value)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plan := func(dir string) error {
		for _, args := range [][]string{
			{"init", "-input=false", "-no-color", "-backend-config=path=" + filepath.Join(dir, "raw.tfstate")},
			{"plan", "-input=false", "-no-color", "-out=saved.tfplan"},
			{"show", "-json", "saved.tfplan"},
		} {
			cmd := osexec.CommandContext(t.Context(), binary, args...)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1"}
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("terraform %s: %w\n%s", args[0], err, out)
			}
		}
		return nil
	}
	var all sync.WaitGroup
	next, errs := make(chan int), make([]error, roots)
	begin := time.Now()
	for range pool {
		all.Go(func() {
			for i := range next {
				errs[i] = plan(dirs[i])
			}
		})
	}
	for i := range roots {
		next <- i
	}
	close(next)
	all.Wait()
	took := time.Since(begin)
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return took
}
