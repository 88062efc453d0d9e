package command

import "strings"

// Bounds on what the Markdown parser is given: nesting and delimiters make it
// slow long before people get there.
const (
	maxNesting    = 64
	maxBrackets   = 4096 // each of "[" and "<"
	maxDelimiters = 8192 // of "*", "_" and "~" together
)

// hard reports whether a body is beyond the bounds.
func hard(body string) bool {
	if strings.Count(body, "[") > maxBrackets || strings.Count(body, "<") > maxBrackets {
		return true
	}
	if strings.Count(body, "*")+strings.Count(body, "_")+strings.Count(body, "~") > maxDelimiters {
		return true
	}
	for l := range strings.Lines(body) {
		if nesting(l) > maxNesting {
			return true
		}
	}
	return false
}

// nesting counts the quote and list marks a line starts with.
func nesting(l string) int {
	n := 0
	for {
		l = strings.TrimLeft(l, " \t")
		rest := strings.TrimPrefix(l, ">")
		if rest == l {
			mark, after, found := strings.Cut(l, " ")
			if !found || !listMark(mark) {
				return n
			}
			rest = after
		}
		l = rest
		n++
	}
}

// tooLarge answers a body that is not parsed at all: nothing in it runs, and the
// first line that looks like a command gets the reason.
func tooLarge(body string, a address) Parsed {
	var p Parsed
	number := 0
	for l := range strings.Lines(body) {
		number++
		if a.resembles(l) {
			p.near(line{number: number, text: l}, "the comment is too long or too deeply nested to be read for commands; write a new, short one")
			break
		}
	}
	return p
}
