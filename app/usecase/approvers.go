package usecase

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/forges"
)

// Approvers answers, for one gate and one moment, why a principal's approval
// does not count. It reads the forge as it stands now (soundness I1, I2): a
// permission taken away takes the approval with it. Not safe for concurrent use.
type Approvers struct {
	forge forges.Forge
	repo  engine.Repo
	env   project.Env
	// rule is nil where the review rule is off.
	rule *gate.ReviewRule
	// reviewers reads those of the rule when the first approver is judged; nil
	// where the rule has them.
	reviewers func(context.Context) ([]string, error)
	// until is the stamp of the merge's record: what is approved on a pull
	// request after it merged does not count (decision 4). Empty is no bound.
	until string

	reasons map[string]string
	Err     error // the first failed read; a decision made with it is void
}

// Approvers judge for an env, by rule where there is one.
func (s *Site) Approvers(env project.Env, rule *gate.ReviewRule) *Approvers {
	return &Approvers{forge: s.Forge, repo: s.Repo, env: env, rule: rule, reasons: map[string]string{}}
}

// ApproversOf judges by the review rule of a pull request whose authors are known; its
// reviews are read once there is an approval to judge.
func (s *Site) ApproversOf(env project.Env, number int, authors []string) (*gate.ReviewRule, *Approvers) {
	rule := authorsRule(authors)
	rule.NeedReview = true
	who := s.Approvers(env, rule)
	who.reviewers = func(ctx context.Context) ([]string, error) {
		if s.reviewers == nil {
			read, err := s.standingReviewers(ctx, number)
			if err != nil {
				return nil, err
			}
			s.reviewers = &read
		}
		return *s.reviewers, nil
	}
	return rule, who
}

// exclude is what gate.Query.Exclude asks.
func (a *Approvers) exclude(ctx context.Context) func(gate.Record) string {
	return func(r gate.Record) string {
		if a.until != "" && r.Timestamp > a.until {
			return "it was given after the merge"
		}
		return a.Refuse(ctx, r.ResolvedBy)
	}
}

// Refuse says why principal's approval does not count, "" when it does.
func (a *Approvers) Refuse(ctx context.Context, principal string) string {
	if reason, ok := a.reasons[principal]; ok {
		return reason
	}
	reason, err := a.judge(ctx, principal)
	if err != nil {
		if a.Err == nil {
			a.Err = fmt.Errorf("reading whether %s may approve: %w", principal, err)
		}
		return "whether they may approve could not be read"
	}
	a.reasons[principal] = reason
	return reason
}

func (a *Approvers) judge(ctx context.Context, principal string) (string, error) {
	if a.reviewers != nil {
		reviewers, err := a.reviewers(ctx)
		if err != nil {
			return "", err
		}
		rule := *a.rule
		rule.Reviewers = reviewers
		a.rule, a.reviewers = &rule, nil
	}
	if a.forge != nil {
		login, ours := a.repo.Instance.Login(principal)
		if !ours {
			return fmt.Sprintf("%s names no account of %s, so what it may do cannot be read; approve as %s", principal, a.repo.Instance.Host, a.repo.Instance.Principal("<you>")), nil
		}
		permission, err := PermissionOf(ctx, a.forge, a.repo, login)
		if err != nil {
			return "", err
		}
		if permission != forges.Write && permission != forges.Admin {
			return fmt.Sprintf("%s has no write permission on %s", principal, a.repo.FullName()), nil
		}
	}
	for _, list := range append([][]string{a.env.Approvers}, a.env.AlsoApprovers...) {
		if list == nil {
			continue
		}
		on, err := a.listed(ctx, list, principal)
		if err != nil {
			return "", err
		}
		if !on {
			return fmt.Sprintf("%s is not among the approvers of env %s: %s", principal, a.env.Name, strings.Join(list, ", ")), nil
		}
	}
	if a.rule != nil {
		return a.rule.Refuse(principal), nil
	}
	return "", nil
}

// PermissionOf is what an account may do in a repository now. One the forge does
// not know, because it was deleted or took another name, may do nothing; one
// that wrote something and is deleted has no login any more.
func PermissionOf(ctx context.Context, forge forges.Forge, repo engine.Repo, login string) (forges.Permission, error) {
	if login == "" {
		return forges.NoAccess, nil
	}
	permission, err := forge.Permission(ctx, repo, login)
	if errors.Is(err, forges.ErrNotFound) {
		return forges.NoAccess, nil
	}
	return permission, err
}

