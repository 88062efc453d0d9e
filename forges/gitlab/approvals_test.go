package gitlab_test

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/forgetest"
	"github.com/chant-bot/chant/forges/gitlab"
)

// approved_by alone says who approved: approvals_left 0 and approved true stand
// for a merge request that nobody looked at (cases, atlantis 2605).
func TestOnlyWhoStandsInApprovedByApproved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	read := func() []string {
		var logins []string
		for _, r := range must(w.forge.Reviews(t.Context(), w.key, p.Number))(t) {
			if r.State != forges.Approved || r.Commit != "" { // GitLab names no commit
				t.Errorf("%+v", r)
			}
			logins = append(logins, r.Author.Login)
		}
		return logins
	}
	if got := read(); len(got) != 0 {
		t.Fatalf("nobody approved, got %v", got)
	}
	approval := must(w.As(w.bob).Review(p, "APPROVE", ""))(t)
	must(w.As(w.alice).Review(p, "APPROVE", ""))(t)
	if got := read(); !slices.Equal(got, []string{"bob", "alice"}) {
		t.Errorf("got %v", got)
	}
	if err := w.As(w.bob).Dismiss(approval); err != nil {
		t.Fatal(err)
	}
	must(w.As(w.alice).Review(p, "REQUEST_CHANGES", "no"))(t)
	if got := read(); len(got) != 0 {
		t.Errorf("taken back, got %v", got)
	}
}

func TestApprovalsThatAPushTookAwayDoNotStand(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"reset": 0, "kept": 1} {
		w := newWorld(t)
		if name == "reset" {
			w.repo.ResetApprovalsOnPush()
		}
		p := w.pull(t, "topic")
		must(w.As(w.bob).Review(p, "APPROVE", ""))(t)
		must(p.Push(map[string]string{"c.tf": "c\n"}, w.alice))(t)
		if got := must(w.forge.Reviews(t.Context(), w.key, p.Number))(t); len(got) != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAGitLabWithoutApprovalsIsSaidByName(t *testing.T) {
	t.Parallel()
	for name, tune := range map[string]func(*gitlab.Config){
		"no such address": answering("/approvals", 404, `{"error":"404 Not Found"}`),
		"no such field":   answering("/approvals", 200, `{"approved":true,"approvals_required":0,"approvals_left":0}`),
	} {
		w := newWorld(t, tune)
		p := w.pull(t, "topic")
		if got, err := w.forge.Reviews(t.Context(), w.key, p.Number); !errors.Is(err, forges.ErrNotSupported) {
			t.Errorf("%s: %v %v", name, got, err)
		}
		if _, err := w.forge.Reviews(t.Context(), w.key, 77); name == "no such address" && !errors.Is(err, forges.ErrNotFound) {
			t.Errorf("%s: a merge request that is not there: %v", name, err)
		}
	}
}

func TestAuthorsAreAccountsAndWhoHasNoneIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bob.AddEmail("Bob@example.com")
	commit := func(author, committer forgetest.Person) {
		must(w.repo.CommitAs("topic", map[string]string{author.Email: "x\n"}, w.alice, author, committer, "change"))(t)
	}
	bob, carol := forgetest.Person{Name: "Bob", Email: "bob@example.com"}, forgetest.Person{Name: "Carol", Email: "carol@elsewhere.example"}
	commit(w.alice.Person(), w.alice.Person())
	commit(bob, w.alice.Person())
	commit(w.alice.Person(), carol)
	p := must(w.repo.OpenPullRequest(w.alice, "topic", "main", "x"))(t)
	got := must(w.forge.Authors(t.Context(), w.key, p.Number))(t)
	if !slices.Equal(got.Logins, []string{"alice", "bob"}) || !slices.Equal(got.Unresolved, []string{"carol@elsewhere.example"}) {
		t.Fatalf("%+v", got)
	}
}

// GitLab joins no committer with an account: one who never was an author here is
// unresolved even when an account has the address, and that refuses.
func TestACommitterWhoIsNoAuthorIsUnresolved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(w.repo.CommitAs("topic", map[string]string{"x": "x\n"}, w.alice, w.alice.Person(), w.bob.Person(), "change"))(t)
	p := must(w.repo.OpenPullRequest(w.alice, "topic", "main", "x"))(t)
	got := must(w.forge.Authors(t.Context(), w.key, p.Number))(t)
	if len(got.Unresolved) != 1 || got.Unresolved[0] != strings.ToLower(w.bob.Person().Email) {
		t.Fatalf("%+v", got)
	}
}

func TestAuthorsOfALongMergeRequestAreAllRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var history strings.Builder // a hundred commits in one git process; bob's is on the last page
	for i := range 100 {
		author := w.alice.Person()
		if i == 0 {
			author = w.bob.Person()
		}
		line := fmt.Sprintf("%s <%s> %d +0000", author.Name, author.Email, 1_800_000_000+i)
		fmt.Fprintf(&history, "commit refs/heads/topic\nauthor %[1]s\ncommitter %[1]s\ndata 1\nx\n", line)
		if i == 0 {
			history.WriteString("from refs/heads/main^0\n")
		}
	}
	cmd := exec.CommandContext(timeout(t), "git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = w.repo.Dir(), strings.NewReader(history.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	must(w.repo.Commit("other", map[string]string{"x": "x\n"}, w.alice))(t) // the fake looks at its references anew
	must(w.repo.Commit("topic", map[string]string{"x": "x\n"}, w.alice))(t)
	p := must(w.repo.OpenPullRequest(w.alice, "topic", "main", "x"))(t)
	got := must(w.forge.Authors(t.Context(), w.key, p.Number))(t)
	if !slices.Equal(got.Logins, []string{"alice", "bob"}) || len(got.Unresolved) != 0 {
		t.Fatalf("%+v", got)
	}
	if n := w.Count("POST", "/graphql"); n != 2 {
		t.Errorf("%d pages", n)
	}
}
