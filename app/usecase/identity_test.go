package usecase

import (
	"errors"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
)

// identified declares who a gate takes an approval of, which this version does not
// enforce: the gate stays shut.
func identified(gates ...string) *project.Declaration {
	d := &project.Declaration{Identity: &project.Identity{Gates: map[string]project.GateRule{}}, Bot: &project.Bot{Envs: []project.Env{
		{Name: "prod", Branch: "main", Gate: "pr-apply", WaveGate: "release", Execution: "server", MinApprovals: 1},
	}}}
	for _, g := range gates {
		d.Identity.Gates[g] = project.GateRule{Class: "human"}
	}
	return d
}

// pr-loop §3.7, §7.5: the rule for a gate holds for the rounds and the waves of it,
// wherever one is asked.
func TestIdentityShutsTheRoundsAndWavesOfAGate(t *testing.T) {
	t.Parallel()
	st := &Stage{Now: time.Now}
	for _, c := range []struct {
		rule, gate string
		release    bool // of a component of a promote, or of a fan-out
		shut       bool
	}{
		{rule: "pr-apply", gate: "pr-apply", shut: true},
		{rule: "pr-apply", gate: "pr-apply-round-2", shut: true},
		{rule: "release", gate: "release-wave-2", shut: true},
		{rule: "release-wave-3", gate: "release-wave-2", shut: true},
		{rule: "go-live", gate: "pr-apply-round-2"},
		{rule: "go-live", gate: "go-live-round-2", release: true, shut: true},
		{rule: "ship", gate: "ship-wave-1", release: true, shut: true},
		{rule: "ship", gate: "go-live-round-2", release: true},
	} {
		d := identified(c.rule)
		env := d.Bot.Envs[0]
		a := &Apply{Op: "green-1", Policy: PolicyOf(d, env)}
		if c.release {
			a.Release = &Release{deployment: &Deployment{in: DeployInput{Env: "prod", Binds: d}, policy: PolicyOf(d, env)}}
		}
		// A resume record names the gate alone, not what it is a round or wave of.
		q, _, err := st.question(t.Context(), &Site{}, a, Opened{Gate: c.gate}, &PlanSet{})
		if err != nil {
			t.Fatal(err)
		}
		if q.Gate != c.gate || (len(q.Refuse) > 0) != c.shut {
			t.Errorf("%s under a rule for %s: asked %s, refused for %v; want shut %v", c.gate, c.rule, q.Gate, q.Refuse, c.shut)
		}
	}
}

// An approval by hand that could not count is refused when it is given.
func TestIdentityRefusesAnApprovalByHandOfARoundOrWave(t *testing.T) {
	t.Parallel()
	for name, shut := range map[string]bool{
		"pr-apply": true, "pr-apply-round-2": true, "release-wave-2": true, "go-live-round-3": true, "seen": false,
	} {
		in := HandApproval{Site: &Site{}, Declaration: identified("pr-apply", "go-live")}
		err := (&Stage{}).allowed(t.Context(), in, gate.Approval{Act: gate.Act{Op: "web", Gate: name, Env: "prod"}})
		if _, refused := errors.AsType[*Refusal](err); refused != shut || err != nil && !refused {
			t.Errorf("%s: %v; want refused %v", name, err, shut)
		}
	}
}
