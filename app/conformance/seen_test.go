package conformance_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/forges/forgetest"
)

// eventually waits until the forge shows it.
func (w *world) eventually(what string, done func() bool) {
	w.t.Helper()
	if err := await(w.ctx, done); err != nil {
		w.t.Fatalf("waiting for %s: %v", what, err)
	}
}

// shown is what people see, for failures.
func (w *world) shown() string {
	var b strings.Builder
	shas := []string{}
	if head, err := w.repo.Head("main"); err == nil {
		shas = append(shas, head)
	}
	for n := 1; n < 4; n++ {
		for _, c := range slices.Concat(w.repo.Comments(n), w.repo.ReviewComments(n)) {
			fmt.Fprintf(&b, "#%d %s %v: %.1500s\n", n, c.Author.Login, c.Reactions, c.Body)
		}
	}
	for _, sha := range shas {
		fmt.Fprintf(&b, "main %s: %+v\n", sha, w.repo.Statuses(sha))
	}
	for _, d := range w.relay.handed(w.repo.ID) {
		fmt.Fprintf(&b, "handed on: %T %+v\n", d.event, d.event)
	}
	return b.String()
}

func (w *world) status(sha, name, state, text string) {
	w.t.Helper()
	var s forgetest.Status
	err := await(w.ctx, func() bool {
		s = w.repo.Status(sha, name)
		return s.State == state && strings.Contains(s.Description, text)
	})
	if err != nil {
		w.t.Fatalf("%s of %s is %s %q, want %s %q: %v", name, sha, s.State, s.Description, state, text, err)
	}
}

// begins makes a commit that changes nothing the one applied last, so that what
// comes is measured from it.
func (w *world) begins() {
	w.t.Helper()
	sha := must(w.repo.Commit("main", map[string]string{"README.md": "One root.\n"}, w.alice))(w.t)
	w.green(sha)
	w.status(sha, "chant/apply", "success", "nothing to apply")
}

const noteMarker = "<!-- chant-pr:prod -->"

// notes are the sticky notes of a pull request.
func (w *world) notes(pr *forgetest.Pull) []forgetest.Comment {
	return slices.DeleteFunc(w.repo.Comments(pr.Number), func(c forgetest.Comment) bool {
		return !strings.HasPrefix(c.Body, noteMarker) || c.Author.Login != w.bot.Login
	})
}

func (w *world) note(pr *forgetest.Pull) string {
	for _, c := range w.notes(pr) {
		return c.Body
	}
	return ""
}

func (w *world) noted(pr *forgetest.Pull, text string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%q in the note of #%d", text, pr.Number), func() bool { return strings.Contains(w.note(pr), text) })
}

// log are the server's lines about the case's repository, under its first name.
func (w *world) log() string { return w.about("="+w.served+" ", "="+w.served+"\n") }

func tail(s string) string { return s[max(0, len(s)-12000):] }

// answers are our replies to a comment.
func (w *world) answers(pr *forgetest.Pull, to int64) string {
	out := ""
	for _, c := range slices.Concat(w.repo.Comments(pr.Number), w.repo.ReviewComments(pr.Number)) {
		marker, text, ok := strings.Cut(c.Body, "\n")
		if ok && strings.HasPrefix(marker, "<!-- chant-answer:") && strings.Contains(marker, fmt.Sprintf("-%d-", to)) {
			out += text + "\n"
		}
	}
	return out
}

// allAnswers are our replies on a pull request.
func (w *world) allAnswers(pr *forgetest.Pull) string {
	out := ""
	for _, c := range slices.Concat(w.repo.Comments(pr.Number), w.repo.ReviewComments(pr.Number)) {
		if strings.HasPrefix(c.Body, "<!-- chant-answer:") {
			out += c.Body + "\n"
		}
	}
	return out
}

// jobs counts the jobs of a kind that ended well for the case's repository.
func (w *world) jobs(kind string) int { return w.ended(" kind=" + kind + " ") }

// plans counts the plans that were made. A job that found one made none.
func (w *world) plans() int { return w.ended(" kind=plan ", " plans=") }

// ended counts the lines of jobs that ended with all of these in it.
func (w *world) ended(parts ...string) int {
	n := 0
	for line := range strings.Lines(w.log()) {
		if strings.Contains(line, `msg="job done"`) && !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			n++
		}
	}
	return n
}

// answered waits for the reply to a comment.
func (w *world) answered(pr *forgetest.Pull, c forgetest.Comment, text string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the answer %q to %q", text, c.Body), func() bool { return strings.Contains(w.answers(pr, c.ID), text) })
}

// reacted waits for a reaction to a comment.
func (w *world) reacted(pr *forgetest.Pull, c forgetest.Comment, content string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%s for %q", content, c.Body), func() bool {
		return slices.ContainsFunc(slices.Concat(w.repo.Comments(pr.Number), w.repo.ReviewComments(pr.Number)), func(o forgetest.Comment) bool {
			return o.ID == c.ID && o.Reactions[content] > 0
		})
	})
}
