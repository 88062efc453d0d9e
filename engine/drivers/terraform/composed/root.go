package composed

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform/states"
)

// startOf is where the text of an expression or a file starts.
var startOf = hcl.InitialPos

// Call is one module call of the root.
type Call struct {
	ID        string
	Source    string            // relative, starting with ./ or ../
	Arguments map[string]string // expressions
	After     []string          // ids of calls that come before it and give it nothing
	Outputs   map[string]bool   // all of the member's, and whether they are sensitive
}

// Root is the text of the root that makes the calls and hands on every output.
func Root(calls []Call) string {
	var b strings.Builder
	b.WriteString("terraform {\n  backend \"local\" {}\n}\n")
	for _, c := range calls {
		fmt.Fprintf(&b, "module %q {\n  source = %s\n", c.ID, quote(c.Source))
		for _, name := range slices.Sorted(maps.Keys(c.Arguments)) {
			fmt.Fprintf(&b, "  %s = %s\n", name, c.Arguments[name])
		}
		if len(c.After) > 0 {
			fmt.Fprintf(&b, "  depends_on = [module.%s]\n", strings.Join(c.After, ", module."))
		}
		b.WriteString("}\n")
		for _, name := range slices.Sorted(maps.Keys(c.Outputs)) {
			fmt.Fprintf(&b, "output %q {\n  value = module.%s.%s\n  sensitive = %t\n}\n", states.OutputName(c.ID, name), c.ID, name, c.Outputs[name])
		}
	}
	return b.String()
}

// literal is a JSON value as an expression.
func literal(v digest.Value) string {
	switch v.Kind() {
	case digest.Absent, digest.Null:
		return "null"
	case digest.String:
		text, _ := v.Text()
		return quote(text)
	case digest.Array:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = literal(v.At(i))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case digest.Object:
		items := make([]string, v.Len())
		for i, key := range v.Keys() {
			items[i] = quote(key) + " = " + literal(v.At(i))
		}
		return "{" + strings.Join(items, ", ") + "}"
	default:
		return v.String()
	}
}

// quote is a text as an expression in which no template is read.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case (r == '$' || r == '%') && strings.HasPrefix(text[i+1:], "{"):
			b.WriteRune(r)
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			b.WriteString(`\u` + fmt.Sprintf("%04s", strconv.FormatInt(int64(r), 16)))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
