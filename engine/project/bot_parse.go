package project

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
)

// DefaultGate is the gate of an env that names none (pr-loop §5.1).
const DefaultGate = "pr-apply"

// defaultComponents are the globs of components when x-bot.components is absent
// (components decision 1). The caller gets a list of its own.
func defaultComponents() []string {
	return []string{"**/*.component.json", "**/*.component.yaml"}
}

// bot reads x-bot, closed (pr-loop decision 3).
func (r *reader) bot(n *Node, green *Green) *Bot {
	if n == nil {
		return nil
	}
	o, ok := r.object(n, "x-bot", false, "envs", "tick", "plan", "components")
	if !ok {
		return nil
	}
	b := &Bot{Tick: o.boolean("tick", true), Plan: r.planPolicy(o), Components: defaultComponents()}
	if o.has("components") {
		o.nonEmpty("components", "list the globs of component files or leave the field out")
		b.Components = o.words("components", badGlob)
	}
	for i, item := range o.fewer("envs", maxEnvs) {
		field := fmt.Sprintf("x-bot.envs[%d]", i)
		e, ok := r.env(item, field, green)
		if !ok {
			continue
		}
		r.distinct(b.Envs, e, field)
		b.Envs = append(b.Envs, e)
	}
	return b
}

func (r *reader) planPolicy(o object) PlanPolicy {
	p := PlanPolicy{Forks: "never"}
	if !o.has("plan") {
		return p
	}
	plan, ok := r.object(o.node.Get("plan"), "x-bot.plan", false, "drafts", "forks", "paths")
	if !ok {
		return p
	}
	p.Drafts = plan.boolean("drafts", false)
	p.Forks = plan.oneOf("forks", "never", "on-command")
	plan.nonEmpty("paths", "list globs or leave the field out")
	p.Paths = plan.words("paths", badGlob)
	return p
}

func (r *reader) env(n *Node, field string, green *Green) (Env, bool) {
	o, ok := r.object(n, field, false, "name", "branch", "applyOnMerge", "waveGate", "gate", "requireReview",
		"execution", "blockMerge", "approveOnReview", "approvers", "minApprovals", "vars")
	if !ok {
		return Env{}, false
	}
	e := Env{Line: n.Line}
	e.Name = o.requiredName("name", envPattern, envWords)
	if preEnvPattern.MatchString(e.Name) {
		o.fail("name", "choose another name", "%q is kept for a pull request's own environment", e.Name)
	}
	e.Branch = r.branch(o)
	if e.Branch == "" && green != nil {
		e.Branch = green.Branch
	}
	e.ApplyOnMerge = o.boolean("applyOnMerge", false)
	e.WaveGate = o.name("waveGate", gatePattern, gateWords)
	if e.Gate = o.name("gate", gatePattern, gateWords); e.Gate == "" {
		e.Gate = DefaultGate
	}
	e.RequireReview = o.boolean("requireReview", false)
	e.Execution = o.oneOf("execution", "server", "ci")
	e.BlockMerge = o.boolean("blockMerge", false)
	e.ApproveOnReview = o.boolean("approveOnReview", false)
	o.nonEmpty("approvers", "list who may approve or leave the field out")
	e.Approvers = r.approvers(o)
	e.MinApprovals = o.count("minApprovals", 1, 1)
	e.Vars = r.vars(o)
	r.judged(o, e, green)
	return e, true
}

// judged refuses an apply on merge that could never start: only commits of
// ci.green's branch go green.
func (r *reader) judged(o object, e Env, green *Green) {
	switch {
	case !e.ApplyOnMerge:
	case green == nil:
		o.fail("applyOnMerge", "declare ci.green: its branch, phases and require", "needs ci.green, since only green commits apply")
	case green.Branch != "" && e.Branch != green.Branch:
		o.fail("applyOnMerge", fmt.Sprintf("use branch %q or record only", green.Branch),
			"branch %q is not the one ci.green judges, so nothing of it ever applies", e.Branch)
	}
}

func (r *reader) approvers(o object) []string {
	var approvers []string
	for _, who := range o.words("approvers", func(s string) string { return badPrincipal(strings.ToLower(s)) }) {
		who = strings.ToLower(who)
		if rest, gitea := strings.CutPrefix(who, "gitea@"); gitea {
			who = "forgejo@" + rest // one adapter serves both, and names their people alike
		}
		if !slices.Contains(approvers, who) {
			approvers = append(approvers, who)
		}
	}
	return approvers
}

func (r *reader) vars(o object) map[string]digest.Value {
	n := o.node.Get("vars")
	if n == nil || !r.is(n, Object, o.field("vars")) {
		return nil
	}
	vars := make(map[string]digest.Value, len(n.Fields))
	for _, f := range n.Fields {
		field := join(o.field("vars"), f.Name)
		switch {
		case f.Name == "name":
			r.fail(f.Line, field, "choose another name", "$env.name is the environment's own name")
		case !variablePattern.MatchString(f.Name):
			r.fail(f.Line, field, "use letters, digits, dashes and underscores, starting with a letter", "variable name %q is not allowed", f.Name)
		}
		v, err := f.Value.ToValue()
		if err != nil {
			r.fail(f.Line, field, "", "%v", err)
			continue
		}
		vars[f.Name] = v
	}
	return vars
}

// distinct refuses an env named twice and two envs on one branch with one gate:
// an approval of one would read as one of the other (pr-loop decision 3). An
// empty branch is any branch.
func (r *reader) distinct(before []Env, e Env, field string) {
	for _, other := range before {
		if other.Name == e.Name && e.Name != "" {
			r.fail(e.Line, field+".name", "rename one of them", "env %q is declared twice", e.Name)
			continue
		}
		if other.Branch != e.Branch && other.Branch != "" && e.Branch != "" {
			continue
		}
		if other.Gate == e.Gate {
			r.fail(e.Line, field+".gate", fmt.Sprintf("give env %q a gate of its own, such as %q", e.Name, DefaultGate+"-"+e.Name),
				"envs %q and %q have one branch and one gate %q", other.Name, e.Name, e.Gate)
		}
		if other.WaveGate == e.WaveGate && e.WaveGate != "" {
			r.fail(e.Line, field+".waveGate", fmt.Sprintf("give env %q a wave gate of its own", e.Name),
				"envs %q and %q have one branch and one wave gate %q", other.Name, e.Name, e.WaveGate)
		}
	}
}

// Globs are the globs that find component files, relative to the workspace.
func Globs(d *Declaration) []string {
	if d.Bot == nil {
		return defaultComponents()
	}
	return d.Bot.Components
}
