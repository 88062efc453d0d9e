package forgejo_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/forgetest"
)

func (w world) verdicts(t *testing.T, p *forgetest.Pull) []forges.ReviewVerdict {
	t.Helper()
	return must(w.conn.Reviews(t.Context(), w.key, p.Number))(t)
}

func TestVerdictsAreReadWithTheirCommit(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			before := p.Head()
			must(w.As(w.bob).Review(p, "REQUEST_CHANGES", "no"))(t)
			must(p.Push(map[string]string{"c.tf": "c = 3\n"}, w.alice))(t)
			must(w.As(w.bob).Review(p, "COMMENT", "hm"))(t)
			bob := engine.Actor{ID: w.bob.ID, Login: "bob"}
			want := []forges.ReviewVerdict{
				{Author: bob, State: forges.ChangesRequested, Commit: before}, {Author: bob, State: forges.Commented, Commit: p.Head()},
			}
			if diff := cmp.Diff(want, w.verdicts(t, p)); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

// Nothing is sent for a dismissal (fact 3), so it has to be seen here.
func TestADismissedVerdictIsDismissed(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			review := must(w.As(w.bob).Review(p, "APPROVE", ""))(t)
			if got := w.verdicts(t, p); len(got) != 1 || got[0].State != forges.Approved {
				t.Fatalf("%+v", got)
			}
			if err := w.As(w.alice).Dismiss(review); err != nil {
				t.Fatal(err)
			}
			if got := w.verdicts(t, p); len(got) != 1 || got[0].State != forges.Dismissed {
				t.Fatalf("%+v", got)
			}
		})
	}
}

func TestALaterVerdictDismissesTheEarlierOnesOfTheSameAccount(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			carol := w.User("carol")
			must(w.As(carol).Review(p, "APPROVE", ""))(t)
			must(w.As(w.bob).Review(p, "APPROVE", ""))(t)
			must(w.As(w.bob).Review(p, "REQUEST_CHANGES", "I was wrong"))(t)
			var states []forges.ReviewState
			for _, v := range w.verdicts(t, p) {
				states = append(states, v.State)
			}
			if diff := cmp.Diff([]forges.ReviewState{forges.Approved, forges.Dismissed, forges.ChangesRequested}, states); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

func TestAnOpenQuestionForAReviewIsNone(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			p.RequestReview(w.bob, w.alice)
			if got := w.verdicts(t, p); len(got) != 0 {
				t.Fatalf("%+v", got)
			}
		})
	}
}

func TestNobodyApprovesAChangeOfOnesOwn(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			var refused *forgetest.APIError
			if _, err := w.As(w.alice).Review(p, "APPROVE", ""); !errors.As(err, &refused) || refused.Status != 422 {
				t.Fatalf("%v", err)
			}
		})
	}
}

func TestAuthorsAreTheAccountsOfTheCommits(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			stranger := forgetest.Person{Name: "Nobody", Email: "nobody@example.com"}
			must(w.repo.CommitAs("topic", map[string]string{"d.tf": "d\n"}, w.alice, stranger, w.bob.Person(), "Take a patch"))(t)
			want := forges.Authors{Logins: []string{"alice", "bob"}, Unresolved: []string{"nobody@example.com"}}
			if diff := cmp.Diff(want, must(w.conn.Authors(t.Context(), w.key, p.Number))(t)); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

func TestANoteIsFoundByItsAuthorAndMarkerAndEdited(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			must(w.As(w.bob).Comment(p, "<!-- chant -->\nforged"))(t)
			if _, err := w.conn.FindNote(t.Context(), w.key, p.Number, "<!-- chant -->"); !errors.Is(err, forges.ErrNotFound) {
				t.Fatalf("took a stranger's note for ours: %v", err)
			}
			made := must(w.conn.CreateNote(t.Context(), w.key, p.Number, "<!-- chant -->\nplanned"))(t)
			if found := must(w.conn.FindNote(t.Context(), w.key, p.Number, "<!-- chant -->"))(t); found != made {
				t.Fatalf("found %+v, made %+v", found, made)
			}
			edited := must(w.conn.EditNote(t.Context(), w.key, p.Number, made.ID, "<!-- chant -->\napplied"))(t)
			stored := must(w.repo.CommentWith(p.Number, "applied"))(t)
			if edited.ID != made.ID || stored.ID != made.ID || stored.Author != w.bot {
				t.Fatalf("edited %+v, stored %+v", edited, stored)
			}
			if err := w.As(w.bot).DeleteComment(stored); err != nil {
				t.Fatal(err)
			}
			if _, err := w.conn.EditNote(t.Context(), w.key, p.Number, made.ID, "again"); !errors.Is(err, forges.ErrNotFound) {
				t.Fatalf("a deleted note: %v", err)
			}
		})
	}
}

