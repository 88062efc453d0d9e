package gitlab_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/forgetest"
)

const marker = "<!-- chant-pr:prod -->"

func note(c forgetest.Comment) engine.CommentRef {
	if c.Kind == forgetest.CommitComment {
		return engine.CommentRef{Kind: engine.CommitComment, ID: c.ID, Commit: c.Commit}
	}
	return engine.CommentRef{Kind: engine.IssueComment, ID: c.ID, Number: c.Number}
}

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
	if found := must(w.forge.FindNote(t.Context(), w.key, p.Number, marker))(t); found != made {
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
	if err := w.As(w.bob).DeleteComment(w.repo.Comments(p.Number)[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := w.forge.EditNote(t.Context(), w.key, p.Number, made.ID, "x"); !errors.Is(err, forges.ErrNotFound) {
		t.Fatalf("got %v", err)
	}
}

func TestANoteOfSomebodyElseIsNotOursToEdit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	c := must(w.As(w.bob).Comment(p, "mine"))(t)
	var forbidden *forges.Forbidden
	if _, err := w.forge.EditNote(t.Context(), w.key, p.Number, c.ID, "x"); !errors.As(err, &forbidden) {
		t.Fatalf("got %v", err)
	}
}

func TestANoteBeyondTheLimitIsRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	var rejected *forges.Rejected
	_, err := w.forge.CreateNote(t.Context(), w.key, p.Number, strings.Repeat("x", 1_000_001))
	if !errors.As(err, &rejected) || !strings.Contains(rejected.Message, "too long") {
		t.Fatalf("got %v", err)
	}
	must(w.forge.CreateNote(t.Context(), w.key, p.Number, strings.Repeat("x", 1_000_000)))(t)
}

// GitLab carries out a note of nothing but quick actions and leaves none
// (forge-facts 2.6).
func TestANoteThatLeavesNoneIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	if made, err := w.forge.CreateNote(t.Context(), w.key, p.Number, "/approve\n/merge"); err == nil {
		t.Fatalf("made %+v", made)
	}
}

func TestEveryPlaceOfACommandIsReadAgainAndAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	const body = "chant help"
	as := w.As(w.bob)
	must(as.Review(p, "COMMENT", "written with a review"))(t)
	for name, c := range map[string]forgetest.Comment{
		"note": must(as.Comment(p, body))(t), "inline": must(as.ReviewComment(p, "topic.tf", 1, body))(t),
		"commit": must(as.CommitComment(w.repo, p.Head(), body))(t),
	} {
		ref := note(c)
		got := must(w.forge.Comment(t.Context(), w.key, ref))(t)
		if got.Ref != ref || got.Body != body || got.Author != (engine.Actor{ID: w.bob.ID, Login: "bob"}) || got.Edited || got.ViaApp || got.CreatedAt.IsZero() {
			t.Errorf("%s: %+v", name, got)
		}
		if name != "commit" && got.URL != c.URL {
			t.Errorf("%s: at %q, want %q", name, got.URL, c.URL)
		}
		made := must(w.forge.Reply(t.Context(), w.key, ref, marker+name))(t)
		if found := must(w.forge.FindReply(t.Context(), w.key, ref, marker+name))(t); found != made {
			t.Errorf("%s: found %+v, replied %+v", name, found, made)
		}
	}
	if n := len(w.repo.Comments(p.Number)); n != 3 { // with the review's text and the answer to the note
		t.Errorf("%d notes", n)
	}
	if n := len(w.repo.ReviewComments(p.Number)); n != 2 {
		t.Errorf("%d inline notes: the answer is not in the thread", n)
	}
	if n := len(w.repo.CommitComments(p.Head())); n != 2 {
		t.Errorf("%d notes on the commit", n)
	}
}

func TestAReplyInAThreadIsAnsweredThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	top := must(w.As(w.bob).ReviewComment(p, "topic.tf", 1, "why?"))(t)
	second := must(w.As(w.alice).ReplyTo(top, "chant explain"))(t)
	must(w.forge.Reply(t.Context(), w.key, note(second), "because"))(t)
	if n := len(w.repo.ReviewComments(p.Number)); n != 3 {
		t.Fatalf("%d notes in the thread", n)
	}
}

func TestTheAnswerToADeletedNoteStandsOnTheMergeRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	c := must(w.As(w.bob).Comment(p, "chant help"))(t)
	if err := w.As(w.bob).DeleteComment(c); err != nil {
		t.Fatal(err)
	}
	if _, err := w.forge.Comment(t.Context(), w.key, note(c)); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("read: %v", err)
	}
	must(w.forge.Reply(t.Context(), w.key, note(c), "gone"))(t)
}

// The time of update moves with a reaction, our own among them, so it says
// nothing of an edit; GraphQL does.
func TestAReactionIsNoEditAndAnEditIsSeenEvenWithinTheSecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	as := w.As(w.bob)
	kept, changed := must(as.Comment(p, "a"))(t), must(as.ReviewComment(p, "topic.tf", 1, "a"))(t)
	onCommit := must(as.CommitComment(w.repo, p.Head(), "a"))(t)
	if err := w.forge.React(t.Context(), w.key, note(kept), forges.Seen); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.As(w.alice).EditComment(changed, "b"), w.As(w.alice).EditComment(onCommit, "b")); err != nil {
		t.Fatal(err)
	}
	for c, edited := range map[int64]bool{kept.ID: false, changed.ID: true} {
		ref := engine.CommentRef{Kind: engine.IssueComment, ID: c, Number: p.Number}
		if got := must(w.forge.Comment(t.Context(), w.key, ref))(t); got.Edited != edited {
			t.Errorf("note %d: edited is %v", c, got.Edited)
		}
	}
	all := must(w.forge.RecentComments(t.Context(), w.key, p.Number))(t)
	if len(all) != 2 || all[0].Edited || !all[1].Edited {
		t.Errorf("listed as %+v", all)
	}
	if got := must(w.forge.CommitComments(t.Context(), w.key, p.Head()))(t); len(got) != 1 || !got[0].Edited || got[0].Ref != note(onCommit) {
		t.Errorf("on the commit: %+v", got)
	}
}

