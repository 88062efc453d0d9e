//go:build e2e

package forgejo_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/forgejo"
	"github.com/chant-bot/chant/forges/forgejo/giteatest"
)

// server is a real Gitea with one repository, acme/infra.
type server struct{ *giteatest.Server }

type object = giteatest.Object

func startGitea(t *testing.T) server {
	t.Helper()
	s := server{giteatest.Start(t, "alice", "bob", "chant", "erin")}
	s.Do(t, "boss", "POST", "orgs", object{"username": "acme"}, nil)
	s.Do(t, "boss", "POST", "orgs/acme/repos", object{"name": "infra", "auto_init": true, "default_branch": "main", "private": true}, nil)
	for user, permission := range map[string]string{"alice": "write", "bob": "write", "chant": "admin", "erin": "read"} {
		s.Do(t, "boss", "PUT", "repos/acme/infra/collaborators/"+user, object{"permission": permission}, nil)
	}
	return s
}

// commit writes a file on a branch, which is made when it is new.
func (s server) commit(t *testing.T, user, from, branch, path string) string {
	t.Helper()
	var made struct {
		Commit struct{ SHA string } `json:"commit"`
	}
	body := object{"branch": from, "new_branch": branch, "message": "Add " + path, "content": base64.StdEncoding.EncodeToString([]byte(path + "\n"))}
	s.Do(t, user, "POST", "repos/acme/infra/contents/"+path, body, &made)
	return made.Commit.SHA
}

// open opens a pull request; right after a push the server may not know the
// branch yet.
func (s server) open(t *testing.T, user, branch, title string) int {
	t.Helper()
	var made struct{ Number int }
	giteatest.Eventually(t, "the branch "+branch, func() bool {
		return s.Try(t, user, "POST", "repos/acme/infra/pulls", object{"head": branch, "base": "main", "title": title}, &made) == nil
	})
	return made.Number
}

// TestARealGiteaIsReadAndToldAsTheFakeOneIs walks one pull request through
// everything the adapter asks and tells.
func TestARealGiteaIsReadAndToldAsTheFakeOneIs(t *testing.T) {
	s := startGitea(t)
	at := engine.Instance{Kind: engine.Forgejo, Host: strings.TrimPrefix(s.URL, "http://")}
	config := forgejo.Config{Instance: at, APIURL: s.URL + "/api/v1/", Token: s.Token(t, "chant", "write:repository", "write:issue", "read:user", "read:organization")}
	conn := must(forgejo.New(config))(t)
	repo, info, err := conn.Repository(t.Context(), engine.Repo{Instance: at, Owner: "acme", Name: "infra"})
	if err != nil || repo.ID <= 0 || info.DefaultBranch != "main" {
		t.Fatalf("%+v %+v %v", repo, info, err)
	}
	w := journey{server: s, conn: conn, repo: repo}
	w.head = s.commit(t, "alice", "main", "topic", "topic.tf")
	w.number = s.open(t, "alice", "topic", "WIP: Change topic")
	t.Run("a repository without a commit", w.empty)
	t.Run("the change", w.change)
	t.Run("strangers", w.strangers)
	t.Run("reviews", w.reviews)
	t.Run("comments", w.comments)
	t.Run("statuses", w.statuses)
	t.Run("people", w.people)
	t.Run("the merge", w.merge)
	t.Run("a rename", w.rename)
}

// journey is one pull request on a real server.
type journey struct {
	server

	conn   *forgejo.Conn
	repo   engine.Repo
	number int
	head   string
}

func (w journey) empty(t *testing.T) {
	var made struct{ ID int64 }
	w.server.Do(t, "boss", "POST", "orgs/acme/repos", object{"name": "new", "private": true}, &made)
	w.server.Do(t, "boss", "PUT", "repos/acme/new/collaborators/chant", object{"permission": "admin"}, nil)
	key := engine.Repo{Instance: w.repo.Instance, ID: made.ID, Owner: "acme", Name: "new"}
	if open := must(w.conn.OpenChanges(t.Context(), key))(t); len(open) > 0 {
		t.Fatalf("%+v", open)
	}
	w.server.Do(t, "boss", "DELETE", "repos/acme/new", nil, nil)
}

