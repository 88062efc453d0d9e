package note

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// asked is the gate of the round or the wave that a started apply waits at.
type asked struct {
	name     string // "round 2", "wave 3"
	op, gate string
	digest   digest.Digest
	round    report.Round // of a round, what was held back
}

// waitingAt is the first gate that a started apply waits at; false where it waits at
// none.
func waitingAt(r report.Report) (asked, bool) {
	for _, w := range r.Waves {
		if w.Status == report.WaveWaiting {
			return asked{name: fmt.Sprintf("wave %d", w.Wave), op: w.Op, gate: w.Gate, digest: w.Digest}, true
		}
	}
	for _, round := range r.Rounds {
		if round.Status == report.WaveWaiting {
			return asked{name: fmt.Sprintf("round %d", round.Round), op: round.Op, gate: round.Gate, digest: round.Digest, round: round}, true
		}
	}
	return asked{}, false
}

// askedAt is the plan that a gate was asked for, as a report; false where it is not
// known.
func (in Input) askedAt(gate string, d digest.Digest) (report.Report, bool) {
	i := slices.IndexFunc(in.Asked, func(kept Asked) bool { return kept.Gate == gate && kept.Document != nil })
	if i < 0 {
		return report.Report{}, false
	}
	r := report.Report{ChangeSet: in.Asked[i].Document, RunsCode: in.Asked[i].RunsCode, Digest: d}
	for _, m := range r.ChangeSet.Members {
		r.Members = append(r.Members, report.Member{Member: m.Member})
	}
	return r, true
}

// block says why something was planned again, all that its plan destroys or runs by
// name, and the line to copy.
func (a asked) block(in Input) string {
	const namesRoom = 4000
	why := capital(a.name) + " was planned again with the values that the waves before it left, and what was approved does not cover that plan."
	if a.round.Round > 0 {
		why = "These were held back: a value they read is not the one they were planned with. " + capital(a.name) + " is their plan with the value that stands now.\n\n" + reads(a.round)
	}
	var b strings.Builder
	b.WriteString(strings.TrimRight(why, "\n") + "\n\n")
	if plan, ok := in.askedAt(a.gate, a.digest); ok {
		b.WriteString(namesOf(plan).render(namesRoom, in.RunURL))
	}
	if ask := in.toApprove(a.name, ApproveLine(a.op, a.gate, a.digest)); ask != "" {
		b.WriteString(ask + "\n")
	}
	return b.String()
}

// rounds tells of those that are decided which members were held back, and why.
func rounds(in Input) string {
	const shown = 8
	var decided []string
	for _, r := range in.Report.Rounds {
		if r.Status == report.WaveWaiting {
			continue
		}
		by := ""
		if len(r.ApprovedBy) > 0 {
			by = ", approved by " + nameList(people(r.ApprovedBy), 10)
		}
		weight := ""
		if plan, ok := in.askedAt(r.Gate, r.Digest); ok {
			if plan.Status = report.Failed; r.Status == report.WaveApplied {
				plan.Status = report.Applied
			}
			weight = countsLine(plan) + "\n\n"
		}
		decided = append(decided, fmt.Sprintf("**Round %d** at %s, %s%s\n\n%sThese were held back for it: a value they read was not the one they were planned with.\n\n%s\n",
			r.Round, Inline(r.Gate), waveWord(r.Status), by, weight, reads(r)))
	}
	if rest := len(decided) - shown; rest > 0 {
		decided = append(decided[:shown:shown], fmt.Sprintf("and %s more, on the run page.\n\n", plural(rest, "round")))
	}
	return strings.Join(decided, "")
}

func reads(r report.Round) string {
	const shown = 5
	var b strings.Builder
	n := 0
	for _, m := range r.Members {
		if len(m.Reads) == 0 {
			if n++; n <= shown {
				fmt.Fprintf(&b, "- %s follows one that was held back\n", Inline(m.Member))
			}
		}
		for _, read := range m.Reads {
			if n++; n <= shown {
				fmt.Fprintf(&b, "- %s reads %s: %s\n", Inline(m.Member), Inline(read.From+"."+read.Output), was(read))
			}
		}
	}
	if n > shown {
		fmt.Fprintf(&b, "- and %d more\n", n-shown)
	}
	return b.String()
}

// was says what a value was in the first plan, and is. Of a sensitive one nothing
// shows but that it is another.
func was(read report.Read) string {
	if read.Planned == read.Now && read.Now != "" {
		return "planned with " + known(read.Planned) + ", now another"
	}
	return "planned with " + known(read.Planned) + ", now " + known(read.Now)
}

func known(value string) string {
	switch value {
	case "", run.NotKnown:
		return "a value not known yet"
	case run.Redacted:
		return "a sensitive value"
	case run.InGroup:
		return "what its group passes on"
	case run.NotKept:
		return "another value"
	}
	return Inline(shorten(value, 80))
}
