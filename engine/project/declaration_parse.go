package project

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// identityReader is the first reader that knows the identity block (pr-loop
// §3.7); a declaration with one must ask for it, or an older reader would
// approve without the rule.
const identityReader = "0.102.0"

// Bounds on what is compared pair by pair.
const (
	maxMembers = 1000
	maxEnvs    = 100
)

// ParseDeclaration reads chant.workspace.json, strictly. The error is Problems
// with every fault found; a declaration for a newer reader yields that one
// alone.
func ParseDeclaration(n *Node) (*Declaration, error) {
	if n == nil {
		return nil, Problems{{Code: CodeUnparseable, Message: "the declaration is empty"}}
	}
	r := &reader{code: CodeInvalid, file: n.File}
	if too := r.tooOld(n); too != nil {
		return nil, too
	}
	o, ok := r.object(n, "", true, "$schema", "name", "schema", "minReader", "members", "groups", "ci", "identity", "security", "checks", "x-bot")
	if !ok {
		return nil, r.problems.Err()
	}
	r.nearBot(n)
	o.text("$schema")
	d := &Declaration{File: n.File, MinReader: o.name("minReader", versionPattern, versionWords)}
	d.Name = o.requiredName("name", memberPattern, memberWords)
	d.Schema = o.count("schema", 0, 1)
	if o.required("schema", "write 1") != nil && d.Schema > 1 {
		r.code = CodeReaderTooOld
		o.fail("schema", "upgrade chant", "this chant reads schema 1")
		r.code = CodeInvalid
	}
	r.is(o.node.Get("checks"), Object, "checks")
	d.Members = r.members(o)
	d.Green = r.green(o)
	d.Identity = r.identity(o)
	d.ReviewRules = r.security(o)
	d.Bot = r.bot(o.node.Get("x-bot"), d.Green)
	if err := r.problems.Err(); err != nil {
		return nil, err
	}
	return d, nil
}

func (r *reader) tooOld(n *Node) error {
	least := n.Get("minReader")
	if least == nil || least.Kind != String || !versionPattern.MatchString(least.Text) || !newer(least.Text, Reader) {
		return nil
	}
	return Problems{{Code: CodeReaderTooOld, File: n.File, Line: least.Line, Field: "minReader",
		Message: fmt.Sprintf("the declaration needs a reader of at least %s, this is %s", least.Text, Reader),
		Next:    "upgrade chant"}}
}

// nearBot refuses a misspelt x-bot: any x-... field is allowed, so a typo would
// drop every rule it holds in silence.
func (r *reader) nearBot(n *Node) {
	for _, f := range n.Fields {
		if f.Name != "x-bot" && strings.HasPrefix(f.Name, "x-") && editDistance(strings.ToLower(f.Name), "x-bot") <= 1 {
			r.fail(f.Line, f.Name, `write "x-bot", or give another tool's field another name`, "is too like x-bot")
		}
	}
}

func (r *reader) members(o object) []WorkspaceMember {
	var members []WorkspaceMember
	names := map[string]string{} // name -> field that took it
	for i, item := range o.fewer("members", maxMembers) {
		field := fmt.Sprintf("members[%d]", i)
		m, ok := r.member(item, field)
		if !ok {
			continue
		}
		if first, dup := names[m.Name]; dup && m.Name != "" {
			r.fail(m.Line, field+".name", "names are unique over members and groups", "%q is the name of %s too", m.Name, first)
		}
		names[m.Name] = field
		r.placement(members, &m, field)
		members = append(members, m)
	}
	for i, item := range o.fewer("groups", maxMembers) {
		field := fmt.Sprintf("groups[%d]", i)
		if !r.is(item, Object, field) {
			continue
		}
		name := object{r, item, field}.requiredName("name", memberPattern, memberWords)
		if first, dup := names[name]; dup && name != "" {
			r.fail(item.Line, field+".name", "names are unique over members and groups", "%q is the name of %s too", name, first)
		}
		names[name] = field
	}
	return members
}

func (r *reader) member(n *Node, field string) (WorkspaceMember, bool) {
	o, ok := r.object(n, field, true, "name", "dir", "kind", "because", "generated", "suppress")
	if !ok {
		return WorkspaceMember{}, false
	}
	m := WorkspaceMember{Line: n.Line}
	m.Name = o.requiredName("name", memberPattern, memberWords)
	o.required("dir", "write the directory relative to the workspace")
	m.Dir = o.text("dir")
	o.required("kind", "use chant, workspace, other or a plugin's kind")
	m.Kind = o.text("kind")
	m.Because = o.text("because")
	if m.Kind == "other" && !o.has("because") {
		o.fail("because", "say why this directory is no project", `is required for kind "other"`)
	}
	for _, list := range []string{"generated", "suppress"} {
		r.is(n.Get(list), Array, join(field, list))
	}
	return m, true
}

