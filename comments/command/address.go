package command

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// address is the words that call us: chant, /chant and @<app>.
type address struct{ app string }

// names reports whether a line's first word calls us. Case does not matter:
// phones capitalise the first word of a line, and accounts fold case.
func (a address) names(word string) bool {
	return strings.EqualFold(word, "chant") || strings.EqualFold(word, "/chant") ||
		a.app != "" && strings.EqualFold(word, "@"+a.app)
}

// anywhere is a cheap test that lets almost every comment skip the parser.
func (a address) anywhere(body string) bool {
	lower := strings.ToLower(strip(body))
	return strings.Contains(lower, "chant") ||
		a.app != "" && strings.Contains(lower, "@"+strings.ToLower(a.app))
}

// resembles reports whether a reader would take the line for a command once
// quoting marks, list marks, emphasis, code marks and tags are taken away.
func (a address) resembles(text string) bool {
	words := strings.FieldsFunc(untag(strip(text)), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("`*_~>#\"'|\\", r)
	})
	for len(words) > 0 && listMark(words[0]) {
		words = words[1:]
	}
	if len(words) < 2 || !a.names(words[0]) {
		return false
	}
	verb := strings.ToLower(words[1])
	for _, v := range verbs {
		if verb == string(v) {
			return true
		}
	}
	return false
}

func listMark(word string) bool {
	if strings.Trim(word, "-+$") == "" {
		return true
	}
	digits := strings.TrimRight(word, ".)")
	return digits != word && strings.Trim(digits, "0123456789") == ""
}

// untag replaces HTML tags by spaces.
func untag(s string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(s, '<')
		if open < 0 {
			break
		}
		end := strings.IndexByte(s[open:], '>')
		if end < 0 {
			break
		}
		b.WriteString(s[:open])
		b.WriteByte(' ')
		s = s[open+end+1:]
	}
	b.WriteString(s)
	return b.String()
}

// strip removes characters that nobody sees.
func strip(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// normalise makes line ends LF, so that lines count the same everywhere, and
// the text valid UTF-8.
func normalise(body string) string {
	body = strings.ToValidUTF8(body, "\uFFFD")
	body = strings.ReplaceAll(body, "\r\n", "\n")
	return strings.ReplaceAll(body, "\r", "\n")
}

// shorten keeps what is quoted back to a person short.
func shorten(s string) string {
	const limit = 200
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit]) + "…"
}

func quote(word string) string {
	const limit = 80
	if utf8.RuneCountInString(word) > limit {
		word = string([]rune(word)[:limit]) + "…"
	}
	return `"` + word + `"`
}

// misspelt reports whether a word is one slip away from a verb: worth an
// answer, unlike prose that happens to start with our name.
func misspelt(word string) bool {
	for _, v := range verbs {
		if len(v) > 3 && oneSlip(word, string(v)) {
			return true
		}
	}
	return false
}

// oneSlip reports whether a becomes b by one insertion, deletion, replacement
// or swap of neighbours.
func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) {
		return false
	}
	swapped := i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	return swapped || a[i+1:] == b[i+1:]
}
