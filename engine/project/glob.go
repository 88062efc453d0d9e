package project

import (
	"path"
	"strings"
)

// badGlob says what is wrong with a glob, "" when it is fine.
func badGlob(g string) string {
	switch {
	case g == "":
		return "give a glob"
	case strings.HasPrefix(g, "/"), strings.Contains(g, "\\"), path.Clean(g) != g, escapes(g):
		return "write a clean path relative to the workspace, with /"
	case strings.ContainsAny(g, "[]{}!"):
		return "only *, ? and ** are special in a glob"
	case strings.Count(g, "**") > 8:
		return "use fewer **"
	}
	for seg := range strings.SplitSeq(g, "/") {
		if strings.Contains(seg, "**") && seg != "**" {
			return "** stands alone between slashes"
		}
	}
	return ""
}

// MatchGlob tells whether a slash-separated relative path matches a glob: "*"
// and "?" stay inside one segment, "**" is any number of whole segments.
func MatchGlob(glob, name string) bool {
	return matchSegments(strings.Split(glob, "/"), strings.Split(name, "/"))
}

// matchSegments backtracks to the last "**" only, which is enough for globs and
// keeps the time at most quadratic.
func matchSegments(glob, name []string) bool {
	g, n := 0, 0
	star, from := -1, 0
	for n < len(name) {
		switch {
		case g < len(glob) && glob[g] == "**":
			star, from = g, n
			g++
		case g < len(glob) && matchSegment([]rune(glob[g]), []rune(name[n])):
			g++
			n++
		case star >= 0:
			from++
			g, n = star+1, from
		default:
			return false
		}
	}
	for g < len(glob) && glob[g] == "**" {
		g++
	}
	return g == len(glob)
}

func matchSegment(glob, name []rune) bool {
	g, n := 0, 0
	star, from := -1, 0
	for n < len(name) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, from = g, n
			g++
		case g < len(glob) && (glob[g] == '?' || glob[g] == name[n]):
			g++
			n++
		case star >= 0:
			from++
			g, n = star+1, from
		default:
			return false
		}
	}
	for g < len(glob) && glob[g] == '*' {
		g++
	}
	return g == len(glob)
}
