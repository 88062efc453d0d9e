package usecase

import (
	"context"
	"errors"
	"fmt"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
)

// Target is the commit to apply and what it is measured from.
type Target struct {
	Commit, base string
	line         []git.Commit // the branch's first-parent line, newest first
	Policy       Policy
	Prefix       string
	Refusal      string // why it is not green
	Done         bool   // it is the commit last applied
	first        bool   // nothing was applied to the env yet
	// follows is the token of the attempt that stood when this was found.
	follows string
	// tried are the commits whose apply started since the last that finished.
	tried []string
	// held are the members that a release of this commit kept for rounds.
	held map[string]int
}

// GreenTarget finds the commit to apply, proves that it counts as green and
// that it is not older than what was applied or tried before (pr-loop §6.4,
// decisions 5 and 18).
func (st *Stage) GreenTarget(ctx context.Context, in ApplyInput) (Target, error) {
	var t Target
	if err := in.Site.FetchBranch(ctx, in.Branch); err != nil {
		return t, err
	}
	tip, line, err := in.Site.lineOf(ctx, in.Branch)
	if err != nil {
		return t, err
	}
	t.line = line
	declaration, err := in.Site.Declaration(ctx, tip)
	if err != nil {
		return t, err
	}
	tags, err := in.Site.greenTags(ctx)
	if err != nil {
		return t, err
	}
	counting := green.Count(tags, shas(t.line))
	if t.Commit = in.Commit; t.Commit == "" {
		if t.Commit, _ = green.Last(shas(t.line), tags); t.Commit == "" {
			return t, Refusef("no commit of %s has a counting ci/green tag; chant ci tick gives one to what is green", in.Branch)
		}
	}
	if !counting.Green[t.Commit] {
		t.Refusal = notGreen(t.Commit, in.Branch, counting)
		t.base = t.Commit
		return t, t.bind(in, st.DefaultEnv, declaration, nil)
	}
	return t, st.measure(ctx, in, &t, declaration, counting)
}

// measure finds the base and the policy of a green commit.
func (st *Stage) measure(ctx context.Context, in ApplyInput, t *Target, declaration *project.Declaration, counting green.Counting) error {
	t.Prefix = project.LedgerPrefix(in.Member)
	snap, err := in.Site.Snapshot(ctx)
	if err != nil {
		return err
	}
	attempt, applied, err := readProgress(snap, t.Prefix, in.Env)
	if err != nil {
		return err
	}
	if err := record.Fence(t.Commit, shas(t.line), attempt, applied, ""); err != nil {
		return &Refusal{Message: fmt.Sprintf("%s is not applied: %v", project.Short(t.Commit), err)}
	}
	first, err := readBase(snap, t.Prefix, in.Env)
	if err == nil && applied == nil && first == nil {
		first, err = recordedFrom(snap, t.Prefix, in.Env, t.line)
	}
	if err != nil {
		return err
	}
	if attempt != nil {
		t.follows = attempt.Token
		if attempt.Commit == t.Commit {
			t.held = attempt.Rounds
		}
	}
	t.first, t.tried = applied == nil, record.Unfinished(t.Commit, shas(t.line), attempt, applied)
	t.base = baseOf(t.Commit, in.Base, t.line, attempt, applied, first, counting)
	if t.base == "" {
		return Refusef("%s is the first commit of %s, so there is nothing to measure a change from; the next green commit is measured from it", project.Short(t.Commit), in.Branch)
	}
	t.Done = applied != nil && applied.Commit == t.Commit
	atBase, err := in.Site.Declaration(ctx, t.base)
	if err != nil && ForPeople(err) == nil {
		return err
	}
	if err := t.bind(in, st.DefaultEnv, declaration, atBase); err != nil {
		return err
	}
	if !t.Done {
		t.Refusal, err = st.judgeAgain(ctx, in.Site, t.Commit, declaration)
	}
	return err
}

// judgeAgain reads the checks once more where this server makes the tags itself,
// and says why the commit is not green after all (decision 5).
func (st *Stage) judgeAgain(ctx context.Context, site *Site, commit string, d *project.Declaration) (string, error) {
	if d.Green == nil || site.Forge == nil || d.Bot == nil || !d.Bot.Tick {
		return "", nil
	}
	runs, err := site.Forge.CheckRuns(ctx, site.Repo, commit)
	if err != nil {
		return "", fmt.Errorf("reading the checks of %s again: %w", commit, err)
	}
	if v := green.Judge(*d.Green, runs); v.State != green.Pass {
		return fmt.Sprintf("%s has a green tag, but its checks do not pass now (phase %s)", project.Short(commit), v.Phase), nil
	}
	return "", nil
}

