package note

import (
	"fmt"
	"strings"

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

// waves is a row for each gated wave.
func waves(in Input) string {
	r := in.Report
	if len(r.Waves) == 0 {
		return ""
	}
	table := rowSet{noun: "wave", runURL: in.RunURL, header: "| wave | gate | status | decided by | plan | members |\n|---:|---|---|---|---|---|\n"}
	for _, w := range r.Waves {
		var members tally
		for _, m := range r.In(w.Components) {
			members.add(statusWord(m.Status), m.Member)
		}
		table.rows = append(table.rows, fmt.Sprintf("| %d | %s | %s | %s | %s | %s |\n",
			w.Wave, Inline(w.Gate), waveWord(w.Status), decidedBy(w), digestCell(w.Digest), members.cell()))
	}
	return table.render(tableRoom)
}

func waveWord(s report.WaveStatus) string {
	if s == report.WaveNotStarted {
		return "not started"
	}
	return Text(string(s))
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