func TestCommentsOfAllKindsAreListedAndReadAlike(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			must(w.As(w.bob).Comment(p, "chant plan"))(t)
			w.Advance(time.Second)
			must(w.As(w.bob).ReviewComment(p, "topic.tf", 1, "why two"))(t)
			w.Advance(time.Second)
			must(w.As(w.bob).Review(p, "APPROVE", "chant approve"))(t)
			var kinds []engine.CommentKind
			for _, c := range must(w.conn.RecentComments(t.Context(), w.key, p.Number))(t) {
				kinds = append(kinds, c.Ref.Kind)
				if c.Author.ID != w.bob.ID || c.ViaApp || c.Edited || c.Ref.Number != p.Number {
					t.Errorf("%+v", c)
				}
				if diff := cmp.Diff(c, must(w.conn.Comment(t.Context(), w.key, c.Ref))(t)); diff != "" {
					t.Errorf("%s read alone: %s", c.Ref.Kind, diff)
				}
			}
			want := []engine.CommentKind{engine.IssueComment, engine.ReviewComment, engine.Review}
			if diff := cmp.Diff(want, kinds); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

func TestACommentIsReadAsItsKindAndUnderItsPullRequestOnly(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p, other := w.pull(t, "topic"), w.pull(t, "other")
			comment := must(w.As(w.bob).Comment(p, "chant plan"))(t)
			inline := must(w.As(w.bob).ReviewComment(p, "topic.tf", 1, "chant plan"))(t)
			pending := must(w.As(w.bot).StartReview(p, "chant plan"))(t)
			for name, ref := range map[string]engine.CommentRef{
				"another's":               {Kind: engine.IssueComment, ID: comment.ID, Number: other.Number},
				"one on code as another":  {Kind: engine.IssueComment, ID: inline.ID, Number: p.Number},
				"another as one on code":  {Kind: engine.ReviewComment, ID: comment.ID, Number: p.Number},
				"our own, not submitted":  {Kind: engine.Review, ID: pending.ID, Number: p.Number},
				"on a commit, not at all": {Kind: engine.CommitComment, ID: comment.ID, Commit: p.Head()},
			} {
				if got, err := w.conn.Comment(t.Context(), w.key, ref); !errors.Is(err, forges.ErrNotFound) {
					t.Errorf("%s: %+v %v", name, got, err)
				}
			}
		})
	}
}

func TestAnEditedCommentSaysSo(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			comment := must(w.As(w.alice).Comment(p, "thanks"))(t)
			w.Advance(time.Second)
			if err := w.As(w.bob).EditComment(comment, "chant approve"); err != nil {
				t.Fatal(err)
			}
			got := must(w.conn.Comment(t.Context(), w.key, engine.CommentRef{Kind: engine.IssueComment, ID: comment.ID, Number: p.Number}))(t)
			if !got.Edited || got.Author.ID != w.alice.ID || got.Body != "chant approve" {
				t.Fatalf("%+v", got)
			}
		})
	}
}

func TestReactionsAreGivenOnceAndNotToReviews(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			comment := must(w.As(w.bob).Comment(p, "chant plan"))(t)
			inline := must(w.As(w.bob).ReviewComment(p, "topic.tf", 1, "chant plan"))(t)
			for range 2 {
				for kind, id := range map[engine.CommentKind]int64{engine.IssueComment: comment.ID, engine.ReviewComment: inline.ID} {
					if err := w.conn.React(t.Context(), w.key, engine.CommentRef{Kind: kind, ID: id, Number: p.Number}, forges.Seen); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, c := range append(w.repo.Comments(p.Number), w.repo.ReviewComments(p.Number)...) {
				if diff := cmp.Diff(map[string]int{"eyes": 1}, c.Reactions); diff != "" {
					t.Errorf("%s: %s", c.Kind, diff)
				}
			}
			for _, kind := range []engine.CommentKind{engine.Review, engine.CommitComment} {
				if err := w.conn.React(t.Context(), w.key, engine.CommentRef{Kind: kind, ID: comment.ID, Number: p.Number}, forges.Seen); !errors.Is(err, forges.ErrNotSupported) {
					t.Errorf("%s: %v", kind, err)
				}
			}
		})
	}
}

func TestRepliesStandOnThePullRequestAndAreFoundThere(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			for _, kind := range []engine.CommentKind{engine.IssueComment, engine.Review, engine.ReviewComment} {
				ref := engine.CommentRef{Kind: kind, ID: 7, Number: p.Number}
				marker := "<!-- answer:" + string(kind) + " -->"
				if _, err := w.conn.FindReply(t.Context(), w.key, ref, marker); !errors.Is(err, forges.ErrNotFound) {
					t.Fatalf("%s: %v", kind, err)
				}
				made := must(w.conn.Reply(t.Context(), w.key, ref, marker+"\nCounted."))(t)
				if found := must(w.conn.FindReply(t.Context(), w.key, ref, marker))(t); found != made {
					t.Errorf("%s: %+v", kind, found)
				}
			}
			onCommit := engine.CommentRef{Kind: engine.CommitComment, Commit: p.Head()}
			_, reply := w.conn.Reply(t.Context(), w.key, onCommit, "x")
			_, find := w.conn.FindReply(t.Context(), w.key, onCommit, "x")
			if !errors.Is(reply, forges.ErrNotSupported) || !errors.Is(find, forges.ErrNotSupported) {
				t.Errorf("on a commit: %v, %v", reply, find)
			}
			if got := must(w.conn.CommitComments(t.Context(), w.key, p.Head()))(t); len(got) != 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}
