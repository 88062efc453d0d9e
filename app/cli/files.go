package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/report"
)

// The files of a report directory (pr-loop §5.6). shownFile is ours: what an
// approver was shown beside the document, for `chant approve`.
const (
	planReport  = "pr-plan.json"
	applyReport = "pr-apply.json"
	changeSet   = "change-set.json"
	noteFile    = "pr-note.md"
	shownFile   = "sources.json"
)

// outcome is a finished stage on its way to files, forge and person.
type outcome struct {
	report   report.Report
	document []byte
	shown    usecase.Shown
	note     note.Input
	forge    engine.ForgeKind // whose notes hold how much
}

// write leaves the files of an outcome in a directory.
func (h *Host) write(dir string, out outcome) error {
	text, err := out.report.JSON()
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	shown, err := json.MarshalIndent(out.shown, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	name := planReport
	if out.report.Stage == report.Apply {
		name = applyReport
	}
	dir = h.path(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // an artifact's directory
		return fmt.Errorf("making the report's directory: %w", err)
	}
	body := note.Render(out.note, note.Limit(out.forge))
	files := map[string][]byte{name: text, changeSet: out.document, noteFile: []byte(body + "\n"), shownFile: append(shown, '\n')}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil { //nolint:gosec // an artifact
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	h.stepSummary(body)
	return nil
}

// stepSummary shows the note on the page of a GitHub job, where its runner asks
// for one. It is a help to readers only, so a failure is ignored (components §6.3).
func (h *Host) stepSummary(body string) {
	name := h.env("GITHUB_STEP_SUMMARY")
	if name == "" {
		return
	}
	f, err := os.OpenFile(h.path(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // the runner reads it
	if err != nil {
		return
	}
	_, _ = f.WriteString(body + "\n\n")
	_ = f.Close()
}

// plannedPull is a planned pull request.
type plannedPull struct {
	plan        usecase.PullPlan
	trust       usecase.Trust
	target      target
	baseTip     string
	notIsolated bool
}

func (h *Host) finishPlan(ctx context.Context, c *checkout, o PlanOptions, p plannedPull) error {
	out := outcome{report: p.plan.Report, document: p.plan.Report.ChangeSet.JSON(), note: h.planNote(c.job, p), forge: c.job.repo.Instance.Kind}
	if p.plan.Set != nil {
		out.shown = p.plan.Set.Shown()
	}
	if err := h.write(o.Output, out); err != nil {
		return err
	}
	h.post(ctx, c, p.target, []int{o.PR}, out)
	return h.conclude(o.CommonOptions, out)
}

// conclude prints the result and turns it into an exit code.
func (h *Host) conclude(o CommonOptions, out outcome) error {
	if o.JSON {
		text, err := out.report.JSON()
		if err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
		if _, err := h.Stdout.Write(text); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	} else {
		h.summary(out, o.Output)
	}
	if code := out.report.ExitCode(); code != Done {
		return &ExitError{Code: code}
	}
	return nil
}

// summary is a report in a few lines.
func (h *Host) summary(out outcome, dir string) {
	r, unenforced := out.report, out.note.Ask.Unenforced
	_, said := note.Status(r)
	message := r.Message
	if message != "" && strings.HasSuffix(said, message) {
		said, message = message, "" // the status says nothing more
	}
	if !strings.HasPrefix(said, string(r.Status)+":") {
		said = string(r.Status) + ": " + said
	}
	h.sayf("%s", said)
	if r.Resumed != nil { // before a message that nothing of this plan was applied
		h.sayf("applied before this plan was made: %s", strings.Join(r.Resumed.Applied, ", "))
	}
	if message != "" {
		h.sayf("%s", message)
	}
	for _, m := range r.Members {
		h.sayf("  %s: %s", m.Member, memberLine(m))
	}
	h.passes(r, dir, unenforced)
	h.sayGroups(r.Groups, r.Fallbacks)
	if r.Green != nil && r.Status == report.Refused {
		for _, row := range r.Green.Cover {
			if row.Status == report.Uncovered {
				h.sayf("  %s is not covered: %s", row.Member, row.Reason)
			}
		}
	}
	if !r.Digest.IsZero() {
		h.sayf("digest %s", r.Digest)
		if len(r.Approval.ApprovedBy) > 0 {
			as := ""
			if other := r.Approval.Approved; other != nil {
				as = ", as the rest of " + other.String()
			}
			h.sayf("approved by %s%s", strings.Join(r.Approval.ApprovedBy, ", "), as)
		}
		switch open := r.Stage == report.Plan && r.Status == report.Planned && r.Approval.Status != report.Approved; {
		case open && len(unenforced) > 0:
			h.sayf("nothing can be approved here, since this version does not enforce: %s. Take the setting out, or use a version that enforces it.", strings.Join(unenforced, "; "))
		case open:
			h.sayf("to approve it: %s", report.CommandLine(r.Op, r.Gate, r.Digest, "", false))
		}
	}
	h.sayf("report in %s", dir)
}

func memberLine(m report.Member) string {
	line := string(m.Status)
	if len(m.UnknownInputs) > 0 {
		var from []string
		for _, u := range m.UnknownInputs {
			from = append(from, u.From+"."+u.Output)
		}
		if m.Status == report.MemberPlanned {
			line = "waits" // "planned" would say that there is something to read
		}
		return line + ", planned once " + strings.Join(from, ", ") + " is known"
	}
	for _, part := range []struct {
		n    int
		verb string
	}{{m.Counts.Create, "create"}, {m.Counts.Update, "update"}, {m.Counts.Replace, "replace"}, {m.Counts.Delete, "delete"}} {
		if part.n > 0 {
			line += fmt.Sprintf(", %s %d", part.verb, part.n)
		}
	}
	if m.Error != "" {
		line += ": " + m.Error
	}
	if m.BlockedBy != "" {
		line += ", blocked by " + m.BlockedBy + ", not run"
	}
	return line
}
