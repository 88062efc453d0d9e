package settle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/command"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/forges"
)

// AuditRow is one decision, refusals too.
type AuditRow struct {
	Actor, Delivery, Action string
	Digest                  digest.Digest
	Rule, Result, Detail    string
}

// Audit keeps every decision.
type Audit interface {
	Audit(ctx context.Context, repo engine.Repo, row AuditRow) error
}

// Requests are plans and applies a person asked for.
type Requests interface {
	// RequestPlan plans a head again, or for the first time where it is not
	// planned unasked.
	RequestPlan(ctx context.Context, repo engine.Repo, number int, head, baseBranch string) error
	// RequestApply applies a commit again though an apply of it ended.
	RequestApply(ctx context.Context, repo engine.Repo, branch, env, member string) error
}

// Commander runs the commands people write in comments (pr-loop decision 7).
type Commander struct {
	*Settler
	Requests Requests
	Audit    Audit
}

// Outcome is what became of one comment.
type Outcome string

// The outcomes of a comment; each comment ends in exactly one (soundness I8).
const (
	NoCommand Outcome = "no command"
	Gone      Outcome = "gone"
	Done      Outcome = "done"
	Refused   Outcome = "refused"
)

// answer is what one command came to.
type answer struct {
	refused *note.Refused // nil when it counted
	reply   string        // words beside the reaction, "" for none
	rule    string        // for the audit
	digest  digest.Digest
}

func refusal(kind note.Kind, r note.Refused) answer {
	r.Kind = kind
	return answer{refused: &r, rule: string(kind), digest: r.Given}
}

// asked is one comment on its way to its outcome.
type asked struct {
	forges.Comment

	app      string // what an @mention of us is called
	delivery string // what brought it, "" when a sweep found it
}

// Handle reads a comment as it stands now and runs its commands. Doing it twice
// is harmless: an approval is recognised by the comment it came from. delivery
// is the forge's id of what brought the comment, for the audit; "" for none.
func (c *Commander) Handle(ctx context.Context, site *usecase.Site, ref engine.CommentRef, delivery string) (Outcome, error) {
	comment, err := site.Forge.Comment(ctx, site.Repo, ref)
	if errors.Is(err, forges.ErrNotFound) {
		return Gone, nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the comment: %w", err)
	}
	self, err := site.Forge.Self(ctx)
	if err != nil {
		return "", err
	}
	at := asked{Comment: comment, app: strings.TrimSuffix(self.Login, "[bot]"), delivery: delivery}
	parsed := command.Parse(comment.Body, at.app)
	if len(parsed.Commands) == 0 && len(parsed.Near) == 0 || ours(site, comment, self) {
		return NoCommand, nil
	}
	if comment.Author.Bot || comment.ViaApp {
		// No words: two bots could answer each other forever.
		return Refused, c.react(ctx, site, comment, forges.Refused, "", "")
	}
	if err := c.react(ctx, site, comment, forges.Seen, "", ""); err != nil {
		return "", err
	}
	outcome := Done
	if len(parsed.Near) > 0 {
		outcome = Refused
		a := refusal(note.NotRun, note.Refused{Lines: parsed.Near})
		if err := c.tell(ctx, site, at, command.Command{}, a); err != nil {
			return "", err
		}
	}
	for _, cmd := range parsed.Commands {
		a, err := c.run(ctx, site, at, cmd)
		if err == nil {
			a, err = c.unlessCounted(ctx, site, comment, cmd, a)
		}
		if err = answered(&a, err); err != nil {
			return "", err
		}
		if a.refused != nil {
			outcome = Refused
		}
		if err := c.tell(ctx, site, at, cmd, a); err != nil {
			return "", err
		}
	}
	return outcome, nil
}

// ourMark starts everything we write in words.
const ourMark = "<!-- chant-"

// ours tells whether we wrote a comment, whatever it says.
func ours(site *usecase.Site, comment forges.Comment, self engine.Actor) bool {
	return comment.Author.ID == self.ID && (!site.SharedAccount || strings.HasPrefix(comment.Body, ourMark))
}

// answered makes the answer of a state that trying again does not change: people
// have to mend it, so the command ends with a word about it.
func answered(a *answer, err error) error {
	var problems project.Problems
	switch {
	case errors.Is(err, ledger.ErrDiverged), errors.Is(err, ledger.ErrRewound):
		*a = refusal(note.LedgerUnusable, note.Refused{})
	case errors.As(err, &problems):
		*a = refusal(note.Declaration, note.Refused{Problems: noteProblems(problems)})
	case errors.Is(err, project.ErrNoDeclaration):
		*a = refusal(note.Declaration, note.Refused{Problems: []note.Problem{{
			File: "chant.workspace.json", Message: "the branch has none", Next: "add one",
		}}})
	default:
		return err
	}
	return nil
}

