package composed

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// fileFunctions take a path, which is relative to the directory the tool runs
// in: the root's own, or the one above. One with path.module is the same in both.
var fileFunctions = []string{
	"file", "filebase64", "filebase64sha256", "filebase64sha512", "filemd5", "filesha1", "filesha256", "filesha512",
	"fileexists", "fileset", "templatefile", "abspath",
}

// syntaxProblems finds what means something else where the file's module is
// called from a root elsewhere.
func syntaxProblems(name string, body *hclsyntax.Body) []string {
	s := &search{name: name}
	_ = hclsyntax.VisitAll(body, s.allow)
	_ = hclsyntax.VisitAll(body, s.visit)
	return s.found
}

// search looks for paths. allowed are the places where path.module leads to the
// same file from anywhere and the text of the path is not kept.
type search struct {
	name    string
	allowed []hcl.Range
	found   []string
}

func (s *search) add(at hcl.Range, what string) {
	s.found = append(s.found, fmt.Sprintf("%s:%d uses %s", s.name, at.Start.Line, what))
}

func (s *search) allow(node hclsyntax.Node) hcl.Diagnostics {
	switch n := node.(type) {
	case *hclsyntax.FunctionCallExpr:
		if isFileFunction(n.Name) && len(n.Args) > 0 {
			s.allowed = append(s.allowed, n.Args[0].Range())
		}
	case *hclsyntax.Attribute:
		if n.Name == "working_dir" {
			s.allowed = append(s.allowed, n.Expr.Range())
		}
	}
	return nil
}

func isFileFunction(name string) bool {
	return slices.Contains(fileFunctions, strings.TrimPrefix(name, "core::"))
}

func (s *search) visit(node hclsyntax.Node) hcl.Diagnostics {
	switch n := node.(type) {
	case *hclsyntax.FunctionCallExpr:
		if isFileFunction(n.Name) && (len(n.Args) == 0 || !namesModule(n.Args[0])) {
			s.add(n.Range(), n.Name+"() on a path that does not start at path.module")
		}
	case *hclsyntax.ScopeTraversalExpr:
		if what := pathOf(n); what != "" && (what != "path.module" || !s.isAllowed(n.Range())) {
			s.add(n.Range(), what+", which is another in a module")
		}
	}
	return nil
}

// pathOf is path.module, path.root or path.cwd, "" for what is no path.
func pathOf(t *hclsyntax.ScopeTraversalExpr) string {
	if t.Traversal.RootName() != "path" {
		return ""
	}
	if len(t.Traversal) > 1 {
		if step, ok := t.Traversal[1].(hcl.TraverseAttr); ok {
			return "path." + step.Name
		}
	}
	return "path"
}

func (s *search) isAllowed(at hcl.Range) bool {
	return slices.ContainsFunc(s.allowed, func(r hcl.Range) bool {
		return r.Start.Byte <= at.Start.Byte && at.End.Byte <= r.End.Byte
	})
}

// namesModule tells whether an expression starts at path.module.
func namesModule(e hclsyntax.Expression) bool {
	if t, ok := e.(*hclsyntax.TemplateExpr); ok && len(t.Parts) > 0 {
		return namesModule(t.Parts[0])
	}
	if t, ok := e.(*hclsyntax.TemplateWrapExpr); ok {
		return namesModule(t.Wrapped)
	}
	if f, ok := e.(*hclsyntax.FunctionCallExpr); ok && isFileFunction(f.Name) && len(f.Args) > 0 {
		return namesModule(f.Args[0])
	}
	t, ok := e.(*hclsyntax.ScopeTraversalExpr)
	return ok && pathOf(t) == "path.module"
}

// jsonPaths is what configuration in JSON is not searched for in any finer way.
var jsonPaths = regexp.MustCompile(`path\.(?:cwd|root|module)|\b(?:core::)?(?:file\w*|templatefile|abspath)\(`)

func textProblems(name string, src []byte) []string {
	if m := jsonPaths.Find(src); m != nil {
		return []string{fmt.Sprintf("%s uses %s, which configuration in JSON is not looked into for", name, m)}
	}
	return nil
}

// data reads a data source.
func (r *reader) data(file string, b *hcl.Block) {
	address := "data." + b.Labels[0] + "." + b.Labels[1]
	switch {
	case b.Labels[0] == "external" && attribute(b, "working_dir") == nil:
		r.problems([]string{fmt.Sprintf("%s in %s runs its program in the directory the tool runs in; give it a working_dir", address, file)})
	case b.Labels[0] == "terraform_remote_state":
		state := RemoteState{Address: address, Config: map[string]string{}}
		state.Backend, _ = plainText(attribute(b, "backend"))
		if config := attribute(b, "config"); config != nil {
			pairs, _ := hcl.ExprMap(config)
			for _, pair := range pairs {
				key := hcl.ExprAsKeyword(pair.Key)
				if text, ok := plainText(pair.Key); ok && key == "" {
					key = text
				}
				if value, ok := plainText(pair.Value); ok {
					state.Config[key] = value
				}
			}
		}
		r.config.RemoteStates = append(r.config.RemoteStates, state)
	}
}

// provisioners finds those that read files or run in the tool's directory.
func (r *reader) provisioners(file string, b *hcl.Block) {
	content, _, _ := b.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "provisioner", LabelNames: []string{"type"}}}})
	for _, p := range content.Blocks {
		at := fmt.Sprintf("the %s provisioner of %s.%s in %s", p.Labels[0], b.Labels[0], b.Labels[1], file)
		switch {
		case p.Labels[0] == "local-exec" && attribute(p, "working_dir") == nil:
			r.problems([]string{at + " runs in the directory the tool runs in; give it a working_dir"})
		case attribute(p, "source") != nil, attribute(p, "script") != nil, attribute(p, "scripts") != nil:
			r.problems([]string{at + " reads a file from the directory the tool runs in"})
		}
	}
}

// identity are the settings of backends that tell two states apart, in whatever
// backend.
var identity = []string{"path", "address", "bucket", "key", "prefix", "container_name", "storage_account_name", "schema_name", "secret_suffix", "namespace"}

// Reads tells whether a remote state may be the one that a backend keeps: it is
// not when the backends differ, or a setting which tells states apart does. As
// workspaces and links lead to one state by several texts, those of which one
// ends with the other are no difference, nor are paths of one file name.
func (s RemoteState) Reads(backend string, config map[string]string) bool {
	if s.Backend != "" && s.Backend != backend {
		return false
	}
	for _, key := range identity {
		ours, theirs := config[key], s.Config[key]
		if key == "path" {
			ours, theirs = path.Base(ours), path.Base(theirs)
		}
		if config[key] != "" && s.Config[key] != "" && !strings.HasSuffix(ours, theirs) && !strings.HasSuffix(theirs, ours) {
			return false
		}
	}
	return true
}
