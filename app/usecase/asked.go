package usecase

import (
	"slices"

	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine/report"
)

// Asked are the plans that the gates of rounds and waves were asked for, which
// whoever approves one has to see. The report has the plan of the whole apply alone.
func (a *Apply) Asked() []note.Asked {
	var out []note.Asked
	for _, p := range a.Later {
		if p.Asked != nil {
			out = append(out, note.Asked{Gate: p.Asked.Gate, Document: p.Set.Document, RunsCode: p.Set.runsCode()})
		}
	}
	return out
}

// Ask is who may open the gate that an apply waits at: with the review rule nobody who
// wrote a change it carries, and at a round or a wave only who reviewed one (pr-loop
// §5.10).
func (a *Apply) Ask(p Policy) note.Ask {
	ask := note.Ask{MinApprovals: p.Env.MinApprovals, Approvers: p.Env.Approvers, Unenforced: p.Refuse}
	if rule := a.greenRule(); rule != nil {
		ask.Review = a.Report.Status == report.Waiting
		ask.Excluded = slices.Concat(rule.Authors, rule.Unresolved)
		slices.Sort(ask.Excluded)
		ask.Excluded = slices.Compact(ask.Excluded)
	}
	return ask
}

// runsCode is what planning and applying the members executes, as the note says it.
func (p *PlanSet) runsCode() map[string]report.RunsCode {
	out := map[string]report.RunsCode{}
	for name, m := range p.Members {
		if code := codeRow(m.Planned.Code); code != nil {
			out[name] = *code
		}
	}
	return out
}
