package note

import (
	"slices"

	"github.com/chant-bot/chant/engine"
)

// local is the note with people named as on its own forge: "alice", where the ledger
// has "forgejo@git.example.org:alice".
func (in Input) local() Input {
	if in.Forge.Host == "" {
		return in
	}
	in.Ask.Approvers, in.Ask.Excluded = in.here(in.Ask.Approvers), in.here(in.Ask.Excluded)
	r := &in.Report
	r.Approval.ApprovedBy = in.here(r.Approval.ApprovedBy)
	r.Rounds, r.Waves = slices.Clone(r.Rounds), slices.Clone(r.Waves)
	for i := range r.Rounds {
		r.Rounds[i].ApprovedBy = in.here(r.Rounds[i].ApprovedBy)
	}
	for i := range r.Waves {
		r.Waves[i].ApprovedBy = in.here(r.Waves[i].ApprovedBy)
	}
	if r.Green != nil {
		green := *r.Green
		green.Merges = slices.Clone(green.Merges)
		for i := range green.Merges {
			green.Merges[i].ApprovedBy = in.here(green.Merges[i].ApprovedBy)
		}
		r.Green = &green
	}
	return in
}

func (in Input) here(principals []string) []string { return here(in.Forge, principals) }

// here names people and teams of a forge as it does.
func here(forge engine.Instance, principals []string) []string {
	out := slices.Clone(principals)
	for i, p := range out {
		if login, ours := forge.Login(p); ours {
			out[i] = login
		} else if org, team, ours := forge.Team(p); ours {
			out[i] = org + "/" + team
		}
	}
	return out
}
