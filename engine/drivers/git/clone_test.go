package git

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

func TestFetchKeepsRemoteBranchesApartFromOurs(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	first := write(t, remote, "main", "a", "1")
	c := openClone(t, remote)
	ours := must[string](t)(c.WriteCommit(CommitSpec{Tree: gittest.Run(t, remote, "rev-parse", first+"^{tree}"), Message: "ours"}))
	if err := c.MoveRefs(t.Context(), Move{Ref: "refs/heads/main", New: ours}); err != nil {
		t.Fatal(err)
	}

	second := write(t, remote, "main", "a", "2")
	if err := c.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := must[string](t)(c.Ref(t.Context(), "refs/heads/main")); got != ours {
		t.Errorf("our branch is at %s after a fetch, want our own commit %s", got, ours)
	}
	if got := must[string](t)(c.Resolve(t.Context(), "refs/remotes/origin/main")); got != second {
		t.Errorf("the remote's branch is at %s, want %s", got, second)
	}
}

func TestFetchForgetsWhatIsGoneOnTheRemote(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	sha := write(t, remote, "main", "a", "1")
	write(t, remote, "old", "a", "1")
	gittest.Run(t, remote, "tag", "ci/green/"+sha, sha)
	c := openClone(t, remote)
	gittest.Run(t, remote, "tag", "-d", "ci/green/"+sha)
	gittest.Run(t, remote, "branch", "-D", "old")

	if err := c.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if tags := must[[]TagRef](t)(c.CITags(t.Context())); len(tags) != 0 {
		t.Errorf("ci tags after they were deleted remotely: %v", tags)
	}
	if got := must[string](t)(c.Ref(t.Context(), "refs/remotes/origin/old")); got != "" {
		t.Errorf("deleted branch is still at %s", got)
	}
}

func TestFetchOfAMissingRefIsUnknownRevision(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	write(t, remote, "main", "a", "1")
	c := openClone(t, remote)
	err := c.Fetch(t.Context(), "+refs/heads/nope:refs/remotes/origin/nope")
	if !errors.Is(err, ErrUnknownRevision) {
		t.Errorf("got %v, want ErrUnknownRevision", err)
	}
}

func TestRemoteThatDoesNotAnswerIsUnreachable(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	sha := write(t, remote, "main", "a", "1")
	server := gittest.Serve(t, remote)
	c := openClone(t, server.URL)
	server.SetDown(true)
	if err := c.Fetch(t.Context()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("fetch: got %v, want ErrUnreachable", err)
	}
	if err := c.PushRef(t.Context(), sha, "refs/tags/x", ""); !errors.Is(err, ErrUnreachable) {
		t.Errorf("push: got %v, want ErrUnreachable", err)
	}
}

