package note

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/report"
)

// What can be approved by nobody has no line to copy, and says why, once: neither the
// whole plan, nor a round, nor in the note that always fits.
func TestWhatNobodyCanApproveHasNoLineToCopy(t *testing.T) {
	t.Parallel()
	for name, shut := range map[string]func(*Ask){
		"a rule that is not enforced":       func(a *Ask) { a.Unenforced = []string{"identity.gates.pr-apply"} },
		"approvers who all wrote it":        func(a *Ask) { a.Approvers, a.Excluded = []string{"github:dana"}, []string{"github:dana"} },
		"the same, on a forge of their own": func(a *Ask) { a.Approvers, a.Excluded = []string{"forgejo@git.x:dana"}, []string{"forgejo@git.x:dana"} },
	} {
		round := greenApply(t)
		inRound(t, &round, report.WaveWaiting)
		for _, in := range []Input{estate(t), greenApply(t), round} {
			in.Forge = engine.Instance{Kind: engine.Forgejo, Host: "git.x"}
			if shut(&in.Ask); in.Report.Status == report.Waiting && len(in.Ask.Unenforced) > 0 {
				in.Report.Message = report.NotEnforcedMessage(in.Ask.Unenforced)
			}
			for _, limit := range []int{1000, 65_536} {
				got := Render(in, limit)
				if strings.Contains(got, "chant approve") || strings.Count(got, in.local().Ask.shut()) != 1 || !strings.Contains(got, "cannot be approved yet") || strings.Contains(got, "Nothing was applied") {
					t.Errorf("%s, limit %d: there is a line, or why there is none is not said once:\n%s", name, limit, got)
				}
			}
		}
	}
	if why := (Ask{Approvers: []string{"github:dana", "org/platform"}, Excluded: []string{"github:dana"}}).shut(); why != "" {
		t.Errorf("a team may approve, and the note says that nobody can: %s", why)
	}
}

// The first numbers of an apply that waits are those of what is asked, not of what
// applied before.
func TestAnApplyThatWaitsWeighsWhatIsAsked(t *testing.T) {
	t.Parallel()
	in := greenApply(t)
	inRound(t, &in, report.WaveWaiting)
	got := Render(in, 65_536)
	line, first := strings.Index(got, "chant approve "), strings.Index(got, "**2 to destroy, 1 to replace**")
	if !strings.HasPrefix(strings.Split(got, "\n")[3], "**0 to destroy, 1 to replace**") || line > first || first < 0 {
		t.Errorf("the apply as first planned comes before what is asked:\n%s", got)
	}
	if strings.Contains(got, "wait for a value") || strings.Contains(got, "waits for a value") {
		t.Errorf("what was planned again is said to wait for a value:\n%s", got)
	}
}

// Of an estate of hundreds a change reaches, those that do not change are folded away.
func TestMembersWithoutAChangeAreFoldedAwayWhereTheyAreMany(t *testing.T) {
	t.Parallel()
	for _, n := range []int{manyIdle - 1, 196} {
		in := estate(t)
		var idle []string
		for i := range n {
			name := fmt.Sprintf("idle-%03d", i)
			idle = append(idle, name)
			in.Report.Members = append(in.Report.Members, report.Member{Member: name, Component: name, PlanDigest: new(digestOf(t, "ee")), Status: report.MemberPlanned})
			in.Report.ChangeSet.Members = append(in.Report.ChangeSet.Members, changeset.Member{Member: name, Status: changeset.Planned})
		}
		got := Render(in, 65_536)
		rows := strings.Count(got, "| – | `idle-")
		folded := strings.Contains(got, fmt.Sprintf("<details><summary>%d members without a change</summary>", n))
		if wanted := n >= manyIdle; folded != wanted || wanted && rows != 0 || !wanted && rows != n {
			t.Errorf("%d members: %d rows, folded %v", n, rows, folded)
		}
		if slices.ContainsFunc(idle, func(name string) bool { return !strings.Contains(got, "`"+name+"`") }) {
			t.Errorf("%d members: not all of them are named", n)
		}
		if !strings.Contains(got, fmt.Sprintf("2 to update in 3 of %d members", n+4)) {
			t.Errorf("%d members: how many of them change is not said:\n%s", n, got[:600])
		}
	}
}

// People are named as their own forge names them, and those of another in full.
func TestPeopleOfTheNotesForgeAreNamedWithoutIt(t *testing.T) {
	t.Parallel()
	in := greenApply(t)
	inRound(t, &in, report.WaveApplied)
	in.Forge = engine.Instance{Kind: engine.Forgejo, Host: "git.example.org"}
	in.Ask.Approvers = []string{"forgejo@git.example.org:carol", "forgejo@git.example.org:@org/platform"}
	in.Report.Rounds[0].ApprovedBy = []string{"forgejo@git.example.org:alice", "forgejo@other.example.org:bob"}
	in.Report.Green.Merges[2].ApprovedBy = []string{"forgejo@git.example.org:alice"}
	got := Render(in, 65_536)
	if strings.Contains(got, "@git.example.org") || !strings.Contains(got, "approved by `alice`, `forgejo@other.example.org:bob`") || !strings.Contains(got, "from `@carol`, `@org/platform`") {
		t.Errorf("people are not named as on their forge:\n%s", got)
	}
	if in.Report.Rounds[0].ApprovedBy[0] != "forgejo@git.example.org:alice" {
		t.Error("the report was changed")
	}
}