func (w journey) change(t *testing.T) {
	got := must(w.conn.Change(t.Context(), w.repo, w.number))(t)
	if got.Head != w.head || got.Fork || !got.Draft || must(w.conn.FirstTimer(t.Context(), got))(t) || got.State != engine.Open || got.Author.Login != "alice" {
		t.Fatalf("%+v", got)
	}
	if open := must(w.conn.OpenChanges(t.Context(), w.repo))(t); len(open) != 1 || open[0] != got {
		t.Fatalf("%+v", open)
	}
	authors := must(w.conn.Authors(t.Context(), w.repo, w.number))(t)
	if diff := cmp.Diff(forges.Authors{Logins: []string{"alice"}}, authors); diff != "" {
		t.Fatal(diff)
	}
}

// strangers opens pull requests as somebody who may only read: from a fork, and
// by a push to refs/for, whose head stands in the base repository.
func (w journey) strangers(t *testing.T) {
	w.Do(t, "erin", "POST", "repos/acme/infra/forks", object{}, nil)
	body := object{"branch": "main", "new_branch": "evil", "message": "x", "content": base64.StdEncoding.EncodeToString([]byte("x\n"))}
	w.Do(t, "erin", "POST", "repos/erin/infra/contents/x.tf", body, nil)
	forked := w.open(t, "erin", "erin:evil", "From a fork")
	dir, remote := filepath.Join(t.TempDir(), "clone"), w.Remote("erin", "acme/infra")
	for _, args := range [][]string{
		{"clone", "--quiet", remote, dir},
		{"-C", dir, "-c", "user.name=erin", "-c", "user.email=erin@example.com", "commit", "--quiet", "--allow-empty", "-m", "Without a branch"},
		{"-C", dir, "push", "--quiet", "origin", "HEAD:refs/for/main", "-o", "topic=evil"},
	} {
		giteatest.Output(t, exec.CommandContext(t.Context(), "git", args...))
	}
	found := 0
	for _, got := range must(w.conn.OpenChanges(t.Context(), w.repo))(t) {
		if got.Author.Login != "erin" {
			continue
		}
		found++
		if !got.Fork || !must(w.conn.FirstTimer(t.Context(), got))(t) || got.Head == "" {
			t.Errorf("%+v", got)
		}
		w.Do(t, "erin", "PATCH", fmt.Sprintf("repos/acme/infra/pulls/%d", got.Number), object{"state": "closed"}, nil)
	}
	if found != 2 {
		t.Fatalf("%d of two pull requests are there", found)
	}
	if got := must(w.conn.Change(t.Context(), w.repo, forked))(t); got.State != engine.Closed || !got.Fork {
		t.Fatalf("%+v", got)
	}
}

func (w journey) review(t *testing.T, user, event, body string, comments ...object) int64 {
	t.Helper()
	var made struct{ ID int64 }
	path := fmt.Sprintf("repos/acme/infra/pulls/%d/reviews", w.number)
	w.Do(t, user, "POST", path, object{"event": event, "body": body, "comments": comments}, &made)
	return made.ID
}

func (w journey) states(t *testing.T) string {
	t.Helper()
	var states []string
	for _, v := range must(w.conn.Reviews(t.Context(), w.repo, w.number))(t) {
		if v.Author.Login != "bob" || v.Commit != w.head {
			t.Errorf("%+v", v)
		}
		states = append(states, string(v.State))
	}
	return strings.Join(states, " ")
}

func (w journey) reviews(t *testing.T) {
	path := fmt.Sprintf("repos/acme/infra/pulls/%d", w.number)
	w.review(t, "alice", "PENDING", "not yet")
	w.Do(t, "alice", "POST", path+"/requested_reviewers", object{"reviewers": []string{"bob"}}, nil)
	if got := w.states(t); got != "" {
		t.Fatalf("before any verdict: %q", got)
	}
	w.review(t, "bob", "REQUEST_CHANGES", "no")
	last := w.review(t, "bob", "APPROVED", "")
	if got := w.states(t); got != "DISMISSED APPROVED" {
		t.Fatalf("%q", got)
	}
	w.Do(t, "boss", "POST", fmt.Sprintf("%s/reviews/%d/dismissals", path, last), object{"message": "stale"}, nil)
	if got := w.states(t); got != "DISMISSED DISMISSED" {
		t.Fatalf("%q", got)
	}
	if err := w.Try(t, "alice", "POST", path+"/reviews", object{"event": "APPROVED"}, nil); err == nil {
		t.Fatal("alice approved her own")
	}
}

