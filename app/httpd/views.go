package httpd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/chant-bot/chant/app/facts"
	"github.com/chant-bot/chant/app/settle"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/app/web"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/sql/store"
)

// pageSize is how many rows a list shows.
const pageSize = 50

func (s *Server) home(r *http.Request) (web.Page, error) {
	repos, err := s.Repos.List(r.Context())
	if err != nil {
		return nil, err
	}
	lines, _, err := s.runLines(r, 10)
	if err != nil {
		return nil, err
	}
	newest, err := s.newestRuns(r)
	if err != nil {
		return nil, err
	}
	page := web.Home{Frame: s.frame("chant", "home"), Runs: lines}
	problems := map[string]string{}
	for _, l := range s.Listed() {
		if l.Key == "" {
			page.Repos = append(page.Repos, web.Repo{Name: l.Name, Problem: l.problem()})
			continue
		}
		problems[l.Key] = l.problem()
	}
	for _, repo := range repos {
		row := web.Repo{Name: repo.FullName(), URL: repo.HTMLURL, Problem: problems[repo.Key()]}
		for _, run := range newest {
			if run.RepoKey == repo.Key() {
				row.Envs = append(row.Envs, envOf(run))
			}
		}
		page.Repos = append(page.Repos, row)
	}
	page.Gates, err = s.waiting(r, newest)
	return page, err
}

// problem is what keeps a repository from being served, "" for nothing known.
func (l Listed) problem() string {
	switch {
	case errors.Is(l.Err, forges.ErrNotFound):
		return "The forge knows no such repository, or does not show it to the account or app we are."
	case l.Err != nil:
		return "The forge cannot be asked: " + l.Err.Error()
	case l.Key == "" && !l.Asked:
		return "The forge was not asked yet."
	}
	return ""
}

// mostTargets is how many repositories, envs and projects the first page shows.
const mostTargets = 200

// newestRuns are the newest runs, one a target.
func (s *Server) newestRuns(r *http.Request) ([]facts.ListedRun, error) {
	return s.Facts.NewestRuns(r.Context(), mostTargets)
}

func runURL(id int64) string { return fmt.Sprintf("/runs/%d", id) }

// envOf is an environment by its newest run.
func envOf(n facts.ListedRun) web.Env {
	e := web.Env{Name: n.Env, Branch: n.Branch, Green: n.Commit, Status: n.RunSummary.Status, RunURL: runURL(n.ID)}
	if e.Status == string(report.Applied) {
		e.Applied, e.AppliedAt = n.Commit, n.Updated
	}
	return e
}

// waiting are the gates that the newest runs wait at. Those runs alone are read whole.
func (s *Server) waiting(r *http.Request, runs []facts.ListedRun) ([]web.Gate, error) {
	var out []web.Gate
	for _, n := range runs {
		if !n.Waits {
			continue
		}
		kept, err := s.Facts.Run(r.Context(), n.ID)
		if err != nil {
			return nil, err
		}
		repo, err := s.Repos.Get(r.Context(), n.RepoKey)
		if err != nil {
			return nil, err
		}
		shown := shownRun{row: n.Run, repo: repo, a: kept.Apply, rep: kept.Apply.Report, url: runURL(n.ID)}
		out = append(out, shown.waits()...)
	}
	return out, nil
}

func (s *Server) gates(r *http.Request) (web.Page, error) {
	newest, err := s.newestRuns(r)
	if err != nil {
		return nil, err
	}
	gates, err := s.waiting(r, newest)
	return web.Gates{Frame: s.frame("Waiting gates", "gates"), Gates: gates}, err
}

func (s *Server) runs(r *http.Request) (web.Page, error) {
	lines, older, err := s.runLines(r, pageSize)
	if err != nil {
		return nil, err
	}
	page := web.Runs{Frame: s.frame("Runs", "runs"), Runs: lines}
	if older > 0 {
		page.Older = fmt.Sprintf("/runs?before=%d", older)
	}
	if before(r) == 0 {
		page.Reported, err = s.reportedLines(r)
	}
	return page, err
}