func noteProblems(problems project.Problems) []note.Problem {
	out := make([]note.Problem, len(problems))
	for i, p := range problems {
		out[i] = note.Problem{File: p.File, Line: p.Line, Field: p.Field, Message: p.Message, Next: p.Next}
	}
	return out
}

// run decides one command.
func (c *Commander) run(ctx context.Context, site *usecase.Site, at asked, cmd command.Command) (answer, error) {
	comment := at.Comment
	switch cmd.Verb {
	case command.Help:
		return answer{reply: note.Help(at.app), rule: "help"}, nil
	case command.Explain:
		return c.explain(ctx, site, comment, cmd)
	}
	if comment.Edited {
		return refusal(note.Edited, note.Refused{Given: cmd.Digest}), nil
	}
	permission, err := usecase.PermissionOf(ctx, site.Forge, site.Repo, comment.Author.Login)
	if err != nil {
		return answer{}, fmt.Errorf("reading the permission of %s: %w", comment.Author.Login, err)
	}
	if permission != forges.Write && permission != forges.Admin {
		return refusal(note.NoPermission, note.Refused{Given: cmd.Digest, Names: []string{comment.Author.Login}}), nil
	}
	switch cmd.Verb {
	case command.Approve:
		return c.approve(ctx, site, comment, cmd)
	case command.Revoke:
		return c.revoke(ctx, site, comment, cmd)
	case command.Plan:
		return c.plan(ctx, site, comment, cmd)
	case command.Apply:
		return c.applyAgain(ctx, site, comment)
	case command.Unlock:
		if cmd.Mark != "" {
			return c.unlockGroup(ctx, site, comment, cmd.Mark, permission)
		}
		return c.unlock(ctx, site, comment, permission)
	}
	return answer{}, fmt.Errorf("no command %q", cmd.Verb)
}

// tell answers one command on the forge and leaves its audit row.
func (c *Commander) tell(ctx context.Context, site *usecase.Site, at asked, cmd command.Command, a answer) error {
	reaction, reply, result := forges.Counted, a.reply, "counted"
	if a.refused != nil {
		reaction, reply, result = forges.Refused, note.Refusal(*a.refused), "refused"
	}
	row := AuditRow{
		Actor: site.Repo.Instance.Principal(at.Author.Login), Delivery: at.delivery,
		Action: "comment " + string(cmd.Verb), Digest: a.digest, Rule: a.rule, Result: result, Detail: at.URL,
	}
	if err := c.Audit.Audit(ctx, site.Repo, row); err != nil {
		return err
	}
	return c.react(ctx, site, at.Comment, reaction, answerMarker(at.Ref, cmd.Line), reply)
}

// answerMarker starts every reply, so that an answer given just before a crash
// is found again and not given twice.
func answerMarker(ref engine.CommentRef, line int) string {
	return fmt.Sprintf(ourMark+"answer:%s-%d-%d -->", ref.Kind, ref.ID, line)
}

// react answers by reaction, and in words where there are any or where the place
// takes no reaction. What the forge refuses to take is no failure of the
// command.
func (c *Commander) react(ctx context.Context, site *usecase.Site, comment forges.Comment, r forges.Reaction, marker, reply string) error {
	err := site.Forge.React(ctx, site.Repo, comment.Ref, r)
	if errors.Is(err, forges.ErrNotSupported) && reply == "" && r == forges.Counted {
		reply = "Counted.\n"
	}
	if _, limited := errors.AsType[*forges.RateLimited](err); limited {
		return err
	}
	if reply == "" {
		return nil
	}
	_, err = site.Forge.FindReply(ctx, site.Repo, comment.Ref, marker)
	if err == nil || !errors.Is(err, forges.ErrNotFound) {
		return err // said before, or nobody knows
	}
	_, err = site.Forge.Reply(ctx, site.Repo, comment.Ref, marker+"\n"+reply)
	if errors.Is(err, forges.ErrNotFound) {
		return nil
	}
	return err
}

// plan plans the head again, or for the first time where a person has to ask.
func (c *Commander) plan(ctx context.Context, site *usecase.Site, comment forges.Comment, cmd command.Command) (answer, error) {
	if comment.Ref.Number == 0 {
		return refusal(note.NothingWaits, note.Refused{}), nil
	}
	change, err := site.Forge.Change(ctx, site.Repo, comment.Ref.Number)
	if err != nil {
		return answer{}, err
	}
	if change.State != engine.Open {
		return refusal(note.NotOpen, note.Refused{}), nil
	}
	if never, err := c.neverPlanned(ctx, site, change); err != nil {
		return answer{}, err
	} else if never {
		return refusal(note.ForksNever, note.Refused{}), nil
	}
	if change.Fork && cmd.Head != change.Head {
		return refusal(note.ForkNeedsHead, note.Refused{Head: change.Head}), nil
	}
	return answer{rule: "plan on command"}, c.Requests.RequestPlan(ctx, site.Repo, change.Number, change.Head, change.BaseBranch)
}

