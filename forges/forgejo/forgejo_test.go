package forgejo_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/forgejo"
	"github.com/chant-bot/chant/forges/forgetest"
)

var instance = engine.Instance{Kind: engine.Forgejo, Host: "git.acme.test"}

// world is a fake server with a repository, two people, our account, and an
// adapter.
type world struct {
	*forgetest.Forge

	repo            *forgetest.Repo
	alice, bob, bot *forgetest.User
	key             engine.Repo
	conn            *forgejo.Conn
}

// servers are the two the adapter speaks to; it asks neither which one it is.
func servers() map[string]func(forgetest.Options) (*forgetest.Forge, error) {
	return map[string]func(forgetest.Options) (*forgetest.Forge, error){
		"Forgejo": forgetest.NewForgejo, "Gitea": forgetest.NewGitea,
	}
}

func newWorld(t *testing.T, start func(forgetest.Options) (*forgetest.Forge, error)) world {
	t.Helper()
	f := must(start(forgetest.Options{Dir: t.TempDir()}))(t)
	t.Cleanup(func() { _ = f.Close() })
	w := world{Forge: f, alice: f.User("alice"), bob: f.User("bob"), bot: f.User("chant")}
	w.repo = must(f.CreateRepo("acme", "infra"))(t)
	w.repo.SetPermission(w.alice, "write")
	w.repo.SetPermission(w.bob, "write")
	w.repo.SetPermission(w.bot, "admin")
	must(w.repo.Commit("main", map[string]string{"a.tf": "a = 1\n"}, w.alice))(t)
	w.key = engine.Repo{Instance: instance, ID: w.repo.ID, Owner: "acme", Name: "infra"}
	w.conn = w.connect(t, f.Token(w.bot))
	return w
}

func (w world) connect(t *testing.T, token string) *forgejo.Conn {
	t.Helper()
	return must(forgejo.New(forgejo.Config{Instance: instance, APIURL: w.APIURL(), Token: token, Now: w.Now}))(t)
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (w world) pull(t *testing.T, branch string) *forgetest.Pull {
	t.Helper()
	must(w.repo.Commit(branch, map[string]string{branch + ".tf": "b = 2\n"}, w.alice))(t)
	return must(w.repo.OpenPullRequest(w.alice, branch, "main", "Change "+branch))(t)
}

func (w world) change(t *testing.T, p *forgetest.Pull) engine.Change {
	t.Helper()
	return must(w.conn.Change(t.Context(), w.key, p.Number))(t)
}

func (w world) firstTimer(t *testing.T, p *forgetest.Pull) bool {
	t.Helper()
	return must(w.conn.FirstTimer(t.Context(), w.change(t, p)))(t)
}

func TestAChangeIsReadAsItStands(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			want := engine.Change{
				Repo: w.key, Number: 1, Head: p.Head(),
				BaseBranch: "main", State: engine.Open,
				Author: engine.Actor{ID: w.alice.ID, Login: "alice"},
			}
			if diff := cmp.Diff(want, w.change(t, p)); diff != "" {
				t.Fatal(diff)
			}
			if open := must(w.conn.OpenChanges(t.Context(), w.key))(t); len(open) != 1 || open[0] != want {
				t.Fatalf("open: %+v", open)
			}
		})
	}
}

func TestADraftIsATitlesPrefix(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			p.SetDraft(true, w.alice)
			if got := w.change(t, p); !got.Draft {
				t.Fatalf("%+v", got)
			}
		})
	}
}

func TestTheMergeCommitIsThereOnlyAfterTheMerge(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"merge", "squash", "rebase"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			for name, start := range servers() {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, start)
					p := w.pull(t, "topic")
					for range 2 { // the first read makes the test merge
						if got := w.change(t, p); got.MergeCommit != "" {
							t.Fatalf("an open pull request has merge commit %s", got.MergeCommit)
						}
					}
					sha := must(p.Merge(method, w.bob))(t)
					got := w.change(t, p)
					if got.State != engine.Merged || got.MergeCommit != sha || got.MergedBy.ID != w.bob.ID {
						t.Fatalf("merged as %+v, want %s by bob", got, sha)
					}
					found := must(w.conn.ChangesOfCommit(t.Context(), w.key, sha))(t)
					if len(found) != 1 || found[0].Number != p.Number || found[0].MergeCommit != sha {
						t.Fatalf("of the commit: %+v", found)
					}
				})
			}
		})
	}
}

