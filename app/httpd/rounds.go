package httpd

import (
	"github.com/chant-bot/chant/app/web"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/sql/store"
)

// roundsOf are the rounds of an apply, with what its members read. One that waits
// has the line to copy, unless a later run decided since.
func roundsOf(rep report.Report, repo store.Repo, row store.Run, url string, decided bool) []web.Round {
	var out []web.Round
	for _, r := range rep.Rounds {
		g := gateOf(rep, repo, row, url)
		g.Name, g.Digest, g.Weight = r.Gate, r.Digest.String(), nil
		g.ApprovedBy, g.Approve = r.ApprovedBy, r.Approve
		switch {
		case r.Status != report.WaveWaiting:
			g.Status, g.Missing = "approved", 0
		case decided:
			g.Status, g.Missing, g.Approve = "superseded", 0, ""
		}
		round := web.Round{Number: r.Round, Gate: g}
		for _, m := range r.Members {
			for _, read := range m.Reads {
				round.Reads = append(round.Reads, web.Read{Member: m.Member, From: read.From + "." + read.Output, Planned: read.Planned, Now: read.Now})
			}
		}
		out = append(out, round)
	}
	return out
}

// waveGates are the gates of an apply's waves that wait.
func waveGates(rep report.Report, repo store.Repo, row store.Run, url string) []web.Gate {
	var out []web.Gate
	for _, w := range rep.Waves {
		if w.Status != report.WaveWaiting {
			continue
		}
		g := gateOf(rep, repo, row, url)
		g.Name, g.Digest, g.Weight, g.Approve = w.Gate, w.Digest.String(), nil, w.Approve
		out = append(out, g)
	}
	return out
}
