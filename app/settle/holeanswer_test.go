package settle

import (
	"strings"
	"testing"

	"github.com/chant-bot/chant/comments/command"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/forges"
)

// pr-loop §8.1: nothing an approval saw covers a hole, so who approves only that is told
// at once, and not by being asked again.
func TestWhoApprovesOnlyAHoleIsToldThatItCoversNothing(t *testing.T) {
	t.Parallel()
	hole := changeset.Member{Member: "app", Holes: []changeset.Hole{{Address: "net.id", Type: changeset.InputHole}}}
	part := changeset.Member{Member: "data", Holes: []changeset.Hole{{Address: "a.b", Type: "aws_instance"}}}
	for name, tt := range map[string]struct {
		kind    engine.CommentKind
		members []changeset.Member
		want    string
	}{
		"only a hole":                  {engine.IssueComment, []changeset.Member{hole}, "covers nothing of `app`, so it lets nothing apply"},
		"a hole beside a plan":         {engine.IssueComment, []changeset.Member{hole, {Member: "net"}}, ""},
		"a part that is not known":     {engine.IssueComment, []changeset.Member{part}, ""},
		"a review takes no reaction":   {engine.Review, []changeset.Member{hole, {Member: "net"}}, "covers nothing of `app`: "},
		"a review of a plan all known": {engine.Review, []changeset.Member{{Member: "net"}}, "is approved at"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			comment := forges.Comment{Ref: engine.CommentRef{Kind: tt.kind}}
			got := (&Commander{}).acceptedReply(comment, command.Command{}, gateAt{document: &changeset.Document{Members: tt.members}})
			if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("answered %q, want %q", got, tt.want)
			}
		})
	}
}
