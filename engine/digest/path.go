package digest

import (
	"slices"
	"strconv"
	"strings"
)

// step is one element of a path as people write it: .key, ["odd key"] or [3].
func step(kind Kind, keyText []byte, index int) string {
	if kind == Array {
		return "[" + strconv.Itoa(index) + "]"
	}
	key := string(keyText)
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return !isWord(r) }) {
		return "[" + strconv.Quote(key) + "]"
	}
	return "." + key
}

func isWord(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-'
}

// joinPath writes steps gathered innermost first, from the root "$". A hostile
// path must not fill a log or a note, so its middle is cut.
func joinPath(steps []string) string {
	const most = 300
	var b strings.Builder
	b.WriteString("$")
	for _, s := range slices.Backward(steps) {
		b.WriteString(s)
	}
	path := b.String()
	if len(path) <= most {
		return path
	}
	return strings.ToValidUTF8(path[:most/2], "") + "..." + strings.ToValidUTF8(path[len(path)-most/2:], "")
}
