package app_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-bot/chant/forges/forgetest"
	"github.com/chant-bot/chant/sql/store"
)

// said is what Alice writes on a pull request.
func (w *world) said(pr *forgetest.Pull, body string) forgetest.Comment {
	w.t.Helper()
	c, err := w.Forge.As(w.Alice).Comment(pr, body)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// answers are our replies to one comment.
func answers(comments []forgetest.Comment, to int64) []string {
	var out []string
	for _, c := range comments {
		if marker, text, ok := strings.Cut(c.Body, "\n"); ok && strings.HasPrefix(marker, "<!-- chant-answer:") && strings.Contains(marker, fmt.Sprintf("-%d-", to)) {
			out = append(out, text)
		}
	}
	return out
}

// awaitAnswer waits for our reply to a comment on a pull request.
func (w *world) awaitAnswer(pr *forgetest.Pull, to forgetest.Comment, text string) {
	w.t.Helper()
	w.await(fmt.Sprintf("the answer %q to %q", text, to.Body), func() bool {
		return strings.Contains(strings.Join(answers(w.Repo.Comments(pr.Number), to.ID), ""), text)
	})
}

// reacted tells whether a comment on a pull request has a reaction.
func (w *world) reacted(pr *forgetest.Pull, id int64, content string) bool {
	for _, c := range w.Repo.Comments(pr.Number) {
		if c.ID == id {
			return c.Reactions[content] > 0
		}
	}
	return false
}

// approvals counts the approvals on the ledger of one op.
func (w *world) approvals(op string) int {
	text, err := w.Repo.ReadFile("chant/lifecycle", "_gates/"+op+".jsonl")
	if err != nil {
		return 0
	}
	return strings.Count(text, `"resolvedBy"`)
}

func (w *world) serverLog() string {
	text, err := os.ReadFile(filepath.Join(w.Dir, "server.log"))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// page reads one of the server's pages.
func (w *world) page(path string) string {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.ctx, http.MethodGet, "http://"+w.addr+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %d %v", path, resp.StatusCode, err)
	}
	return string(body)
}

// declare changes the declaration on main.
func (w *world) declare(old, now string) {
	w.t.Helper()
	text, err := w.Repo.ReadFile("main", "chant.workspace.json")
	if err != nil || !strings.Contains(text, old) {
		w.t.Fatalf("%v: no %q in %s", err, old, text)
	}
	must(w.t)(w.Repo.Commit("main", map[string]string{"chant.workspace.json": strings.ReplaceAll(text, old, now)}, w.Alice))
}

// edits gives the files of a change to several roots.
func (w *world) edits(changes ...[3]string) map[string]string {
	w.t.Helper()
	files := map[string]string{}
	for _, c := range changes {
		path := "roots/" + c[0] + "/main.tf"
		text, err := w.Repo.ReadFile("main", path)
		if err != nil {
			w.t.Fatal(err)
		}
		files[path] = strings.ReplaceAll(text, c[1], c[2])
	}
	return files
}

// awaitJobs waits until so many jobs of a kind ended well.
func (w *world) awaitJobs(kind, args string, n int) {
	w.t.Helper()
	w.await(fmt.Sprintf("%d %s jobs of %s", n, kind, args), func() bool { return w.jobs(kind, args) >= n })
}

func (w *world) jobs(kind, args string) int {
	return w.lines(`msg="job done"`, "kind="+kind+" ", args)
}

// plans counts how often a head was planned. A job that found a plan made none.
func (w *world) plans(head string) int {
	return w.lines(`msg="job done"`, " kind=plan ", " plans=", head)
}

// lines counts the lines of the server's log with all of these in it.
func (w *world) lines(parts ...string) int {
	n := 0
	for l := range strings.SplitSeq(w.serverLog(), "\n") {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(l, part) }) {
			n++
		}
	}
	return n
}

// audited checks that the audit names the delivery of every decision.
func (w *world) audited(deliveries []forgetest.Delivery) {
	w.t.Helper()
	guids := map[string]bool{}
	for _, d := range deliveries {
		guids[d.GUID] = true
	}
	db, err := store.Open(w.ctx, filepath.Join(w.Dir, "server", "chant.db"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	rows, err := store.NewAudit(db).List(w.ctx, "", 0, 100)
	if err != nil || len(rows) == 0 {
		w.t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, r := range rows {
		if r.Actor != "server" && !guids[r.Delivery] {
			w.t.Errorf("%s of %s names the delivery %q", r.Action, r.Detail, r.Delivery)
		}
	}
}
