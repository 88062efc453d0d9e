package httpd

import (
	"fmt"
	"slices"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/app/web"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/sql/store"
)

// shownRun is one run as pages show its gates. url is its page, "" on that page.
type shownRun struct {
	row  store.Run
	repo store.Repo
	a    *usecase.Apply
	rep  report.Report
	url  string
}

// gate is the apply's own, as it waits.
func (s shownRun) gate() web.Gate {
	weight := web.WeightOf(s.rep.ChangeSet)
	g := web.Gate{
		Repo: s.repo.FullName(), RepoURL: s.repo.HTMLURL, Env: s.row.Env, Op: s.rep.Op, Name: s.rep.Gate, Digest: s.rep.Digest.String(),
		Status: "waiting", Missing: 1, Since: s.row.Updated, Weight: &weight, RunURL: s.url, PlanURL: s.plan(0),
	}
	if s.rep.Green != nil {
		g.Approve = s.rep.Green.Approve
	}
	if names := s.a.Policy.Refuse; len(names) > 0 {
		g.Shut = report.NotEnforcedMessage(names)
	}
	return g
}

// plan is the page of the plan of a pass, the main one first.
func (s shownRun) plan(pass int) string {
	if s.a.Set == nil {
		return ""
	}
	return fmt.Sprintf("/runs/%d/plans/%d", s.row.ID, pass)
}

// later is the gate of a round or a wave, with the plan that it binds.
func (s shownRun) later(name, digest, approve string) web.Gate {
	g := s.gate()
	g.Name, g.Digest, g.Approve, g.Weight, g.PlanURL = name, digest, approve, nil, ""
	for i, p := range s.a.Later {
		if p.Asked != nil && p.Asked.Gate == name && p.Set != nil {
			g.PlanURL = s.plan(i + 1)
		}
	}
	asked := s.a.Asked()
	if i := slices.IndexFunc(asked, func(a note.Asked) bool { return a.Gate == name }); i >= 0 {
		weight := web.WeightOf(asked[i].Document)
		g.Weight, g.Named = &weight, web.NamedIn(asked[i].Document, asked[i].RunsCode)
	}
	return g
}

// rounds are the rounds of an apply, with what its members read. One that waits has
// the line to copy, unless a later run decided since.
func (s shownRun) rounds(decided bool) []web.Round {
	var out []web.Round
	for _, r := range s.rep.Rounds {
		g := s.later(r.Gate, r.Digest.String(), r.Approve)
		g.ApprovedBy = r.ApprovedBy
		switch {
		case r.Status != report.WaveWaiting:
			g.Status, g.Missing = "approved", 0
		case decided:
			g.Status, g.Missing, g.Approve = "superseded", 0, ""
		}
		round := roundOf(r, g)
		round.Waits = round.Waits && !decided
		out = append(out, round)
	}
	return out
}

func roundOf(r report.Round, g web.Gate) web.Round {
	round := web.Round{Number: r.Round, Gate: g, Waits: r.Status == report.WaveWaiting}
	for _, m := range r.Members {
		for _, read := range m.Reads {
			round.Reads = append(round.Reads, web.Read{Member: m.Member, From: read.From + "." + read.Output, Planned: read.Planned, Now: read.Now})
		}
	}
	return round
}

// waits are the gates that an apply which ended waits at.
func (s shownRun) waits() []web.Gate {
	var out []web.Gate
	for _, round := range s.rounds(false) {
		if round.Gate.Approve != "" {
			out = append(out, round.Gate)
		}
	}
	out = append(out, s.waves()...)
	if g := s.gate(); g.Approve != "" && s.rep.Status == report.Refused {
		out = append(out, g)
	}
	return out
}

// reportedRounds are those of a run that went on elsewhere. What is said from there is
// nothing to approve by, so it has no line to copy.
func reportedRounds(rep report.Report) []web.Round {
	var out []web.Round
	for _, r := range rep.Rounds {
		out = append(out, roundOf(r, web.Gate{
			Env: rep.Env, Op: r.Op, Name: r.Gate, Digest: r.Digest.String(), Status: string(r.Status), ApprovedBy: r.ApprovedBy,
		}))
	}
	return out
}

// waves are the gates of an apply's waves that wait.
func (s shownRun) waves() []web.Gate {
	var out []web.Gate
	for _, w := range s.rep.Waves {
		if w.Status == report.WaveWaiting {
			out = append(out, s.later(w.Gate, w.Digest.String(), w.Approve))
		}
	}
	return out
}
