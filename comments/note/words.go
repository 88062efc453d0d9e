package note

import (
	"fmt"
	"strings"

	"github.com/chant-bot/chant/engine/report"
)

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// sha shows a commit short and inert.
func sha(s string) string {
	if len(s) > 12 {
		s = s[:12]
	}
	return Inline(s)
}

// prName is a pull request without a cross-reference to it.
func prName(n int) string { return Inline(fmt.Sprintf("#%d", n)) }

// nameList shows foreign names, the first few of many.
func nameList(names []string, shown int) string {
	parts := make([]string, 0, shown+1)
	for _, n := range names[:min(len(names), shown)] {
		parts = append(parts, Inline(n))
	}
	if rest := len(names) - shown; rest > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(parts, ", ")
}

// handles shows forge accounts the way people write them.
func handles(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = "@" + strings.TrimPrefix(short(n), "@")
	}
	return out
}

// people shows principals; those of another host keep it.
func people(principals []string) []string {
	out := make([]string, len(principals))
	for i, p := range principals {
		out[i] = short(p)
	}
	return out
}

func short(principal string) string {
	for _, prefix := range []string{"github:", "gitlab:"} {
		if rest, ok := strings.CutPrefix(principal, prefix); ok {
			return rest
		}
	}
	return principal
}

// shortenText bounds a sentence before it is made inert.
func shortenText(s string, limit int) string { return Text(shorten(visible(s), limit)) }

func count(r report.Report, s report.MemberStatus) int {
	n := 0
	for _, m := range r.Members {
		if m.Status == s {
			n++
		}
	}
	return n
}

// waitingMembers counts those that read what is not there yet; none of them does once
// its round or wave was asked for, or all is applied.
func waitingMembers(r report.Report) int {
	n := 0
	for _, m := range r.Members {
		_, asked := r.LaterOf(m)
		n += one(len(m.UnknownInputs) > 0 && !asked && r.Status != report.Applied)
	}
	return n
}

// since is how a digest is named when it is not the one to copy.
func shortDigest(s string) string {
	if s == "" {
		return "none"
	}
	return Inline(s + "…")
}
