package httpd

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app/facts"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
	"github.com/chant-bot/chant/sql/store"
)

// Whoever approves a round sees what its plan does: on the page of the run, by name,
// and on a page of its own, whole.
func TestTheRunPageShowsThePlanThatARoundAsksFor(t *testing.T) {
	t.Parallel()
	f := newFollowed(t, [][]string{{"net"}, {"app"}}, map[string][]string{"app": {"net"}})
	f.start("net")
	f.settle("net", run.Outcome{})
	moved := []run.InputRead{{From: "net", Output: "address", Planned: `"a"`, Now: `"b"`}}
	if err := f.apply.State.HoldBack("app", moved); err != nil {
		t.Fatal(err)
	}
	d, err := digest.Parse("jcs1-sha256:" + strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	again, err := run.New(run.Config{Env: "prod", Waves: [][]string{{"app"}}, Units: []run.Unit{{Member: "app", Component: "app", Phase: "deploy", Step: "terraform-apply"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.HoldBack("app", moved); err != nil {
		t.Fatal(err)
	}
	entry := func(address string, action changeset.Action) changeset.Entry {
		return changeset.Entry{Member: "app", Lexicon: "terraform", Planner: "terraform", Address: address, Type: "x", Action: action, Disruption: "in-place"}
	}
	doc, err := changeset.Compose([]changeset.Part{{
		Member:  changeset.Member{Member: "app", Lexicon: "terraform", Planner: "terraform", Scope: "default", Status: changeset.Planned, PlanDigest: &d, Holes: []changeset.Hole{}},
		Entries: []changeset.Entry{entry("db.main", changeset.Delete), entry("rule.x", changeset.Create)},
	}}, "")
	if err != nil {
		t.Fatal(err)
	}
	f.apply.Later = []*usecase.Pass{{
		Round: 2, State: again, Asked: &usecase.Opened{Gate: "pr-apply-round-2", Digest: d}, Set: &usecase.PlanSet{Document: doc},
	}}
	f.apply.Report.Op, f.apply.Report.Gate = "green-1", "pr-apply"
	f.apply.Report.Rounds = []report.Round{{
		Round: 2, Op: "green-1", Gate: "pr-apply-round-2", Digest: d, Status: report.WaveWaiting, Approve: report.CommentLine("green-1", "pr-apply-round-2", d),
		Members: []report.RoundMember{{Member: "app", Reads: []report.Read{{From: "net", Output: "address", Planned: `"a"`, Now: `"b"`}}}},
	}}
	f.over()
	html := f.page()
	for _, want := range []string{
		"<h3>Round 2</h3>", `<code>&#34;a&#34;</code>`, `<code>&#34;b&#34;</code>`, `<strong class="lost">destroy</strong> <code>db.main</code> in app`,
		"1 to destroy, 0 to replace", "chant approve green-1 pr-apply-round-2 --plan " + d.String(), `<td class="words">waits at pr-apply-round-2</td>`,
		fmt.Sprintf(`<a href="/runs/%d/plans/1">`, f.journal.ID()),
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page of the run lacks %s", want)
		}
	}
	if !strings.Contains(html, ` data-every="15" defer>`) || strings.Contains(html, "data-events") {
		t.Error("the page of a run that waits does not look now and then how it goes on")
	}
	if line := strings.Index(html, "chant approve "); strings.Count(html, "chant approve ") != 1 || line > strings.Index(html, "<h2>Members") {
		t.Error("the line to copy is not there once, before the rest of the page")
	}
	if n := strings.Count(html, "net.address"); n != 1 {
		t.Errorf("it says %d times what the held member reads", n)
	}
	for pass, code := range map[string]int{"1": http.StatusOK, "2": http.StatusNotFound, "-1": http.StatusNotFound, "x": http.StatusNotFound} {
		resp := f.get(fmt.Sprintf("/runs/%d/plans/%s", f.journal.ID(), pass), "")
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != code || code == http.StatusOK && (!strings.Contains(string(text), "rule.x") || !strings.Contains(string(text), "<dd>acme/infra</dd>")) {
			t.Errorf("plan %s: %d %v", pass, resp.StatusCode, err)
		}
	}
}

// Under a rule that this version does not enforce no page has a line to copy, since no
// approval opens the gate.
func TestNoPageHasALineToCopyWhereNobodyCanApprove(t *testing.T) {
	t.Parallel()
	f := newFollowed(t, [][]string{{"net"}}, nil)
	d, err := digest.Parse("jcs1-sha256:" + strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	f.apply.Report.Digest, f.apply.Report.Op, f.apply.Report.Gate = d, "green-1", "pr-apply"
	f.apply.Report.Status, f.apply.Report.Refusal = report.Refused, report.NotApproved
	f.apply.Report.Green = &report.Green{Approve: report.CommentLine("green-1", "pr-apply", d)}
	f.apply.Policy.Refuse = []string{"identity.gates.pr-apply"}
	if err := f.db.InTx(t.Context(), func(tx *sql.Tx) error { return f.journal.SaveTx(t.Context(), tx, f.apply) }); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fmt.Sprintf("/runs/%d", f.journal.ID()), "/gates", "/"} {
		text, err := io.ReadAll(f.get(path, "").Body)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "chant approve") || !strings.Contains(string(text), "this version does not enforce: identity.gates.pr-apply") {
			t.Errorf("%s has a line that opens nothing, or does not say why:\n%s", path, text)
		}
	}
}

// Whoever looks at a run that failed is led to the one that took it up.
func TestTheRunPageLeadsToALaterRun(t *testing.T) {
	t.Parallel()
	f := newFollowed(t, [][]string{{"net"}}, nil)
	f.start("net")
	f.settle("net", run.Outcome{Error: "the disk is full"})
	f.over()
	if html := f.page(); !strings.Contains(html, ` data-every="15" defer>`) || strings.Contains(html, "That run") {
		t.Error("the page of a run that failed does not look whether it was taken up, or says so already")
	}
	first := f.journal
	f.journal = facts.New(f.db, time.Now).NewJournal(engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: 7}, "prod", "")
	f.over()
	later := f.journal.ID()
	f.journal = first
	if html := f.page(); !strings.Contains(html, fmt.Sprintf(`There is a later run of this environment. <a href="/runs/%d">That run</a>.`, later)) || strings.Contains(html, "<script") || strings.Contains(html, "chant apply") {
		t.Errorf("the page does not lead to the later run:\n%s", html)
	}
}

// The page of a run that failed says what carries it on, as its note does.
func TestTheRunPageOfAFailedRunSaysHowItGoesOn(t *testing.T) {
	t.Parallel()
	f := newFollowed(t, [][]string{{"net"}}, nil)
	f.start("net")
	if html := f.page(); strings.Contains(html, "chant apply") {
		t.Error("a run that goes on asks for another one")
	}
	f.settle("net", run.Outcome{Error: "the disk is full"})
	f.over()
	if html, want := f.page(), "It is not tried again by itself: comment `chant apply` to try again."; !strings.Contains(html, want) {
		t.Errorf("the page of the run lacks %q", want)
	}
}

// The row of a gated wave that finished stays while the next one runs.
func TestTheRunPageShowsHowEachGatedWaveStandsWhileItRuns(t *testing.T) {
	t.Parallel()
	f := newFollowed(t, [][]string{{"net"}, {"app"}, {"edge"}}, map[string][]string{"app": {"net"}, "edge": {"app"}})
	f.apply.Op, f.apply.Policy.Env.Gate, f.apply.Policy.Env.WaveGate = "green-1", "pr-apply", "release"
	f.apply.Report.Gate, f.apply.Report.Approval.ApprovedBy, f.apply.State.Via = "pr-apply", []string{"github:alice"}, "merges"
	f.start("net")
	f.settle("net", run.Outcome{})
	for _, name := range []string{"app", "edge"} {
		if err := f.apply.State.HoldBack(name, nil); err != nil {
			t.Fatal(err)
		}
	}
	second, err := run.New(run.Config{Env: "prod", Waves: [][]string{{}, {"app"}}, Units: []run.Unit{{Member: "app", Component: "app", Phase: "deploy", Step: "terraform-apply"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start("app"); err != nil {
		t.Fatal(err)
	}
	asked := usecase.Opened{Gate: "release-wave-2", Digest: digest.Digest{}}
	f.apply.Later = []*usecase.Pass{{Wave: 2, State: second, Asked: &asked, Gates: []usecase.Opened{asked}, ApprovedBy: []string{"github:bob"}, Set: &usecase.PlanSet{}}}
	f.save()
	html := f.page()
	row := func(wave int, status, gate, decided, end string) string {
		if decided == "" {
			decided = `<span class="none">–</span>`
		}
		return fmt.Sprintf(`<tr><td class="number" data-label="wave">%d</td><td>%s</td><td><code>green-1 %s</code></td><td class="words">%s</td><td><span class="none">–</span></td><td class="words">%s</td></tr>`, wave, status, gate, decided, end)
	}
	pill := func(tone, status string) string {
		return fmt.Sprintf(`<span class="status %s">%s</span>`, tone, status)
	}
	for _, want := range []string{
		row(1, pill("good", "applied"), "pr-apply", "the merges&#39; approvals, by github:alice", "net "+pill("good", "applied")),
		row(2, pill("busy", "running"), "release-wave-2", "its gate, by github:bob", "app "+pill("busy", "running")),
		row(3, pill("idle", "not started"), "release-wave-3", "", "edge "+pill("wait", "held back")),
		`>wave 2 · running</text>`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// A link that only one forge has leads nowhere on the others.
func TestAPullRequestIsLinkedWhereItsForgeHasIt(t *testing.T) {
	t.Parallel()
	for kind, want := range map[engine.ForgeKind]string{
		engine.GitHub: "https://x/acme/infra/pull/12", engine.GitLab: "https://x/acme/infra/-/merge_requests/12", engine.Forgejo: "https://x/acme/infra/pulls/12",
	} {
		repo := store.Repo{Repo: engine.Repo{Instance: engine.Instance{Kind: kind, Host: "x"}}, HTMLURL: "https://x/acme/infra"}
		if got := pullURL(repo, 12); got != want {
			t.Errorf("on %s it is %q, want %q", kind, got, want)
		}
	}
	if got := pullURL(store.Repo{}, 12); got != "" {
		t.Errorf("a repository whose page is not known is linked as %q", got)
	}
}
