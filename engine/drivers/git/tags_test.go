package git

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

func TestCITagsArePeeled(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	one := write(t, remote, "main", "a", "1")
	two := write(t, remote, "main", "a", "2")
	gittest.Run(t, remote, "tag", "ci/green/"+one, one)
	gittest.Run(t, remote, "tag", "-a", "-m", "green\n\n{}", "ci/green/"+two, two)
	gittest.Run(t, remote, "tag", "-a", "-m", "outer", "ci/revoked/"+two, "ci/green/"+two)
	gittest.Run(t, remote, "tag", "ci/green/tree", two+"^{tree}")
	gittest.Run(t, remote, "tag", "release/1", two)
	c := openClone(t, remote)

	got := map[string]TagRef{}
	for _, tag := range must[[]TagRef](t)(c.CITags(t.Context())) {
		if tag.Annotated == tag.At.IsZero() {
			t.Errorf("%s: annotated %v, at %v", tag.Name, tag.Annotated, tag.At)
		}
		tag.At, tag.Object = time.Time{}, ""
		got[tag.Name] = tag
	}
	want := map[string]TagRef{
		"ci/green/" + one:   {Name: "ci/green/" + one, Commit: one},
		"ci/green/" + two:   {Name: "ci/green/" + two, Commit: two, Annotated: true, Message: "green\n\n{}\n"},
		"ci/revoked/" + two: {Name: "ci/revoked/" + two, Commit: two, Annotated: true, Message: "outer\n"},
		"ci/green/tree":     {Name: "ci/green/tree"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPushTagKeepsTheAnnotationAndNeverMoves(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	sha := write(t, remote, "main", "a", "1")
	c := openClone(t, remote)
	name := "ci/green/" + sha
	message := "all required phases passed: check\n\n{\n  \"schema\": 1,\n  \"tag\": \"green\"\n}\n# not a comment\n"
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	if err := c.PushTag(t.Context(), name, sha, message, at); err != nil {
		t.Fatal(err)
	}
	tag := must[[]TagRef](t)(c.CITags(t.Context()))[0]
	if !tag.Annotated || tag.Message != message || !tag.At.Equal(at) || tag.Commit != sha {
		t.Errorf("tag %+v", tag)
	}
	if who := gittest.Run(t, c.Dir(), "for-each-ref", "--format=%(taggername) %(taggeremail)", "refs/tags/"+name); who != "chant <chant@localhost>" {
		t.Errorf("tagger %s", who)
	}
	if err := c.PushTag(t.Context(), name, sha, "again", at); !errors.Is(err, ErrTagExists) {
		t.Errorf("second tag of the name: %v", err)
	}
	if got := gittest.Run(t, remote, "rev-parse", name+"^{commit}"); got != sha {
		t.Errorf("the remote's tag peels to %s", got)
	}
	if err := c.PushTag(t.Context(), "ci/green/a..b", sha, "x", at); err == nil {
		t.Error("a name that is no ref name was taken")
	}
	if out := gittest.Run(t, c.Dir(), "fsck", "--strict", "--no-dangling"); out != "" {
		t.Errorf("fsck: %s", out)
	}
}

func TestATagTheRemoteRefusesIsNotMadeHereEither(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	sha := write(t, remote, "main", "a", "1")
	c := openClone(t, remote)
	name, at := "ci/green/"+sha, time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	gittest.Hook(t, remote, "pre-receive", "exit 1")
	if _, refused := errors.AsType[*Rejected](c.PushTag(t.Context(), name, sha, "green", at)); !refused {
		t.Error("the remote's refusal was not told")
	}
	if tags := must[[]TagRef](t)(c.CITags(t.Context())); len(tags) > 0 {
		t.Errorf("here are %+v", tags)
	}
}

func TestPushRef(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	one := write(t, remote, "main", "a", "1")
	two := write(t, remote, "main", "a", "2")
	gittest.Run(t, remote, "update-ref", "refs/heads/x", one)
	gittest.Run(t, remote, "config", "--add", "receive.denyDeletes", "false")
	c := openClone(t, remote)
	ctx := t.Context()

	var rejected *Rejected
	err := c.PushRef(ctx, two, "refs/heads/x", "")
	if !errors.As(err, &rejected) || !rejected.Stale {
		t.Errorf("a ref that must not exist: %v, want a stale rejection", err)
	}
	err = c.PushRef(ctx, two, "refs/heads/x", two+"")
	if err == nil || !errors.As(err, &rejected) || !rejected.Stale {
		t.Errorf("a lease on another value: %v, want a stale rejection", err)
	}
	if err := c.PushRef(ctx, two, "refs/heads/x", one); err != nil {
		t.Errorf("a lease that holds: %v", err)
	}
	if err := c.PushRef(ctx, two, "refs/heads/x", one); err != nil {
		t.Errorf("a push that landed before: %v", err)
	}
	if err := c.PushRef(ctx, "", "refs/heads/x", two); err != nil {
		t.Errorf("a deletion: %v", err)
	}
	if got := gittest.Run(t, remote, "for-each-ref", "refs/heads/x"); got != "" {
		t.Errorf("still there: %s", got)
	}
}

func TestAForbiddenPushIsNoRace(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	one := write(t, remote, "main", "a", "1")
	gittest.Hook(t, remote, "pre-receive", "echo 'workflows permission missing' >&2; exit 1")
	c := openClone(t, remote)
	err := c.PushRef(t.Context(), one, "refs/heads/x", "")
	var rejected *Rejected
	if !errors.As(err, &rejected) || rejected.Stale || !strings.Contains(err.Error(), "hook declined") {
		t.Errorf("got %v, want a rejection that is not stale", err)
	}
}

func TestMoveRefsTellsARaceFromALock(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	one := write(t, remote, "main", "a", "1")
	two := write(t, remote, "main", "a", "2")
	c := openClone(t, remote)
	ctx := t.Context()
	if err := c.MoveRefs(ctx, Move{Ref: "refs/heads/x", New: one}, Move{Ref: "refs/heads/y", New: one}); err != nil {
		t.Fatal(err)
	}
	err := c.MoveRefs(ctx, Move{Ref: "refs/heads/y", Old: one, New: two}, Move{Ref: "refs/heads/x", Old: two, New: one})
	if !errors.Is(err, ErrRefMoved) {
		t.Errorf("got %v, want ErrRefMoved", err)
	}
	if got := must[string](t)(c.Ref(ctx, "refs/heads/y")); got != one {
		t.Errorf("the other ref of a failed move is at %s, want %s", got, one)
	}
	lock := c.Dir() + "/refs/heads/x.lock"
	gittest.Touch(t, lock)
	if err := c.MoveRefs(ctx, Move{Ref: "refs/heads/x", Old: one, New: two}); !errors.Is(err, ErrStaleLock) || !strings.Contains(err.Error(), "x.lock") {
		t.Errorf("got %v, want ErrStaleLock naming the file", err)
	}
	if err := c.MoveRefs(ctx, Move{Ref: "refs/heads/y", Old: one}); err != nil {
		t.Errorf("deletion: %v", err)
	}
}

func TestCommitterIdentity(t *testing.T) {
	t.Setenv("CHANT_LIFECYCLE_COMMITTER_NAME", "")
	t.Setenv("CHANT_LIFECYCLE_COMMITTER_EMAIL", "")
	t.Setenv("GIT_COMMITTER_NAME", "Server")
	tests := []struct {
		name        string
		config, env map[string]string
		want        Person
	}{
		{"nothing is configured", nil, nil, Person{"chant", "chant@localhost"}},
		{"a missing half is filled", map[string]string{"user.name": "Bot"}, nil, Person{"Bot", "chant@localhost"}},
		{"the variables win", map[string]string{"user.name": "Bot", "user.email": "b@x"},
			map[string]string{"CHANT_LIFECYCLE_COMMITTER_NAME": "actions", "CHANT_LIFECYCLE_COMMITTER_EMAIL": "a@x"}, Person{"actions", "a@x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			dir := gittest.Bare(t)
			for k, v := range tt.config {
				gittest.Run(t, dir, "config", k, v)
			}
			c := must[*Clone](t)(Open(t.Context(), dir, "/nowhere", Auth{}))
			if got := must[Person](t)(c.Committer()); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