// lineOf is a fetched branch's tip and first-parent line, newest first.
func (s *Site) lineOf(ctx context.Context, branch string) (tip string, line []git.Commit, err error) {
	if tip, err = s.Clone.Resolve(ctx, s.branchRef(branch)); err != nil {
		return "", nil, err
	}
	line, err = s.Clone.FirstParents(ctx, tip, git.Walk{})
	return tip, line, err
}

// fetchAgain fetches a branch that this stage fetched before.
func (s *Site) fetchAgain(ctx context.Context, branch string) error {
	delete(s.fetched, branch)
	return s.FetchBranch(ctx, branch)
}

// bind reads the env's policy from the branch tip and the base of the applied
// range, the stricter of the two (decision 2).
func (t *Target) bind(in ApplyInput, defaultEnv string, tip, base *project.Declaration) error {
	d := tip
	if base != nil {
		d = project.Stricter(base, tip)
	}
	for _, env := range d.EnvsOf(in.Branch, defaultEnv) {
		if env.Name != in.Env {
			continue
		}
		if in.Gate != "" {
			env.Gate = in.Gate
		}
		switch {
		case in.WaveGate == "" || in.WaveGate == env.WaveGate:
		case env.WaveGate != "":
			return Refusef("env %s declares the wave gate %s; leave out another one", env.Name, env.WaveGate)
		default:
			env.WaveGate = in.WaveGate
		}
		if in.Wave > 0 && env.WaveGate == "" {
			return Refusef("env %s gates no waves, so that none can be applied alone; declare its waveGate, or name one", env.Name)
		}
		t.Policy = PolicyOf(d, env)
		t.Policy.ReviewRules = t.Policy.ReviewRules || in.RequireReview
		return nil
	}
	return Refusef("env %q is not declared for branch %s", in.Env, in.Branch)
}

// PolicyNow is the policy that binds an apply's gates as the branch stands now: that under
// which an approval given now is decided, whatever the apply began under.
func (st *Stage) PolicyNow(ctx context.Context, site *Site, a *Apply) (Policy, error) {
	tip, err := site.TipOf(ctx, a.Branch)
	if err != nil {
		return Policy{}, err
	}
	d, err := site.Declaration(ctx, tip)
	if err != nil {
		return Policy{}, err
	}
	atBase, err := site.Declaration(ctx, a.Report.Base)
	if err != nil && ForPeople(err) == nil {
		return Policy{}, err
	}
	var t Target
	err = t.bind(ApplyInput{Branch: a.Branch, Env: a.Policy.Env.Name}, st.DefaultEnv, d, atBase)
	return t.Policy, err
}

func notGreen(commit, branch string, counting green.Counting) string {
	for _, p := range counting.Problems {
		return fmt.Sprintf("%s is not green: %s", project.Short(commit), p)
	}
	return fmt.Sprintf("%s has no counting ci/green tag on %s, or was revoked", project.Short(commit), branch)
}

// readProgress reads the attempt and the last apply of an env.
func readProgress(snap *ledger.Snapshot, prefix, env string) (*record.Attempt, *record.Apply, error) {
	var attempt *record.Attempt
	var applied *record.Apply
	data, found, err := snap.Read(record.AttemptPath(prefix, env))
	if err != nil {
		return nil, nil, err
	}
	if found {
		a, err := record.ParseAttempt(data)
		if err != nil {
			return nil, nil, err
		}
		attempt = &a
	}
	if data, found, err = snap.Read(record.GreenApplyPath(prefix, env)); err != nil {
		return nil, nil, err
	}
	if found {
		a, err := record.ParseApply(data)
		if err != nil {
			return nil, nil, err
		}
		applied = &a
	}
	return attempt, applied, nil
}

