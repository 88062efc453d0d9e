package note

import (
	"fmt"
	"strings"
	"time"

	"github.com/chant-bot/chant/comments/command"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
)

// Kind is why a command was not counted or not run.
type Kind string

// The kinds of refusal people meet in a comment's answer.
const (
	OlderPlan        Kind = "older-plan"        // the digest of an earlier plan
	UnknownPlan      Kind = "unknown-plan"      // a full digest no plan here has
	NoDigest         Kind = "no-digest"         // none, or a shortened one
	Ambiguous        Kind = "ambiguous"         // the digest of more than one gate that waits
	NotOpen          Kind = "not-open"          // the pull request is merged or closed, and this takes an open one
	NothingWaits     Kind = "nothing-waits"     // no gate of that name waits, or nothing is to apply
	NoReview         Kind = "no-review"         // no standing approving review
	WroteChange      Kind = "wrote-change"      // the approver wrote the change
	AuthorsUnknown   Kind = "authors-unknown"   // who wrote the change cannot be told
	NotRecorded      Kind = "not-recorded"      // the merge record that says who wrote the change is still to come
	NoPermission     Kind = "no-permission"     // the author lacks write permission
	NotAdministrator Kind = "not-administrator" // unlock
	NotAnApprover    Kind = "not-an-approver"   // not in the env's approvers
	Bot              Kind = "bot"               // written by a bot or through an app
	Edited           Kind = "edited"            // edited or deleted before it was read
	Revoked          Kind = "revoked"           // written before the gate's last revocation
	RevokedByHand    Kind = "revoked-by-hand"   // maybe written before it; Since is from when on that is certain
	NotRun           Kind = "not-run"           // quoted, fenced, misspelt: see Lines
	PlanMoved        Kind = "plan-moved"        // the plan changed after review
	TargetMoved      Kind = "target-moved"      // the target changed while applying
	LeaseHeld        Kind = "lease-held"        // another apply runs
	NoSuchGroup      Kind = "no-such-group"     // unlock of a group that is not open
	GroupsUnreadable Kind = "groups-unreadable" // the record of open groups is broken
	HolderAlive      Kind = "holder-alive"      // unlock of a live holder
	LedgerUnusable   Kind = "ledger-unusable"   // diverged, rewound or out of reach
	Declaration      Kind = "declaration"       // invalid: see Problems
	Unenforced       Kind = "unenforced"        // declared settings this version cannot enforce
	MergedAlready    Kind = "merged-already"    // the pull request merged; approve at the green gate
	NotGreenYet      Kind = "not-green"         // the commit is not green
	ForkNeedsHead    Kind = "fork-needs-head"   // planning a fork takes the full head sha
	ForksNever       Kind = "forks-never"       // forks are not planned here
	ClockAhead       Kind = "clock-ahead"       // the ledger is ahead of our clock
	Internal         Kind = "internal"          // an error of ours; Ref finds it in the log
)

// Refused is one answer that says no. Fields a kind does not mention are ignored.
type Refused struct {
	Kind     Kind
	Op, Gate string
	Given    digest.Digest // the digest the person named
	Now      digest.Digest // the plan that stands; its approve line is the next step
	Head     string        // full sha to plan, ForkNeedsHead
	RunURL   string
	Names    []string        // people, settings, commits: what the kind is about
	Forge    engine.Instance // whose people they are
	Holder   string          // of a lease
	Since    time.Time
	Detail   string // one sentence with foreign parts
	Problems []Problem
	Lines    []command.Near
	Ref      string
}

// Problem is one thing wrong in a declaration.
type Problem struct {
	File           string
	Line           int
	Field, Message string
	Next           string
}

// Refusal is the reply to a command that is refused: what, why, and the one
// thing to do, with the line to copy where there is one.
func Refusal(r Refused) string {
	r.Names = here(r.Forge, r.Names)
	what, next := r.explain()
	var b strings.Builder
	b.WriteString(what)
	if r.Detail != "" {
		b.WriteString(" It says: " + shortenText(r.Detail, 600))
		if !strings.HasSuffix(b.String(), ".") {
			b.WriteString(".")
		}
	}
	b.WriteString("\n")
	b.WriteString(r.bullets())
	if next != "" {
		b.WriteString("\n" + next + "\n")
	}
	if line := r.line(); line != "" {
		b.WriteString("\n" + Fence("", line))
	}
	return b.String()
}