func (w journey) comments(t *testing.T) {
	ctx, path := t.Context(), fmt.Sprintf("repos/acme/infra/issues/%d/comments", w.number)
	made := must(w.conn.CreateNote(ctx, w.repo, w.number, "<!-- chant -->\nplanned"))(t)
	edited := must(w.conn.EditNote(ctx, w.repo, w.number, made.ID, "<!-- chant -->\napplied"))(t)
	if found := must(w.conn.FindNote(ctx, w.repo, w.number, "<!-- chant -->"))(t); found != edited || found.ID != made.ID {
		t.Fatalf("found %+v, edited %+v", found, edited)
	}
	w.Do(t, "bob", "POST", path, object{"body": "chant plan"}, nil)
	w.review(t, "bob", "COMMENT", "chant help", object{"path": "topic.tf", "body": "why", "new_position": 1})
	kinds := map[engine.CommentKind]int{}
	for _, c := range must(w.conn.RecentComments(ctx, w.repo, w.number))(t) {
		if alone := must(w.conn.Comment(ctx, w.repo, c.Ref))(t); alone.Ref != c.Ref || alone.Body != c.Body || alone.Author != c.Author {
			t.Errorf("alone %+v, listed %+v", alone, c)
		}
		if c.Author.Login != "bob" {
			continue
		}
		kinds[c.Ref.Kind]++
		for range 2 {
			if err := w.conn.React(ctx, w.repo, c.Ref, forges.Seen); errors.Is(err, forges.ErrNotSupported) != (c.Ref.Kind == engine.Review) || c.Ref.Kind != engine.Review && err != nil {
				t.Errorf("%s: %v", c.Ref.Kind, err)
			}
		}
		if _, err := w.conn.Comment(ctx, w.repo, engine.CommentRef{Kind: engine.IssueComment, ID: c.Ref.ID, Number: w.number}); c.Ref.Kind == engine.ReviewComment && !errors.Is(err, forges.ErrNotFound) {
			t.Errorf("one on code as another: %v", err)
		}
	}
	if diff := cmp.Diff(map[engine.CommentKind]int{engine.IssueComment: 1, engine.ReviewComment: 1, engine.Review: 2}, kinds); diff != "" {
		t.Fatal(diff)
	}
	w.Do(t, "boss", "DELETE", fmt.Sprintf("repos/acme/infra/issues/comments/%d", made.ID), nil, nil)
	if _, err := w.conn.EditNote(ctx, w.repo, w.number, made.ID, "x"); !errors.Is(err, forges.ErrNotFound) {
		t.Fatalf("a deleted note: %v", err)
	}
}

func (w journey) statuses(t *testing.T) {
	ctx := t.Context()
	for i, state := range []forges.StatusState{forges.StatusPending, forges.StatusSuccess} {
		s := forges.Status{Context: "chant/plan", State: state, Description: fmt.Sprint("step ", i), TargetURL: "https://chant.acme.test/1"}
		if err := w.conn.SetStatus(ctx, w.repo, w.head, s); err != nil {
			t.Fatal(err)
		}
		if got := must(w.conn.Status(ctx, w.repo, w.head, "chant/plan"))(t); got != s {
			t.Fatalf("%+v", got)
		}
	}
	for i := range 55 {
		w.Do(t, "alice", "POST", "repos/acme/infra/statuses/"+w.head, object{"context": fmt.Sprint("unit ", i), "state": "success"}, nil)
	}
	w.Do(t, "alice", "POST", "repos/acme/infra/statuses/"+w.head, object{"context": "unit 0", "state": "failure"}, nil)
	runs := must(w.conn.CheckRuns(ctx, w.repo, w.head))(t)
	newest := runs[0]
	for _, run := range runs {
		if run.ID > newest.ID {
			newest = run
		}
	}
	if len(runs) != 56 || newest.Name != "unit 0" || newest.Conclusion != "failure" {
		t.Fatalf("%d runs, newest %+v", len(runs), newest)
	}
	if err := w.conn.SetStatus(ctx, w.repo, strings.Repeat("1", 40), forges.Status{Context: "c", State: forges.StatusSuccess}); !errors.Is(err, forges.ErrNotFound) {
		t.Fatalf("a commit that is not there: %v", err)
	}
}