func TestACommitThatNoMergeMadeHasNoChange(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			for _, sha := range []string{p.Head(), must(w.repo.Head("main"))(t), strings.Repeat("0", 40)} {
				if found := must(w.conn.ChangesOfCommit(t.Context(), w.key, sha))(t); len(found) != 0 {
					t.Errorf("%s: %+v", sha, found)
				}
			}
		})
	}
}

func TestAClosedChangeIsClosed(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			if err := p.Close(w.alice); err != nil {
				t.Fatal(err)
			}
			if got := w.change(t, p); got.State != engine.Closed || got.MergeCommit != "" {
				t.Fatalf("%+v", got)
			}
		})
	}
}

func TestAForkAndADeletedForkAreForks(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			mallory := w.User("mallory")
			fork := must(w.repo.Fork(mallory))(t)
			must(fork.Commit("evil", map[string]string{"x.tf": "x\n"}, mallory))(t)
			p := must(w.repo.OpenFromFork(mallory, fork, "evil", "main", "Trust me"))(t)
			if got := w.change(t, p); !got.Fork || !w.firstTimer(t, p) {
				t.Fatalf("from a fork: %+v", got)
			}
			fork.Delete()
			w.DeleteUser(mallory)
			if got := w.change(t, p); !got.Fork || got.Author != (engine.Actor{}) || got.Head != p.Head() {
				t.Fatalf("from a deleted fork of a deleted account: %+v", got)
			}
		})
	}
}

// A push to refs/for needs no more than reading, and the head it makes is said
// to be in the base repository.
func TestAHeadWithoutABranchIsAForks(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			mallory := w.User("mallory")
			fork := must(w.repo.Fork(mallory))(t)
			must(fork.Commit("evil", map[string]string{"x.tf": "x\n"}, mallory))(t)
			p := must(w.repo.OpenWithoutBranch(mallory, fork, "evil", "main", "Trust me"))(t)
			if got := w.change(t, p); !got.Fork || got.Head != p.Head() {
				t.Fatalf("%+v", got)
			}
		})
	}
}

func TestAnAuthorIsNoFirstTimerOnceMerged(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			first, second := w.pull(t, "first"), w.pull(t, "second")
			closed := w.pull(t, "closed")
			if err := closed.Close(w.alice); err != nil {
				t.Fatal(err)
			}
			if w.firstTimer(t, second) {
				t.Fatal("who may write is a first-timer")
			}
			w.repo.SetPermission(w.alice, "read")
			if !w.firstTimer(t, second) {
				t.Fatal("a closed pull request counts as merged")
			}
			must(first.Merge("squash", w.bob))(t)
			for range 2 {
				if w.firstTimer(t, second) {
					t.Fatal("a merged one does not count")
				}
			}
			if asked := w.Count("GET", "/issues"); asked != 2 {
				t.Fatalf("asked %d times what stays true", asked)
			}
		})
	}
}

func TestABranchThatIsGoneLeavesTheHead(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			head := p.Head()
			must(p.Merge("squash", w.bob))(t)
			if err := w.repo.DeleteBranch("topic", w.bob); err != nil {
				t.Fatal(err)
			}
			if got := w.change(t, p); got.Head != head || got.Fork {
				t.Fatalf("%+v", got)
			}
		})
	}
}

