package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/pullenv"
)

// PullEnvOptions are those of `chant components pr-env` (components decision 6).
type PullEnvOptions struct {
	PR          int    `name:"pr" env:"PR_NUMBER" placeholder:"N" required:"" help:"Number of the pull request. Its environment is pr-N."`
	Base        string `env:"BASE_SHA" placeholder:"REF" help:"Target branch's commit the pull request merges into. With --destroy HEAD will do."`
	Head        string `placeholder:"REF" help:"Head of the pull request. Default: HEAD, or in a job on the forge's own merge commit the head that was merged."`
	Destroy     bool   `help:"Destroy everything the environment has, from the commits that made it. Nothing does so by itself when the pull request is closed: have a job of the pipeline do it."`
	Credentials string `env:"CHANT_PR_ENV_CREDENTIALS" placeholder:"FILE" help:"File of KEY=VALUE lines: the environment's own credentials, and the only variables its code is given."`
	Member      string `placeholder:"MEMBER" help:"Workspace member; it must be the one the working directory is in."`
	Forge       string `placeholder:"FORGE" help:"Forge to ask whether the pull request is open and no fork's: github, gitlab or forgejo."`
	JSON        bool   `name:"json" help:"Print the result as one line of JSON."`

	Run RunOptions `embed:""`
}

func (o PullEnvOptions) check() error {
	switch {
	case o.PR < 1:
		return Misuse("--pr %d is no pull request", o.PR)
	case o.Base == "" && !o.Destroy:
		return Misuse("--base: say which commit the pull request merges into")
	case len(o.Run.PassEnv) > 0:
		return Misuse("--pass-env hands on the job's own variables, which the environment of a pull request never gets; unset CHANT_PASS_ENV and give --credentials")
	}
	return nil
}

// PullEnv applies what a pull request changes to an environment of its own, or
// destroys that.
func PullEnv(ctx context.Context, h *Host, o PullEnvOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	return refusedIsFailed(h.pullEnv(ctx, o))
}

func (h *Host) pullEnv(ctx context.Context, o PullEnvOptions) error {
	c, err := h.openWith(ctx, o.Forge)
	if err != nil {
		return err
	}
	in := usecase.PullEnvInput{Site: c.site, Number: o.PR, Progress: h.progress}
	rev, base := "HEAD", o.Base
	if base == "" {
		base = "HEAD"
	}
	if in.BaseTip, err = c.resolve(ctx, base); err != nil {
		return fmt.Errorf("--base: %w", err)
	}
	if !o.Destroy {
		if in.Head, err = h.head(ctx, c, PlanOptions{PR: o.PR, Head: o.Head}); err != nil {
			return fmt.Errorf("--head: %w", err)
		}
		if err := mayHaveEnv(ctx, c, o.PR, in.Head); err != nil {
			return err
		}
		rev = in.Head
	}
	if in.Member, err = c.memberAt(ctx, rev, o.Member); err != nil {
		return err
	}
	credentials, err := h.ownCredentials(o.Credentials)
	if err != nil {
		return err
	}
	stage, _, err := h.stageWith(ctx, c, o.Run, pullenv.Name(o.PR), credentials)
	if err != nil {
		return err
	}
	var remove func()
	if in.Dir, remove, err = c.runDir(); err != nil {
		return err
	}
	defer remove()
	if o.Destroy {
		end, err := stage.EndPullEnv(ctx, in)
		return h.finishPullEnvEnd(o, end, err)
	}
	return h.applyPullEnv(ctx, o, stage, in)
}

