package note

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chant-bot/chant/comments/redact"
)

// maxName bounds one foreign name in the note. Longer ones keep both ends and
// say how long they are.
const maxName = 240

// Inline shows foreign text as a code span that is safe anywhere in a line,
// table cells included: one line, no mention, no link, no HTML, nothing
// invisible. A pipe is shown as \x7c, because no spelling of it is safe in
// every forge's tables.
func Inline(s string) string {
	s = visible(redact.Text(s))
	s = strings.NewReplacer("\n", `\n`, "\t", `\t`, "|", `\x7c`).Replace(s)
	s = shorten(s, maxName)
	if s == "" {
		return "(empty)"
	}
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	if s[0] == '`' || s[len(s)-1] == '`' || s[0] == ' ' && s[len(s)-1] == ' ' {
		s = " " + s + " "
	}
	return fence + s + fence
}

// Plain is foreign text for places that escape it themselves, such as HTML
// templates: secrets hidden, nothing invisible. LF and TAB stay.
func Plain(s string) string { return visible(redact.Text(s)) }

// Visible is our own text for such places: nothing invisible. It hides no secret:
// it is for text that is known to hold none, and speaks of the names of some.
func Visible(s string) string { return visible(s) }

// Fence shows foreign text as a code block of its own, with a final LF. The
// fence is longer than any run of backticks inside. A line that starts with a
// slash gets a backslash before it: GitLab has run such lines as quick actions
// from inside a block.
func Fence(language, s string) string {
	s = strings.TrimRight(visible(redact.Text(s)), "\n")
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(strings.TrimLeft(l, " \t"), "/") {
			at := strings.IndexByte(l, '/')
			lines[i] = l[:at] + `\` + l[at:]
		}
	}
	s = strings.Join(lines, "\n")
	fence := strings.Repeat("`", max(3, longestRun(s, '`')+1))
	return fence + language + "\n" + s + "\n" + fence + "\n"
}

// Text shows a sentence that may carry foreign parts: plain words stay prose,
// everything else in it becomes a code span. One line; never put it at the start
// of one.
func Text(s string) string {
	words := quotedTogether(strings.Fields(visible(redact.Text(s))))
	var out, code []string
	flush := func() {
		if len(code) > 0 {
			out = append(out, codeWords(strings.Join(code, " ")))
			code = nil
		}
	}
	for _, w := range words {
		if plainWord(w) {
			flush()
			out = append(out, w)
			continue
		}
		w = quotedWord.ReplaceAllString(w, "$1$2")
		code = append(code, w)
		if strings.ContainsRune(".,;:", rune(w[len(w)-1])) {
			flush()
		}
	}
	flush()
	return strings.Join(out, " ")
}

// quotedTogether makes one word of those that stand between a pair of backquotes,
// such as a command to comment: quotation marks do not show within a code span.
func quotedTogether(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		joined := words[i]
		for end := i + 1; strings.Count(joined, "`") == 1 && joined[0] == '`' && end < len(words); end++ {
			if joined += " " + words[end]; quotedWord.MatchString(joined) {
				words[end] = joined
				i = end
			}
		}
		out = append(out, words[i])
	}
	return out
}

// codeWords keeps the punctuation that ends a sentence out of the span.
func codeWords(s string) string {
	core := strings.TrimRight(s, ",;:")
	if trimmed := strings.TrimSuffix(core, "."); !strings.HasSuffix(trimmed, ".") {
		core = trimmed
	}
	if core == "" {
		return Inline(s)
	}
	return Inline(core) + s[len(core):]
}

var (
	word   = regexp.MustCompile(`^\(?\p{Latin}+(?:['’-]\p{Latin}+)*\)?[.,;:]?$`)
	number = regexp.MustCompile(`^\d{1,6}[,;]?$`)
	// Reasons quote names and commands so; the span is their quotation mark here.
	quotedWord = regexp.MustCompile("^`([^`]+)`([.,;:]?)$")
	// A commit can be named by letters alone, and www. starts a link.
	special = regexp.MustCompile(`(?i)[a-f]{7,}|www`)
)

// plainWord reports whether a word means nothing to Markdown or a forge: no
// mention, reference, link, sha, emphasis or list mark can be made of it.
func plainWord(w string) bool {
	return word.MatchString(w) && !special.MatchString(w) || number.MatchString(w)
}

var ansi = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)`)

// visible drops terminal colours and spells out every character that shows
// nothing or moves what is shown: controls, format characters, bidirectional
// marks, private and unassigned code points, broken UTF-8. LF and TAB stay.
func visible(s string) string {
	s = ansi.ReplaceAllString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r == ' ' || unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r) && !blank(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// blank are letters and marks by class that show nothing: Hangul fillers, the
// braille blank, variation selectors and the combining joiner.
func blank(r rune) bool {
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0:
		return true
	}
	return unicode.Is(unicode.Variation_Selector, r)
}

// shorten keeps at most limit code points: both ends, and how many there were.
func shorten(s string, limit int) string {
	n := utf8.RuneCountInString(s)
	if n <= limit {
		return s
	}
	runes := []rune(s)
	end := limit / 4
	return fmt.Sprintf("%s… (%d characters) …%s", string(runes[:limit-end]), n, string(runes[n-end:]))
}

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

var person = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,99})(?:/[A-Za-z0-9][A-Za-z0-9_.-]{0,99})?$`)

// Mention is the one way to notify somebody: login or org/team, without "@".
// Anything else is shown inert.
func Mention(name string) string {
	if !person.MatchString(name) {
		return Inline(name)
	}
	return "@" + name
}

// safeURL returns u when it can stand in a Markdown link and names a web page,
// else "". Our own addresses come through here too: a wrong setting must not
// break the note.
func safeURL(u string) string {
	if !webURL.MatchString(u) {
		return ""
	}
	return u
}

var webURL = regexp.MustCompile(`^https?://[A-Za-z0-9.:\[\]-]+(?:/[A-Za-z0-9._~!$&'*+,;=:@%/?#-]*)?$`)

func link(title, u string) string {
	if u = safeURL(u); u == "" {
		return ""
	}
	return "[" + title + "](" + u + ")"
}
