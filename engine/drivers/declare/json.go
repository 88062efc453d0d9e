package declare

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/chant-bot/chant/engine/project"
)

// parseJSON reads RFC 8259 text with positions, which encoding/json does not
// give. With relaxed set, comments and a comma before a closing bracket are
// allowed (JSONC). Duplicate keys and lone surrogates are refused.
func parseJSON(data []byte, file string, relaxed bool) (*project.Node, error) {
	p := &scanner{text: string(data), file: file, line: 1, relaxed: relaxed}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.pos == len(p.text) {
		return nil, unparseable(file, 1, "", "is empty")
	}
	n, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.pos < len(p.text) {
		return nil, p.fault("remove what follows the value", "there is more text after the end")
	}
	return n, nil
}

type scanner struct {
	text      string
	file      string
	pos       int
	line      int
	lineStart int
	relaxed   bool
	nodes     int
}

func (p *scanner) fault(next, format string, args ...any) error {
	return unparseable(p.file, p.line, next, format, args...)
}

// unexpected describes what stands where something else was wanted.
func (p *scanner) unexpected(wanted string) error {
	if p.pos >= len(p.text) {
		return p.fault("", "the file ends where %s was expected", wanted)
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	switch {
	case r == '/' && !p.relaxed:
		return p.fault("remove it, or name the file .jsonc if it may have comments", "a comment is not JSON")
	case r == '\'':
		return p.fault(`use "`, "a string stands in single quotes")
	}
	return p.fault("", "found %q where %s was expected", r, wanted)
}

// space skips white space and, in JSONC, comments.
func (p *scanner) space() error {
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '\n':
			p.newline()
		case c == ' ', c == '\t', c == '\r':
			p.pos++
		case p.relaxed && strings.HasPrefix(p.text[p.pos:], "//"):
			for p.pos < len(p.text) && p.text[p.pos] != '\n' {
				p.pos++
			}
		case p.relaxed && strings.HasPrefix(p.text[p.pos:], "/*"):
			if err := p.blockComment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (p *scanner) newline() {
	p.pos++
	p.line++
	p.lineStart = p.pos
}

func (p *scanner) blockComment() error {
	end := strings.Index(p.text[p.pos+2:], "*/")
	if end < 0 {
		return p.fault("end it with */", "a comment is never closed")
	}
	for stop := p.pos + 2 + end; p.pos < stop; {
		if p.text[p.pos] == '\n' {
			p.newline()
		} else {
			p.pos++
		}
	}
	p.pos += 2
	return nil
}

func (p *scanner) node(kind project.Kind) *project.Node {
	return &project.Node{File: p.file, Line: p.line, Column: p.pos - p.lineStart + 1, Kind: kind}
}

func (p *scanner) value(depth int) (*project.Node, error) {
	if depth > maxDepth {
		return nil, p.fault("", "is nested deeper than %d levels", maxDepth)
	}
	if p.nodes++; p.nodes > maxNodes {
		return nil, p.fault("split the file", "holds more than %d values", maxNodes)
	}
	if p.pos >= len(p.text) {
		return nil, p.unexpected("a value")
	}
	switch c := p.text[p.pos]; {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		n := p.node(project.String)
		text, err := p.str()
		n.Text = text
		return n, err
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	for word, kind := range map[string]project.Kind{"true": project.Bool, "false": project.Bool, "null": project.Null} {
		if strings.HasPrefix(p.text[p.pos:], word) {
			n := p.node(kind)
			n.Bool = word == "true"
			p.pos += len(word)
			return n, p.wordEnds()
		}
	}
	return nil, p.unexpected("a value")
}

// wordEnds refuses letters and digits right behind a word or a number.
func (p *scanner) wordEnds() error {
	if p.pos == len(p.text) || strings.IndexByte(" \t\r\n,]}/", p.text[p.pos]) >= 0 {
		return nil
	}
	return p.unexpected("a comma or the end")
}

func (p *scanner) object(depth int) (*project.Node, error) {
	n := p.node(project.Object)
	lines := map[string]int{}
	err := p.items('}', func() error {
		if p.pos >= len(p.text) || p.text[p.pos] != '"' {
			return p.unexpected(`a key in "`)
		}
		line := p.line
		key, err := p.str()
		if err != nil {
			return err
		}
		if len(key) > maxKey {
			return unparseable(p.file, line, "", "a key is longer than %d bytes", maxKey)
		}
		if first, dup := lines[key]; dup {
			return unparseable(p.file, line, "remove one of them", "key %q stands twice, first on line %d", key, first)
		}
		lines[key] = line
		if err := p.space(); err != nil {
			return err
		}
		if p.pos >= len(p.text) || p.text[p.pos] != ':' {
			return p.unexpected("a colon")
		}
		p.pos++
		if err := p.space(); err != nil {
			return err
		}
		v, err := p.value(depth + 1)
		n.Fields = append(n.Fields, project.Field{Name: key, Line: line, Value: v})
		return err
	})
	return n, err
}

func (p *scanner) array(depth int) (*project.Node, error) {
	n := p.node(project.Array)
	err := p.items(']', func() error {
		v, err := p.value(depth + 1)
		n.Items = append(n.Items, v)
		return err
	})
	return n, err
}

// items reads what stands between an opening bracket and the closing one.
func (p *scanner) items(closing byte, item func() error) error {
	open := p.line
	p.pos++
	for first := true; ; first = false {
		if err := p.space(); err != nil {
			return err
		}
		if p.pos >= len(p.text) {
			return p.fault("close it", "the file ends inside the bracket opened on line %d", open)
		}
		if p.text[p.pos] == closing {
			p.pos++
			return nil
		}
		if !first {
			if p.text[p.pos] != ',' {
				return p.unexpected("a comma or " + string(closing))
			}
			p.pos++
			if err := p.space(); err != nil {
				return err
			}
			if p.pos < len(p.text) && p.text[p.pos] == closing {
				if !p.relaxed {
					return p.fault("remove it, or name the file .jsonc", "a comma stands before %q", string(closing))
				}
				p.pos++
				return nil
			}
		}
		if err := item(); err != nil {
			return err
		}
	}
}

// str reads a string token; encoding/json decodes it once its escapes are known
// to be sound.
func (p *scanner) str() (string, error) {
	start := p.pos
	p.pos++
	plain := true
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			p.pos++
			token := p.text[start:p.pos]
			if plain {
				return token[1 : len(token)-1], nil
			}
			return p.unescape(token)
		case c == '\\':
			plain = false
			p.pos += 2
		case c < ' ':
			return "", p.fault(`write it as \n, \t or \u00XX`, "a string holds a control character or a line end")
		default:
			p.pos++
		}
	}
	return "", p.fault(`close it with "`, "a string is never closed")
}

func (p *scanner) unescape(token string) (string, error) {
	var text string
	if err := json.Unmarshal([]byte(token), &text); err != nil {
		return "", p.fault(`the escapes are \" \\ \/ \b \f \n \r \t and \uXXXX`, "a string has an unknown escape")
	}
	// A lone surrogate decodes to U+FFFD; one written out is fine.
	if strings.Count(text, "\ufffd") > strings.Count(token, "\ufffd")+strings.Count(strings.ToLower(token), `\ufffd`) {
		return "", p.fault("write both halves of the pair", "a string has half a surrogate pair")
	}
	return text, nil
}

func (p *scanner) number() (*project.Node, error) {
	n := p.node(project.Number)
	start := p.pos
	for p.pos < len(p.text) && strings.IndexByte("+-.eE0123456789", p.text[p.pos]) >= 0 {
		p.pos++
	}
	n.Text = p.text[start:p.pos]
	if !json.Valid([]byte(n.Text)) {
		return nil, p.fault("", "%q is no number", n.Text)
	}
	return n, p.wordEnds()
}
