//go:build e2e

package gitea_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app/demo"
	"github.com/chant-bot/chant/forges/forgejo/giteatest"
)

// never is a sweep that does not come while a test runs: what happens, a delivery
// brought about.
const never = 24 * time.Hour

const appTF = "roots/app/main.tf"

// journey is the repository of the example, whose roots were applied before.
type journey struct {
	*world

	example *demo.World
}

func (w journey) holds(want string) {
	w.t.Helper()
	if got := must(w.example.Applied("app", "service"))(w.t); got != want+" 10.0.0.0/16" {
		w.t.Fatalf("terraform's state holds %q, want %q", got, want)
	}
}

// newJourney starts a Gitea and a server that nothing but deliveries wakes.
func newJourney(t *testing.T) journey {
	t.Helper()
	dir := t.TempDir()
	two := demo.TwoRoots()
	two.Alone = true
	example := &demo.World{Example: two, Dir: dir, State: filepath.Join(dir, "state"), Terraform: terraform(t)}
	if err := os.Mkdir(example.State, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := example.ApplyFirst(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := journey{newWorld(t, dir, must(example.Files())(t)), example}
	w.serve(never)
	return w
}

func TestTheLoopOnARealGitea(t *testing.T) {
	w := newJourney(t)
	for _, part := range []struct {
		name string
		play func(journey)
	}{
		{"an approved merge applies when it is green", journey.approvedMerge},
		{"a merge nobody approved waits at its green commit", journey.unapprovedMerge},
		{"an approval that was taken back covers nothing", journey.revocation},
		{"a repository is renamed between merge and green", journey.rename},
		{"a sweep finds what no delivery told", journey.lostDeliveries},
	} {
		ok := t.Run(part.name, func(sub *testing.T) {
			w.t = sub
			defer func() { w.t = t }()
			part.play(w)
		})
		if !ok {
			return // each part goes on from the one before
		}
	}
}

// approvedMerge: the plan of the pull request is approved by who did not write it.
func (w journey) approvedMerge() {
	p := w.propose("wider", "Serve", w.edits(appTF, "listens in", "serves"))
	w.status(p.head, "chant/plan", "success", "1 member, 1 to change")
	w.noted(p, "waits for 1 approval")
	w.as("alice", "POST", fmt.Sprintf("pulls/%d/reviews", p.number), object{"event": "APPROVED", "body": "Looks right."}, nil)
	w.approved(p)
	sha := w.merges(p, "merge")
	if record := w.recorded(sha); !strings.Contains(record, `"status": "approved"`) || !strings.Contains(record, `alice`) {
		w.t.Fatalf("the record of the merge: %s", record)
	}
	w.holds("listens in")
	w.green(sha)
	w.status(p.head, "chant/apply", "success", "applied")
	w.status(sha, "chant/apply", "success", "applied")
	w.holds("serves")
}

// waits merges what has no approval, makes it green, and approves it there.
func (w journey) waits(p pull, before, after string) {
	sha := w.merges(p, "squash")
	w.green(sha)
	w.status(p.head, "chant/apply", "pending", "not covered")
	w.holds(before)
	w.says("alice", p, w.line(p, "green-"+sha[:12]))
	w.status(p.head, "chant/apply", "success", "applied")
	w.holds(after)
}

func (w journey) unapprovedMerge() {
	p := w.propose("again", "Answer", w.edits(appTF, "serves", "answers in"))
	w.status(p.head, "chant/plan", "success", "1 member, 1 to change")
	w.waits(p, "serves", "answers in")
}

func (w journey) revocation() {
	p := w.propose("revoked", "Wait", w.edits(appTF, "answers in", "waits in"))
	w.approved(p)
	w.says("alice", p, "chant revoke")
	w.noted(p, "waits for 1 approval")
	w.waits(p, "answers in", "waits in")
}

// rename: the number of a repository stays, and with it all that is known of it.
func (w journey) rename() {
	p := w.propose("renamed", "Rename", w.edits(appTF, "waits in", "rests in"))
	w.reviewed(p)
	sha := w.merges(p, "merge")
	w.as(giteatest.Admin, "PATCH", "", object{"name": "platform"}, nil)
	w.repo = "acme/platform"
	w.green(sha)
	w.status(p.head, "chant/apply", "success", "applied")
	w.holds("rests in")
	if url := w.note(p).URL; !strings.Contains(url, "/acme/platform/pulls/") {
		w.t.Errorf("the note is at %s", url)
	}
}

// lostDeliveries: the server looks at everything open every now and then.
func (w journey) lostDeliveries() {
	w.stop()
	w.lose(true)
	defer w.lose(false)
	w.serve(2 * time.Second)
	p := w.propose("lost", "Lose", w.edits(appTF, "rests in", "hides in"))
	w.approved(p)
	sha := w.merges(p, "merge")
	w.green(sha)
	w.status(p.head, "chant/apply", "success", "applied")
	w.holds("hides in")
	if w.losses() == 0 {
		w.t.Error("no delivery was lost")
	}
}
