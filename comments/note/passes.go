package note

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/comments/changes"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/report"
)

// tableRoom bounds each of the tables below in code points.
const tableRoom = 3000

// groups is a row for each set of members that is planned and applied as one, and how
// each member ended.
func groups(in Input) string {
	if len(in.Report.Groups) == 0 {
		return ""
	}
	table := rowSet{noun: "group", runURL: in.RunURL, header: "| group | wave | applied as one | plan |\n|---|---:|---|---|\n"}
	for _, g := range in.Report.Groups {
		var members tally
		for _, o := range g.Outcome {
			members.add(outcomeWord(o.Status), o.Member)
		}
		if len(g.Outcome) == 0 {
			members.add("", g.Members...)
		}
		table.rows = append(table.rows, fmt.Sprintf("| %s | %d | %s | %s |\n", Inline(g.Group), g.Wave, members.cell(), digestCell(g.Digest)))
	}
	return table.render(tableRoom)
}

func outcomeWord(s report.OutcomeStatus) string {
	switch s {
	case report.OutcomePartial:
		return "applied in part"
	case report.OutcomeNotStarted:
		return "not started"
	case report.OutcomeNoChanges:
		return "unchanged"
	case report.OutcomeApplied, report.OutcomeFailed:
		return string(s)
	}
	return Inline(string(s))
}

// tally is names by what became of them, in the order they came.
type tally struct {
	words []string
	names map[string][]string
}

func (t *tally) add(word string, names ...string) {
	if t.names == nil {
		t.names = map[string][]string{}
	}
	if t.names[word] == nil {
		t.words = append(t.words, word)
	}
	t.names[word] = append(t.names[word], names...)
}

func (t *tally) cell() string {
	parts := make([]string, len(t.words))
	for i, word := range t.words {
		parts[i] = strings.TrimSpace(nameList(t.names[word], 10) + " " + word)
	}
	return strings.Join(parts, "; ")
}

// waves is a row for each gated wave, and the line to copy for each that waits.
func waves(in Input) string {
	r := in.Report
	if len(r.Waves) == 0 {
		return ""
	}
	table := rowSet{noun: "wave", runURL: in.RunURL, header: "| wave | gate | status | decided by | plan | members |\n|---:|---|---|---|---|---|\n"}
	waiting := ""
	for _, w := range r.Waves {
		var members tally
		for _, m := range r.In(w.Components) {
			members.add(statusWord(m.Status), m.Member)
		}
		table.rows = append(table.rows, fmt.Sprintf("| %d | %s | %s | %s | %s | %s |\n",
			w.Wave, Inline(w.Gate), Text(string(w.Status)), decidedBy(w), digestCell(w.Digest), members.cell()))
		if w.Status == report.WaveWaiting && waiting == "" {
			waiting = toApprove(in, fmt.Sprintf("wave %d", w.Wave), w.Op, w.Gate, w.Digest)
		}
	}
	return table.render(tableRoom) + waiting
}

func decidedBy(w report.Wave) string {
	if len(w.ApprovedBy) > 0 {
		return w.Under() + ", by " + nameList(people(w.ApprovedBy), 3)
	}
	return w.Under()
}

func digestCell(d digest.Digest) string {
	if d.IsZero() {
		return "–"
	}
	return Inline(d.Short())
}

// rounds tells which members were held back and why, and how to approve their
// new plan.
func rounds(in Input) string {
	const shown = 8
	var b strings.Builder
	for _, r := range in.Report.Rounds[:min(len(in.Report.Rounds), shown)] {
		fmt.Fprintf(&b, "**Round %d** at %s, %s", r.Round, Inline(r.Gate), Text(string(r.Status)))
		if len(r.ApprovedBy) > 0 {
			b.WriteString(", approved by " + nameList(people(r.ApprovedBy), 10))
		}
		b.WriteString(": held back, because what they read is not what they were planned with.\n\n" + reads(r) + "\n")
		if r.Status == report.WaveWaiting && !r.Digest.IsZero() {
			b.WriteString(toApprove(in, fmt.Sprintf("round %d", r.Round), r.Op, r.Gate, r.Digest))
		}
	}
	if rest := len(in.Report.Rounds) - shown; rest > 0 {
		fmt.Fprintf(&b, "and %s more, on the run page.\n\n", plural(rest, "round"))
	}
	return b.String()
}

// toApprove is the plan that a round or a wave asks for: what it comes to, all it
// destroys or runs by name, and the line to copy.
func toApprove(in Input, what, op, gate string, d digest.Digest) string {
	const namesRoom = 4000
	var b strings.Builder
	if asked, ok := in.askedAt(gate); ok {
		plan := report.Report{ChangeSet: asked.Document, RunsCode: asked.RunsCode}
		t := changes.Count(asked.Document)
		heavy := "nothing to destroy or replace"
		if t.Delete+t.Replace > 0 {
			heavy = fmt.Sprintf("**%d to destroy, %d to replace**", t.Delete, t.Replace)
		}
		fmt.Fprintf(&b, "Its plan %s: %s · %d to create, %d to update in %s", Inline(d.Short()), heavy, t.Create, t.Update, plural(len(asked.Document.Members), "member"))
		if code := codeSummary(plan); code != "" {
			b.WriteString(" · runs code: " + code)
		}
		b.WriteString("\n\n" + namesOf(plan).render(namesRoom, in.RunURL))
	}
	return b.String() + copyBlock(what, ApproveLine(op, gate, d), in.Ask.Sealed) + needs(in.Ask) + "\n\n"
}

func (in Input) askedAt(gate string) (Asked, bool) {
	i := slices.IndexFunc(in.Asked, func(a Asked) bool { return a.Gate == gate && a.Document != nil })
	if i < 0 {
		return Asked{}, false
	}
	return in.Asked[i], true
}

func reads(r report.Round) string {
	const shown = 5
	var b strings.Builder
	n := 0
	for _, m := range r.Members {
		if len(m.Reads) == 0 {
			if n++; n <= shown {
				fmt.Fprintf(&b, "- %s waits for one of them\n", Inline(m.Member))
			}
		}
		for _, read := range m.Reads {
			if n++; n <= shown {
				fmt.Fprintf(&b, "- %s reads %s: planned with %s, now %s\n", Inline(m.Member), Inline(read.From+"."+read.Output),
					known(read.Planned), known(read.Now))
			}
		}
	}
	if n > shown {
		fmt.Fprintf(&b, "- and %d more\n", n-shown)
	}
	return b.String()
}

func known(value string) string {
	if value == "" {
		return "a value not known yet"
	}
	return Inline(shorten(value, 80))
}
