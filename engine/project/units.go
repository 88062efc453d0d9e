package project

import (
	"fmt"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
)

// TerraformApply is the step kind that plans and applies a terraform root.
const TerraformApply = "terraform-apply"

// UnitKind is a kind of thing a step changes.
type UnitKind string

// The kinds of units (components §3.2).
const (
	UnitRoot    UnitKind = "root"
	UnitStack   UnitKind = "stack"
	UnitRelease UnitKind = "release"
)

// Unit is one thing a component changes and so claims.
type Unit struct {
	Kind UnitKind
	Name string
}

// Units returns what the component's deploy steps claim by a literal name;
// references and defaults claim nothing.
func (c *Component) Units() []Unit {
	var units []Unit
	for _, s := range c.Steps() {
		var kind UnitKind
		switch s.Kind {
		case TerraformApply:
			kind = UnitRoot
		case "cfn-deploy", "kubectl-apply", "kustomize-apply":
			kind = UnitStack
		case "helm-upgrade":
			kind = UnitRelease
		default:
			continue
		}
		n := s.Input.Get(string(kind))
		if n == nil || n.Kind != String || n.Text == "" {
			continue
		}
		if _, reference, _ := textReference(n.Text); !reference {
			units = append(units, Unit{Kind: kind, Name: n.Text})
		}
	}
	return units
}

// RootOf returns the root a terraform-apply step names, "" for any other step.
func (s Step) RootOf() string {
	if s.Kind != TerraformApply {
		return ""
	}
	if n := s.Input.Get("root"); n != nil && n.Kind == String {
		return n.Text
	}
	return ""
}

// badRootName says what is wrong with the name of a root, "" when it is fine. A
// root's name is a member's name, so it is shown everywhere.
func badRootName(name string) string {
	switch {
	case strings.HasPrefix(name, "@"), strings.HasPrefix(name, "$env."):
		return "write the root's name itself, not a reference"
	case len(name) > 200:
		return "use at most 200 bytes"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 }):
		return "use no control characters"
	case strings.TrimSpace(name) != name:
		return "remove the spaces around it"
	}
	return ""
}

// DeployDigest is the digest of a component with no plannable step and of its
// own gates (pr-loop §2.3, component-deploy): the composition as authored, its
// references unresolved. release is the recorded digest a promote deploys, or
// empty.
func (c *Component) DeployDigest(env string, vars map[string]digest.Value, release string) (digest.Digest, error) {
	subject := map[string]digest.Value{
		"environment": digest.StringOf(env),
		"component":   digest.StringOf(c.Name),
		"rollback":    digest.NullValue(),
		"vars":        digest.NullValue(),
		"release":     digest.NullValue(),
	}
	for _, name := range []string{"deploy", "rollback"} {
		v, err := c.Node.Get(name).ToValue()
		if err != nil {
			return digest.Digest{}, fmt.Errorf("digesting component %s: %w", c.Name, err)
		}
		if !v.IsAbsent() {
			subject[name] = v
		}
	}
	if len(vars) > 0 {
		subject["vars"] = digest.ObjectOf(vars)
	}
	if release != "" {
		subject["release"] = digest.StringOf(release)
	}
	return digest.Of("component-deploy", digest.ObjectOf(subject))
}
