package demo

import (
	"bytes"
	"context"
	"errors"
	"os"

	"github.com/chant-bot/chant/forges/forgetest"
)

// composed is what a change that reaches readers goes through: a group, a round, a
// failure and a wave gate.
func (p *play) composed() script {
	return script{
		example: Composed(),
		opening: "A repository of six terraform roots in five components is made and applied once, as before chant came: app reads net, edge reads net and app, jobs follow data",
		scenes:  []func(context.Context) error{p.group, p.round, p.resumed, p.waveGate},
		end:     "Done: terraform's states hold what was approved, together, in a round, part by part and wave by wave",
	}
}

// group is a reader that gets a new value inside the apply that makes it.
func (p *play) group(ctx context.Context) error {
	pr, err := p.propose("wider", edits{mainOf("net"): {"10.0.0.0/16", "10.1.0.0/16"}})
	if err != nil {
		return err
	}
	p.say("A group. bob opens pull request #%d: net gets another address range, which app reads", pr.Number)
	if _, err := p.approvedAndMerged(ctx, pr); err != nil {
		return err
	}
	if err := p.awaitStatus(ctx, pr.Head(), "success", "applied"); err != nil {
		return err
	}
	err = p.shows(ctx, pr, "| applied |", "net and app were planned as one, approved once and applied in one run, in which app got the new range:")
	if err != nil {
		return err
	}
	return errors.Join(p.check("net", "network", "10.1.0.0/16"), p.check("app", "service", "listens in 10.1.0.0/16"))
}

// round is a reader that is in no group: edge has two steps.
func (p *play) round(ctx context.Context) error {
	pr, err := p.propose("zone", edits{mainOf("net"): {"example.test", "example.org"}})
	if err != nil {
		return err
	}
	p.say("A round. bob opens pull request #%d: net gets another zone, for which edge has a certificate", pr.Number)
	merge, err := p.approvedAndMerged(ctx, pr)
	if err != nil {
		return err
	}
	err = p.shows(ctx, pr, "To approve round 2",
		"net is applied. edge could not be planned before with the zone it reads, so it is planned now, and waits for its own approval:")
	if err != nil {
		return err
	}
	if err := errors.Join(p.check("net", "zone", "example.org"), p.check("cert", "certificate", "for *.example.test")); err != nil {
		return err
	}
	if err := p.opens(ctx, pr, merge, "pr-apply-round-2"); err != nil {
		return err
	}
	return p.check("cert", "certificate", "for *.example.org")
}

// resumed is a failure that the commit is not to blame for.
func (p *play) resumed(ctx context.Context) error {
	pr, err := p.propose("volume", edits{
		mainOf("data"): {`"data-1"`, `"data-2"`}, mainOf("jobs"): {"nightly", "hourly"}, mainOf("listener"): {"sends 443", "hands 443 on"},
	})
	if err != nil {
		return err
	}
	p.say("A failure. bob opens pull request #%d: data moves to another volume, jobs run hourly, edge says it in other words", pr.Number)
	if _, err := p.approvedAndMerged(ctx, pr); err != nil {
		return err
	}
	err = p.shows(ctx, pr, "`data` failed", "data failed half way, for nobody attached the volume; jobs follow data and were not run; edge was applied:")
	if err != nil {
		return err
	}
	err = errors.Join(p.check("data", "volume", "data-2"), p.check("data", "database", "kept on data-1"),
		p.check("jobs", "schedule", "nightly"), p.check("listener", "listener", "hands 443 on to 8080"))
	if err != nil {
		return err
	}
	before, err := os.ReadFile(p.StateFile("listener"))
	if err != nil {
		return err
	}
	if err := p.Attach("data-2"); err != nil {
		return err
	}
	if _, err := p.Forge.As(p.Alice).Comment(pr, "chant apply"); err != nil {
		return err
	}
	p.say("somebody attaches the volume, and alice says: chant apply")
	if err := p.shows(ctx, pr, "An earlier attempt applied", "what was left is applied, under the approval it had:"); err != nil {
		return err
	}
	after, err := os.ReadFile(p.StateFile("listener"))
	if err == nil && !bytes.Equal(before, after) {
		err = errors.New("what was applied was applied again: the state of listener is another one")
	}
	return errors.Join(err, p.check("data", "database", "kept on data-2"), p.check("jobs", "schedule", "hourly"))
}

// waveGate is the same reader in an env that is applied wave by wave. It is the env
// there is, which gets a gate: another one on the branch would plan the same states.
func (p *play) waveGate(ctx context.Context) error {
	gate, err := p.propose("gate", edits{"chant.workspace.json": {`"applyOnMerge": true,`, `"applyOnMerge": true, "waveGate": "release",`}})
	if err != nil {
		return err
	}
	merge, err := gate.Merge("merge", p.Alice)
	if err != nil {
		return err
	}
	p.say("A wave gate. Pull request #%d is merged: from now on prod is applied wave by wave, each wave after the first at its gate", gate.Number)
	if err := p.green(ctx, merge); err != nil {
		return err
	}
	if err := p.awaitStatus(ctx, gate.Head(), "success", ""); err != nil {
		return err
	}
	pr, err := p.propose("port", edits{mainOf("app"): {"8080", "8443"}})
	if err != nil {
		return err
	}
	p.say("bob opens pull request #%d: app listens at another port, to which edge sends", pr.Number)
	if merge, err = p.approvedAndMerged(ctx, pr); err != nil {
		return err
	}
	err = p.shows(ctx, pr, "To approve wave 2", "wave 1 is applied under the merge's approval. edge is planned now, with the port that stands, so wave 2 waits:")
	if err != nil {
		return err
	}
	if err := errors.Join(p.check("app", "port", "8443"), p.check("listener", "listener", "hands 443 on to 8080")); err != nil {
		return err
	}
	if err := p.opens(ctx, pr, merge, "release-wave-2"); err != nil {
		return err
	}
	return p.check("listener", "listener", "hands 443 on to 8443")
}

// opens approves what waits at a gate of a green commit.
func (p *play) opens(ctx context.Context, pr *forgetest.Pull, merge, gate string) error {
	line, err := p.approveLine(ctx, pr, "green-"+merge[:12]+" "+gate)
	if err != nil {
		return err
	}
	if _, err := p.Forge.As(p.Alice).Comment(pr, line); err != nil {
		return err
	}
	p.say("alice approves it: %s", line)
	if err := p.awaitStatus(ctx, pr.Head(), "success", "applied"); err != nil {
		return err
	}
	p.say("the gate opened and it was applied")
	return nil
}
