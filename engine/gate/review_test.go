package gate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStandingReviewers(t *testing.T) {
	t.Parallel()
	review := func(who, state string) Review { return Review{Principal: "github:" + who, State: state} }
	tests := []struct {
		name    string
		reviews []Review
		want    []string
	}{
		{"no review, no reviewer", nil, nil},
		{"an approval stands", []Review{review("alice", "APPROVED")}, []string{"github:alice"}},
		{"policy-bot#119: a dismissed no does not bring the old yes back", []Review{review("alice", "APPROVED"), review("alice", "DISMISSED")}, nil},
		{"policy-bot#119 on Forgejo, where dismissed is a mark", []Review{review("alice", "APPROVED"), {Principal: "github:alice", State: "REQUEST_CHANGES", Dismissed: true}}, nil},
		{"a dismissed approval does not stand", []Review{{Principal: "github:alice", State: "APPROVED", Dismissed: true}}, nil},
		{"mergify 355: a later comment takes nothing away", []Review{review("alice", "APPROVED"), review("alice", "COMMENTED"), review("alice", "COMMENT"), review("alice", "PENDING")}, []string{"github:alice"}},
		{"a later no takes the yes away", []Review{review("alice", "APPROVED"), review("alice", "CHANGES_REQUESTED")}, nil},
		{"a later yes stands", []Review{review("alice", "CHANGES_REQUESTED"), review("alice", "APPROVED")}, []string{"github:alice"}},
		{"reviewers are told apart", []Review{review("bob", "APPROVED"), review("alice", "APPROVED"), review("bob", "CHANGES_REQUESTED")}, []string{"github:alice"}},
		{"a name is one person however it is spelled", []Review{review("Alice", "APPROVED"), review("alice", "CHANGES_REQUESTED")}, nil},
		{"a verdict this version does not know is no approval", []Review{review("alice", "APPROVED"), review("alice", "REQUEST_REVIEW")}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, StandingReviewers(tt.reviews)); diff != "" {
				t.Errorf("reviewers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReviewRule(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		rule   ReviewRule
		refuse string // part of the reason; "" when the approver counts
	}{
		{"a reviewer who wrote nothing counts", ReviewRule{Reviewers: []string{"github:Alice "}, NeedReview: true}, ""},
		{"without a standing review the approver does not count", ReviewRule{Reviewers: []string{"github:bob"}, NeedReview: true}, "no approving review"},
		{"whoever wrote the change does not count, reviewer or not", ReviewRule{Reviewers: []string{"github:alice"}, NeedReview: true, Authors: []string{"GitHub:Alice"}}, "wrote part"},
		{"atlantis#2605: only the author in approved_by", ReviewRule{Reviewers: []string{"github:alice"}, NeedReview: true, Authors: []string{"github:alice"}}, "wrote part"},
		{"somebody unknown wrote part: nobody counts", ReviewRule{Reviewers: []string{"github:alice"}, NeedReview: true, Unresolved: []string{"x@example.org"}}, "x@example.org"},
		{"a commit without a record: nobody counts", ReviewRule{Unrecorded: []string{"1a2b3c4d5e6f"}}, "no merge record says who wrote 1a2b3c4d5e6f"},
		{"a green commit's own gate asks for no review", ReviewRule{Authors: []string{"github:bob"}}, ""},
		{"a green commit's own gate excludes authors", ReviewRule{Authors: []string{"github:bob", "github:alice"}}, "wrote part"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := tt.rule.Refuse("github:alice")
			if (got == "") != (tt.refuse == "") || !strings.Contains(got, tt.refuse) {
				t.Errorf("refused with %q, want %q", got, tt.refuse)
			}
		})
	}
}