// placement checks where a member lies: inside the workspace, and never inside
// another member save the root one.
func (r *reader) placement(before []WorkspaceMember, m *WorkspaceMember, field string) {
	r.code = CodePlacement
	defer func() { r.code = CodeInvalid }()
	if m.Dir == "" {
		return
	}
	if next := badDir(m.Dir, false); next != "" {
		r.fail(m.Line, field+".dir", next, "%q is not allowed", m.Dir)
		return
	}
	m.Dir = path.Clean(m.Dir)
	for _, other := range before {
		a, b := m.Dir, other.Dir
		switch {
		case a == b:
			r.fail(m.Line, field+".dir", "remove one of them", "%q is the directory of member %q too", m.Dir, other.Name)
		case inside(a, b) && b != "." || inside(b, a) && a != ".":
			r.fail(m.Line, field+".dir", "move one of them", "members never nest: %q and %q (member %q)", m.Dir, other.Dir, other.Name)
		}
	}
}

// inside tells whether cleaned directory a lies below or at b.
func inside(a, b string) bool {
	return b == "." || a == b || strings.HasPrefix(a, b+"/")
}

func (r *reader) green(top object) *Green {
	ci := top.node.Get("ci")
	if ci == nil {
		return nil
	}
	c, ok := r.object(ci, "ci", true, "green")
	if !ok || !c.has("green") {
		return nil
	}
	o, ok := r.object(ci.Get("green"), "ci.green", false, "branch", "window", "phases", "require")
	if !ok {
		return nil
	}
	g := &Green{Phases: map[string]Phase{}}
	o.required("branch", "name the branch whose commits are judged")
	g.Branch = r.branch(o)
	window := o.text("window")
	if window == "" {
		window = "24h"
	}
	var fine bool
	if g.Window, fine = parseWindow(window); !fine {
		o.fail("window", "write a number and m, h or d, such as 24h", "%q is not allowed", window)
	}
	r.phases(o, g)
	o.required("require", "list the phases that must pass")
	o.nonEmpty("require", "list the phases that must pass")
	g.Require = o.words("require", func(name string) string {
		if _, ok := g.Phases[name]; ok {
			return ""
		}
		if s := r.problems.suggest(name, slices.Collect(maps.Keys(g.Phases))); s != "" {
			return fmt.Sprintf("no such phase in ci.green.phases; did you mean %q?", s)
		}
		return "declare the phase in ci.green.phases"
	})
	return g
}

func (r *reader) branch(o object) string {
	b := o.text("branch")
	if b == "" {
		return ""
	}
	if next := badBranch(b); next != "" {
		o.fail("branch", next, "%q is not allowed", b)
	}
	return b
}

func (r *reader) phases(o object, g *Green) {
	n := o.required("phases", "give at least one phase with its check-run names")
	if !r.is(n, Object, "ci.green.phases") {
		return
	}
	if len(n.Fields) == 0 {
		o.fail("phases", "give at least one phase with its check-run names", "must have at least one phase")
	}
	for _, f := range n.Fields {
		field := "ci.green.phases." + f.Name
		if !phasePattern.MatchString(f.Name) {
			r.fail(f.Line, field, "use "+phaseWords, "phase name %q is not allowed", f.Name)
		}
		// A list is short for {"runs": list}.
		p := object{r, &Node{File: n.File, Line: f.Line, Kind: Object, Fields: []Field{{Name: "runs", Line: f.Line, Value: f.Value}}}, field}
		if f.Value.Kind == Object {
			p, _ = r.object(f.Value, field, false, "runs", "skipped")
		} else if f.Value.Kind != Array {
			r.fail(f.Value.Line, field, "", "must be a list of check-run names or an object with runs, not %s", f.Value.Kind)
			continue
		}
		p.required("runs", "list the check-run names")
		p.nonEmpty("runs", "list the check-run names")
		runs := p.words("runs", func(s string) string {
			if s == "" {
				return "give the check run's name"
			}
			return ""
		})
		g.Phases[f.Name] = Phase{Runs: runs, SkippedPass: p.oneOf("skipped", "fail", "pass") == "pass"}
	}
}

func (r *reader) identity(top object) *Identity {
	n := top.node.Get("identity")
	if n == nil {
		return nil
	}
	o, ok := r.object(n, "identity", false, "attribution", "gates")
	if !ok {
		return nil
	}
	if least := top.node.Get("minReader"); least == nil || versionPattern.MatchString(least.Text) && newer(identityReader, least.Text) {
		r.fail(n.Line, "identity", fmt.Sprintf("set minReader to %q or newer", identityReader), "needs a reader that enforces it")
	}
	id := &Identity{Attribution: o.oneOf("attribution", "any", "identified"), Gates: map[string]GateRule{}}
	gates := n.Get("gates")
	if gates == nil || !r.is(gates, Object, "identity.gates") {
		return id
	}
	for _, f := range gates.Fields {
		field := "identity.gates." + f.Name
		if !gatePattern.MatchString(f.Name) {
			r.fail(f.Line, field, "use "+gateWords, "gate name %q is not allowed", f.Name)
		}
		if rule, ok := r.object(f.Value, field, false, "class"); ok {
			id.Gates[f.Name] = GateRule{Class: rule.name("class", classPattern, envWords)}
		}
	}
	return id
}

func (r *reader) security(top object) bool {
	words := top.words("security", func(s string) string {
		if s == "review-rules" {
			return ""
		}
		return `the only value is "review-rules"`
	})
	return len(words) > 0
}
