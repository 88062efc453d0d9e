package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

// Systemorph/MeshWeaver#1852.
func TestARenamedRepositoryStaysItself(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewRepos(d)
		repo := store.Repo{
			Repo:         engine.Repo{Instance: hub, ID: 42, Owner: "org", Name: "education"},
			Installation: 9, DefaultBranch: "main", CloneURL: "https://x/y.git", HTMLURL: "https://x/y", UpdatedAt: at(1),
		}
		if err := s.Upsert(t.Context(), d.Write, repo); err != nil {
			t.Fatal(err)
		}
		renamed := store.Repo{Repo: engine.Repo{Instance: hub, ID: 42, Owner: "org", Name: "new.education"}, UpdatedAt: at(2)}
		if err := s.Upsert(t.Context(), d.Write, renamed); err != nil {
			t.Fatal(err)
		}
		want := repo
		want.Name, want.UpdatedAt = "new.education", at(2)
		if diff := cmp.Diff([]store.Repo{want}, must[[]store.Repo](t)(s.List(t.Context()))); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want, must[store.Repo](t)(s.Get(t.Context(), repo.Key()))); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTheLastPostOnATargetIsRemembered(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewPosts(d)
		if _, err := s.Get(t.Context(), repoKey, "note:7"); !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("before any post: %v", err)
		}
		for _, p := range []store.Post{{Hash: "h1", RemoteID: 5, PostedAt: at(1)}, {Hash: "h2", RemoteID: 6, PostedAt: at(2)}} {
			if err := s.Put(t.Context(), d.Write, repoKey, "note:7", p); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(p, must[store.Post](t)(s.Get(t.Context(), repoKey, "note:7"))); diff != "" {
				t.Error(diff)
			}
		}
		if must[bool](t)(s.Claim(t.Context(), d.Write, repoKey, "note:7", store.Post{Hash: "h3"})) {
			t.Error("what was posted was claimed")
		}
		for _, want := range []bool{true, false} {
			if got := must[bool](t)(s.Claim(t.Context(), d.Write, repoKey, "note:8", store.Post{Hash: "h4"})); got != want {
				t.Errorf("claimed %v, want %v", got, want)
			}
		}
	})
}

func TestACommentHasExactlyOneOutcome(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewComments(d)
		ref := engine.CommentRef{Kind: engine.IssueComment, ID: 5, Number: 7}
		decide := func(o store.CommentOutcome) bool {
			t.Helper()
			return must[bool](t)(s.Decide(t.Context(), d.Write, repoKey, ref, o, string(o), at(2)))
		}
		if decide(store.CommentDone) {
			t.Error("a comment never received was decided")
		}
		if !must[bool](t)(s.Receive(t.Context(), d.Write, repoKey, ref, at(1))) {
			t.Error("the first receipt is not fresh")
		}
		if must[bool](t)(s.Receive(t.Context(), d.Write, repoKey, ref, at(1))) {
			t.Error("the second receipt is fresh")
		}
		if !decide(store.CommentRefused) || decide(store.CommentDone) {
			t.Error("want the first outcome taken and the second refused")
		}
		if outcome, detail, err := s.Outcome(t.Context(), repoKey, ref); outcome != store.CommentRefused || detail != "refused" || err != nil {
			t.Errorf("outcome %s %s %v", outcome, detail, err)
		}
		// A review may have the number of a comment.
		review := engine.CommentRef{Kind: engine.Review, ID: 5, Number: 7}
		if _, _, err := s.Outcome(t.Context(), repoKey, review); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a review of the same number: %v", err)
		}
		if _, err := s.Decide(t.Context(), d.Write, repoKey, ref, store.CommentReceived, "", at(3)); err == nil {
			t.Error("received was taken for an outcome")
		}
	})
}

func TestTheAuditTrailIsReadNewestFirst(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := store.NewAudit(d)
		entry := func(key, action string) store.AuditEntry {
			return store.AuditEntry{
				At: at(1), RepoKey: key, Actor: "github:alice", Delivery: "d1", Action: action,
				Digest: "x", Rule: "r", Result: "refused", Detail: "why",
			}
		}
		for _, e := range []store.AuditEntry{entry("a", "approve"), entry("b", "revoke"), entry("a", "apply")} {
			if err := s.Record(t.Context(), d.Write, e); err != nil {
				t.Fatal(err)
			}
		}
		want := []store.AuditEntry{entry("a", "apply"), entry("a", "approve")}
		want[0].ID, want[1].ID = 3, 1
		if diff := cmp.Diff(want, must[[]store.AuditEntry](t)(s.List(t.Context(), "a", 0, 10))); diff != "" {
			t.Error(diff)
		}
		if got := must[[]store.AuditEntry](t)(s.List(t.Context(), "", 3, 1)); len(got) != 1 || got[0].ID != 2 {
			t.Errorf("second page: %+v", got)
		}
	})
}