func (w journey) people(t *testing.T) {
	ctx := t.Context()
	if self := must(w.conn.Self(ctx))(t); self.Login != "chant" || self.Bot {
		t.Fatalf("%+v", self)
	}
	w.AddUser(t, "dave")
	for login, want := range map[string]forges.Permission{"alice": forges.Write, "boss": forges.Admin, "chant": forges.Admin, "dave": forges.NoAccess} {
		if got := must(w.conn.Permission(ctx, w.repo, login))(t); got != want {
			t.Errorf("%s: %s", login, got)
		}
	}
	if _, err := w.conn.Permission(ctx, w.repo, "nobody"); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}
	var team struct{ ID int64 }
	w.Do(t, "boss", "POST", "orgs/acme/teams", object{"name": "ops", "permission": "write", "units": []string{"repo.code"}}, &team)
	w.Do(t, "boss", "PUT", fmt.Sprintf("teams/%d/members/bob", team.ID), nil, nil)
	if _, err := w.conn.TeamMember(ctx, "acme", "Ops", "bob"); !isForbidden(err) {
		t.Errorf("asked from outside: %v", err)
	}
	w.Do(t, "boss", "PUT", fmt.Sprintf("teams/%d/members/chant", team.ID), nil, nil)
	for login, want := range map[string]bool{"bob": true, "alice": false, "nobody": false} {
		if got := must(w.conn.TeamMember(ctx, "acme", "Ops", login))(t); got != want {
			t.Errorf("%s: %v", login, got)
		}
	}
	if repos := must(w.conn.Installed(ctx))(t); len(repos) != 1 || repos[0] != w.repo {
		t.Errorf("%+v", repos)
	}
	header := must(w.conn.GitHeader(ctx, w.repo))(t)
	cmd := exec.CommandContext(ctx, "git", "-c", "http.extraHeader="+header, "ls-remote", w.URL+"/acme/infra.git", "refs/heads/topic")
	if out := giteatest.Output(t, cmd); !strings.HasPrefix(out, w.head) {
		t.Errorf("%s", out)
	}
}

func (w journey) merge(t *testing.T) {
	ctx, path := t.Context(), fmt.Sprintf("repos/acme/infra/pulls/%d", w.number)
	w.Do(t, "alice", "PATCH", path, object{"title": "Change topic"}, nil)
	giteatest.Eventually(t, "the merge", func() bool {
		return w.Try(t, "bob", "POST", path+"/merge", object{"Do": "squash", "delete_branch_after_merge": true}, nil) == nil
	})
	got := must(w.conn.Change(ctx, w.repo, w.number))(t)
	if got.State != engine.Merged || got.MergeCommit == "" || got.MergedBy.Login != "bob" || got.Head != w.head || got.Fork {
		t.Fatalf("%+v", got)
	}
	if found := must(w.conn.ChangesOfCommit(ctx, w.repo, got.MergeCommit))(t); len(found) != 1 || found[0] != got {
		t.Fatalf("%+v", found)
	}
	if found := must(w.conn.ChangesOfCommit(ctx, w.repo, w.head))(t); len(found) != 0 {
		t.Fatalf("%+v", found)
	}
	w.commit(t, "alice", "main", "second", "second.tf")
	second := w.open(t, "alice", "second", "Change second")
	if got := must(w.conn.Change(ctx, w.repo, second))(t); must(w.conn.FirstTimer(ctx, got))(t) || got.Draft {
		t.Fatalf("%+v", got)
	}
}

func (w journey) rename(t *testing.T) {
	ctx := t.Context()
	w.Do(t, "boss", "PATCH", "repos/acme/infra", object{"name": "platform"}, nil)
	if got := must(w.conn.Change(ctx, w.repo, w.number))(t); got.Repo.ID != w.repo.ID || got.Repo.Name != "platform" {
		t.Fatalf("%+v", got.Repo)
	}
	note := must(w.conn.CreateNote(ctx, w.repo, w.number, "renamed"))(t)
	if found := must(w.conn.FindNote(ctx, w.repo, w.number, "renamed"))(t); found != note {
		t.Fatalf("found %+v, made %+v", found, note)
	}
	w.Do(t, "boss", "POST", "orgs/acme/repos", object{"name": "infra", "auto_init": true, "private": true}, nil)
	if got := must(w.conn.Change(ctx, w.repo, w.number))(t); got.Repo.ID != w.repo.ID {
		t.Fatalf("%+v", got.Repo)
	}
}
