package project

import (
	"maps"
	"reflect"
	"slices"

	"github.com/chant-bot/chant/engine/digest"
)

// Which part of a declaration is believed from where (pr-loop decision 2):
// identity, security and x-bot come from the base, everything else from what is
// planned. A nil declaration is one that declares nothing.

// TrustChanged tells whether identity, security or x-bot mean something else in
// head than in base. Writing a default out, or another order, changes nothing.
func TrustChanged(base, head *Declaration) bool {
	b, h := orNothing(base), orNothing(head)
	return b.ReviewRules != h.ReviewRules || !sameIdentity(b.Identity, h.Identity) || !sameBot(b.Bot, h.Bot)
}

// Trusting returns head with identity, security and x-bot of base.
func Trusting(head, base *Declaration) *Declaration {
	d, b := *orNothing(head), orNothing(base)
	d.Identity, d.ReviewRules, d.Bot = b.Identity, b.ReviewRules, b.Bot
	return &d
}

func orNothing(d *Declaration) *Declaration {
	if d == nil {
		return &Declaration{}
	}
	return d
}

func sameIdentity(a, b *Identity) bool {
	if a == nil {
		a = &Identity{}
	}
	if b == nil {
		b = &Identity{}
	}
	return (a.Attribution == "identified") == (b.Attribution == "identified") && maps.Equal(a.Gates, b.Gates)
}

func sameBot(a, b *Bot) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Tick == b.Tick && a.Plan.Drafts == b.Plan.Drafts && a.Plan.Forks == b.Plan.Forks &&
		sameWords(a.Plan.Paths, b.Plan.Paths) && sameWords(a.Components, b.Components) &&
		slices.EqualFunc(byName(a.Envs), byName(b.Envs), sameEnv)
}

func sameWords(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func byName(envs []Env) []Env {
	sorted := slices.Clone(envs)
	slices.SortFunc(sorted, func(a, b Env) int { return digest.Compare(a.Name, b.Name) })
	return sorted
}

func sameEnv(a, b Env) bool {
	if !maps.EqualFunc(a.Vars, b.Vars, digest.Equal) || (a.Approvers == nil) != (b.Approvers == nil) || !sameWords(a.Approvers, b.Approvers) {
		return false
	}
	for _, e := range []*Env{&a, &b} {
		e.Vars, e.Approvers, e.Line = nil, nil, 0
	}
	return reflect.DeepEqual(a, b)
}

// Stricter returns the declaration a green apply decides by: tip's, with every
// rule of identity, security and x-bot at least as strict as base's, the
// declaration at the base of the applied range. An env the base does not
// declare only records until a later range starts with it; an env the tip does
// not declare is gone.
func Stricter(base, tip *Declaration) *Declaration {
	b, d := orNothing(base), *orNothing(tip)
	d.ReviewRules = b.ReviewRules || d.ReviewRules
	d.Identity = stricterIdentity(b.Identity, d.Identity)
	if d.Bot == nil {
		return &d
	}
	bot := *d.Bot
	bot.Envs = slices.Clone(bot.Envs)
	for i, e := range bot.Envs {
		bot.Envs[i].ApplyOnMerge = false
		if b.Bot == nil {
			continue
		}
		if j := slices.IndexFunc(b.Bot.Envs, func(o Env) bool { return o.Name == e.Name }); j >= 0 {
			bot.Envs[i] = StricterEnv(b.Bot.Envs[j], e)
		}
	}
	if b.Bot != nil {
		bot.Tick = b.Bot.Tick || bot.Tick // a server that ticks judges the checks again
		bot.Plan.Drafts = b.Bot.Plan.Drafts && bot.Plan.Drafts
		if b.Bot.Plan.Forks == "never" {
			bot.Plan.Forks = "never"
		}
	}
	d.Bot = &bot
	return &d
}

// StricterEnv returns e with every rule at least as strict as that of other. Its
// name, branch, gate, execution and vars stay: none is stricter than another.
func StricterEnv(other, e Env) Env {
	e.ApplyOnMerge = other.ApplyOnMerge && e.ApplyOnMerge
	e.RequireReview = other.RequireReview || e.RequireReview
	e.BlockMerge = other.BlockMerge || e.BlockMerge
	e.ApproveOnReview = other.ApproveOnReview && e.ApproveOnReview
	e.MinApprovals = max(other.MinApprovals, e.MinApprovals)
	if e.WaveGate == "" {
		e.WaveGate = other.WaveGate
	}
	also := slices.Clone(e.AlsoApprovers)
	for _, list := range append([][]string{other.Approvers}, other.AlsoApprovers...) {
		same := func(l []string) bool { return sameWords(l, list) }
		switch {
		case list == nil: // anyone
		case e.Approvers == nil:
			e.Approvers = list
		case !same(e.Approvers) && !slices.ContainsFunc(also, same):
			also = append(also, list)
		}
	}
	e.AlsoApprovers = also
	return e
}

// stricterIdentity joins two identity blocks. Two different classes on one gate
// make a class nobody supplies, so nothing passes.
func stricterIdentity(a, b *Identity) *Identity {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	id := &Identity{Attribution: "any", Gates: maps.Clone(b.Gates)}
	if a.Attribution == "identified" || b.Attribution == "identified" {
		id.Attribution = "identified"
	}
	if id.Gates == nil {
		id.Gates = map[string]GateRule{}
	}
	for name, rule := range a.Gates {
		other, both := id.Gates[name]
		switch {
		case !both || other.Class == "":
			id.Gates[name] = rule
		case rule.Class != "" && rule.Class != other.Class:
			id.Gates[name] = GateRule{Class: other.Class + " and " + rule.Class}
		}
	}
	return id
}
