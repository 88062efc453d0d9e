// Package command finds the commands in a comment's body: which lines a reader
// sees as plain text of their own, and what they ask for (pr-loop decision 7).
// It reads text and nothing else: whether a command is allowed, current or from
// a person is decided where the comment is read again.
package command

import (
	"regexp"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
)

// Verb is what a command asks for.
type Verb string

// The verbs of pr-loop decision 7.
const (
	Approve Verb = "approve"
	Revoke  Verb = "revoke"
	Plan    Verb = "plan"
	Apply   Verb = "apply"
	Unlock  Verb = "unlock"
	Explain Verb = "explain"
	Help    Verb = "help"
)

var verbs = []Verb{Approve, Revoke, Plan, Apply, Unlock, Explain, Help}

// Command is one line that asks for something.
type Command struct {
	Verb Verb
	// Op and Gate are both set or both empty; empty means the gate of the place
	// the comment stands in.
	Op, Gate string
	// Plan is what followed --plan, as typed. Digest is zero unless Plan is a
	// full digest; an approve without one is refused by whoever handles it, with
	// the line to copy.
	Plan   string
	Digest digest.Digest
	Head   string // plan <sha>: 40 or 64 hex digits, lower case; else ""
	Member string // explain <member>; else ""
	Mark   string // unlock <mark>, that of a group's apply; else ""
	Line   int    // 1-based line of the body
	Raw    string // the line as typed, without surrounding space and HTML comments
}

// Near is a line that looks like a command and is not run. Raw is foreign text:
// show it only made inert.
type Near struct {
	Line int
	Raw  string
	Why  string // one sentence for the person, ours, with foreign words in quotes
}

// Parsed is what a body holds, each list in line order.
type Parsed struct {
	Commands []Command
	Near     []Near
}

// Bounds. A body above MaxBody bytes runs nothing; commands after the first
// MaxCommands are reported, not run; at most MaxNear lines are reported.
const (
	MaxBody     = 64 << 10
	MaxCommands = 8
	MaxNear     = 8
)

var (
	nameWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)
	markWord = regexp.MustCompile(`^[0-9a-f]{12}$`)
	fullSHA  = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)
)

// Parse returns the commands of a comment or review body, and the lines that
// look like one and are not run. appName is the forge account of the app
// without "@"; empty when there is none. Parse never fails: text that is no
// command is no concern of ours.
func Parse(body, appName string) Parsed {
	body = normalise(body)
	a := address{app: appName}
	if !a.anywhere(body) {
		return Parsed{}
	}
	if len(body) > MaxBody || hard(body) {
		return tooLarge(body, a)
	}
	var p Parsed
	for _, l := range lines([]byte(body)) {
		p.add(l, a)
	}
	return p
}

func (p *Parsed) add(l line, a address) {
	if l.where != "" {
		if a.resembles(l.text) {
			p.near(l, "it stands "+l.where+"; a command is a line of its own in plain text")
		}
		return
	}
	words := strings.Fields(l.text)
	if len(words) == 0 || !a.names(words[0]) {
		if a.resembles(l.text) {
			p.near(l, "it holds formatting or invisible characters; write it as plain text")
		}
		return
	}
	verb, why := readVerb(words)
	if why != "" {
		p.near(l, why)
		return
	}
	if verb == "" {
		return
	}
	cmd := Command{Verb: verb, Line: l.number, Raw: strings.TrimSpace(l.text)}
	if why := cmd.read(words[2:]); why != "" {
		p.near(l, why)
		return
	}
	if len(p.Commands) == MaxCommands {
		p.near(l, "one comment runs at most 8 commands; put the rest into another")
		return
	}
	p.Commands = append(p.Commands, cmd)
}

func (p *Parsed) near(l line, why string) {
	if len(p.Near) < MaxNear {
		p.Near = append(p.Near, Near{Line: l.number, Raw: shorten(strings.TrimSpace(l.text)), Why: why})
	}
}

