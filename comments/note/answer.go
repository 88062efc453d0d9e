package note

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/comments/changes"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/engine/report"
)

// Approved answers an approval that counted, of a plan with so many members and these
// holes, where no reaction can be given or the approval opens less than it seems to.
func Approved(op, gate string, d digest.Digest, holes []string, members int) string {
	return fmt.Sprintf("Counted: plan %s is approved at %s.\n", shortDigest(d.Short()), Inline(op+" "+gate)) + CoversNothing(holes, members)
}

// TakenBack answers a revocation that counted, where no reaction can be given.
func TakenBack(op, gate string) string {
	return fmt.Sprintf("Revoked: no earlier approval counts at %s any more.\n", Inline(op+" "+gate))
}

// Withheld answers an approval of a plan whose document is kept off the ledger,
// since what names something in it that looks like a secret.
func Withheld(op, gate, what string) string {
	return fmt.Sprintf("Counted at %s, and there only: the plan shows what looks like a secret at %s, so it is not written to the ledger, and no merge can count as approved by it.\n\n"+
		"Mark the value sensitive and approve the new plan, or approve again at the gate of the green commit.\n", Inline(op+" "+gate), Inline(what))
}

// ActNow is the short comment that asks one person or team to act: edits of the
// note notify nobody. who is a login or org/team; it is the only mention chant
// writes. noteURL may be empty.
func ActNow(in Input, who, noteURL string) string {
	r := in.Report
	what, doc := "plan "+Inline(r.Digest.Short()), r.ChangeSet
	if a, ok := waitingAt(r); ok {
		what, doc = a.name+", plan "+Inline(a.digest.Short())+",", nil
		if plan, known := in.askedAt(a.gate, a.digest); known {
			doc = plan.ChangeSet
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s for %s waits for your approval", Mention(who), what, Inline(r.Env))
	if t := changes.Count(doc); doc != nil {
		fmt.Fprintf(&b, ": %d to destroy, %d to replace, %d to create, %d to update", t.Delete, t.Replace, t.Create, t.Update)
	}
	b.WriteString(".")
	if l := link("The note", noteURL); l != "" {
		b.WriteString(" " + l + " has the plan and the line to copy.")
	}
	return b.String() + "\n"
}

// Help lists the commands. app is the account that may be mentioned instead of
// "chant"; empty when there is none.
func Help(app string) string {
	first := "One command a line, first word " + Inline("chant") + " or " + Inline("/chant")
	if app != "" {
		first += " or " + Inline("@"+app)
	}
	return first + ", in plain text: not in a quote, list or code block.\n\n" + Fence("", strings.Join([]string{
		"chant approve [<op> <gate>] --plan <full digest>   approve exactly this plan",
		"chant revoke [<op> <gate>]                         take every approval of a gate back",
		"chant plan                                         plan again",
		"chant plan <full head sha>                         plan a fork at this commit",
		"chant apply                                        carry on an apply that waits or failed",
		"chant explain [<member>]                           say where this stands and why",
		"chant unlock                                       drop the lease of a dead holder (administrators)",
		"chant unlock <name>                                plan roots again whose states a machine that is gone had (administrators)",
		"chant help                                         this list",
	}, "\n"))
}

// Explain answers "chant explain": where the pull request stands and why, or one
// member of it.
func Explain(in Input, member string) string {
	in = in.local()
	r := in.Report
	if member != "" {
		for _, m := range r.Members {
			if m.Member == member || m.Component == member {
				return explainMember(in, m)
			}
		}
		return "No member " + Inline(member) + " in this plan. Its members: " + nameList(memberNames(r.Members), 30) + ".\n"
	}
	var b strings.Builder
	b.WriteString(heading(in) + ".\n\n")
	for i, wave := range r.Selection.Waves[:min(len(r.Selection.Waves), 30)] {
		fmt.Fprintf(&b, "- wave %d: %s\n", i+1, nameList(wave, 20))
	}
	fmt.Fprintf(&b, "- changed: %s\n- because they depend on these: %s\n", listOrNone(r.Selection.Changed), listOrNone(r.Selection.Dependents))
	if needsApproval(in) {
		b.WriteString("- " + cmp.Or(in.Ask.shut(), needs(in.Ask)) + "\n")
	}
	return b.String() + "\n" + unclaimed(r)
}

// NotGreen is the part of the answer to "chant explain" that says which checks a
// merge waits for, "" when none.
func NotGreen(commit string, w green.Waits) string {
	var b strings.Builder
	for _, line := range []struct {
		names []string
		words string
	}{
		{w.Failed, "failed"}, {w.Running, "not ended yet"}, {w.Missing, "required, and the commit has no check of that name"},
		{w.Others, "there, and not required"},
	} {
		if len(line.names) > 0 {
			fmt.Fprintf(&b, "- %s: %s\n", line.words, nameList(line.names, 20))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "The merge, " + sha(commit) + ", is not green yet. Its checks:\n\n" + b.String()
}

func explainMember(in Input, m report.Member) string {
	r := in.Report
	var b strings.Builder
	fmt.Fprintf(&b, "%s, component %s, is %s.\n\n", Inline(m.Member), Inline(m.Component), statusWord(m.Status))
	switch {
	case slices.Contains(r.Selection.Changed, m.Component):
		b.WriteString("- selected because its files changed\n")
	case slices.Contains(r.Selection.Dependents, m.Component):
		b.WriteString("- selected because it depends on what changed\n")
	}
	if m.PlanDigest != nil {
		fmt.Fprintf(&b, "- its plan is %s: %d to create, %d to update, %d to replace, %d to destroy\n",
			Inline(m.PlanDigest.String()), m.Counts.Create, m.Counts.Update, m.Counts.Replace, m.Counts.Delete)
	}
	if s := remarks(in, m); s != "" {
		b.WriteString("- " + s + "\n")
	}
	if m.Error != "" {
		b.WriteString("\n" + Fence("", shorten(visible(m.Error), 3000)))
	}
	if r.ChangeSet != nil {
		if titles := titlesOf(r.ChangeSet.EntriesOf(m.Member)); titles != "" {
			b.WriteString("\n" + Fence("diff", titles))
		}
	}
	return b.String()
}

func titlesOf(entries []changeset.Entry) string {
	const shown = 60
	var titles []string
	for _, e := range entries {
		if changes.Changing(e) {
			titles = append(titles, shorten(changes.Title(e), maxName))
		}
	}
	if rest := len(titles) - shown; rest > 0 {
		titles = append(titles[:shown:shown], fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(titles, "\n")
}

func memberNames(members []report.Member) []string {
	var names []string
	for _, m := range members {
		names = append(names, m.Member)
	}
	return names
}

func listOrNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return nameList(names, 20)
}