// readMerges loads the merges of the range that were recorded approved, newest
// first, each with whether its approval stands now. All merges go to the report.
func (st *Stage) readMerges(ctx context.Context, site *Site, snap *ledger.Snapshot, t Target, a *Apply) ([]cover.Merge, error) {
	var err error
	if a.Report.Green.Merges, a.Merges, err = mergesOf(snap, t); err != nil {
		return nil, err
	}
	return st.coverMerges(ctx, site, snap, a)
}

// coverMerges are the approved ones of the apply's merges.
func (st *Stage) coverMerges(ctx context.Context, site *Site, snap *ledger.Snapshot, a *Apply) ([]cover.Merge, error) {
	var out []cover.Merge
	for _, m := range a.Merges {
		if m.Approved == nil {
			continue
		}
		merge, err := st.coverMerge(ctx, site, snap, a, m)
		if err != nil {
			return nil, err
		}
		out = append(out, merge)
	}
	return out, nil
}

// mergesOf are the commits of the range, newest first, with how each was merged, and the
// records of those that have one.
func mergesOf(snap *ledger.Snapshot, t Target) (rows []report.Merge, merges []record.Merge, err error) {
	for _, c := range between(t.line, t.Commit, t.base) {
		data, found, err := snap.Read(record.MergePath(t.Prefix, t.Policy.Env.Name, c.SHA))
		if err != nil {
			return nil, nil, err
		}
		row := report.Merge{Commit: c.SHA}
		if found {
			m, err := record.ParseMerge(data)
			if err != nil {
				return nil, nil, err
			}
			row.PR, row.Approved, row.ApprovedBy = m.PR, m.Approved, m.Approval.ApprovedBy
			merges = append(merges, m)
		}
		rows = append(rows, row)
	}
	return rows, merges, nil
}

func (st *Stage) coverMerge(ctx context.Context, site *Site, snap *ledger.Snapshot, a *Apply, m record.Merge) (cover.Merge, error) {
	standing, err := st.mergeStands(ctx, site, snap, a.Prefix, a.Policy, m)
	if err != nil {
		return cover.Merge{}, err
	}
	side, err := approvedSide(snap, a.Prefix, *m.Approved, "")
	if err != nil {
		return cover.Merge{}, err
	}
	if side.Doc != nil {
		side.Sources, side.Code = m.Sources, m.Code
	}
	return cover.Merge{
		PR: *m.PR, Commit: m.Commit, Op: m.Op, Gate: m.Gate, Digest: *m.Approved, Revoked: !standing, Side: side,
	}, nil
}

// mergeStands asks the pull request's own gate whether the approval the merge
// was recorded with still stands (pr-loop §6.4, step 4).
func (st *Stage) mergeStands(ctx context.Context, site *Site, snap *ledger.Snapshot, prefix string, p Policy, m record.Merge) (bool, error) {
	rule, err := site.standingRule(ctx, p, m)
	if err != nil {
		return false, err
	}
	q := st.Query(p, m.Op, *m.Approved)
	q.Gate = m.Gate
	who := site.Approvers(p.Env, rule)
	who.until = m.Timestamp
	d, _, err := Decide(ctx, snap, prefix, q, who)
	return d.Satisfied, err
}

// ErrNoReviews: reviews are to be read and no forge was named.
var ErrNoReviews = errors.New("the review rule is on and no forge was given to read reviews from; add --forge, and a token in CHANT_FORGE_TOKEN")

// standingRule is the review rule of a merged pull request, with its reviews as
// they stand now and its authors as they were recorded.
func (s *Site) standingRule(ctx context.Context, p Policy, m record.Merge) (*gate.ReviewRule, error) {
	if !p.ReviewRules {
		return nil, nil
	}
	if s.Forge == nil {
		return nil, ErrNoReviews
	}
	rule := authorsRule(m.Authors)
	reviewers, err := s.standingReviewers(ctx, *m.PR)
	if err != nil {
		return nil, err
	}
	rule.NeedReview, rule.Reviewers = true, reviewers
	return rule, nil
}

// between lists the first-parent commits in (base, commit], newest first.
func between(line []git.Commit, commit, base string) []git.Commit {
	var out []git.Commit
	for _, c := range line {
		if c.SHA == base {
			break
		}
		if c.SHA == commit || len(out) > 0 {
			out = append(out, c)
		}
	}
	return out
}

func shas(line []git.Commit) []string {
	out := make([]string, len(line))
	for i, c := range line {
		out[i] = c.SHA
	}
	return out
}
