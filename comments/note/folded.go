package note

import (
	"fmt"
	"strings"

	"github.com/chant-bot/chant/comments/changes"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/report"
)

// reserve is kept for the notice that counts what was left out.
const reserve = 600

// foldedPart is one <details> of n blocks, written only as far as they fit.
type foldedPart struct {
	summary string // ours, never foreign: it stands in HTML
	noun    string
	n       int
	block   func(i int) string
}

// fit writes the parts in order until the room is used up. From the first block
// that does not fit on, blocks are counted.
func fit(parts []foldedPart, budget int, runURL string) (body, notice string) {
	var b strings.Builder
	var left []string
	full := false
	for _, p := range parts {
		if p.n == 0 {
			continue
		}
		opening := "<details><summary>" + p.summary + "</summary>\n\n"
		const closing = "</details>\n\n"
		budget -= length(opening) + length(closing)
		written := 0
		for !full && written < p.n {
			block := p.block(written) + "\n"
			if length(block) > budget {
				full = true
				break
			}
			if written == 0 {
				b.WriteString(opening)
			}
			b.WriteString(block)
			budget -= length(block)
			written++
		}
		if written > 0 {
			b.WriteString(closing)
		}
		if written < p.n {
			left = append(left, plural(p.n-written, p.noun))
		}
	}
	if len(left) > 0 {
		notice = "Left out for length: " + strings.Join(left, ", ")
		if l := link("run page", runURL); l != "" {
			notice += "; all of it is on the " + l
		}
		notice += ".\n"
	}
	return b.String(), notice
}

func foldedParts(in Input) []foldedPart {
	var parts []foldedPart
	for _, a := range in.Asked { // what is to be decided comes first
		what := nameOf(in.Report, a.Gate)
		parts = append(parts, whatChanges("What "+what+" changes, ", a.Document), attributes("Attributes of "+what+", ", a.Document))
	}
	doc := in.Report.ChangeSet
	return append(parts, whatChanges("What changes, ", doc), attributes("Attributes, ", doc), fallbacks(in), earlier(in))
}

// nameOf is the round or wave that has a gate.
func nameOf(r report.Report, gate string) string {
	for _, round := range r.Rounds {
		if round.Gate == gate {
			return fmt.Sprintf("round %d", round.Round)
		}
	}
	for _, w := range r.Waves {
		if w.Gate == gate {
			return fmt.Sprintf("wave %d", w.Wave)
		}
	}
	return "what is asked"
}

// titlesPerBlock keeps the summary of one large member from being all or nothing.
const titlesPerBlock = 40

// whatChanges lists the titles of all changes, member by member.
func whatChanges(title string, doc *changeset.Document) foldedPart {
	type chunk struct {
		member string
		titles []string
	}
	var chunks []chunk
	members := 0
	if doc != nil {
		last := ""
		for _, e := range doc.Entries {
			if !changes.Changing(e) {
				continue
			}
			if members == 0 || e.Member != last {
				members++
				chunks = append(chunks, chunk{member: e.Member})
			} else if len(chunks[len(chunks)-1].titles) == titlesPerBlock {
				chunks = append(chunks, chunk{member: e.Member})
			}
			last = e.Member
			c := &chunks[len(chunks)-1]
			c.titles = append(c.titles, changes.Title(e))
		}
	}
	return foldedPart{
		summary: title + plural(members, "member"),
		noun:    "change list",
		n:       len(chunks),
		block: func(i int) string {
			return Inline(chunks[i].member) + "\n\n" + Fence("diff", strings.Join(chunks[i].titles, "\n"))
		},
	}
}

// attributes shows each change that writes attributes, as line differences.
func attributes(title string, doc *changeset.Document) foldedPart {
	var entries []changeset.Entry
	if doc != nil {
		for _, e := range doc.Entries {
			if len(e.Attributes) > 0 && changes.Changing(e) {
				entries = append(entries, e)
			}
		}
	}
	return foldedPart{
		summary: title + plural(len(entries), "change"),
		noun:    "attribute detail",
		n:       len(entries),
		block: func(i int) string {
			var lines []string
			for _, a := range entries[i].Attributes {
				for _, l := range changes.Attribute(a) {
					lines = append(lines, l.String())
				}
			}
			head := fmt.Sprintf("%s %s in %s\n\n", actionWord(entries[i].Action), Inline(changes.Name(entries[i])), Inline(entries[i].Member))
			return head + Fence("diff", strings.Join(lines, "\n"))
		},
	}
}

func actionWord(a changeset.Action) string {
	switch a {
	case changeset.Delete:
		return "destroy"
	case changeset.NoOp:
		return "import"
	case changeset.Create, changeset.Update, changeset.Replace, changeset.Read, changeset.Forget:
		return string(a)
	}
	return Inline(string(a))
}

func article(a changeset.Action) string {
	if a == changeset.Update || a == changeset.NoOp {
		return "an " + actionWord(a)
	}
	return "a " + actionWord(a)
}

func fallbacks(in Input) foldedPart {
	all := in.Report.Fallbacks
	return foldedPart{
		summary: "Planned by themselves, in no group, " + plural(len(all), "component"),
		noun:    "grouping reason",
		n:       len(all),
		block: func(i int) string {
			return fmt.Sprintf("- %s: %s (%s)\n", Inline(all[i].Component), shortenText(all[i].Reason, 300), Text(string(all[i].Kind)))
		},
	}
}

// earlier tells for each plan this one replaced what changed between the two.
func earlier(in Input) foldedPart {
	return foldedPart{
		summary: fmt.Sprintf("Earlier plans of this pull request: %d", len(in.Earlier)),
		noun:    "earlier plan",
		n:       len(in.Earlier),
		block: func(i int) string {
			e := in.Earlier[i]
			head := fmt.Sprintf("since %s (head %s", shortDigest(e.Digest.Short()), sha(e.Head))
			if !e.At.IsZero() {
				head += ", " + e.At.UTC().Format("2006-01-02 15:04") + " UTC"
			}
			return head + "):\n\n" + sinceLines(e, in.Report.ChangeSet)
		},
	}
}

func sinceLines(e Earlier, now *changeset.Document) string {
	if e.Document == nil {
		return "- its document is no longer kept\n"
	}
	diffs := changes.Since(e.Document, now)
	if len(diffs) == 0 {
		return "- the same changes; what differs is hidden, computed, or in what the plan reads\n"
	}
	const shown = 40
	var b strings.Builder
	for _, d := range diffs[:min(len(diffs), shown)] {
		fmt.Fprintf(&b, "- %s in %s: %s\n", Inline(d.Name), Inline(d.Member), became(d))
	}
	if rest := len(diffs) - shown; rest > 0 {
		fmt.Fprintf(&b, "- and %d more\n", rest)
	}
	return b.String()
}

func became(d changes.Difference) string {
	switch {
	case d.Was == "":
		return "new, " + article(d.Now)
	case d.Now == "":
		return "was " + article(d.Was) + ", is not changed now"
	case d.Was != d.Now:
		return "was " + article(d.Was) + ", is now " + article(d.Now)
	}
	return "writes other values to " + nameList(d.Paths, 8)
}
