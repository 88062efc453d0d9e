package web

import (
	"cmp"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/report"
)

// WavesOf lays a report's members out by wave, those of one group beside each other.
// needs gives the components each component depends on; it may be nil, then the
// picture has no lines.
func WavesOf(r report.Report, needs map[string][]string) []Wave {
	byComponent := map[string][]report.Member{}
	for _, m := range r.Members {
		byComponent[m.Component] = append(byComponent[m.Component], m)
	}
	group, place := map[string]string{}, map[string]int{}
	for _, g := range r.Groups {
		for i, m := range g.Members {
			group[m], place[m] = g.Group, i // dependencies first
		}
	}
	var waves []Wave
	for i, components := range r.Selection.Waves {
		w := Wave{Number: i + 1}
		for _, c := range components {
			var before []string
			for _, need := range needs[c] {
				for _, m := range byComponent[need] {
					before = append(before, m.Member)
				}
			}
			if len(byComponent[c]) == 0 {
				w.Members = append(w.Members, Box{Name: c, Status: "not-started", Needs: before})
			}
			for _, m := range byComponent[c] {
				w.Members = append(w.Members, Box{Name: m.Member, Status: string(m.Status), BlockedBy: m.BlockedBy, Needs: before, Group: group[m.Member]})
			}
		}
		slices.SortStableFunc(w.Members, func(a, b Box) int {
			return cmp.Or(strings.Compare(a.Group, b.Group), cmp.Compare(place[a.Name], place[b.Name]))
		})
		waves = append(waves, w)
	}
	for _, w := range r.Waves {
		if i := w.Wave - 1; i >= 0 && i < len(waves) {
			waves[i].Status = statusOf(r, w)
		}
	}
	return waves
}

// statusOf is how a gated wave stands: its report has no word for one that runs.
func statusOf(r report.Report, w report.Wave) string {
	if slices.ContainsFunc(r.In(w.Components), func(m report.Member) bool { return m.Status == running }) {
		return running
	}
	return string(w.Status)
}

// running is the status of a member whose step goes on, as pages are given it.
const running = "running"

// WaveRowsOf are the gated waves of a report.
func WaveRowsOf(r report.Report) []WaveRow {
	var rows []WaveRow
	for _, w := range r.Waves {
		row := WaveRow{Number: w.Wave, Gate: w.Op + " " + w.Gate, Status: statusOf(r, w), Decided: w.Under(), Digest: w.Digest.String()}
		if len(w.ApprovedBy) > 0 {
			row.Decided += ", by " + strings.Join(w.ApprovedBy, ", ")
		}
		for _, m := range r.In(w.Components) {
			row.Members = append(row.Members, End{m.Member, string(m.Status)})
		}
		rows = append(rows, row)
	}
	return rows
}

// GroupsOf are the groups of a report, with the end of each member once it is known.
func GroupsOf(r report.Report) []Group {
	var out []Group
	for _, g := range r.Groups {
		row := Group{Name: g.Group, Wave: g.Wave, Digest: g.Digest.String()}
		end := map[string]string{}
		for _, o := range g.Outcome {
			end[o.Member] = string(o.Status)
		}
		for _, m := range g.Members {
			row.Members = append(row.Members, End{m, end[m]})
		}
		out = append(out, row)
	}
	return out
}

// FallbacksOf are the components of a report that were planned by themselves.
func FallbacksOf(r report.Report) []Fallback {
	var out []Fallback
	for _, f := range r.Fallbacks {
		out = append(out, Fallback{f.Component, string(f.Kind), f.Reason})
	}
	return out
}