// applyAgain carries a waiting or failed apply of a merged pull request on.
func (c *Commander) applyAgain(ctx context.Context, site *usecase.Site, comment forges.Comment) (answer, error) {
	runs, branch, err := c.runsOf(ctx, site, comment.Ref)
	if err != nil {
		return answer{}, err
	}
	if len(runs) == 0 {
		return refusal(note.NotGreenYet, note.Refused{}), nil
	}
	for _, run := range runs {
		if err := c.Requests.RequestApply(ctx, site.Repo, branch, run.Apply.Report.Env, run.Apply.Member); err != nil {
			return answer{}, err
		}
	}
	return answer{rule: "apply on command"}, nil
}

// unlock drops the lease of a dead holder, for administrators.
func (c *Commander) unlock(ctx context.Context, site *usecase.Site, comment forges.Comment, p forges.Permission) (answer, error) {
	if p != forges.Admin {
		return refusal(note.NotAdministrator, note.Refused{Names: []string{comment.Author.Login}}), nil
	}
	runs, _, err := c.runsOf(ctx, site, comment.Ref)
	if err != nil {
		return answer{}, err
	}
	for _, run := range runs {
		err := site.Leases.Unlock(ctx, project.LeaseKey(run.Apply.Report.Env, run.Apply.Member))
		if held, ok := errors.AsType[*lease.Held](err); ok {
			return refusal(note.HolderAlive, note.Refused{Holder: held.Holder, Since: parseStamp(held.Since)}), nil
		}
		if err != nil {
			return answer{}, err
		}
	}
	return answer{rule: "unlock of a dead holder"}, nil
}

// unlockGroup has the members of a group planned from the states they have, whose apply
// ended on a machine that is gone: an administrator answers for them.
func (c *Commander) unlockGroup(ctx context.Context, site *usecase.Site, comment forges.Comment, mark string, p forges.Permission) (answer, error) {
	if p != forges.Admin {
		return refusal(note.NotAdministrator, note.Refused{Names: []string{comment.Author.Login}}), nil
	}
	done, err := c.UnlockGroup(ctx, site, mark, site.Repo.Instance.Principal(comment.Author.Login), comment.URL)
	if held, ok := errors.AsType[*lease.Held](err); ok {
		return refusal(note.HolderAlive, note.Refused{Holder: held.Holder, Since: parseStamp(held.Since)}), nil
	}
	if broken, ok := errors.AsType[usecase.GroupsUnreadableError](err); ok {
		return refusal(note.GroupsUnreadable, note.Refused{Detail: broken.Error()}), nil
	}
	if _, refused := errors.AsType[*usecase.Refusal](err); refused {
		return refusal(note.NoSuchGroup, note.Refused{Names: []string{mark}}), nil
	}
	if err != nil {
		return answer{}, err
	}
	runs, branch, err := c.runsOf(ctx, site, comment.Ref)
	if err != nil {
		return answer{}, err
	}
	for _, run := range runs {
		if run.Apply.Report.Env != done.Env || run.Apply.Member != done.Member {
			continue
		}
		if err := c.Requests.RequestApply(ctx, site.Repo, branch, done.Env, done.Member); err != nil {
			return answer{}, err
		}
	}
	return answer{rule: "unlock of the group " + mark}, nil
}

// explain says where the pull request stands and why.
func (c *Commander) explain(ctx context.Context, site *usecase.Site, comment forges.Comment, cmd command.Command) (answer, error) {
	found, err := c.candidates(ctx, site, comment.Ref)
	if err != nil {
		return answer{}, err
	}
	reply := ""
	for _, g := range found.gates {
		reply += note.Explain(note.Input{Report: g.report, Forge: site.Repo.Instance,
			Ask: note.Ask{Review: g.policy.ReviewRules, Approvers: g.policy.Env.Approvers, Unenforced: g.policy.Refuse}}, cmd.Member) + "\n"
	}
	if found.change.State == engine.Merged {
		waits, err := c.explainMerge(ctx, site, found.change)
		if err != nil {
			return answer{}, err
		}
		reply += waits
	}
	if reply == "" {
		reply = "No gate waits here.\n"
	}
	return answer{reply: reply, rule: "explain"}, nil
}

// stampOf is when a comment was made by the forge's clock, at the forge's
// resolution of a second.
func stampOf(c forges.Comment) time.Time { return c.CreatedAt.UTC().Truncate(time.Second) }

func parseStamp(s string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, s) // a zero time is left out of the answer
	return t
}