// mayHaveEnv asks the forge, where one was named: code of a fork, or of a pull request
// that is closed, is not applied.
func mayHaveEnv(ctx context.Context, c *checkout, number int, head string) error {
	if c.site.Forge == nil {
		return nil
	}
	change, err := c.site.Forge.Change(ctx, c.site.Repo, number)
	switch {
	case err != nil:
		return fmt.Errorf("reading pull request #%d: %w", number, err)
	case change.Fork:
		return &usecase.Refusal{Message: fmt.Sprintf("pull request #%d comes from a fork, and code of a fork is never applied", number)}
	case change.State != engine.Open:
		return &usecase.Refusal{Message: fmt.Sprintf("pull request #%d is not open; end its environment with --destroy", number)}
	case change.Head != head:
		return &usecase.Refusal{Message: fmt.Sprintf("%s is not the head of pull request #%d, which is %s; check that out", head, number, change.Head)}
	}
	return nil
}

// memberAt is the workspace member the working directory is in, as a commit declares
// members.
func (c *checkout) memberAt(ctx context.Context, rev, flag string) (string, error) {
	commit, err := c.resolve(ctx, rev)
	if err != nil {
		return "", err
	}
	d, err := c.site.Declaration(ctx, commit)
	if err != nil {
		return "", err
	}
	return c.member(d, flag)
}

// ownCredentials reads the credentials of an environment from a file; without one
// there are none.
func (h *Host) ownCredentials(file string) (jobCredentials, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(h.path(file))
	if err != nil {
		return nil, fmt.Errorf("--credentials: %w", err)
	}
	var pairs jobCredentials
	n := 0
	for line := range bytes.Lines(text) {
		n++
		pair := strings.TrimRight(string(line), "\r\n")
		if strings.TrimSpace(pair) == "" || strings.HasPrefix(pair, "#") {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		if !found || value == "" || !handedOn(name) {
			// The line itself may be a secret.
			return nil, fmt.Errorf("--credentials: %s:%d: want NAME=VALUE, and a name that is not chant's, the forge's or the runner's own", file, n)
		}
		pairs = append(pairs, pair)
	}
	return pairs, nil
}

func (h *Host) applyPullEnv(ctx context.Context, o PullEnvOptions, stage *usecase.Stage, in usecase.PullEnvInput) error {
	d, selection, err := stage.OpenPullEnv(ctx, in)
	if err != nil {
		return err
	}
	for _, unit := range selection.Unclaimed {
		h.warnf("%s changed and no component claims it", unit)
	}
	names := selection.Order()
	if err := d.Runnable(names); err != nil {
		return err
	}
	sources, err := d.Sources(ctx, names)
	if err != nil {
		return err
	}
	plan, err := fanout.Derive(d.Components(), selection, sources)
	if err != nil {
		return err
	}
	run, _ := fanout.NewRun(plan, nil)
	h.progress(fmt.Sprintf("%s: %d components", pullenv.Name(o.PR), len(names)))
	for i, wave := range plan.Waves {
		h.progress(fmt.Sprintf("  wave %d: %s", i+1, strings.Join(wave, ", ")))
	}
	out, err := d.RollOut(ctx, usecase.RolloutInput{Run: run, Sources: sources})
	return h.finishDeploy(ended{options: DeployOptions{JSON: o.JSON}, run: run, out: out, failure: err, what: pullenv.Name(o.PR)})
}

// finishPullEnvEnd says what is gone and what is not.
func (h *Host) finishPullEnvEnd(o PullEnvOptions, end usecase.PullEnvEnd, failure error) error {
	for _, name := range end.Destroyed {
		h.progress(name + ": destroyed")
	}
	for _, f := range end.Failed {
		h.progress(fmt.Sprintf("%s: still there: %s", f.Component, f.Error))
	}
	for _, name := range end.Blocked {
		h.progress(name + ": still there, as what depends on it is")
	}
	switch left := end.Left(); {
	case failure != nil:
	case len(left) == 0:
		h.progress(end.Env + " is destroyed")
	default:
		h.progress(fmt.Sprintf("%s is not at its end: %s stay, for the reasons above; once those are mended, run this again", end.Env, strings.Join(left, ", ")))
	}
	if o.JSON {
		if err := h.compact(end); err != nil {
			return errors.Join(failure, err)
		}
	}
	if failure == nil && len(end.Left()) > 0 {
		return &ExitError{Code: Failed}
	}
	return failure
}