// runLines lists applies, newest first; older is where the next page starts.
func (s *Server) runLines(r *http.Request, limit int) (lines []web.RunLine, older int64, err error) {
	rows, err := s.Facts.ListRuns(r.Context(), before(r), limit)
	if err != nil {
		return nil, 0, err
	}
	for _, row := range rows {
		lines = append(lines, web.RunLine{
			URL: runURL(row.ID), Repo: cmp.Or(row.RepoName, row.RepoKey), Env: row.Env, Member: row.Member,
			Stage: "apply", Status: row.RunSummary.Status, What: row.Commit[:min(12, len(row.Commit))], Verdict: row.Verdict, At: row.Created,
		})
		older = row.ID
	}
	if len(rows) < limit {
		older = 0
	}
	return lines, older, nil
}

func (s *Server) repoName(r *http.Request, key string) string {
	repo, err := s.Repos.Get(r.Context(), key)
	if err != nil {
		return key
	}
	return repo.FullName()
}

// pullURL is empty for a repository whose page is not known.
func pullURL(repo store.Repo, number int) string {
	if repo.HTMLURL == "" {
		return ""
	}
	return repo.HTMLURL + repo.Instance.PullPath(number)
}

// askedRun is the run that a request is about, as it is listed and as it is kept, and
// its repository.
func (s *Server) askedRun(r *http.Request) (row store.Run, kept settle.KeptRun, repo store.Repo, err error) {
	id, err := pathID(r)
	if err != nil {
		return row, kept, repo, err
	}
	if row, err = s.Facts.Runs.Get(r.Context(), id); err != nil {
		return row, kept, repo, err
	}
	if kept, err = s.Facts.Run(r.Context(), id); err != nil {
		return row, kept, repo, err
	}
	repo, err = s.Repos.Get(r.Context(), row.RepoKey)
	return row, kept, repo, err
}

func (s *Server) run(r *http.Request) (web.Page, error) {
	row, kept, repo, err := s.askedRun(r)
	if err != nil {
		return nil, err
	}
	a := kept.Apply
	rep := a.Report
	if kept.Status == settle.RunRunning {
		rep = a.SoFar()
	}
	_, verdict := note.Status(rep)
	markRunning(rep, a.Passes())
	page := web.Run{
		Frame: s.frame("Apply of "+repo.FullName(), "runs"), Repo: repo.FullName(), RepoURL: repo.HTMLURL,
		Env: row.Env, Member: row.Member, Stage: "apply", Status: facts.Summary(kept).Status, Verdict: verdict,
		Head: rep.Head, Base: rep.Base, Digest: rep.Digest.String(), Started: row.Created, Message: kept.Message(),
		Weight: web.WeightOf(rep.ChangeSet), Named: web.NamedOf(rep), Members: web.MembersOf(rep),
		WaveRows: web.WaveRowsOf(rep), Groups: web.GroupsOf(rep), Fallbacks: web.FallbacksOf(rep),
		Approvals: web.ApprovalsOf(rep, func(pr int) string { return pullURL(repo, pr) }),
	}
	shown := shownRun{row: row, repo: repo, a: a, rep: rep}
	if a.Set != nil {
		page.Waves, page.PlanURL = web.WavesOf(rep, a.Set.DependsOn), shown.plan(0)
	}
	page.Held = heldReads(a)
	if kept.Status == settle.RunRunning {
		page.Refresh = 2
	} else {
		page.Ended = row.Updated
	}
	if err := s.runGates(r, &page, shown); err != nil {
		return nil, err
	}
	last, err := s.runLog(r, &page, row.ID)
	if kept.Status == settle.RunRunning {
		page.Follow = fmt.Sprintf("/runs/%d/events?after=%d", row.ID, last)
	}
	return page, err
}

// markRunning says in a report's rows which members run now, which a report has no
// word for.
func markRunning(rep report.Report, passes run.Passes) {
	for i, row := range rep.Members {
		if m := passes.Member(row.Member); m != nil && m.Status == run.Running {
			rep.Members[i].Status = report.MemberStatus(run.Running)
		}
	}
}

