package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine/drivers/declare"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/engine/project"
)

// TickOptions are those of `chant ci tick` (pr-loop §4.3).
type TickOptions struct {
	DryRun bool   `help:"Say which tags are due and make none."`
	Forge  string `default:"github" placeholder:"FORGE" help:"Forge whose checks are read: github, gitlab or forgejo."`
	JSON   bool   `name:"json" help:"Print the tags as JSON."`
}

// tickResult is what a tick prints.
type tickResult struct {
	Branch string    `json:"branch"`
	DryRun bool      `json:"dryRun"`
	Tags   []tickTag `json:"tags"`
}

type tickTag struct {
	Name   string `json:"name"`
	Commit string `json:"commit"`
}

// Tick judges the commits of the green branch by their checks and pushes the
// tags due. The declaration at the branch's tip is the one judged by.
func Tick(ctx context.Context, h *Host, o TickOptions) error {
	c, err := h.openWith(ctx, o.Forge)
	if err != nil {
		return err
	}
	g, err := c.green(ctx)
	if err != nil {
		return err
	}
	stage := &usecase.Stage{Version: h.Version, Now: h.Now}
	made, err := stage.Tick(ctx, usecase.TickInput{Site: c.site, Green: g, DryRun: o.DryRun})
	result := tickResult{Branch: g.Branch, DryRun: o.DryRun, Tags: []tickTag{}}
	for _, t := range made {
		result.Tags = append(result.Tags, tickTag{Name: t.Name, Commit: t.Commit})
	}
	if printed := h.printTick(o, result); printed != nil {
		return errors.Join(err, printed)
	}
	return withTokenHint(err)
}

// withTokenHint says what to do where GitHub refuses a tag on a commit that
// changes workflows, which a job's own token may not push (pr-loop §4.3).
func withTokenHint(err error) error {
	var rejected *git.Rejected
	if errors.As(err, &rejected) && strings.Contains(rejected.Reason, "workflows") {
		return fmt.Errorf("%w; check out with a personal or an app token that may write workflows", err)
	}
	return err
}

func (h *Host) printTick(o TickOptions, r tickResult) error {
	if o.JSON {
		return h.json(r)
	}
	for _, t := range r.Tags {
		h.sayf("%s", t.Name)
	}
	switch {
	case len(r.Tags) == 0:
		h.progress("no tag is due on " + r.Branch)
	case o.DryRun:
		h.progress("dry run: no tag was made")
	}
	return nil
}

// green fetches the branch that HEAD's declaration names and reads ci.green at
// its tip.
func (c *checkout) green(ctx context.Context) (project.Green, error) {
	here, err := c.site.Declaration(ctx, "HEAD")
	if err != nil {
		return project.Green{}, err
	}
	if here.Green == nil {
		return project.Green{}, undeclared(here.File)
	}
	if err := c.site.FetchBranch(ctx, here.Green.Branch); err != nil {
		return project.Green{}, err
	}
	tip, err := c.site.Clone.Resolve(ctx, c.trackedRef(here.Green.Branch))
	if err != nil {
		return project.Green{}, branchUnknown(here.Green.Branch)
	}
	d, err := c.site.Declaration(ctx, tip)
	if err != nil {
		return project.Green{}, err
	}
	if d.Green == nil || d.Green.Branch != here.Green.Branch {
		return project.Green{}, fmt.Errorf("%s on branch %s names another green branch than the one checked out; check %s out", d.File, here.Green.Branch, here.Green.Branch)
	}
	return *d.Green, nil
}

// trackedRef is where the branch stands as the remote was last seen.
func (c *checkout) trackedRef(branch string) string {
	if remote := c.site.Clone.Remote(); remote != "" {
		return "refs/remotes/" + remote + "/" + branch
	}
	return "refs/heads/" + branch
}

// coded is an error with a code for machines (pr-loop §4.4).
type coded struct{ code, message string }

func (e *coded) Error() string { return e.message }

func undeclared(file string) error {
	return &coded{code: "ci-green-undeclared", message: file + " declares no ci.green; declare which checks make a commit green"}
}

func branchUnknown(branch string) error {
	return &coded{code: "ci-branch-unknown", message: fmt.Sprintf("branch %s of ci.green is not here; fetch it, or correct ci.green.branch", branch)}
}

// LastGreenOptions are those of `chant ci last-green` (pr-loop §4.4).
type LastGreenOptions struct {
	JSON bool `name:"json" help:"Print a JSON document, with exit code 0 also when no commit is green."`
}

const lastGreenSchema = "https://intentius.io/chant/schemas/workspace/ci-last-green/v1/ci-last-green.schema.json"

type lastGreen struct {
	Schema    string         `json:"$schema"`
	Contract  int            `json:"contract"`
	Chant     string         `json:"chant"`
	Workspace lastGreenSpace `json:"workspace"`
	Branch    string         `json:"branch"`
	Ref       string         `json:"ref"`
	Commit    *lastGreenAt   `json:"commit"`
}

type lastGreenSpace struct {
	Name string `json:"name"`
	Root string `json:"root"` // relative to the checkout
	File string `json:"file"`
}