func TestListsAreReadToTheirEnd(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			for i := range 53 {
				must(w.As(w.bob).Comment(p, fmt.Sprint("comment ", i)))(t)
				must(w.As(w.bob).Review(p, "COMMENT", fmt.Sprint("review ", i)))(t)
				must(w.repo.SetCheck(p.Head(), fmt.Sprint("unit ", i), "completed", "success"))(t)
			}
			// One that is not submitted is counted and not shown.
			must(w.As(w.alice).StartReview(p, "not yet"))(t)
			if got := must(w.conn.Reviews(t.Context(), w.key, p.Number))(t); len(got) != 53 {
				t.Errorf("%d reviews", len(got))
			}
			if got := must(w.conn.CheckRuns(t.Context(), w.key, p.Head()))(t); len(got) != 53 {
				t.Errorf("%d runs", len(got))
			}
			if got := must(w.conn.RecentComments(t.Context(), w.key, p.Number))(t); len(got) != 106 {
				t.Errorf("%d comments", len(got))
			}
			if pages := w.Count("GET", "/issues/{number}/comments"); pages != 1 {
				t.Errorf("the one page of comments was read %d times", pages)
			}
		})
	}
}

func TestWrongConfigurationIsNamed(t *testing.T) {
	t.Parallel()
	good := forgejo.Config{Instance: instance, Token: "t"}
	for name, tune := range map[string]func(*forgejo.Config){
		"is no Forgejo":     func(c *forgejo.Config) { c.Instance.Kind = engine.GitHub },
		"give a token":      func(c *forgejo.Config) { c.Token = "" },
		"no plain http":     func(c *forgejo.Config) { c.APIURL = "ssh://git.acme.test/api/v1/" },
		"does not end in":   func(c *forgejo.Config) { c.APIURL = "https://git.acme.test/api/v3/" },
		"no plain http(s) ": func(c *forgejo.Config) { c.APIURL = "https://user:pw@git.acme.test/api/v1/" },
	} {
		c := good
		tune(&c)
		if _, err := forgejo.New(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := forgejo.New(good); err != nil {
		t.Error(err)
	}
}

func TestWhatIsOfAnotherInstanceIsRefused(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			foreign := w.key
			foreign.Instance.Host = "other.acme.test"
			_, forErr := w.conn.For(t.Context(), foreign)
			_, changeErr := w.conn.Change(t.Context(), foreign, 1)
			_, noteErr := w.conn.CreateNote(t.Context(), foreign, 1, "x")
			_, headerErr := w.conn.GitHeader(t.Context(), foreign)
			for _, err := range []error{forErr, changeErr, noteErr, headerErr} {
				if err == nil || !strings.Contains(err.Error(), "is not on "+instance.String()) {
					t.Errorf("%v", err)
				}
			}
			if asked := len(w.Requests()); asked != 0 {
				t.Errorf("asked the wrong server: %v", w.Requests())
			}
		})
	}
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			hidden := must(w.CreateRepo("secret", "vault"))(t)
			gone := engine.Repo{Instance: instance, ID: hidden.ID, Owner: "secret", Name: "vault"}
			ref := engine.CommentRef{Kind: engine.IssueComment, ID: 42, Number: 1}
			_, change := w.conn.Change(t.Context(), w.key, 99)
			_, _, repository := w.conn.Repository(t.Context(), gone)
			_, comment := w.conn.Comment(t.Context(), w.key, ref)
			_, edit := w.conn.EditNote(t.Context(), w.key, 1, 42, "x")
			_, write := w.conn.CreateNote(t.Context(), gone, 1, "x")
			for name, err := range map[string]error{
				"change": change, "repository": repository, "comment": comment, "edit": edit, "write": write,
				"status": w.conn.SetStatus(t.Context(), w.key, strings.Repeat("0", 40), forges.Status{Context: "chant/plan", State: forges.StatusSuccess}),
			} {
				if !errors.Is(err, forges.ErrNotFound) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestARepositoryWithoutACommitHasNoOpenPullRequests(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			empty := must(w.CreateRepo("acme", "new"))(t)
			empty.SetPermission(w.bot, "admin")
			key := engine.Repo{Instance: instance, ID: empty.ID, Owner: "acme", Name: "new"}
			if got, err := w.conn.OpenChanges(t.Context(), key); err != nil || len(got) > 0 {
				t.Errorf("%v, %v", got, err)
			}
			key.ID++
			if got, err := w.conn.OpenChanges(t.Context(), key); !errors.Is(err, forges.ErrNotFound) {
				t.Errorf("of no repository at all: %v, %v", got, err)
			}
		})
	}
}
