// Package note writes what chant says on a forge: the sticky note of a pull
// request, status descriptions, refusals and the short comment that asks a
// person to act. It turns a report into text and decides nothing: no clock, no
// forge, no ledger. Everything foreign (plans, names, errors, people) goes
// through Inline, Fence or Text, which make it inert.
package note

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/report"
)

// Input is everything a note shows.
type Input struct {
	Report report.Report
	Marker string    // first line of the comment (pr-loop §5.3)
	At     time.Time // when it was planned or applied; zero leaves it out
	RunURL string    // run page; "" when there is none

	BaseBranch string
	BaseTip    string // the tip the head was merged into, plan stage
	BaseMoved  string // the tip the base branch has since; "" when it did not move

	// Forge is where the note stands: accounts of it are named without it. Zero names
	// all in full but those of the forges everybody knows.
	Forge engine.Instance
	Ask   Ask
	// NothingDue: every member is planned and has nothing to apply (decision
	// 15), so no approval is needed.
	NothingDue bool
	// Then is what follows an approval at a gate of an apply: a sentence, "" for none.
	Then string
	// Again is how what did not plan is planned again: a sentence, "" for none.
	Again string
	// ApplyOnMerge tells what follows the merge.
	ApplyOnMerge bool

	// TrustChanged names what the pull request changes in files that are read
	// from the base branch, and so counts only after it merged (decision 2).
	TrustChanged []string
	Warnings     []string  // one sentence each
	NotIsolated  bool      // plans run without a wall around them
	Earlier      []Earlier // newest first
	// Asked are the plans that rounds and waves ask for: the report has the whole
	// apply's alone.
	Asked []Asked
}

// Asked is the plan that the gate of a round or a wave binds.
type Asked struct {
	Gate     string
	Document *changeset.Document
	RunsCode map[string]report.RunsCode
}

// Ask is what the gate asks for.
type Ask struct {
	MinApprovals int      // 0 counts as 1
	Approvers    []string // who may approve: "dana", "org/platform"; empty: anyone with write permission
	Excluded     []string // logins that wrote the change
	Review       bool     // the approver must have reviewed the pull request
	Unenforced   []string // declared settings this version cannot enforce: nothing is approved under them
}

// Earlier is a plan this one replaced.
type Earlier struct {
	Digest   digest.Digest
	Head     string
	At       time.Time
	Document *changeset.Document // nil when it is no longer kept
}

// Limit is the longest body a forge takes, in code points.
func Limit(kind engine.ForgeKind) int {
	if kind == engine.GitLab {
		return 1_000_000
	}
	return 65_536
}

// minLimit is below what a note with every must-show part takes; under it only
// Short fits.
const minLimit = 12_000

// Render returns the note, at most limit code points long. Names of what is
// destroyed, replaced or forgotten, what runs code and the approve line come
// first in the budget. Whole blocks are left out from the end, and counted. Only
// when the names alone do not fit are some of them counted instead of listed.
func Render(in Input, limit int) string {
	if limit < minLimit {
		return Short(in, limit)
	}
	in = in.local()
	names := namesOf(in.Report)
	rows, idle := memberRows(in)
	tail := groups(in) + waves(in) + rounds(in) + approveBlock(in) + unclaimed(in.Report)
	budget := limit - length(in.Marker) - length(head(in)) - length(tail) - length(footer(in)) - reserve

	listed := names.render(budget-length(rows.render(0)), in.RunURL)
	budget -= length(listed)
	table := rows.render(budget)
	budget -= length(table)
	folded, notice := fit(append(foldedParts(in), idle), budget, in.RunURL)

	body := in.Marker + "\n" + head(in) + listed + table + tail + folded + notice + footer(in)
	if length(body) > limit {
		return Short(in, limit)
	}
	return strings.TrimRight(body, "\n") + "\n"
}

// Short is the note that always fits: verdict, counts, approve line and link. It
// is what remains when a forge refuses the full one.
func Short(in Input, limit int) string {
	in = in.local()
	r := in.Report
	approve := ""
	if what, line := shortApproveLine(in); line != "" {
		approve = "\n" + cmp.Or(in.toApprove(what, line), in.Ask.shut()+"\n")
	}
	for _, body := range []string{
		in.Marker + "\n### " + heading(in) + "\n\n" + weightLine(in) + linkLine(in) + approve,
		in.Marker + "\n" + weightLine(in) + approve,
		in.Marker + "\n" + approve,
		in.Marker + "\nplan " + Inline(r.Digest.Short()) + "\n",
	} {
		if length(body) <= limit {
			return body
		}
	}
	return in.Marker
}

// shortApproveLine is the line to copy for what waits first: the whole plan, else the
// wave or round.
func shortApproveLine(in Input) (what, line string) {
	if r := in.Report; needsApproval(in) {
		return exactly, ApproveLine(r.Op, r.Gate, r.Digest)
	}
	if a, ok := waitingAt(in.Report); ok {
		return a.name, ApproveLine(a.op, a.gate, a.digest)
	}
	return "", ""
}

func linkLine(in Input) string {
	if l := link("run page", in.RunURL); l != "" {
		return "All of it is on the " + l + ".\n"
	}
	return ""
}

func length(s string) int { return utf8.RuneCountInString(s) }
