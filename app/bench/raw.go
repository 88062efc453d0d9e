package main

import (
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"sync"
	"time"
)

// raw is terraform by hand over the same roots, as many at a time as the
// server's pool.
type raw struct {
	terraform, dir string
	roots          int
}

// newRaw lays out checkouts of all roots, each with a state of its own.
func (w *world) newRaw(b *bench, roots int) (*raw, error) {
	dir, err := b.tempDir("raw")
	return &raw{terraform: b.terraform, dir: dir, roots: roots}, err
}

// checkout writes the roots fresh, as a job finds them.
func (r *raw) checkout(value string) error {
	for i := range r.roots {
		dir := r.root(i)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(rootText(value)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (r *raw) root(i int) string { return filepath.Join(r.dir, "roots", rootName(i)) }

// plan times init, plan and show of every root.
func (r *raw) plan(ctx context.Context, value string) (time.Duration, error) {
	return r.each(ctx, value, func(i int) [][]string {
		return [][]string{
			{"init", "-input=false", "-no-color", "-backend-config=path=" + filepath.Join(r.dir, rootName(i)+".tfstate")},
			{"plan", "-input=false", "-no-color", "-out=saved.tfplan"},
			{"show", "-json", "saved.tfplan"},
		}
	})
}

// apply times the same and the apply of what was planned.
func (r *raw) apply(ctx context.Context, value string) (time.Duration, error) {
	return r.each(ctx, value, func(i int) [][]string {
		return [][]string{
			{"init", "-input=false", "-no-color", "-backend-config=path=" + filepath.Join(r.dir, rootName(i)+".tfstate")},
			{"plan", "-input=false", "-no-color", "-out=saved.tfplan"},
			{"show", "-json", "saved.tfplan"},
			{"apply", "-input=false", "-no-color", "saved.tfplan"},
		}
	})
}

func (r *raw) each(ctx context.Context, value string, commands func(int) [][]string) (time.Duration, error) {
	if err := r.checkout(value); err != nil {
		return 0, err
	}
	slots, errs := make(chan struct{}, pool), make([]error, r.roots)
	begin := time.Now()
	var all sync.WaitGroup
	for i := range r.roots {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			for _, args := range commands(i) {
				if errs[i] == nil {
					errs[i] = r.terraformIn(ctx, r.root(i), args)
				}
			}
		})
	}
	all.Wait()
	took := time.Since(begin)
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return took, nil
}

func (r *raw) terraformIn(ctx context.Context, dir string, args []string) error {
	cmd := osexec.CommandContext(ctx, r.terraform, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + r.dir, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("terraform %s: %w\n%s", args[0], err, out)
	}
	return nil
}
