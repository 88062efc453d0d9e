//go:build e2e

package gitea_test

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/chant-bot/chant/forges/forgejo/giteatest"
)

// pool is how many planners the server may run at once, and how many the raw
// commands beside it.
const pool = 2

// status waits for the newest status of a commit under a context.
func (w *world) status(sha, context, state, text string) {
	w.t.Helper()
	var last string
	giteatest.Eventually(w.t, fmt.Sprintf("%s %s %q on %s", context, state, text, sha), func() bool {
		var got struct {
			Statuses []struct{ Context, Status, Description string }
		}
		w.as("alice", "GET", "commits/"+sha+"/status", nil, &got)
		for _, s := range got.Statuses {
			if s.Context == context {
				if now := s.Status + " " + s.Description; now != last {
					last = now
					w.t.Logf("%.12s %s: %s", sha, context, now)
				}
				return s.Status == state && strings.Contains(s.Description, text)
			}
		}
		return false
	})
}

// comment is one on a pull request.
type comment struct {
	ID   int64
	Body string
	URL  string `json:"html_url"`
	User struct{ Login string }
}

const marker = "<!-- chant-pr:prod -->"

// note is what stands on a pull request about its plan; there is at most one.
func (w *world) note(p pull) comment {
	w.t.Helper()
	var all, notes []comment
	w.as("alice", "GET", fmt.Sprintf("issues/%d/comments", p.number), nil, &all)
	for _, c := range all {
		if strings.HasPrefix(c.Body, marker) && c.User.Login == "chant" {
			notes = append(notes, c)
		}
	}
	if len(notes) > 1 {
		w.t.Fatalf("%d notes on #%d", len(notes), p.number)
	}
	if len(notes) == 0 {
		return comment{}
	}
	return notes[0]
}

// noted waits for the note to say something.
func (w *world) noted(p pull, text string) {
	w.t.Helper()
	last := ""
	w.t.Cleanup(func() {
		if !strings.Contains(last, text) {
			w.t.Logf("the note of #%d: %s", p.number, last)
		}
	})
	giteatest.Eventually(w.t, fmt.Sprintf("%q in the note of #%d", text, p.number), func() bool {
		last = w.note(p).Body
		return strings.Contains(last, text)
	})
}

var approveLine = regexp.MustCompile(`(?m)^chant approve (\S+) (\S+) --plan (jcs1-sha256:[0-9a-f]{64})$`)

// line waits for the note to hold the line that approves at an op.
func (w *world) line(p pull, op string) (line string) {
	w.t.Helper()
	giteatest.Eventually(w.t, "a line to approve "+op, func() bool {
		for _, m := range approveLine.FindAllStringSubmatch(w.note(p).Body, -1) {
			if m[1] == op {
				line = m[0]
			}
		}
		return line != ""
	})
	return line
}

// says comments and waits for the reaction that says it was carried out.
func (w *world) says(user string, p pull, body string) {
	w.t.Helper()
	var made comment
	w.as(user, "POST", fmt.Sprintf("issues/%d/comments", p.number), object{"body": body}, &made)
	giteatest.Eventually(w.t, fmt.Sprintf("a reaction to %q", body), func() bool {
		var reactions []struct {
			Content string
			User    struct{ Login string }
		}
		w.as(user, "GET", fmt.Sprintf("issues/comments/%d/reactions", made.ID), nil, &reactions)
		for _, r := range reactions {
			if r.Content == "+1" && r.User.Login == "chant" {
				return true
			}
		}
		return false
	})
}

// approved has alice approve the plan of a pull request, and waits for the note to
// say so.
func (w *world) approved(p pull) {
	w.t.Helper()
	w.says("alice", p, w.line(p, p.op()))
	w.noted(p, "Approved by ")
}

// reviewed is approved with the command in the text of a review. The delivery
// names no review, and a review takes no reaction.
func (w *world) reviewed(p pull) {
	w.t.Helper()
	body := "Looks right.\n\n" + w.line(p, p.op())
	w.as("alice", "POST", fmt.Sprintf("pulls/%d/reviews", p.number), object{"event": "APPROVED", "body": body}, nil)
	w.noted(p, "Approved by ")
}

// merges merges as alice and waits until that is recorded.
func (w *world) merges(p pull, how string) string {
	w.t.Helper()
	path := fmt.Sprintf("pulls/%d", p.number)
	giteatest.Eventually(w.t, "the merge", func() bool { // Gitea finds out by itself whether it can be
		return w.Try(w.t, "alice", "POST", "repos/"+w.repo+"/"+path+"/merge", object{"Do": how}, nil) == nil
	})
	var got struct {
		SHA string `json:"merge_commit_sha"`
	}
	w.as("alice", "GET", path, nil, &got)
	w.status(p.head, "chant/apply", "pending", "green")
	return got.SHA
}

// recorded is the record of a merge on the ledger.
func (w *world) recorded(sha string) string {
	text, _ := w.read("chant/lifecycle", "_merges/prod/"+sha[:2]+"/"+sha+".json")
	return text
}

// green lets CI report that a commit passes, and waits for the tag.
func (w *world) green(sha string) {
	w.t.Helper()
	for _, check := range []string{"lint", "unit"} {
		w.as("ci", "POST", "statuses/"+sha, object{"context": check, "state": "success"}, nil)
	}
	giteatest.Eventually(w.t, "the tag of "+sha, func() bool {
		var tags []struct {
			Name   string
			Commit struct{ SHA string }
		}
		w.as("alice", "GET", "tags", nil, &tags)
		for _, tag := range tags {
			if tag.Name == "ci/green/"+sha && tag.Commit.SHA == sha {
				return true
			}
		}
		return false
	})
}
