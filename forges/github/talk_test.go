package github_test

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/forgetest"
)

const marker = "<!-- chant-pr:prod -->"

func TestOurNoteIsFoundByAccountAndMarker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	must(w.As(w.bob).Comment(p, marker+"\npasted by somebody else"))(t)
	for i := range 120 {
		must(w.As(w.alice).Comment(p, fmt.Sprint("chatter ", i)))(t)
	}
	if _, err := w.forge.FindNote(t.Context(), w.key, p.Number, marker); !errors.Is(err, forges.ErrNotFound) {
		t.Fatalf("found a note we did not write: %v", err)
	}
	must(w.forge.CreateNote(t.Context(), w.key, p.Number, "not ours to find"))(t)
	made := must(w.forge.CreateNote(t.Context(), w.key, p.Number, marker+"\nplan"))(t)
	found := must(w.forge.FindNote(t.Context(), w.key, p.Number, marker))(t)
	if found != made {
		t.Fatalf("found %+v, made %+v", found, made)
	}
	edited := must(w.forge.EditNote(t.Context(), w.key, p.Number, made.ID, marker+"\napplied"))(t)
	if edited.ID != made.ID || edited.Body != marker+"\napplied" {
		t.Fatalf("edited to %+v", edited)
	}
}

func TestADeletedNoteIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	made := must(w.forge.CreateNote(t.Context(), w.key, p.Number, marker))(t)
	if err := w.As(w.alice).DeleteComment(w.repo.Comments(p.Number)[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := w.forge.EditNote(t.Context(), w.key, p.Number, made.ID, "x"); !errors.Is(err, forges.ErrNotFound) {
		t.Fatalf("got %v", err)
	}
}

func TestABodyBeyondTheLimitIsRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	_, err := w.forge.CreateNote(t.Context(), w.key, p.Number, strings.Repeat("ü", 65537))
	var rejected *forges.Rejected
	if !errors.As(err, &rejected) || !strings.Contains(rejected.Message, "too long") {
		t.Fatalf("got %v", err)
	}
	must(w.forge.CreateNote(t.Context(), w.key, p.Number, strings.Repeat("ü", 65536)))(t)
}

func TestEveryPlaceOfACommandIsReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	const body = "chant help"
	as := w.As(w.bob)
	review := must(as.Review(p, "COMMENT", body))(t)
	refs := map[string]engine.CommentRef{
		"comment": {Kind: engine.IssueComment, ID: must(as.Comment(p, body))(t).ID, Number: p.Number},
		"review":  {Kind: engine.Review, ID: review.ID, Number: p.Number},
		"inline":  {Kind: engine.ReviewComment, ID: must(as.ReviewComment(p, "topic.tf", 1, body))(t).ID, Number: p.Number},
		"commit":  {Kind: engine.CommitComment, ID: must(as.CommitComment(w.repo, p.Head(), body))(t).ID, Commit: p.Head()},
	}
	for name, ref := range refs {
		got := must(w.forge.Comment(t.Context(), w.key, ref))(t)
		if got.Ref != ref || got.Body != body || got.Author.ID != w.bob.ID || got.Edited || got.ViaApp || got.CreatedAt.IsZero() || got.URL == "" {
			t.Errorf("%s: %+v", name, got)
		}
		if reply := must(w.forge.Reply(t.Context(), w.key, ref, "answer"))(t); reply.ID <= 0 {
			t.Errorf("%s: replied as %+v", name, reply)
		}
		for range 2 { // the same reaction twice is harmless
			err := w.forge.React(t.Context(), w.key, ref, forges.Seen)
			if ref.Kind == engine.Review && !errors.Is(err, forges.ErrNotSupported) || ref.Kind != engine.Review && err != nil {
				t.Errorf("%s: reacting: %v", name, err)
			}
		}
	}
	if n := len(w.repo.Comments(p.Number)); n != 3 { // the comment and two answers
		t.Errorf("%d comments", n)
	}
	inline := w.repo.ReviewComments(p.Number)
	if len(inline) != 2 || inline[0].Reactions["eyes"] != 1 {
		t.Errorf("inline: %+v", inline)
	}
	if n := len(w.repo.CommitComments(p.Head())); n != 2 {
		t.Errorf("%d commit comments", n)
	}
}

func TestAReplyToAReplyGoesToItsThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	top := must(w.As(w.bob).ReviewComment(p, "topic.tf", 1, "why?"))(t)
	second := must(w.As(w.alice).ReplyTo(top, "chant explain"))(t)
	ref := engine.CommentRef{Kind: engine.ReviewComment, ID: second.ID, Number: p.Number}
	if _, err := w.forge.Reply(t.Context(), w.key, ref, "because"); err != nil {
		t.Fatal(err)
	}
}