// bullets lists what the kind is about, one line each.
func (r Refused) bullets() string {
	const shown = 10
	var bullets []string
	switch r.Kind {
	case Declaration:
		for _, p := range r.Problems {
			bullets = append(bullets, p.bullet())
		}
	case NotRun:
		for _, l := range r.Lines {
			bullets = append(bullets, fmt.Sprintf("- line %d, %s: %s\n", l.Line, Inline(l.Raw), Text(l.Why)))
		}
	}
	if len(bullets) == 0 {
		return ""
	}
	if rest := len(bullets) - shown; rest > 0 {
		bullets = append(bullets[:shown:shown], fmt.Sprintf("- and %d more\n", rest))
	}
	return "\n" + strings.Join(bullets, "")
}

func (p Problem) bullet() string {
	place := p.File
	if p.Line > 0 {
		place = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	s := "- " + Inline(place)
	if p.Field != "" {
		s += ", field " + Inline(p.Field)
	}
	s += ": " + shortenText(p.Message, 300)
	if p.Next != "" {
		s += "; " + shortenText(p.Next, 300)
	}
	return s + "\n"
}

// line is the one to copy, for the kinds whose next step is a command.
func (r Refused) line() string {
	switch r.Kind {
	case OlderPlan, UnknownPlan, NoDigest, Ambiguous, NothingWaits, PlanMoved, TargetMoved, MergedAlready, Edited, Revoked, RevokedByHand, NoReview, ClockAhead:
		return ApproveLine(r.Op, r.Gate, r.Now)
	case ForkNeedsHead:
		return "chant plan " + r.Head
	}
	return ""
}

// explain gives the first sentence and the next step.
func (r Refused) explain() (what, next string) {
	now := "the plan now is " + shortDigest(r.Now.Short())
	switch r.Kind {
	case OlderPlan:
		since := ""
		if l := link("what changed since", r.sinceURL()); l != "" {
			since = ": " + l
		}
		return "Not counted: this approves " + shortDigest(r.Given.Short()) + ", an earlier plan. " + capital(now) + since + ".", "If it is right, comment:"
	case UnknownPlan:
		return "Not counted: no plan here has the digest " + shortDigest(r.Given.Short()) + "; " + now + ".", "If that is the one you mean, comment:"
	case NoDigest:
		return "Not counted: an approval names the full digest of the plan it approves. A short one can be matched on purpose.", "Read the plan, and if it is right, comment:"
	case Ambiguous:
		return "Not counted: more than one gate waits for this digest, and an approval is of one of them.", "Name the op and the gate. For the first of them, comment:"
	case NotOpen:
		return "Not done: this pull request is not open.", "What a merge brings is planned again by itself once it is green. One that was closed has to be reopened first."
	case NothingWaits:
		if r.Op == "" {
			return "Nothing to do: no approval is waited for here.", Inline("chant explain") + " says where it stands."
		}
		return "Not counted: no approval is waited for at the gate this names. What waits is " + Inline(strings.TrimSpace(r.Op+" "+r.Gate)) + ".", "Read its plan, and if it is right, comment:"
	case MergedAlready:
		if r.Op == "" {
			return "Not counted: this pull request is merged, and no approval is waited for now.", Inline("chant explain") + " says where it stands."
		}
		return "Not counted: this pull request is merged. What applies now is decided at " + Inline(r.Op) + ".", "If the plan there is right, comment:"
	case PlanMoved:
		return "Nothing was applied: the plan changed after review. Approved " + shortDigest(r.Given.Short()) + "; " + now + ".", "Read the new plan, and if it is right, comment:"
	case TargetMoved:
		return "Stopped: the target moved while it was applied. What was applied before stays; " + now + ".", "Read the new plan, and if it is right, comment:"
	}
	if what, next := r.explainPerson(); what != "" {
		return what, next
	}
	return r.explainSystem()
}

// explainPerson: refusals that depend on who wrote the comment, and how.
func (r Refused) explainPerson() (what, next string) {
	switch r.Kind {
	case NoReview:
		return "Not counted: this gate counts only people whose approving review stands on the pull request.", "Submit an approving review, with this line in its text:"
	case WroteChange:
		return "Not counted: " + nameList(handles(r.Names), 5) + " wrote part of this change, and who wrote it cannot approve it.", "Ask somebody else to approve."
	case AuthorsUnknown:
		return "Not counted: who wrote the change cannot be told for " + nameList(r.Names, 5) + ".", "Link these addresses to accounts, or rewrite the commits, and approve the new plan."
	case NotRecorded:
		return "Not counted: no merge record says yet who wrote " + nameList(r.Names, 5) + ", so nobody can be told apart from them.", "The record comes by itself. Comment again when it is there."
	case NoPermission:
		return "Not counted: this takes write permission on the repository, which your account does not have.", "Ask somebody who has it."
	case NotAdministrator:
		return "Not done: only administrators of the repository unlock.", "Ask one of them."
	case NotAnApprover:
		return "Not counted: this environment is approved by " + nameList(handles(r.Names), 10) + ". You are not among them.", "Ask one of them."
	case Bot:
		return "Not counted: an approval comes from a person, by hand. Bots and apps cannot approve.", "Ask a person to comment."
	case Edited:
		next = "Write a new comment."
		if r.line() != "" {
			next = "Write a new comment:"
		}
		return "Not counted: the comment was edited or deleted before it was read.", next
	case Revoked:
		return "Not counted: the comment is older than the last revocation at this gate.", "If the plan is right after all, write a new comment:"
	case RevokedByHand:
		return "Not counted: the gate was revoked on a command line, whose clock cannot be compared with the one that dates comments.",
			"If the plan is right after all, approve it on a command line, or write a new comment after " + r.Since.UTC().Format("2006-01-02 15:04:05") + " UTC:"
	case NotRun:
		return "Not run:", "A command is one line of its own in plain text. " + Inline("chant help") + " lists them."
	case ForkNeedsHead:
		return "Not planned: planning a fork runs its code. Read it first; the command names the exact commit you read.", "If it is safe, comment:"
	case ForksNever:
		return "Not planned: pull requests from forks are not planned here.", "Push the branch to this repository."
	}
	return "", ""
}

// explainSystem: refusals that come from the state of things.
func (r Refused) explainSystem() (what, next string) {
	switch r.Kind {
	case LeaseHeld:
		s := "Not started: another apply holds the lease, " + Inline(r.Holder)
		if !r.Since.IsZero() {
			s += ", since " + r.Since.UTC().Format("2006-01-02 15:04") + " UTC"
		}
		return s + ".", "It starts by itself when that one ends. If the holder is gone for good, an administrator comments " + Inline("chant unlock") + "."
	case NoSuchGroup:
		return "Not unlocked: no apply of a group is open by the name " + nameList(r.Names, 1) + ", nor is a state kept by it.", "It ended by itself, or was unlocked before. " + Inline("chant apply") + " carries on."
	case GroupsUnreadable:
		return "Not unlocked: the record of the groups that are open cannot be read.", "Whoever may push there restores the record; then comment again."
	case HolderAlive:
		return "Not unlocked: the holder " + Inline(r.Holder) + " still renews its lease.", "Wait for it, or stop it where it runs."
	case LedgerUnusable:
		return "Nothing was recorded: the ledger branch " + Inline("chant/lifecycle") + " cannot be used as it is.", "An operator finds out why: somebody pushed over it, or put it back. Once it is right, " + Inline("chant ledger accept") + " takes it; docs/operations.md says how."
	case Declaration:
		return "Not planned: the declaration is not valid.", "Correct it and push."
	case Unenforced:
		return "Not counted: the declaration asks for " + nameList(r.Names, 10) + ", which this version cannot enforce.", "Run a version that can, or take it out of the declaration."
	case NotGreenYet:
		return "Nothing was applied: the commit is not green.", "It applies once its required checks pass."
	case ClockAhead:
		return "Not counted: the ledger holds lines from more than 5 minutes in the future, so the clock of a writer is wrong.", "Correct the clock, then comment again:"
	}
	return "Something went wrong on our side, and it is tried again. Reference " + Inline(r.Ref) + ".", "Wait for the answer. If none comes, give an operator the reference."
}

func (r Refused) sinceURL() string {
	if r.RunURL == "" {
		return ""
	}
	return r.RunURL + "#since"
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