// listed tells whether principal, or a team it is in, is on the list.
func (a *Approvers) listed(ctx context.Context, list []string, principal string) (bool, error) {
	if slices.Contains(list, strings.ToLower(strings.TrimSpace(principal))) {
		return true, nil
	}
	login, ours := a.repo.Instance.Login(principal)
	if !ours || a.forge == nil {
		return false, nil
	}
	for _, entry := range list {
		org, team, ok := a.repo.Instance.Team(entry)
		if !ok {
			continue
		}
		in, err := a.forge.TeamMember(ctx, org, team, login)
		if err != nil {
			return false, err
		}
		if in {
			return true, nil
		}
	}
	return false, nil
}

// unresolvedAuthor marks, in a list of principals, an author whose account is
// not known. No principal starts like it.
const unresolvedAuthor = "unresolved:"

// ReviewRule reads who wrote a pull request and who reviewed it (pr-loop
// §5.10). Authors come from git, whole, and are joined with the forge's logins.
func (s *Site) ReviewRule(ctx context.Context, change engine.Change, base string) (*gate.ReviewRule, error) {
	authors, err := s.Authors(ctx, change, base)
	if err != nil {
		return nil, err
	}
	reviewers, err := s.standingReviewers(ctx, change.Number)
	if err != nil {
		return nil, err
	}
	rule := authorsRule(authors)
	rule.NeedReview, rule.Reviewers = true, reviewers
	return rule, nil
}

// standingReviewers are the principals whose approving review stands now: nobody's
// where the forge has no such thing.
func (s *Site) standingReviewers(ctx context.Context, number int) ([]string, error) {
	reviews, err := s.Forge.Reviews(ctx, s.Repo, number)
	if err != nil && !errors.Is(err, forges.ErrNotSupported) {
		return nil, fmt.Errorf("reading the reviews of #%d: %w", number, err)
	}
	plain := make([]gate.Review, 0, len(reviews))
	for _, r := range reviews {
		plain = append(plain, gate.Review{Principal: s.Repo.Instance.Principal(r.Author.Login), State: string(r.State)})
	}
	return gate.StandingReviewers(plain), nil
}

// authorsRule excludes the people who wrote the change and asks for no review.
func authorsRule(authors []string) *gate.ReviewRule {
	rule := &gate.ReviewRule{}
	for _, a := range authors {
		if email, unresolved := strings.CutPrefix(a, unresolvedAuthor); unresolved {
			rule.Unresolved = append(rule.Unresolved, email)
		} else {
			rule.Authors = append(rule.Authors, a)
		}
	}
	return rule
}

// Authors lists everybody who wrote the change, as principals; who has no known
// account is marked with unresolvedAuthor.
func (s *Site) Authors(ctx context.Context, change engine.Change, base string) ([]string, error) {
	known, err := s.Forge.Authors(ctx, s.Repo, change.Number)
	if err != nil {
		return nil, fmt.Errorf("reading who wrote #%d: %w", change.Number, err)
	}
	if err := s.FetchHead(ctx, change.Number, change.Head); err != nil {
		return nil, err
	}
	commits, err := s.Clone.Commits(ctx, base, change.Head)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{s.Repo.Instance.Principal(change.Author.Login): true}
	for _, login := range known.Logins {
		seen[s.Repo.Instance.Principal(login)] = true
	}
	for _, email := range known.Unresolved {
		s.addAuthor(seen, email)
	}
	for _, c := range commits {
		for _, p := range c.CoAuthors {
			s.addAuthor(seen, p.Email)
		}
	}
	out := make([]string, 0, len(seen))
	for a := range seen {
		out = append(out, a)
	}
	slices.Sort(out)
	return out, nil
}

// addAuthor resolves an e-mail where its form names the account.
func (s *Site) addAuthor(seen map[string]bool, email string) {
	email = strings.ToLower(strings.TrimSpace(email))
	if email == "" || s.Repo.Instance.MachineEmail(email) {
		return
	}
	if login, ok := s.Repo.Instance.LoginOfEmail(email); ok {
		seen[s.Repo.Instance.Principal(login)] = true
		return
	}
	seen[unresolvedAuthor+email] = true
}
