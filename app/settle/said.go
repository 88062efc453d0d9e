package settle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/forges"
)

// ledgerTrouble says what people have to look at before the ledger is used again,
// "" where it only did not answer.
func ledgerTrouble(cause error) string {
	switch {
	case errors.Is(cause, ledger.ErrRewound):
		return "the ledger was rewound"
	case errors.Is(cause, ledger.ErrDiverged):
		return "the ledger has diverged"
	}
	return ""
}

// ledgerUnusable says on a commit that no gate can be read, and what makes it
// readable again; the settle that can read it says how things stand. A ledger
// that did not answer is tried again without a word. Nothing is read as approved
// or not approved.
func (s *Settler) ledgerUnusable(ctx context.Context, site *usecase.Site, sha string, places []usecase.StatusPlace, cause error) error {
	trouble := ledgerTrouble(cause)
	if trouble == "" {
		return cause
	}
	return errors.Join(cause, s.sayEverywhere(ctx, site, sha, project.StageApply, places, forges.StatusFailure,
		trouble+": no gate is read until `chant ledger accept`"))
}

// warnOfStatuses names, in the note, the statuses the forge does not take (cases,
// atlantis 2601).
func (s *Settler) warnOfStatuses(ctx context.Context, site *usecase.Site, sha string, at usecase.StatusPlace, in *note.Input) error {
	var refused []string
	for _, stage := range []string{project.StagePlan, project.StageApply} {
		yes, err := s.Poster.Refused(ctx, site, sha, at.Context(stage))
		if err != nil {
			return err
		}
		if yes {
			refused = append(refused, at.Context(stage))
		}
	}
	if len(refused) > 0 {
		in.Warnings = append(slices.Clip(in.Warnings), fmt.Sprintf("The forge does not take the status %s on this commit; this note alone shows how it stands.", strings.Join(refused, " and ")))
	}
	return nil
}

// tell writes the note, which people wait for, and then sets the statuses, each
// whether or not the other could be said. The note says which statuses the forge
// does not take, so it is written once more when that turns out otherwise.
func (s *Settler) tell(ctx context.Context, site *usecase.Site, change engine.Change, at usecase.StatusPlace, in note.Input, statuses func() error) (noted, said error) {
	warned := in
	if err := s.warnOfStatuses(ctx, site, change.Head, at, &warned); err != nil {
		return err, statuses()
	}
	noted, said = s.Poster.Note(ctx, site, change.Number, in.Marker, warned), statuses()
	if err := s.warnOfStatuses(ctx, site, change.Head, at, &in); err != nil {
		return errors.Join(noted, err), said
	}
	if !slices.Equal(warned.Warnings, in.Warnings) {
		noted = s.Poster.Note(ctx, site, change.Number, in.Marker, in)
	}
	return noted, said
}

// callFor writes the short second comment where one person or one team has to
// approve: edits of the note notify nobody. Once for a plan, and only where the
// env names exactly one.
func (s *Settler) callFor(ctx context.Context, site *usecase.Site, number int, in note.Input) error {
	who, ok := onlyApprover(site.Repo.Instance, in)
	op, gate, d, asks := note.AskedFor(in)
	if !ok || !asks || d.IsZero() {
		return nil
	}
	marker := fmt.Sprintf("<!-- chant-call:%s:%s:%s:%s -->", op, gate, in.Report.Env, d.Hex())
	return s.Poster.Once(ctx, site, number, marker, note.ActNow(in, who, in.RunURL))
}

// onlyApprover is who alone can open the gate the note asks at: a login, or
// org/team.
func onlyApprover(forge engine.Instance, in note.Input) (string, bool) {
	if _, _, _, asks := note.AskedFor(in); !asks || len(in.Ask.Approvers) != 1 {
		return "", false
	}
	who := in.Ask.Approvers[0]
	if org, team, ok := forge.Team(who); ok {
		return org + "/" + team, true
	}
	login, ours := forge.Login(who)
	if !ours {
		return "", false
	}
	return login, true
}
