// Package declare reads the files in which a repository declares itself and
// turns them into nodes that know their file and line: JSON, JSONC and YAML. It
// finds them in a checkout or reads them out of a git tree. Everything it reads
// is written by whoever opened the pull request, so files are bounded in size,
// depth and expansion, and a link out of the checkout is refused. It decides
// nothing; package project does.
package declare

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/chant-bot/chant/engine/project"
)

// Bounds on one file. A declaration written by people is far below them.
const (
	maxBytes = 1 << 20
	maxDepth = 64
	maxNodes = 100_000 // values in a file, YAML aliases expanded
	maxKey   = 512     // bytes of a key; keys are joined to name fields
	maxFiles = 20_000  // component files in a project
)

// Parse decodes the content of a file as JSON, JSONC or YAML by its extension. shown
// is its name to people, relative to the checkout. The error is project.Problems with
// the line of the fault.
func Parse(data []byte, shown string) (*project.Node, error) {
	if len(data) > maxBytes {
		return nil, tooLarge(shown)
	}
	if at := invalidUTF8(data); at > 0 {
		return nil, unparseable(shown, at, "save the file as UTF-8", "is not UTF-8 text")
	}
	data = []byte(strings.TrimPrefix(string(data), "\ufeff"))
	switch path.Ext(shown) {
	case ".json":
		return parseJSON(data, shown, false)
	case ".jsonc":
		return parseJSON(data, shown, true)
	case ".yaml", ".yml":
		return parseYAML(data, shown)
	}
	return nil, unparseable(shown, 0, "use .json, .jsonc, .yaml or .yml", "has an unknown extension")
}

func tooLarge(shown string) error {
	return unparseable(shown, 0, "split it or remove what does not belong in it", "is larger than %d KiB", maxBytes>>10)
}

func unparseable(file string, line int, next, format string, args ...any) error {
	return project.Problems{{Code: project.CodeUnparseable, File: file, Line: line, Message: fmt.Sprintf(format, args...), Next: next}}
}

// invalidUTF8 returns the line of the first byte that is no UTF-8, 0 when all is.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return 0
	}
	line := 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			return line
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return line
}