// lookAgain is after how many seconds the page of a run that waits for a person looks
// whether it went on.
const lookAgain = 15

// heldReads are what held members read that no round says.
func heldReads(a *usecase.Apply) []web.Read {
	asked, passes := map[string]bool{}, a.Passes()
	for _, round := range a.Report.Rounds {
		for _, m := range round.Members {
			asked[m.Member] = true
		}
	}
	var out []web.Read
	for _, name := range a.State.Order {
		if asked[name] {
			continue
		}
		for _, read := range passes.Member(name).Reads {
			out = append(out, web.Read{Member: name, From: read.From + "." + read.Output, Planned: read.Planned, Now: read.Now})
		}
	}
	return out
}

// runGates shows the gates the run waits at, or the approvals it applied under. A
// gate that a later run decided is no longer one to approve.
func (s *Server) runGates(r *http.Request, page *web.Run, shown shownRun) error {
	rep := shown.rep
	newest, err := s.Facts.Runs.Newest(r.Context(), shown.row.RunTarget)
	if err != nil {
		return err
	}
	decided := newest.ID != shown.row.ID
	switch {
	case decided && page.Message != rep.Message: // it goes on in another one
		page.Message, page.LaterURL = strings.TrimSpace(rep.Message+"\n\nThere is a later run of this environment."), runURL(newest.ID)
	case page.Message != rep.Message:
		page.Refresh, page.Every = lookAgain, lookAgain
	}
	page.Rounds = shown.rounds(decided)
	if shown.a.State.Via == record.ViaGate {
		g := shown.gate()
		g.Status, g.ApprovedBy, g.Missing, g.Approve = "approved", rep.Approval.ApprovedBy, 0, ""
		page.Gates = append(page.Gates, g)
	}
	waits := rep.Green != nil && rep.Green.Approve != ""
	if decided && (waits || rep.Status == report.Waiting) {
		page.Status, page.Message, page.LaterURL = "superseded", "A later run decided what this one waited for.", runURL(newest.ID)
		return nil
	}
	if page.Asks = shown.waits(); len(page.Asks) > 0 {
		page.Refresh, page.Every = lookAgain, lookAgain
	}
	if waits && rep.Refusal == report.NotApproved {
		page.Message = "" // the gate says it, with the line to copy
	}
	return nil
}

// runLog shows the run's newest events as lines, and returns the number of the
// last.
func (s *Server) runLog(r *http.Request, page *web.Run, id int64) (last int64, err error) {
	_, last, err = s.Facts.Runs.Status(r.Context(), id)
	if err != nil {
		return 0, err
	}
	before := max(0, last-batch)
	events, err := s.Facts.Runs.Events(r.Context(), id, before, batch)
	if err != nil {
		return 0, err
	}
	page.LogLeftOut = int(before)
	for _, stored := range events {
		var e run.Event
		if err := json.Unmarshal(stored.Event, &e); err != nil {
			return 0, fmt.Errorf("event %d of run %d: %w", stored.Seq, id, err)
		}
		if text := eventText(e); text != "" {
			page.Log = append(page.Log, web.LogLine{At: stored.At, Member: e.Member, Text: text})
		}
		last = stored.Seq
	}
	return last, nil
}

// eventText is an event in words, "" for one that says nothing a person would
// miss.
func eventText(e run.Event) string {
	switch e.Type {
	case "wave-start":
		return fmt.Sprintf("wave %d starts", e.Wave)
	case "wave-done":
		return fmt.Sprintf("wave %d: %s", e.Wave, e.Status)
	case "component-done":
		if e.BlockedBy != "" {
			return fmt.Sprintf("%s: blocked by %s, not run", e.Component, e.BlockedBy)
		}
		return ""
	case "step":
		text := fmt.Sprintf("%s %s", e.Step, e.Status)
		if e.Error != "" {
			text += ": " + e.Error
		}
		return text
	case "run-done":
		return "run: " + string(e.Status)
	}
	return ""
}
