package settle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/forges"
)

// asking is how the code of a pull request comes to be run.
type asking int

const (
	unasked asking = iota
	onRequest
	never
)

// whoIsPlanned tells how a head comes to be planned and the words for who waits
// (soundness, walls). It goes by the base branch's declaration alone: a change
// must not decide about itself.
func whoIsPlanned(change engine.Change, base *project.Declaration) (asking, string) {
	policy := project.PlanPolicy{Forks: "never"}
	if base.Bot != nil {
		policy = base.Bot.Plan
	}
	switch {
	case change.Fork && policy.Forks != "on-command":
		return never, "not planned: pull requests of forks are not planned here"
	case change.Fork:
		return onRequest, "waits: a fork is planned on `chant plan <full head sha>`"
	case change.Draft && !policy.Drafts:
		return onRequest, "waits: a draft is planned when it is ready, or on `chant plan`"
	case change.Author.Bot:
		return onRequest, "waits: a bot's pull request is planned on `chant plan`"
	case change.FirstTimer:
		return onRequest, "waits: a first-time author's is planned on `chant plan`"
	}
	return unasked, ""
}

// notPlanned says why the code of a head is not run, "" when it may be: nobody
// has to ask for it, or somebody did, for exactly this head. Settle and the plan
// stage both ask here.
func (s *Settler) notPlanned(ctx context.Context, site *usecase.Site, change engine.Change, base *project.Declaration) (string, error) {
	how, why := whoIsPlanned(change, base)
	if how == unasked && site.Forge != nil {
		var err error
		if change.FirstTimer, err = site.Forge.FirstTimer(ctx, change); err != nil {
			return "", fmt.Errorf("reading whether the author of #%d is new here: %w", change.Number, err)
		}
		how, why = whoIsPlanned(change, base)
	}
	if how != onRequest {
		return why, nil
	}
	asked, err := s.Facts.PlanRequested(ctx, site.Repo, change.Number, change.Head)
	if err != nil || asked {
		return "", err
	}
	return why, nil
}

// neverPlanned tells whether the code of a pull request is not run even where a
// person asks for it.
func (s *Settler) neverPlanned(ctx context.Context, site *usecase.Site, change engine.Change) (bool, error) {
	base, _, err := site.BoundNow(ctx, change.BaseBranch)
	if err != nil {
		return false, unlessGone(err)
	}
	how, _ := whoIsPlanned(change, base.Declaration)
	return how == never, nil
}

// awaitPlan queues the plan of a head that has none, unless a person has to ask
// for it first. The plan starts while its statuses are set.
func (s *Settler) awaitPlan(ctx context.Context, site *usecase.Site, read reading, baseTip string) error {
	change := read.change
	base, err := site.Bound(ctx, baseTip)
	if err != nil {
		return err
	}
	places := base.Places(change.BaseBranch, s.DefaultEnv)
	fetched := make(chan struct{})
	return together(
		func() error {
			defer close(fetched)
			if change.Fork || len(places) == 0 {
				return nil // it may be never planned, and is then never brought here
			}
			return ahead(func() error { return site.FetchHead(ctx, change.Number, change.Head) })()
		},
		func() error {
			state, description := note.PendingStatus("plan", nil)
			why, err := s.notPlanned(ctx, site, change, base.Declaration)
			if err != nil {
				return err
			}
			if why != "" {
				description = why
			}
			if why == "" && len(places) > 0 {
				s.toPlan.give(site.Repo, change.Number, toPlan{reading: read, head: fetched}, s.Now())
				if err := s.Next.QueuePlan(ctx, site.Repo, change.Number, change.Head, change.BaseBranch); err != nil {
					return err
				}
			}
			select { // the plan waits for the head, and nobody for the statuses
			case <-fetched:
			case <-time.After(handedFor):
			}
			return s.sayEverywhere(ctx, site, change.Head, project.StagePlan, places, forges.StatusState(state), description)
		},
	)
}

// plansOf are the plans of a head that stand. A base branch that moved alone
// takes none away; one that binds other envs since does, where no plan is of any
// of them.
func (s *Settler) plansOf(ctx context.Context, site *usecase.Site, change engine.Change, baseTip string) ([]KeptPlan, error) {
	plans, err := s.Facts.Planned(ctx, site.Repo, change.Number, change.Head, change.BaseBranch)
	if err != nil || len(plans) == 0 {
		return nil, err
	}
	base, err := site.BoundAt(ctx, baseTip)
	if err != nil {
		if usecase.ForPeople(err) != nil {
			return plans, nil //nolint:nilerr // the note says it
		}
		return nil, err
	}
	envs := base.EnvsOf(change.BaseBranch, s.DefaultEnv)
	stands := func(p KeptPlan) bool {
		return p.BaseTip == baseTip || slices.ContainsFunc(envs, func(e project.Env) bool { return e.Name == p.Env })
	}
	if len(envs) == 0 || slices.ContainsFunc(plans, stands) {
		return plans, nil
	}
	return nil, nil
}

