package settle

import (
	"testing"

	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

func TestWhoIsPlannedUnaskedOnRequestAndNever(t *testing.T) {
	t.Parallel()
	policy := func(forks string, drafts bool) *project.Declaration {
		return &project.Declaration{Bot: &project.Bot{Plan: project.PlanPolicy{Forks: forks, Drafts: drafts}}}
	}
	bot := engine.Change{Author: engine.Actor{Bot: true}}
	for name, c := range map[string]struct {
		change engine.Change
		base   *project.Declaration
		want   asking
	}{
		"a branch of the repository":                  {engine.Change{}, policy("never", false), unasked},
		"a branch where nothing is declared":          {engine.Change{}, &project.Declaration{}, unasked},
		"a fork":                                      {engine.Change{Fork: true}, policy("never", true), never},
		"a fork where nothing is declared":            {engine.Change{Fork: true}, &project.Declaration{}, never},
		"a fork where forks are planned on command":   {engine.Change{Fork: true}, policy("on-command", true), onRequest},
		"a fork's draft where forks never are":        {engine.Change{Fork: true, Draft: true}, policy("never", true), never},
		"a bot's fork where forks never are":          {engine.Change{Fork: true, Author: bot.Author}, policy("never", true), never},
		"a draft":                                     {engine.Change{Draft: true}, policy("never", false), onRequest},
		"a draft where drafts are planned":            {engine.Change{Draft: true}, policy("never", true), unasked},
		"a bot's":                                     {bot, policy("on-command", true), onRequest},
		"a first-time author's":                       {engine.Change{FirstTimer: true}, policy("on-command", true), onRequest},
		"a first-time author's draft, drafts allowed": {engine.Change{FirstTimer: true, Draft: true}, policy("never", true), onRequest},
	} {
		if got, why := whoIsPlanned(c.change, c.base); got != c.want || (why == "") != (got == unasked) {
			t.Errorf("%s: %v %q; want %v", name, got, why, c.want)
		}
	}
}

func TestOnlyOnePersonOrTeamIsCalled(t *testing.T) {
	t.Parallel()
	forge := engine.Instance{Kind: engine.GitHub, Host: "github.com"}
	waiting := report.Report{Status: report.Planned, Approval: report.Approval{Status: report.Pending}}
	approved := waiting
	approved.Approval = report.Approval{Status: report.Approved, ApprovedBy: []string{"github:dana"}}
	round := report.Report{Status: report.Waiting, Rounds: []report.Round{{Round: 2, Status: report.WaveWaiting}}}
	over := report.Report{Status: report.Applied, Rounds: []report.Round{{Round: 2, Status: report.WaveApplied}}}
	refused := report.Report{Status: report.Refused, Refusal: report.NotApproved}
	notGreen := report.Report{Status: report.Refused, Refusal: report.NotGreen}
	ask := func(approvers ...string) note.Ask { return note.Ask{Approvers: approvers} }
	for name, c := range map[string]struct {
		in   note.Input
		want string
	}{
		"one person":                   {note.Input{Report: waiting, Ask: ask("github:dana")}, "dana"},
		"one team":                     {note.Input{Report: waiting, Ask: ask("github:@org/platform")}, "org/platform"},
		"one person at the green gate": {note.Input{Report: refused, Ask: ask("github:dana")}, "dana"},
		"one person at a round":        {note.Input{Report: round, Ask: ask("github:dana")}, "dana"},
		"a round that is over":         {note.Input{Report: over, Ask: ask("github:dana")}, ""},
		"two":                          {note.Input{Report: waiting, Ask: ask("github:dana", "github:@org/platform")}, ""},
		"anybody":                      {note.Input{Report: waiting}, ""},
		"approved already":             {note.Input{Report: approved, Ask: ask("github:dana")}, ""},
		"nothing is due":               {note.Input{Report: waiting, NothingDue: true, Ask: ask("github:dana")}, ""},
		"it did not plan":              {note.Input{Report: report.Report{Status: report.PlanFailed}, Ask: ask("github:dana")}, ""},
		"it is not green":              {note.Input{Report: notGreen, Ask: ask("github:dana")}, ""},
		"who wrote the change":         {note.Input{Report: waiting, Ask: note.Ask{Approvers: []string{"github:dana"}, Excluded: []string{"github:dana"}}}, ""},
		"a gate that cannot be opened": {note.Input{Report: waiting, Ask: note.Ask{Approvers: []string{"github:dana"}, Unenforced: []string{"minApprovals: 2"}}}, ""},
		"an account of another forge":  {note.Input{Report: waiting, Ask: ask("gitlab:dana")}, ""},
	} {
		if got, ok := onlyApprover(forge, c.in); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v; want %q", name, got, ok, c.want)
		}
	}
}
