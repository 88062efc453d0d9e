package project

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// reader collects the problems of one file, so that a person sees all of them
// at once.
type reader struct {
	code     string
	file     string
	problems Problems
}

func (r *reader) fail(line int, field, next, format string, args ...any) {
	if r.problems.Full() {
		return
	}
	r.problems = append(r.problems, Problem{Code: r.code, File: r.file, Line: line, Field: clip(field),
		Message: clip(fmt.Sprintf(format, args...)), Next: clip(next)})
}

// clip bounds what a hostile value can put into a message.
func clip(s string) string {
	const most = 400
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// is reports a value of the wrong kind. The node may be nil: a missing value is
// reported by whoever requires it.
func (r *reader) is(n *Node, kind Kind, field string) bool {
	if n == nil {
		return false
	}
	if n.Kind != kind {
		r.fail(n.Line, field, "", "must be %s, not %s", kind, n.Kind)
		return false
	}
	return true
}

// object is a closed object being read.
type object struct {
	r    *reader
	node *Node
	path string
}

// object reads n as an object with only the known fields; names of extensions
// (x-...) pass where extensions is set.
func (r *reader) object(n *Node, path string, extensions bool, known ...string) (object, bool) {
	if !r.is(n, Object, path) {
		return object{}, false
	}
	for _, f := range n.Fields {
		if slices.Contains(known, f.Name) || extensions && strings.HasPrefix(f.Name, "x-") {
			continue
		}
		next := "known here: " + strings.Join(known, ", ")
		if s := r.problems.suggest(f.Name, known); s != "" {
			next = fmt.Sprintf("did you mean %q?", s)
		}
		r.fail(f.Line, join(path, f.Name), next, "unknown field")
	}
	return object{r: r, node: n, path: path}, true
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

func (o object) field(name string) string { return join(o.path, name) }

func (o object) has(name string) bool { return o.node.Get(name) != nil }

// line of a field, else of the object.
func (o object) line(name string) int {
	if n := o.node.Get(name); n != nil {
		return n.Line
	}
	return o.node.Line
}

func (o object) fail(name, next, format string, args ...any) {
	o.r.fail(o.line(name), o.field(name), next, format, args...)
}

// required returns a field's node and reports its absence.
func (o object) required(name, next string) *Node {
	n := o.node.Get(name)
	if n == nil {
		o.r.fail(o.node.Line, o.field(name), next, "is required")
	}
	return n
}

// text reads an optional string; "" when absent. A present string is never
// empty.
func (o object) text(name string) string {
	n := o.node.Get(name)
	if n == nil || !o.r.is(n, String, o.field(name)) {
		return ""
	}
	if n.Text == "" {
		o.fail(name, "give a value or leave the field out", "must not be empty")
	}
	return n.Text
}

// name reads an optional string that matches a pattern; what describes the
// pattern to people.
func (o object) name(name string, pattern *regexp.Regexp, what string) string {
	s := o.text(name)
	if s != "" && !pattern.MatchString(s) {
		o.fail(name, "use "+what, "%q is not allowed", s)
	}
	return s
}

// requiredName is name of a field that must be there.
func (o object) requiredName(name string, pattern *regexp.Regexp, what string) string {
	if o.required(name, "use "+what) == nil {
		return ""
	}
	return o.name(name, pattern, what)
}

// oneOf reads an optional word out of a list whose first is the default.
func (o object) oneOf(name string, words ...string) string {
	s := o.text(name)
	if s == "" {
		return words[0]
	}
	if slices.Contains(words, s) {
		return s
	}
	next := "use one of " + strings.Join(words, ", ")
	if c := o.r.problems.suggest(s, words); c != "" {
		next = fmt.Sprintf("did you mean %q?", c)
	}
	o.fail(name, next, "%q is not known", s)
	return words[0]
}

func (o object) boolean(name string, otherwise bool) bool {
	n := o.node.Get(name)
	if n == nil || !o.r.is(n, Bool, o.field(name)) {
		return otherwise
	}
	return n.Bool
}

// count reads an optional whole number of at least least.
func (o object) count(name string, otherwise, least int) int {
	n := o.node.Get(name)
	if n == nil || !o.r.is(n, Number, o.field(name)) {
		return otherwise
	}
	v, err := strconv.Atoi(n.Text)
	if err != nil || v < least || v > math.MaxInt32 {
		o.fail(name, "", "must be a whole number of at least %d, not %s", least, n.Text)
		return otherwise
	}
	return v
}

// list returns the items of an optional array; nil when absent or no array.
func (o object) list(name string) []*Node {
	n := o.node.Get(name)
	if n == nil || !o.r.is(n, Array, o.field(name)) {
		return nil
	}
	return n.Items
}

// fewer is list with a bound, for items that are compared with each other.
func (o object) fewer(name string, most int) []*Node {
	items := o.list(name)
	if len(items) > most {
		o.fail(name, "", "has %d items, more than %d", len(items), most)
		return nil
	}
	return items
}

// words reads an optional list of distinct strings; check returns what to do
// about a bad one, "" when it is fine.
func (o object) words(name string, check func(string) string) []string {
	var words []string
	seen := map[string]bool{}
	for i, item := range o.list(name) {
		field := fmt.Sprintf("%s[%d]", o.field(name), i)
		if !o.r.is(item, String, field) {
			continue
		}
		switch next := check(item.Text); {
		case next != "":
			o.r.fail(item.Line, field, next, "%q is not allowed", item.Text)
		case seen[item.Text]:
			o.r.fail(item.Line, field, "remove one of them", "%q is listed twice", item.Text)
		default:
			words = append(words, item.Text)
			seen[item.Text] = true
		}
	}
	return words
}

// nonEmpty reports an array that is there and has no items.
func (o object) nonEmpty(name, next string) {
	if n := o.node.Get(name); n != nil && n.Kind == Array && len(n.Items) == 0 {
		o.fail(name, next, "must have at least one item")
	}
}