// readVerb returns the verb of an addressed line; both results empty means that
// the line only happens to start with our name.
func readVerb(words []string) (verb Verb, why string) {
	slash := strings.HasPrefix(words[0], "/")
	if len(words) == 1 {
		if slash {
			return "", "no command follows; \"chant help\" lists them"
		}
		return "", ""
	}
	word := strings.ToLower(words[1])
	for _, v := range verbs {
		if word == string(v) {
			return v, ""
		}
	}
	if slash || misspelt(word) {
		return "", quote(words[1]) + " is no command; \"chant help\" lists them"
	}
	return "", ""
}

// read fills the command from the words after its verb, or says what is wrong.
func (c *Command) read(args []string) (why string) {
	var positional []string
	switch c.Verb {
	case Approve:
		if positional, why = c.readPlan(args); why != "" {
			return why
		}
		return c.readGate(positional)
	case Revoke:
		return c.readGate(args)
	case Plan:
		return c.readHead(args)
	case Explain:
		if len(args) > 1 {
			return extra(args[1:])
		}
		c.Member = strings.Join(args, "")
		return ""
	case Unlock:
		if len(args) == 1 && markWord.MatchString(args[0]) {
			c.Mark = args[0]
			return ""
		}
		return extra(args)
	default:
		return extra(args)
	}
}

// readPlan takes --plan out of args. A missing or malformed digest is no error
// here: the answer to it needs the digest that stands now.
func (c *Command) readPlan(args []string) (rest []string, why string) {
	seen := false
	for i := 0; i < len(args); i++ {
		value, inline := strings.CutPrefix(args[i], "--plan=")
		switch {
		case inline:
		case args[i] == "--plan" && i+1 < len(args):
			i++
			value = args[i]
		case args[i] == "--plan":
			value = ""
		default:
			rest = append(rest, args[i])
			continue
		}
		if seen {
			return nil, "--plan is given twice"
		}
		seen = true
		c.Plan = value
	}
	if d, err := digest.Parse(c.Plan); err == nil {
		c.Digest = d
	}
	return rest, ""
}

func (c *Command) readGate(args []string) (why string) {
	for i, arg := range args {
		if why := flagWhy(arg); why != "" {
			return why
		}
		if i < 2 && !nameWord.MatchString(arg) {
			return extra(args)
		}
	}
	switch len(args) {
	case 0:
		return ""
	case 1:
		return "one name is given; name both the op and the gate, or neither"
	case 2:
		c.Op, c.Gate = args[0], args[1]
		return ""
	default:
		return extra(args[2:])
	}
}

func (c *Command) readHead(args []string) (why string) {
	switch {
	case len(args) == 0:
		return ""
	case len(args) > 1:
		return extra(args[1:])
	}
	sha := strings.ToLower(args[0])
	if !fullSHA.MatchString(sha) {
		return quote(args[0]) + " is not a full commit sha (40 hex digits)"
	}
	c.Head = sha
	return ""
}

// flagWhy explains the words people most often bring along from elsewhere.
func flagWhy(word string) string {
	switch name, _, _ := strings.Cut(word, "="); name {
	case "--approver", "--actor", "--sign", "--role", "--agent", "--env", "--url", "--note":
		return quote(name) + " belongs to the command line; in a comment the approver is who wrote it"
	case "—plan", "–plan", "-plan":
		return quote(name) + " needs two plain hyphens: --plan"
	}
	return ""
}

func extra(words []string) string {
	if len(words) == 0 {
		return ""
	}
	for _, w := range words {
		if why := flagWhy(w); why != "" {
			return why
		}
	}
	const shown = 5
	quoted := make([]string, 0, shown)
	for _, w := range words[:min(len(words), shown)] {
		quoted = append(quoted, quote(w))
	}
	if len(words) > shown {
		quoted = append(quoted, "and more")
	}
	return "extra words: " + strings.Join(quoted, ", ")
}
