package gate

import (
	"fmt"
	"slices"
	"strings"
)

// Review is one submitted review, principals spelled as in the ledger. On a
// forge that lists only current approvals, each is an APPROVED review.
type Review struct {
	Principal string
	State     string // as GitHub's REST API spells it; Forgejo's words are taken too
	Dismissed bool   // Forgejo's mark; GitHub says it in State
}

// StandingReviewers are the principals whose last review approves, sorted.
// Comments and pending reviews say nothing; everything else replaces the
// reviewer's earlier word, so a yes does not come back when a later no is
// dismissed (pr-loop §5.10).
func StandingReviewers(reviews []Review) []string {
	approves := make(map[string]bool)
	for _, r := range reviews {
		switch strings.ToUpper(r.State) {
		case "COMMENTED", "COMMENT", "PENDING":
			continue
		}
		approves[canonical(r.Principal)] = strings.EqualFold(r.State, "APPROVED") && !r.Dismissed
	}
	var out []string
	for principal, yes := range approves {
		if yes && principal != "" {
			out = append(out, principal)
		}
	}
	slices.Sort(out)
	return out
}

// ReviewRule is the require-review rule for one gate (pr-loop §5.10). Leave it
// out entirely where the rule is off.
type ReviewRule struct {
	// Reviewers are the standing approving reviewers. Nil on a green commit's
	// own gate, which has no review of its own: only authors are excluded there.
	Reviewers []string
	// NeedReview: an approver must be among Reviewers.
	NeedReview bool
	// Authors wrote the change: the pull request's author, every commit's author
	// and committer, and co-authors, as principals.
	Authors []string
	// Unresolved are people who wrote part of the change and whose account is
	// not known, as written in the commit. While there is one, nobody can be
	// told apart from them and every approval is refused.
	Unresolved []string
	// Unrecorded are the commits, shortened, that a green commit carries without a
	// merge record, which would say who wrote them. While there is one, every
	// approval is refused.
	Unrecorded []string
}

// Refuse says why this approver does not count, "" when they do. It is what
// Query.Exclude asks.
func (r ReviewRule) Refuse(principal string) string {
	switch {
	case r.Wrote(principal):
		return principal + " wrote part of the change"
	case len(r.Unresolved) > 0:
		return fmt.Sprintf("the account of %s, who wrote part of the change, is not known, so nobody can be told apart from them", strings.Join(r.Unresolved, ", "))
	case len(r.Unrecorded) > 0:
		return r.NotRecorded()
	case r.NeedReview && !containsPrincipal(r.Reviewers, canonical(principal)):
		return fmt.Sprintf("%s has no approving review standing on the pull request", principal)
	}
	return ""
}

// Wrote tells that a principal is known to have written part of the change.
func (r ReviewRule) Wrote(principal string) bool {
	return containsPrincipal(r.Authors, canonical(principal))
}

// NotRecorded says why no approval counts yet, and what makes one count; "" where
// all is recorded.
func (r ReviewRule) NotRecorded() string {
	if len(r.Unrecorded) == 0 {
		return ""
	}
	return fmt.Sprintf("no merge record says who wrote %s, so nobody can be told apart from them; chant ci run record with --forge writes it", strings.Join(r.Unrecorded, ", "))
}

func containsPrincipal(list []string, who string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return canonical(p) == who })
}

// canonical is how principals compare: trimmed, lower-case.
func canonical(principal string) string { return strings.ToLower(strings.TrimSpace(principal)) }