func TestAnEditIsSeenEvenWithinTheSecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	as := w.As(w.bob)
	comment, inline := must(as.Comment(p, "a"))(t), must(as.ReviewComment(p, "topic.tf", 1, "a"))(t)
	review := must(as.Review(p, "APPROVE", "a"))(t)
	onCommit := must(as.CommitComment(w.repo, p.Head(), "a"))(t)
	mallory := w.As(w.alice)
	for _, err := range []error{
		mallory.EditComment(comment, "chant approve"), mallory.EditComment(inline, "chant approve"),
		mallory.EditComment(onCommit, "chant approve"), mallory.EditReview(review, "chant approve"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	all := must(w.forge.RecentComments(t.Context(), w.key, p.Number))(t)
	if len(all) != 3 {
		t.Fatalf("%d comments", len(all))
	}
	all = append(all, must(w.forge.Comment(t.Context(), w.key, engine.CommentRef{Kind: engine.CommitComment, ID: onCommit.ID}))(t))
	for _, c := range all {
		if !c.Edited || c.Body != "chant approve" {
			t.Errorf("%s is %+v", c.Ref.Kind, c)
		}
	}
}

func TestACommentThroughAnAppIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	helper := must(w.CreateApp(forgetest.AppOptions{Slug: "helper"}))(t)
	c := must(w.As(w.bob).Through(helper).Comment(p, "chant approve"))(t)
	ref := engine.CommentRef{Kind: engine.IssueComment, ID: c.ID, Number: p.Number}
	got := must(w.forge.Comment(t.Context(), w.key, ref))(t)
	if !got.ViaApp || got.Author.ID != w.bob.ID || got.Author.Bot {
		t.Fatalf("%+v", got)
	}
}

func TestACommentIsNotFoundUnderAnotherNumberOrOnceDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.pull(t, "topic"), w.pull(t, "other")
	c := must(w.As(w.bob).Comment(p, "hi"))(t)
	ref := engine.CommentRef{Kind: engine.IssueComment, ID: c.ID, Number: other.Number}
	if _, err := w.forge.Comment(t.Context(), w.key, ref); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("under another number: %v", err)
	}
	if err := w.As(w.bob).DeleteComment(c); err != nil {
		t.Fatal(err)
	}
	ref.Number = p.Number
	if _, err := w.forge.Comment(t.Context(), w.key, ref); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
}

func TestReviewsKeepEveryVerdictInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	as := w.As(w.bob)
	must(as.Review(p, "APPROVE", ""))(t)
	second := must(as.Review(p, "REQUEST_CHANGES", "no"))(t)
	must(as.StartReview(p, "still writing"))(t)
	if err := as.Dismiss(second); err != nil {
		t.Fatal(err)
	}
	var states []forges.ReviewState
	for _, v := range must(w.forge.Reviews(t.Context(), w.key, p.Number))(t) {
		if v.Author.ID != w.bob.ID || v.Commit != p.Head() {
			t.Errorf("%+v", v)
		}
		states = append(states, v.State)
	}
	if want := []forges.ReviewState{forges.Approved, forges.Dismissed}; !slices.Equal(states, want) {
		t.Fatalf("got %v, want %v", states, want)
	}
}

func TestAuthorsNameAccountsAndWhoHasNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	stranger := forgetest.Person{Name: "Eve", Email: "eve@example.com"}
	must(w.repo.CommitAs("topic", map[string]string{"e.tf": "e\n"}, w.alice, w.bob.Person(), stranger, "Sneak in"))(t)
	got := must(w.forge.Authors(t.Context(), w.key, p.Number))(t)
	if !slices.Equal(got.Logins, []string{"alice", "bob"}) || !slices.Equal(got.Unresolved, []string{"eve@example.com"}) {
		t.Fatalf("%+v", got)
	}
}

func TestAuthorsBeyondTheCapOfCommitsAreRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	addCommits(t, w.repo, "topic", w.alice.Person(), 259)
	must(w.repo.Commit("topic", map[string]string{"last": "x"}, w.bob))(t)
	got := must(w.forge.Authors(t.Context(), w.key, p.Number))(t)
	if !slices.Equal(got.Logins, []string{"alice", "bob"}) {
		t.Fatalf("%+v", got)
	}
}

func TestCheckRunsHoldOlderAttemptsAndNoStatuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sha := must(w.repo.Head("main"))(t)
	first := must(w.repo.SetCheck(sha, "unit", "completed", "failure"))(t)
	second := must(w.repo.SetCheck(sha, "unit", "completed", "success"))(t)
	third := must(w.repo.SetCheck(sha, "e2e", "in_progress", ""))(t)
	if err := w.forge.SetStatus(t.Context(), w.key, sha, forges.Status{Context: "unit", State: forges.StatusFailure}); err != nil {
		t.Fatal(err)
	}
	runs := must(w.forge.CheckRuns(t.Context(), w.key, sha))(t)
	slices.SortFunc(runs, func(a, b green.CheckRun) int { return int(a.ID - b.ID) })
	if len(runs) != 3 || runs[0].ID != first.ID || runs[1].ID != second.ID || runs[2].ID != third.ID {
		t.Fatalf("%+v", runs)
	}
	if runs[0].Conclusion != "failure" || runs[2].Conclusion != "" {
		t.Fatalf("%+v", runs)
	}
}

func TestStatusesAreWrittenAndRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sha := must(w.repo.Head("main"))(t)
	s := forges.Status{Context: "chant/plan", State: forges.StatusPending, Description: "waits", TargetURL: "https://chant.example/run/1"}
	if err := w.forge.SetStatus(t.Context(), w.key, sha, s); err != nil {
		t.Fatal(err)
	}
	got := w.repo.Status(sha, "chant/plan")
	if got.State != "pending" || got.Description != "waits" || got.TargetURL != s.TargetURL || got.Creator.Login != "chant[bot]" {
		t.Fatalf("%+v", got)
	}
	if read := must(w.forge.Status(t.Context(), w.key, sha, "chant/plan"))(t); read != s {
		t.Errorf("read back: %+v", read)
	}
	if _, err := w.forge.Status(t.Context(), w.key, sha, "chant/apply"); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("a context that was never set: %v", err)
	}
	s.Description = strings.Repeat("x", 141)
	var rejected *forges.Rejected
	if err := w.forge.SetStatus(t.Context(), w.key, sha, s); !errors.As(err, &rejected) {
		t.Errorf("a long description: %v", err)
	}
	if err := w.forge.SetStatus(t.Context(), w.key, strings.Repeat("a", 40), forges.Status{Context: "x", State: forges.StatusSuccess}); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("an unknown commit: %v", err)
	}
}

func TestAStatusOnAForksHeadGoesToTheBaseRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mallory := w.User("mallory")
	fork := must(w.repo.Fork(mallory))(t)
	head := must(fork.Commit("topic", map[string]string{"x.tf": "x\n"}, mallory))(t)
	must(w.repo.OpenFromFork(mallory, fork, "topic", "main", "From a fork"))(t)
	if err := w.forge.SetStatus(t.Context(), w.key, head, forges.Status{Context: "chant/plan", State: forges.StatusSuccess}); err != nil {
		t.Fatal(err)
	}
	if w.repo.Status(head, "chant/plan").State != "success" {
		t.Fatal("the base repository does not show it")
	}
}

// addCommits writes many empty commits in one git process.
func addCommits(t *testing.T, repo *forgetest.Repo, branch string, by forgetest.Person, n int) {
	t.Helper()
	var in strings.Builder
	for i := range n {
		fmt.Fprintf(&in, "commit refs/heads/%s\ncommitter %s <%s> %d +0000\ndata 1\nx\n", branch, by.Name, by.Email, 1_700_000_000+i)
		if i == 0 {
			fmt.Fprintf(&in, "from refs/heads/%s^0\n", branch)
		}
	}
	cmd := exec.CommandContext(timeout(t), "git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = repo.Dir(), strings.NewReader(in.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("adding commits: %v\n%s", err, out)
	}
}

func TestAReplyIsFoundAgainWhereverItStands(t *testing.T) { //nolint:tparallel // what all of them leave is looked at afterwards
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	as := w.As(w.bob)
	line := must(as.Comment(p, "chant plan"))(t)
	inline := must(as.ReviewComment(p, "topic.tf", 1, "chant plan"))(t)
	commit := must(as.CommitComment(w.repo, p.Head(), "chant help"))(t)
	for _, ref := range []engine.CommentRef{
		{Kind: engine.IssueComment, ID: line.ID, Number: p.Number},
		{Kind: engine.ReviewComment, ID: inline.ID, Number: p.Number},
		{Kind: engine.CommitComment, ID: commit.ID, Commit: p.Head()},
	} {
		t.Run(string(ref.Kind), func(t *testing.T) {
			marker := fmt.Sprintf("<!-- chant-answer:%d -->", ref.ID)
			must(as.Comment(p, marker+"\npasted by somebody"))(t)
			if _, err := w.forge.FindReply(t.Context(), w.key, ref, marker); !errors.Is(err, forges.ErrNotFound) {
				t.Errorf("before the reply: %v", err)
			}
			made := must(w.forge.Reply(t.Context(), w.key, ref, marker+"\nno"))(t)
			if found := must(w.forge.FindReply(t.Context(), w.key, ref, marker))(t); found.ID != made.ID {
				t.Errorf("found %+v, want %d", found, made.ID)
			}
		})
	}
	got := must(w.forge.CommitComments(t.Context(), w.key, p.Head()))(t)
	if len(got) != 2 || got[0].Ref != (engine.CommentRef{Kind: engine.CommitComment, ID: commit.ID, Commit: p.Head()}) {
		t.Errorf("comments on the commit: %+v", got)
	}
	if got := must(w.forge.CommitComments(t.Context(), w.key, strings.Repeat("a", 40)))(t); len(got) != 0 {
		t.Errorf("comments on an unknown commit: %+v", got)
	}
}
