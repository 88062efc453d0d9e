package demo

import (
	"context"
)

// loop is the plain loop, once as it is meant to go and once without an approval.
func (p *play) loop() script {
	return script{
		example: TwoRoots(),
		opening: "A repository of two terraform roots, net and app, is made and applied once, as before chant came",
		scenes:  []func(context.Context) error{p.approved, p.unapproved},
		end:     "Done: terraform's state holds what was approved, twice",
	}
}

// approved is the way it is meant to go: the plan is approved before the merge.
func (p *play) approved(ctx context.Context) error {
	pr, err := p.propose("wider", edits{
		mainOf("net"): {"resource \"terraform_data\" \"network\"", "resource \"terraform_data\" \"gateway\" {\n  input = \"10.0.0.1\"\n}\n\nresource \"terraform_data\" \"network\""},
		mainOf("app"): {"listens in", "serves"},
	})
	if err != nil {
		return err
	}
	p.say("bob opens pull request #%d: net gets a gateway, and app holds something else", pr.Number)
	if _, err := p.approvedAndMerged(ctx, pr); err != nil {
		return err
	}
	if err := p.awaitStatus(ctx, pr.Head(), "success", "applied"); err != nil {
		return err
	}
	p.say("the green commit was planned again, alice's approval covers it, and it was applied")
	if err := p.check("net", "gateway", "10.0.0.1"); err != nil {
		return err
	}
	return p.check("app", "service", "serves 10.0.0.0/16")
}

// unapproved is the other way: nobody approved, so the green commit waits.
func (p *play) unapproved(ctx context.Context) error {
	pr, err := p.propose("again", edits{mainOf("app"): {"serves", "answers in"}})
	if err != nil {
		return err
	}
	if _, err := p.approveLine(ctx, pr, "pr-"); err != nil {
		return err
	}
	merge, err := pr.Merge("squash", p.Alice)
	if err != nil {
		return err
	}
	p.say("pull request #%d is merged as %s without an approval", pr.Number, merge[:12])
	if err := p.green(ctx, merge); err != nil {
		return err
	}
	if err := p.awaitStatus(ctx, pr.Head(), "pending", "not covered"); err != nil {
		return err
	}
	op := "green-" + merge[:12]
	line, err := p.approveLine(ctx, pr, op)
	if err != nil {
		return err
	}
	p.say("no approval covers it, so it waits at %s; the note now reads:", op)
	p.quote(pr)
	if err := p.check("app", "service", "serves 10.0.0.0/16"); err != nil {
		return err
	}
	if _, err := p.Forge.As(p.Alice).Comment(pr, line); err != nil {
		return err
	}
	p.say("alice approves what is planned now: %s", line)
	if err := p.awaitStatus(ctx, pr.Head(), "success", "applied"); err != nil {
		return err
	}
	p.say("the gate opened and it was applied")
	return p.check("app", "service", "answers in 10.0.0.0/16")
}
