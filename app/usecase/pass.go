package usecase

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/run"
)

// Pass is a set of members planned at one time, what it may be applied under, and
// how applying it stands. An apply is a sequence of them: the main one plans every
// member, and each one after it what was held back, against the outputs that stand
// by then (pr-loop §7.4, §7.5).
type Pass struct {
	Set   *PlanSet  `json:"set,omitempty"`
	State run.State `json:"state"`
	// Covering are the merges that cover members of it, as merge commit to members,
	// and Gates what opened for it: their approvals must keep standing.
	Covering map[string][]string `json:"covering,omitempty"`
	Gates    []Opened            `json:"gates,omitempty"`
	// Round is the number of the round that was asked for it, and Wave that of the
	// gated wave it is; 0 for none.
	Round int `json:"round,omitempty"`
	Wave  int `json:"wave,omitempty"`
	// Asked is the gate of the round or wave, nil where what was approved before
	// covers it. It is among Gates once it opened, by ApprovedBy.
	Asked      *Opened  `json:"asked,omitempty"`
	ApprovedBy []string `json:"approvedBy,omitempty"`
	// Moved are the reads for which it was asked, by member.
	Moved map[string][]run.InputRead `json:"moved,omitempty"`
}

// waits tells that the gate of the pass is shut.
func (p *Pass) waits() bool { return p.Asked != nil && len(p.Gates) == 0 }

// Opened is a gate of the apply's op that let a pass apply.
type Opened struct {
	// Op is that of the gate where it is another one than the apply's, and Base the gate
	// that it is a round or a wave of.
	Op     string        `json:"op,omitempty"`
	Base   string        `json:"base,omitempty"`
	Gate   string        `json:"gate"`
	Digest digest.Digest `json:"digest"`
}

// opOf is the op of one of the apply's gates.
func (a *Apply) opOf(g Opened) string { return cmp.Or(g.Op, a.Op) }

// current is the pass that is carried out.
func (a *Apply) current() *Pass {
	if n := len(a.Later); n > 0 {
		return a.Later[n-1]
	}
	return &a.Pass
}

// Passes are the states of every pass, none before the main one starts.
func (a *Apply) Passes() run.Passes {
	if len(a.State.Members) == 0 {
		return nil
	}
	out := run.Passes{&a.State}
	for _, p := range a.Later {
		out = append(out, &p.State)
	}
	return out
}

// use makes a pass the one that is carried out. What is read from then on is read
// again.
func (ex *execution) use(p *Pass) (err error) {
	ex.pass = p
	ex.upstreams = newUpstreams(ex.driver, ex.planInput(), ex.components, func(ctx context.Context, name string) (outputs, error) {
		return componentOutputs(ctx, ex.driver, ex.planInput(), ex.components[name], ex.credentials)
	})
	if ex.trees, err = ex.newTrees(ex.checkout, ex.driver, ex.apply.Dir, "applying"); err == nil {
		ex.trees.written = p.Set.Trees
	}
	return err
}

// passes carries out the pass at hand and those that follow from it, one after the
// other.
func (ex *execution) passes(ctx context.Context) error {
	for {
		if err := ex.waves(ctx); err != nil {
			return err
		}
		next, err := ex.nextPass(ctx)
		if err != nil || next == nil {
			return err
		}
		if err := ex.use(next); err != nil {
			return err
		}
		ex.apply.Later = append(ex.apply.Later, next)
		if err := ex.in.Journal.Save(ctx, ex.apply); err != nil {
			return err
		}
	}
}

// passStands tells why an approval that the pass rests on no longer stands, ""
// while all do.
func (ex *execution) passStands(ctx context.Context, snap *ledger.Snapshot) (string, error) {
	return ex.stillStand(ctx, ex.in.Site, snap, ex.apply, ex.pass.Gates, ex.pass.Set, func(merge string) bool {
		return slices.ContainsFunc(ex.pass.Covering[merge], func(member string) bool { return !ex.pass.State.Members[member].Status.Final() })
	})
}

// stillStand tells why the approval at one of the gates, or that of one of the apply's merges
// that counts, no longer stands, "" while all do. set is what the gates bind.
func (st *Stage) stillStand(ctx context.Context, site *Site, snap *ledger.Snapshot, a *Apply, gates []Opened, set *PlanSet, counts func(merge string) bool) (string, error) {
	for _, g := range gates {
		d, err := st.Ask(ctx, site, snap, a, g, set)
		if err != nil {
			return "", err
		}
		if !d.Satisfied {
			return fmt.Sprintf("the approval at %s %s no longer stands", a.opOf(g), g.Gate), nil
		}
	}
	for _, m := range a.Merges {
		if !counts(m.Commit) {
			continue
		}
		stands, err := st.mergeStands(ctx, site, snap, a.Prefix, a.Policy, m)
		if err != nil {
			return "", err
		}
		if !stands {
			return fmt.Sprintf("the approval of #%d no longer stands", *m.PR), nil
		}
	}
	return "", nil
}

// Opened are the gates whose approvals the apply rests on, of every pass.
func (a *Apply) Opened() []Opened {
	out := slices.Clone(a.Gates)
	for _, p := range a.Later {
		out = append(out, p.Gates...)
	}
	return out
}
