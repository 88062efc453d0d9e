package app

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/exec"
)

func wallOf(t *testing.T, name string) exec.Wall {
	t.Helper()
	wall, err := exec.DetectWall(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return wall
}

func repoOf(id int64) engine.Repo {
	return engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: id}
}

// However long an apply takes, and however many plans are asked for, the other
// kind runs, with the smallest configuration too.
func TestAppliesAndPlansDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	d := newDrivers(&config.Config{Workers: 1, StateDir: t.TempDir()}, wallOf(t, exec.WallNone))
	pool := func(id int64, env string, kind usecase.CredentialKind) *exec.Pool {
		return d.settings(repoOf(id), env, "terraform", kind).Pool
	}
	for busy, other := range map[usecase.CredentialKind]usecase.CredentialKind{
		usecase.ForApply: usecase.ForPlan, usecase.ForPlan: usecase.ForApply,
	} {
		err := pool(1, "prod", busy).Do(t.Context(), func() error {
			ran := false
			if err := pool(1, "prod", other).Do(t.Context(), func() error { ran = true; return nil }); err != nil || !ran {
				t.Errorf("while all workers %s: to %s ran %v, %v", busy, other, ran, err)
			}
			// The bound holds over every repository and env.
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if err := pool(2, "staging", busy).Do(ended, func() error { return nil }); !errors.Is(err, context.Canceled) {
				t.Errorf("one more to %s than there are workers: %v", busy, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// What the code of a pull request had an init download is never what an apply of
// another repository, env or kind runs (soundness I11, I13).
func TestProvidersAreCachedApart(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	d := newDrivers(&config.Config{Workers: 2, StateDir: state, WritablePaths: []string{"/srv/state"}}, wallOf(t, exec.WallNone))
	seen := map[string]string{}
	for _, id := range []int64{1, 2} {
		for _, env := range []string{"prod", "prod-plan", "../prod", "a/b"} {
			for _, kind := range []usecase.CredentialKind{usecase.ForPlan, usecase.ForApply} {
				repo, at := repoOf(id), strings.Join([]string{repoOf(id).Key(), env, string(kind)}, " ")
				c := d.settings(repo, env, "terraform", kind)
				if before, taken := seen[c.CacheDir]; taken {
					t.Errorf("%s and %s share %s", before, at, c.CacheDir)
				}
				seen[c.CacheDir] = at
				if in := filepath.Join(state, "providers", dirName(repo.Key())); filepath.Dir(c.CacheDir) != in {
					t.Errorf("%s caches in %s, which is not in %s", at, c.CacheDir, in)
				}
				if again := d.settings(repo, env, "terraform", kind).CacheDir; again != c.CacheDir {
					t.Errorf("%s caches in %s, then in %s", at, c.CacheDir, again)
				}
				if len(c.Writable) != 1 || c.Scope != repo.Key()+" "+env {
					t.Errorf("%s: %+v", at, c)
				}
			}
		}
	}
	behind := newDrivers(&config.Config{Workers: 2, StateDir: state}, userWall{wallOf(t, exec.WallNone)})
	if dir := behind.settings(repoOf(1), "prod", "terraform", usecase.ForPlan).CacheDir; dir != "" {
		t.Errorf("users of their own were given %s, where they can't go", dir)
	}
}

// userWall is called like the wall of users of their own.
type userWall struct{ exec.Wall }

func (userWall) Name() string { return exec.WallUser }