type lastGreenAt struct {
	SHA       string  `json:"sha"`
	Tag       string  `json:"tag"`
	Tagged    *string `json:"tagged"` // null for a lightweight tag
	Committed string  `json:"committed"`
}

type lastGreenError struct {
	Schema   string `json:"$schema"`
	Contract int    `json:"contract"`
	Chant    string `json:"chant"`
	Error    struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// LastGreen prints the newest green commit of the green branch, as the checkout
// knows it: nothing is fetched.
func LastGreen(ctx context.Context, h *Host, o LastGreenOptions) error {
	out, err := h.lastGreen(ctx)
	switch {
	case err != nil && o.JSON:
		failed := lastGreenError{Schema: lastGreenSchema, Contract: 1, Chant: h.Version}
		failed.Error.Code, failed.Error.Message = codeOf(err), err.Error()
		if err := h.json(failed); err != nil {
			return err
		}
		return &ExitError{Code: Failed}
	case err != nil:
		return err
	case o.JSON:
		return h.json(out)
	case out.Commit == nil:
		return &ExitError{Code: Failed, Err: fmt.Errorf("no commit of %s has a counting ci/green tag; chant ci tick gives one to what is green", out.Ref)}
	}
	h.sayf("%s", out.Commit.SHA)
	return nil
}

// codeOf is the code of a last-green failure.
func codeOf(err error) string {
	var c *coded
	var problems project.Problems
	switch {
	case errors.As(err, &c):
		return c.code
	case errors.As(err, &problems):
		return problems[0].Code
	case errors.Is(err, project.ErrNoDeclaration):
		return project.CodeMissing
	case errors.Is(err, errNotGit):
		return "not-a-git-repository"
	case errors.Is(err, git.ErrUnknownRevision):
		return "revision-unknown"
	}
	return "failed"
}

func (h *Host) lastGreen(ctx context.Context) (lastGreen, error) {
	out := lastGreen{Schema: lastGreenSchema, Contract: 1, Chant: h.Version}
	c, err := h.open(ctx, "")
	if err != nil {
		return out, err
	}
	d, root, err := h.declared(c)
	if err != nil {
		return out, err
	}
	if d.Green == nil {
		return out, undeclared(d.File)
	}
	out.Workspace = lastGreenSpace{Name: d.Name, Root: root, File: d.File}
	out.Branch = d.Green.Branch
	tip, err := c.greenTip(ctx, &out)
	if err != nil {
		return out, err
	}
	line, err := c.site.Clone.FirstParents(ctx, tip, git.Walk{})
	if err != nil {
		return out, err
	}
	out.Commit, err = c.newestGreen(ctx, line)
	return out, err
}

// declared reads the declaration nearest to the working directory, as it lies
// in the checkout.
func (h *Host) declared(c *checkout) (d *project.Declaration, root string, err error) {
	dir, err := declare.Find(h.Dir)
	if err != nil {
		return nil, "", err
	}
	d, err = declare.LoadDeclaration(func(path string) ([]byte, bool, error) {
		data, err := os.ReadFile(filepath.Join(dir, path))
		if errors.Is(err, os.ErrNotExist) {
			return nil, false, nil
		}
		return data, err == nil, err
	})
	if err != nil {
		return nil, "", err
	}
	root, err = filepath.Rel(c.top, dir)
	return d, filepath.ToSlash(root), err
}

// greenTip finds the branch: as the remote was last seen, else as it is here.
func (c *checkout) greenTip(ctx context.Context, out *lastGreen) (string, error) {
	for _, ref := range []string{c.trackedRef(out.Branch), "refs/heads/" + out.Branch} {
		tip, err := c.site.Clone.Resolve(ctx, ref)
		if err == nil {
			out.Ref = ref
			return tip, nil
		}
		if !errors.Is(err, git.ErrUnknownRevision) {
			return "", err
		}
	}
	return "", branchUnknown(out.Branch)
}

// newestGreen is the newest commit of a first-parent line with a counting green
// tag, nil when there is none.
func (c *checkout) newestGreen(ctx context.Context, line []git.Commit) (*lastGreenAt, error) {
	refs, err := c.site.Clone.CITags(ctx)
	if err != nil {
		return nil, err
	}
	tags := make([]green.Tag, 0, len(refs))
	for _, r := range refs {
		tags = append(tags, green.Tag{Name: r.Name, Commit: r.Commit})
	}
	shas := make([]string, 0, len(line))
	for _, commit := range line {
		shas = append(shas, commit.SHA)
	}
	sha, ok := green.Last(shas, tags)
	if !ok {
		return nil, nil
	}
	at := &lastGreenAt{SHA: sha, Tag: green.GreenPrefix + sha}
	for _, r := range refs {
		if r.Name == at.Tag && r.Annotated {
			tagged := isoSeconds(r.At)
			at.Tagged = &tagged
		}
	}
	for _, commit := range line {
		if commit.SHA == sha {
			at.Committed = isoSeconds(commit.CommitterTime)
		}
	}
	return at, nil
}

// isoSeconds writes an instant as git's strict ISO 8601 does, in UTC.
func isoSeconds(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05-07:00") }