func TestANoteNobodyTouchedIsReadWithoutGraphQL(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	c := must(w.As(w.bob).Comment(p, "a"))(t)
	must(w.forge.Comment(t.Context(), w.key, note(c)))(t)
	if n := w.Count("POST", "/graphql"); n != 0 {
		t.Fatalf("%d questions", n)
	}
}

func TestWhenItCannotBeToldWhetherANoteWasEditedItIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	c := must(w.As(w.bob).Comment(p, "a"))(t)
	if err := w.As(w.bob).React(c, "heart"); err != nil {
		t.Fatal(err)
	}
	w.Faults.Fail(forgetest.Match{Path: "/api/graphql"}, 500, 1)
	if got, err := w.forge.Comment(t.Context(), w.key, note(c)); err == nil {
		t.Fatalf("%+v", got)
	}
}

// GitLab's own notes hold words of people: a title, a branch.
func TestNotesOfGitLabAreNobodysComments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	if all := must(w.forge.RecentComments(t.Context(), w.key, p.Number))(t); len(all) != 0 {
		t.Fatalf("%+v", all)
	}
}

func TestANoteIsNotFoundUnderAnotherMergeRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.pull(t, "topic"), w.pull(t, "other")
	ref := note(must(w.As(w.bob).Comment(p, "hi"))(t))
	ref.Number = other.Number
	if _, err := w.forge.Comment(t.Context(), w.key, ref); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("a note: %v", err)
	}
	onCommit := note(must(w.As(w.bob).CommitComment(w.repo, p.Head(), "hi"))(t))
	onCommit.Commit = other.Head()
	if _, err := w.forge.Comment(t.Context(), w.key, onCommit); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("on a commit: %v", err)
	}
	review := engine.CommentRef{Kind: engine.Review, ID: 1, Number: p.Number}
	if _, err := w.forge.Comment(t.Context(), w.key, review); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("a review: %v", err)
	}
	if got, err := w.forge.CommitComments(t.Context(), w.key, strings.Repeat("a", 40)); err != nil || len(got) != 0 {
		t.Errorf("an unknown commit: %v %v", got, err)
	}
}

// A bot's account looks like anybody's in a note.
func TestABotsNoteAndADeletedAccountsAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	_, helper := w.repo.AccessToken("maintain", "api")
	leaver := w.User("leaver")
	must(w.As(helper).Comment(p, "chant approve"))(t)
	must(w.As(leaver).Comment(p, "chant approve"))(t)
	w.DeleteUser(leaver)
	all := must(w.forge.RecentComments(t.Context(), w.key, p.Number))(t)
	if len(all) != 2 || !all[0].Author.Bot || all[1].Author.Login != "ghost" {
		t.Fatalf("%+v", all)
	}
}

// An emoji awarded twice is 404 on GitLab (forge-facts 2.6).
func TestAReactionTwiceIsHarmless(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	c := must(w.As(w.bob).ReviewComment(p, "topic.tf", 1, "chant help"))(t)
	if err := w.As(w.alice).React(c, "eyes"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, r := range []forges.Reaction{forges.Seen, forges.Counted, forges.Refused} {
			if err := w.forge.React(t.Context(), w.key, note(c), r); err != nil {
				t.Fatalf("%s: %v", r, err)
			}
		}
	}
	got := w.repo.ReviewComments(p.Number)[0].Reactions
	if got["eyes"] != 2 || got["+1"] != 1 || got["confused"] != 1 {
		t.Errorf("%v", got)
	}
	gone := note(c)
	gone.ID = 1
	if err := w.forge.React(t.Context(), w.key, gone, forges.Seen); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("a note that is not there: %v", err)
	}
}

func TestANoteOnACommitTakesNoReaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	c := must(w.As(w.bob).CommitComment(w.repo, p.Head(), "chant help"))(t)
	if err := w.forge.React(t.Context(), w.key, note(c), forges.Seen); !errors.Is(err, forges.ErrNotSupported) {
		t.Fatalf("got %v", err)
	}
}

// An internal note is read by fewer people than see what it would do.
func TestAnInternalNoteIsNobodysCommand(t *testing.T) {
	t.Parallel()
	const internal = `{"id":5,"body":"chant approve","internal":true,"author":{"id":1,"username":"alice"}}`
	w := newWorld(t, answering("/notes", 200, "["+internal+"]"), answering("/notes/5", 200, internal))
	p := w.pull(t, "topic")
	if all := must(w.forge.RecentComments(t.Context(), w.key, p.Number))(t); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	ref := engine.CommentRef{Kind: engine.IssueComment, ID: 5, Number: p.Number}
	if _, err := w.forge.Comment(t.Context(), w.key, ref); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestAnAccountGitLabDoesNotShowCountsAsABot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	c := must(w.As(w.bob).Comment(p, "chant approve"))(t)
	w.Faults.Fail(forgetest.Match{Path: "/users/"}, 404, 1)
	if got := must(w.forge.Comment(t.Context(), w.key, note(c)))(t); !got.Author.Bot {
		t.Errorf("%+v", got.Author)
	}
	if got := must(w.forge.Comment(t.Context(), w.key, note(c)))(t); got.Author.Bot {
		t.Errorf("once it is shown: %+v", got.Author)
	}
}
