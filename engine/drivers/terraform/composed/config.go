// Package composed reads the configuration of a group's members and writes the
// root that calls each of them as a module (pr-loop decision 9). It reads files
// and runs nothing; what would mean something else in a module than in a root of
// its own it finds and names.
package composed

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
)

// Config is what a member's configuration says, as far as calling it needs that.
type Config struct {
	Variables map[string]Parsing
	Outputs   map[string]bool // whether declared sensitive
	// Providers are the root's own provider configurations, as states write them.
	Providers []string
	// ProviderBlocks: it or a module of it configures a provider, so its call
	// can't have depends_on.
	ProviderBlocks bool
	Encryption     bool // of state and plan, in tofu
	RemoteStates   []RemoteState
	// Problems are what keeps it from being called, each a sentence's end.
	Problems []string
}

// Parsing is how the tool reads a variable's value where it is given as text.
type Parsing int

// Untyped variables and those of a primitive type take the text itself, others
// an expression.
const (
	Untyped Parsing = iota
	Primitive
	Any
	Complex
)

// RemoteState is one terraform_remote_state data source.
type RemoteState struct {
	Address string
	Backend string            // empty when it is not a plain text
	Config  map[string]string // what of it is plain text
}

// Module is a directory of configuration.
type Module struct {
	Path string // relative to the tree
	Root bool   // the member itself, not a module that it calls
}

// ReadConfig reads a member's modules. planner is terraform or tofu.
func ReadConfig(tree fs.FS, modules []Module, planner string) (Config, error) {
	c := Config{Variables: map[string]Parsing{}, Outputs: map[string]bool{}}
	for _, m := range modules {
		names, err := configFiles(tree, m.Path, planner)
		if err != nil {
			return Config{}, err
		}
		r := reader{config: &c, root: m.Root, planner: planner, sources: map[string]string{}}
		for _, name := range names {
			src, err := fs.ReadFile(tree, path.Join(m.Path, name))
			if err != nil {
				return Config{}, fmt.Errorf("reading configuration: %w", err)
			}
			if err := r.file(name, src); err != nil {
				return Config{}, err
			}
		}
		r.finish()
	}
	slices.Sort(c.Problems)
	c.Problems = slices.Compact(c.Problems)
	return c, nil
}

// configFiles are the names of a directory's files of configuration, overrides
// last as the tool reads them. Where there is a .tofu file, tofu does not read the
// .tf file of the same name.
func configFiles(tree fs.FS, dir, planner string) ([]string, error) {
	entries, err := fs.ReadDir(tree, dir)
	if err != nil {
		return nil, fmt.Errorf("reading configuration: %w", err)
	}
	var names, overrides []string
	for _, e := range entries {
		name := e.Name()
		base, ok := cutConfig(name, planner)
		switch {
		case !ok || e.IsDir() || strings.HasPrefix(name, "."):
		case base == "override" || strings.HasSuffix(base, "_override"):
			overrides = append(overrides, name)
		default:
			names = append(names, name)
		}
	}
	all := slices.Concat(names, overrides)
	return slices.DeleteFunc(all, func(name string) bool {
		tofu := strings.Replace(name, ".tf", ".tofu", 1)
		return planner == "tofu" && tofu != name && slices.Contains(all, tofu)
	}), nil
}

func cutConfig(name, planner string) (base string, ok bool) {
	endings := []string{".tf.json", ".tf"}
	if planner == "tofu" {
		endings = append(endings, ".tofu.json", ".tofu")
	}
	for _, ending := range endings {
		if base, ok := strings.CutSuffix(name, ending); ok {
			return base, true
		}
	}
	return "", false
}

// reader reads the files of one module.
type reader struct {
	config  *Config
	root    bool
	planner string
	// sources are the required providers by their local names; configs the
	// provider configurations, by local name and alias.
	sources map[string]string
	configs [][2]string
}

var fileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "terraform"}, {Type: "import"},
	{Type: "variable", LabelNames: []string{"name"}},
	{Type: "output", LabelNames: []string{"name"}},
	{Type: "provider", LabelNames: []string{"name"}},
	{Type: "data", LabelNames: []string{"type", "name"}},
	{Type: "resource", LabelNames: []string{"type", "name"}},
}}

func (r *reader) file(name string, src []byte) error {
	var body hcl.Body
	if strings.HasSuffix(name, ".json") {
		file, diags := json.Parse(src, name)
		if diags.HasErrors() {
			return fmt.Errorf("reading configuration: %w", diags)
		}
		body = file.Body
		r.problems(textProblems(name, src))
	} else {
		file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
		native, ok := file.Body.(*hclsyntax.Body)
		if diags.HasErrors() || !ok {
			return fmt.Errorf("reading configuration: %w", diags)
		}
		body = native
		r.problems(syntaxProblems(name, native))
	}
	content, _, diags := body.PartialContent(fileSchema)
	if diags.HasErrors() {
		return fmt.Errorf("reading configuration: %w", diags)
	}
	for _, b := range content.Blocks {
		r.block(name, b)
	}
	return nil
}

