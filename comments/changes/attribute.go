package changes

import (
	"strings"

	"github.com/chant-bot/chant/comments/redact"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

// Op says what a line of a difference stands for.
type Op byte

// The kinds of line. Hidden lines tell that something changed and not what.
const (
	Same    Op = ' '
	Removed Op = '-'
	Added   Op = '+'
	Hidden  Op = '!'
)

// Line is one line of a difference, without its mark.
type Line struct {
	Op   Op
	Text string
}

// String is the line with its mark and a space.
func (l Line) String() string { return string(rune(l.Op)) + " " + l.Text }

const (
	knownLater = "(known after apply)"
	sensitive  = "(sensitive value)"
	maxLines   = 120 // shown of one attribute
)

// Attribute shows what happens to one attribute. Strings of several lines, and
// JSON inside strings, are compared line by line, so that only what changed is
// marked as changed.
func Attribute(a changeset.Attribute) []Line {
	suffix := ""
	if a.ForcesReplacement {
		suffix = "  (forces replacement)"
	}
	switch {
	case a.Sensitive && a.Unknown:
		return []Line{{Hidden, a.Path + ": " + sensitive + " " + knownLater + suffix}}
	case a.Sensitive:
		return []Line{{Hidden, a.Path + ": " + sensitive + suffix}}
	case redact.SecretName(a.Path):
		return []Line{{Hidden, a.Path + ": " + redact.Mark + suffix}}
	}
	before, after := readable(a.Before), readable(a.After)
	if a.Unknown {
		after = []string{knownLater}
	}
	if len(before) <= 1 && len(after) <= 1 {
		return scalar(a.Path, before, after, suffix)
	}
	lines := []Line{{Same, a.Path + ":" + suffix}}
	for _, l := range Compare(before, after) {
		lines = append(lines, Line{l.Op, "    " + l.Text})
	}
	return lines
}

func scalar(path string, before, after []string, suffix string) []Line {
	var lines []Line
	if len(before) > 0 {
		lines = append(lines, Line{Removed, path + ": " + before[0]})
	}
	if len(after) > 0 {
		lines = append(lines, Line{Added, path + ": " + after[0]})
	}
	if len(lines) == 0 {
		lines = append(lines, Line{Same, path + ": null"})
	}
	lines[len(lines)-1].Text += suffix
	return lines
}

// readable is a value as lines; none for null and absent.
func readable(v digest.Value) []string {
	if v.IsNull() {
		return nil
	}
	text, isString := v.Text()
	if !isString {
		return pretty(v)
	}
	if inner := embedded(text); len(inner) > 1 {
		return inner
	}
	text = redact.Text(text)
	if strings.Contains(strings.TrimRight(text, "\n"), "\n") {
		return strings.Split(strings.TrimRight(text, "\n"), "\n")
	}
	return []string{quoteJSON(text)}
}

// embedded reads JSON objects and arrays that stand in a string, as policy
// documents do; nil when the text is no such thing.
func embedded(text string) []string {
	trimmed := strings.TrimSpace(text)
	if len(trimmed) < 2 || trimmed[0] != '{' && trimmed[0] != '[' {
		return nil
	}
	v, err := digest.Decode([]byte(trimmed))
	if err != nil {
		return nil
	}
	return pretty(v)
}

const oneLine = 60

// pretty prints a value with secrets hidden: short ones on one line, longer ones
// indented, keys in order. Every element ends in a comma, so that adding one
// changes no other line.
func pretty(v digest.Value) []string {
	if s := compact(v); len(s) <= oneLine {
		return []string{s}
	}
	var p printer
	p.value("", v, "")
	return p.lines
}

type printer struct{ lines []string }

func (p *printer) value(prefix string, v digest.Value, suffix string) {
	indent := prefix[:len(prefix)-len(strings.TrimLeft(prefix, " "))]
	switch {
	case v.Kind() == digest.Object && v.Len() > 0:
		p.lines = append(p.lines, prefix+"{")
		for _, k := range v.Keys() {
			member := v.Get(k)
			if hides(v, k) {
				member = digest.StringOf(redact.Mark)
			}
			p.value(indent+"  "+quoteJSON(k)+": ", member, ",")
		}
		p.lines = append(p.lines, indent+"}"+suffix)
	case v.Kind() == digest.Array && v.Len() > 0:
		p.lines = append(p.lines, prefix+"[")
		for i := range v.Len() {
			p.value(indent+"  ", v.At(i), ",")
		}
		p.lines = append(p.lines, indent+"]"+suffix)
	default:
		p.lines = append(p.lines, prefix+compact(v)+suffix)
	}
}

// hides reports whether a member of an object stands under a secret name: its
// own, or the one that a list of name and value pairs gives beside it.
func hides(object digest.Value, key string) bool {
	if object.Get(key).IsNull() {
		return false
	}
	if redact.SecretName(key) {
		return true
	}
	if key != "value" && key != "Value" {
		return false
	}
	for _, label := range []string{"name", "Name", "key", "Key"} {
		if name, ok := object.Get(label).Text(); ok && redact.SecretName(name) {
			return true
		}
	}
	return false
}

// compact prints a value on one line, secrets hidden.
func compact(v digest.Value) string {
	switch v.Kind() {
	case digest.Object:
		parts := make([]string, 0, v.Len())
		for _, k := range v.Keys() {
			value := compact(v.Get(k))
			if hides(v, k) {
				value = quoteJSON(redact.Mark)
			}
			parts = append(parts, quoteJSON(k)+": "+value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case digest.Array:
		parts := make([]string, 0, v.Len())
		for i := range v.Len() {
			parts = append(parts, compact(v.At(i)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case digest.String:
		s, _ := v.Text()
		return quoteJSON(redact.Text(s))
	case digest.Absent:
		return "null"
	}
	raw, err := v.MarshalJSON()
	if err != nil {
		return "null"
	}
	return string(raw)
}

func quoteJSON(s string) string {
	raw, err := digest.StringOf(s).MarshalJSON()
	if err != nil {
		return `""`
	}
	return string(raw)
}