// PlannedChange is what planning a pull request came to.
type PlannedChange struct {
	Plans   []usecase.PullPlan // at least one
	Trust   usecase.Trust
	BaseTip string

	seen *seen
}

// PlanWish is a head to plan, while it is the head of its pull request.
type PlanWish struct {
	Number           int
	Head, BaseBranch string
	Again            bool // though a plan of it stands
}

// PlanChange fetches what a pull request needs and plans it against the base
// branch's tip. It is the last that stands before the code runs, so it goes by the
// pull request as it is now and asks itself whether it may, unless the settle that
// queued it did both a moment ago; nil when it may not or need not.
func (s *Settler) PlanChange(ctx context.Context, site *usecase.Site, wish PlanWish, dir string) (*PlannedChange, error) {
	read, may, err := s.wished(ctx, site, wish)
	if err != nil || !may {
		return nil, err
	}
	change := read.change
	base, tip, err := site.BoundNow(ctx, change.BaseBranch)
	if err != nil {
		return nil, unlessGone(err)
	}
	if kept, err := s.plansOf(ctx, site, change, tip); err != nil || len(kept) > 0 && !wish.Again {
		return nil, err
	}
	if err := site.FetchHead(ctx, change.Number, change.Head); err != nil {
		return nil, err
	}
	done := &PlannedChange{BaseTip: tip, seen: &seen{reading: read}}
	in := usecase.PullInput{
		Site: site, Head: change.Head, BaseTip: tip, BaseBranch: change.BaseBranch, Number: change.Number, Dir: dir,
		Ending: func() { s.see(ctx, site, change, base.Places(change.BaseBranch, s.DefaultEnv), done.seen) },
	}
	if done.Plans, done.Trust, err = s.PlanPull(ctx, in); err != nil {
		done.Wait()
		return nil, err
	}
	if len(done.Plans) == 0 {
		nothing, err := s.nothingPlanned(ctx, in)
		if err != nil {
			return nil, err
		}
		done.Plans = []usecase.PullPlan{nothing}
	}
	return done, nil
}

// wished is the pull request of a wish, and whether its code may be run: it may not
// once it has another head or base branch, which have a wish of their own, or is not
// open any more. What planning it needs is fetched meanwhile.
func (s *Settler) wished(ctx context.Context, site *usecase.Site, wish PlanWish) (read reading, may bool, err error) {
	if read, given := s.takePlan(ctx, site, wish); given {
		return read, true, nil
	}
	var change engine.Change
	err = together(
		func() (err error) { change, err = site.Forge.Change(ctx, site.Repo, wish.Number); return err },
		ahead(func() error { return site.FetchBranch(ctx, wish.BaseBranch) }),
		ahead(func() error { return site.FetchHead(ctx, wish.Number, wish.Head) }),
	)
	if errors.Is(err, forges.ErrNotFound) {
		return reading{}, false, nil
	}
	if err != nil || change.State != engine.Open || change.Head != wish.Head || change.BaseBranch != wish.BaseBranch {
		return reading{}, false, err
	}
	base, _, err := site.BoundNow(ctx, change.BaseBranch)
	if err != nil {
		return reading{}, false, unlessGone(err)
	}
	why, err := s.notPlanned(ctx, site, change, base.Declaration)
	return reading{change: change}, err == nil && why == "", err
}

// nothingPlanned is the plan of a pull request no env takes, so that it is known
// to be planned and why it came to nothing.
func (s *Settler) nothingPlanned(ctx context.Context, in usecase.PullInput) (usecase.PullPlan, error) {
	mergeBase, err := in.Site.Clone.MergeBase(ctx, in.BaseTip, in.Head)
	if err != nil {
		return usecase.PullPlan{}, err
	}
	p := usecase.Policy{Env: project.Env{Name: s.DefaultEnv, Gate: project.DefaultGate}}
	r, err := in.FailedReport(p, "", mergeBase, fmt.Errorf("no env of chant.workspace.json takes pull requests into %s", in.BaseBranch))
	r.Status = report.Nothing
	return usecase.PullPlan{Policy: p, Report: r}, err
}

// closeRest ends the statuses a head was promised before it was planned and that
// no plan of it took up: its own workspace has no such project or env.
func (s *Settler) closeRest(ctx context.Context, site *usecase.Site, change engine.Change, baseTip string, plans []KeptPlan, shown map[string]bool) error {
	base, err := site.Bound(ctx, baseTip)
	if err != nil {
		return err
	}
	description := "nothing to plan: the change has no such project"
	for _, p := range plans {
		if p.Report.Status == report.Nothing && p.Report.Message != "" {
			description = "nothing to plan: " + p.Report.Message
		}
	}
	rest := slices.DeleteFunc(base.Places(change.BaseBranch, s.DefaultEnv), func(p usecase.StatusPlace) bool {
		return shown[p.Context(project.StagePlan)]
	})
	if err := s.sayEverywhere(ctx, site, change.Head, project.StagePlan, rest, forges.StatusSuccess, description); err != nil {
		return err
	}
	return s.sayEverywhere(ctx, site, change.Head, project.StageApply, rest, forges.StatusSuccess, "nothing to apply")
}