func TestCredentialsReachTheRemoteAndNothingElse(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	sha := write(t, remote, "main", "a", "1")
	server := gittest.Serve(t, remote)
	secret := base64.StdEncoding.EncodeToString([]byte("x:s3cret-token"))
	server.Require("Basic " + secret)
	header := "Authorization: Basic " + secret
	asked := 0
	dir := filepath.Join(t.TempDir(), "clone.git")
	c, err := Open(t.Context(), dir, server.URL, Auth{Header: func(context.Context) (string, error) {
		asked++
		return header, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.PushRef(t.Context(), sha, "refs/tags/ci/green/"+sha, ""); err != nil {
		t.Fatal(err)
	}
	if asked != 2 {
		t.Errorf("credentials were asked for %d times, want once a remote command", asked)
	}
	config := string(must[[]byte](t)(os.ReadFile(filepath.Join(dir, "config"))))
	if strings.Contains(config, secret) {
		t.Error("the secret stands in the clone's configuration")
	}
	header = "Authorization: Basic d3Jvbmc6d3Jvbmc="
	err = c.Fetch(t.Context())
	if !errors.Is(err, ErrUnreachable) || strings.Contains(err.Error(), "d3Jvbmc6d3Jvbmc=") {
		t.Errorf("wrong credentials: got %v, want ErrUnreachable without the secret", err)
	}
}

func TestHooksOfTheRepositoryDoNotRun(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	sha := write(t, remote, "main", "a", "1")
	c := openClone(t, remote)
	ran := filepath.Join(t.TempDir(), "ran")
	for _, hook := range []string{"reference-transaction", "pre-push", "post-checkout"} {
		script := "touch " + ran
		gittest.Hook(t, c.Dir(), hook, script)
	}
	if err := c.PushRef(t.Context(), sha, "refs/heads/new", ""); err != nil {
		t.Fatal(err)
	}
	if err := c.MoveRefs(t.Context(), Move{Ref: "refs/heads/x", New: sha}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a hook ran")
	}
}

func TestOpenIsIncrementalAndFollowsARename(t *testing.T) {
	t.Parallel()
	remote, moved := gittest.Bare(t), gittest.Bare(t)
	sha := write(t, remote, "main", "a", "1")
	c := openClone(t, remote)
	next := write(t, moved, "main", "a", "2")
	again, err := Open(t.Context(), c.Dir(), moved, Auth{})
	if err != nil {
		t.Fatal(err)
	}
	if got := must[string](t)(again.Resolve(t.Context(), "refs/remotes/origin/main")); got != sha {
		t.Errorf("a reopened clone resolves main to %s, want %s", got, sha)
	}
	if err := again.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := must[string](t)(again.Resolve(t.Context(), "refs/remotes/origin/main")); got != next {
		t.Errorf("main is at %s after the URL changed, want %s", got, next)
	}
}

func TestExistingUsesTheFirstRemoteOrNone(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	sha := write(t, remote, "main", "a", "1")
	dir := filepath.Join(t.TempDir(), "work")
	gittest.Run(t, remote, "clone", "--quiet", remote, dir)
	c, err := Existing(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.Remote() != "origin" || c.Owned() {
		t.Errorf("remote %q, owned %v; want origin, false", c.Remote(), c.Owned())
	}
	if got := must[string](t)(c.Resolve(t.Context(), "HEAD")); got != sha {
		t.Errorf("HEAD is %s, want %s", got, sha)
	}
	gittest.Run(t, dir, "remote", "remove", "origin")
	if c, err = Existing(t.Context(), dir); err != nil || c.Remote() != "" {
		t.Errorf("remote %q, error %v; want none", c.Remote(), err)
	}
	if _, err := Existing(t.Context(), t.TempDir()); err == nil {
		t.Error("a directory outside any repository opened")
	}
}

// A fetch that waits for its turn is shared; one that runs already is not,
// since it may have looked before the caller asked.
func TestWaitingFetchesAreShared(t *testing.T) {
	t.Parallel()
	q := newFetchQueue()
	var mu sync.Mutex
	runs := 0
	started, release := make(chan struct{}, 10), make(chan struct{})
	fetch := func(ctx context.Context) error {
		mu.Lock()
		runs++
		mu.Unlock()
		started <- struct{}{}
		<-release
		return ctx.Err()
	}
	var callers sync.WaitGroup
	join := func() { callers.Go(func() { _ = q.do(t.Context(), "k", fetch) }) }
	join()
	<-started
	for range 5 {
		join()
	}
	waitFor(t, func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.waiting["k"] != nil && q.waiting["k"].callers == 5
	})
	close(release)
	callers.Wait()
	if runs != 2 {
		t.Errorf("%d fetches for one running and five waiting callers, want 2", runs)
	}
}

func TestAFetchNobodyWaitsForIsStopped(t *testing.T) {
	t.Parallel()
	q := newFetchQueue()
	stopped := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	go func() { <-started; cancel() }()
	err := q.do(ctx, "k", func(ctx context.Context) error {
		close(started)
		<-ctx.Done()
		close(stopped)
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	<-stopped
	if err := q.do(t.Context(), "k", func(context.Context) error { return nil }); err != nil {
		t.Errorf("the next fetch: %v", err)
	}
}

func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for !holds() {
		if t.Context().Err() != nil {
			t.Fatal("the test ended first")
		}
	}
}

func TestACloneFollowsItsRemoteToAnotherAddress(t *testing.T) {
	t.Parallel()
	old := gittest.Bare(t)
	write(t, old, "main", "a", "1")
	c := openClone(t, old)
	moved := filepath.Join(t.TempDir(), "moved.git")
	if err := os.Rename(old, moved); err != nil {
		t.Fatal(err)
	}
	tip := write(t, moved, "main", "a", "2")
	if err := c.MoveRemote(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	if err := c.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := must[string](t)(c.Resolve(t.Context(), "refs/remotes/origin/main")); got != tip {
		t.Errorf("main is %s, want %s", got, tip)
	}
}

// A job may look for a commit while another one's fetch is bringing it.
func TestACommitIsNeverHereBeforeItsTree(t *testing.T) {
	t.Parallel()
	c, remote, fetch := served(t)
	fetch()
	for round := range 3 {
		tree := map[string][]byte{}
		for i := range 40 {
			tree[fmt.Sprintf("d%02d/file", i)] = fmt.Append(nil, round, i)
		}
		commit := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: tree})
		done := make(chan struct{})
		go func() { defer close(done); _ = c.Fetch(t.Context(), mainSpec) }()
		for {
			if _, err := c.Resolve(t.Context(), commit); err == nil {
				break
			}
			if t.Context().Err() != nil {
				t.Fatal("the commit did not come")
			}
		}
		if _, found, err := c.ReadFile(t.Context(), commit, "d39/file"); err != nil || !found {
			t.Errorf("the commit is here, its file is not: found %t, %v", found, err)
		}
		<-done
	}
}