func (r *reader) problems(found []string) { r.config.Problems = append(r.config.Problems, found...) }

func (r *reader) block(file string, b *hcl.Block) {
	switch b.Type {
	case "terraform":
		r.settings(b)
	case "import":
		r.problems([]string{fmt.Sprintf("%s has an import block, which only a root may have", file)})
	case "variable":
		if kind := attribute(b, "type"); r.root && (kind != nil || !declared(r.config.Variables, b.Labels[0])) {
			r.config.Variables[b.Labels[0]] = parsing(kind)
		}
	case "output":
		if r.root {
			r.config.Outputs[b.Labels[0]] = r.config.Outputs[b.Labels[0]] || isTrue(attribute(b, "sensitive"))
		}
	case "provider":
		r.config.ProviderBlocks = true
		alias, _ := plainText(attribute(b, "alias"))
		r.configs = append(r.configs, [2]string{b.Labels[0], alias})
	case "data":
		r.data(file, b)
	case "resource":
		r.provisioners(file, b)
	}
}

func declared(variables map[string]Parsing, name string) bool {
	_, ok := variables[name]
	return ok
}

// attribute is an argument of a block, nil for none.
func attribute(b *hcl.Block, name string) hcl.Expression {
	content, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: name}}})
	if content == nil || content.Attributes[name] == nil {
		return nil
	}
	return content.Attributes[name].Expr
}

// isTrue takes what can't be read for true: too much is hidden then, not too little.
func isTrue(e hcl.Expression) bool {
	if e == nil {
		return false
	}
	v, diags := e.Value(nil)
	return diags.HasErrors() || !v.IsKnown() || v.IsNull() || v.Type().FriendlyName() != "bool" || v.True()
}

// plainText is a literal text; false for anything else.
func plainText(e hcl.Expression) (string, bool) {
	if e == nil {
		return "", false
	}
	v, diags := e.Value(nil)
	if diags.HasErrors() || !v.IsKnown() || v.IsNull() || v.Type().FriendlyName() != "string" {
		return "", false
	}
	return v.AsString(), true
}

// parsing is how a variable of that type constraint, nil for none, is read.
func parsing(kind hcl.Expression) Parsing {
	if kind == nil {
		return Untyped
	}
	word := hcl.ExprAsKeyword(kind)
	if text, ok := plainText(kind); ok && word == "" {
		word = text // as configuration of before 0.12 says it
	}
	switch word {
	case "string", "number", "bool":
		return Primitive
	case "any":
		return Any
	}
	return Complex
}

// settings reads a terraform block.
func (r *reader) settings(b *hcl.Block) {
	content, _, _ := b.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "required_providers"}, {Type: "encryption"}}})
	for _, inner := range content.Blocks {
		if inner.Type == "encryption" {
			r.config.Encryption = r.config.Encryption || r.root
			continue
		}
		attributes, _ := inner.Body.JustAttributes()
		for name, a := range attributes {
			r.sources[name] = sourceOf(a.Expr)
		}
	}
}

// sourceOf is the source of a required provider, "" for none that is a text.
func sourceOf(e hcl.Expression) string {
	pairs, diags := hcl.ExprMap(e)
	if diags.HasErrors() {
		return ""
	}
	for _, pair := range pairs {
		key := hcl.ExprAsKeyword(pair.Key)
		if text, ok := plainText(pair.Key); ok && key == "" {
			key = text
		}
		if key == "source" {
			source, _ := plainText(pair.Value)
			return source
		}
	}
	return ""
}

// finish names the module's provider configurations once all of its files are
// read. Only those of the root matter: a module's own are named by its states
// under its own address.
func (r *reader) finish() {
	if !r.root {
		return
	}
	for _, c := range r.configs {
		address := `provider["` + r.address(c[0]) + `"]`
		if c[1] != "" {
			address += "." + c[1]
		}
		r.config.Providers = append(r.config.Providers, address)
	}
	slices.Sort(r.config.Providers)
	r.config.Providers = slices.Compact(r.config.Providers)
}

// address is the full address of a provider by its local name.
func (r *reader) address(name string) string {
	source := r.sources[name]
	if source == "" && name == "terraform" {
		return "terraform.io/builtin/terraform"
	}
	if source == "" {
		source = name
	}
	parts := strings.Split(strings.ToLower(source), "/")
	if len(parts) == 1 {
		parts = append([]string{"hashicorp"}, parts...)
	}
	if len(parts) == 2 {
		host := "registry.terraform.io"
		if r.planner == "tofu" {
			host = "registry.opentofu.org"
		}
		parts = append([]string{host}, parts...)
	}
	return strings.Join(parts, "/")
}
