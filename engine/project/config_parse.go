package project

import (
	"fmt"
	"path"
	"strings"
)

// ParseConfig reads chant.config.json or .yaml: the terraform block strictly,
// other keys not at all (components §4.1). The error is Problems.
func ParseConfig(n *Node) (*Config, error) {
	if n == nil {
		return nil, Problems{{Code: CodeConfigInvalid, Message: "the config is empty"}}
	}
	r := &reader{code: CodeConfigInvalid, file: n.File}
	c := &Config{File: n.File}
	if r.is(n, Object, "") {
		r.nearTerraform(n)
		c.Terraform = r.terraform(n.Get("terraform"))
	}
	if err := r.problems.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// nearTerraform refuses a misspelt terraform block, which would drop every root
// in silence.
func (r *reader) nearTerraform(n *Node) {
	for _, f := range n.Fields {
		if f.Name != "terraform" && editDistance(strings.ToLower(f.Name), "terraform") <= 2 {
			r.fail(f.Line, f.Name, `did you mean "terraform"?`, "unknown field")
		}
	}
}

func (r *reader) terraform(n *Node) *Terraform {
	if n == nil {
		return nil
	}
	o, ok := r.object(n, "terraform", false, "binary", "callModuleType", "compose", "roots")
	if !ok {
		return nil
	}
	t := &Terraform{
		Binary:  o.oneOf("binary", "terraform", "tofu", "choudoufu"),
		Compose: o.oneOf("compose", "auto", "off"),
		Roots:   map[string]Root{},
	}
	if t.CallModuleType = o.text("callModuleType"); t.CallModuleType == "all" {
		o.fail("callModuleType", "use local or none", `"all" is not allowed`)
	} else {
		t.CallModuleType = o.oneOf("callModuleType", "local", "none")
	}
	roots := n.Get("roots")
	if roots == nil || !r.is(roots, Object, "terraform.roots") {
		return t
	}
	for _, f := range roots.Fields {
		if root, ok := r.root(f, t.Binary); ok {
			t.Roots[f.Name] = root
		}
	}
	return t
}

func (r *reader) root(f Field, binary string) (Root, bool) {
	field := "terraform.roots." + f.Name
	if next := badRootName(f.Name); next != "" || f.Name == "" {
		r.fail(f.Line, field, next, "root name %q is not allowed", f.Name)
	}
	o, ok := r.object(f.Value, field, false, "dir", "workspace", "varFiles", "backendConfig", "delete", "estate")
	if !ok {
		return Root{}, false
	}
	root := Root{Name: f.Name, File: f.Value.File, Line: f.Line}
	o.required("dir", "write the directory relative to this file")
	if dir := o.text("dir"); dir != "" {
		if next := badDir(dir, true); next != "" {
			o.fail("dir", next, "%q is not allowed", dir)
		}
		root.Dir = path.Clean(dir)
	}
	root.Workspace = o.name("workspace", envPattern, envWords)
	root.VarFiles = o.words("varFiles", func(s string) string {
		if s == "" {
			return "write a path relative to the root's dir"
		}
		return badDir(s, true)
	})
	root.BackendConfig = r.backendConfig(o)
	root.Delete, root.Estate = o.text("delete"), o.text("estate")
	if root.Delete != "" {
		o.oneOf("delete", "never", "owned-only", "gated")
	}
	for _, name := range []string{"delete", "estate"} {
		if o.has(name) && binary != "choudoufu" {
			o.fail(name, fmt.Sprintf("remove it or set terraform.binary to %q", "choudoufu"), "%s does not know it, so it would have no effect", binary)
		}
	}
	return root, true
}

func (r *reader) backendConfig(o object) map[string]string {
	n := o.node.Get("backendConfig")
	if n == nil || !r.is(n, Object, o.field("backendConfig")) {
		return nil
	}
	config := make(map[string]string, len(n.Fields))
	for _, f := range n.Fields {
		switch f.Value.Kind {
		case String, Number:
			config[f.Name] = f.Value.Text
		case Bool:
			config[f.Name] = fmt.Sprint(f.Value.Bool)
		default:
			r.fail(f.Line, o.field("backendConfig")+"."+f.Name, "", "must be a string, a number or a boolean, not %s", f.Value.Kind)
		}
	}
	return config
}
