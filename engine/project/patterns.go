package project

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	memberPattern    = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)
	phasePattern     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	envPattern       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	gatePattern      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	classPattern     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	versionPattern   = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$`)
	windowPattern    = regexp.MustCompile(`^[1-9][0-9]{0,5}(m|h|d)$`)
	componentPattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	variablePattern  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	durationPattern  = regexp.MustCompile(`^(?:[0-9]{1,9}(?:ms|s|m|h|d))+$`)
	durationPart     = regexp.MustCompile(`([0-9]+)(ms|s|m|h|d)`)
	preEnvPattern    = regexp.MustCompile(`^pr-[0-9]+$`)
	loginPattern     = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9._-]*[a-z0-9_])?(?:\[bot\])?$`)
	hostPattern      = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+(?::[0-9]{1,5})?$`)
	httpPattern      = regexp.MustCompile(`^https?://[^\s/]+`)
)

const (
	memberWords  = "lower-case letters, digits and dashes, starting with a letter or digit, at most 40"
	phaseWords   = "letters, digits, dots, dashes and underscores, starting with a letter or digit, at most 64"
	envWords     = "letters, digits, dots, dashes and underscores, starting with a letter or digit, at most 63"
	gateWords    = "letters, digits, dots, dashes and underscores, starting with a letter or digit, at most 100"
	versionWords = "three numbers, such as 0.108.0"
	nameWords    = "lower-case words of letters and digits joined by single dashes"
)

// parseWindow reads ci.green's window: one number and m, h or d.
func parseWindow(s string) (time.Duration, bool) {
	if !windowPattern.MatchString(s) {
		return 0, false
	}
	return ParseDuration(s)
}

// ParseDuration reads a gate's timeout: a sum of <n>(ms|s|m|h|d) parts, such as
// 1h30m (pr-loop §3.1). False when it is no duration or longer than 290 years.
func ParseDuration(s string) (time.Duration, bool) {
	if !durationPattern.MatchString(s) {
		return 0, false
	}
	units := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	const longest = time.Duration(1<<63 - 1)
	var total time.Duration
	for _, part := range durationPart.FindAllStringSubmatch(s, -1) {
		n, err := strconv.ParseInt(part[1], 10, 64)
		unit := units[part[2]]
		if err != nil || n > int64(longest/unit) || time.Duration(n)*unit > longest-total {
			return 0, false
		}
		total += time.Duration(n) * unit
	}
	return total, total > 0
}

// badBranch says what is wrong with a branch name, "" when it is fine (pr-loop
// §4.1, and what git itself refuses).
func badBranch(b string) string {
	switch {
	case strings.HasPrefix(b, "refs/"):
		return "write the branch's short name, such as main"
	case strings.ContainsAny(b, " \t\r\n\v\f~^:?*[\\") || strings.ContainsFunc(b, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return `a branch has no whitespace and none of ~ ^ : ? * [ \`
	case strings.HasPrefix(b, "-"), strings.HasPrefix(b, "/"), strings.HasSuffix(b, "/"), strings.HasSuffix(b, "."), strings.HasSuffix(b, ".lock"),
		strings.Contains(b, ".."), strings.Contains(b, "//"), strings.Contains(b, "@{"):
		return "git does not allow this branch name"
	}
	return ""
}

// badDir says what is wrong with a directory relative to the workspace or
// project, "" when it is fine. up allows it to start with "..".
func badDir(dir string, up bool) string {
	switch {
	case strings.HasPrefix(dir, "/"), strings.Contains(dir, ":"), strings.ContainsFunc(dir, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "write a relative path"
	case strings.Contains(dir, "\\"):
		return "write the path with /"
	case !up && escapes(dir):
		return "stay inside the checkout"
	}
	return ""
}

// escapes tells whether a cleaned relative path leaves where it starts.
func escapes(dir string) bool {
	c := path.Clean(dir)
	return c == ".." || strings.HasPrefix(c, "../")
}

// badPrincipal says what is wrong with an approver: a forge identity (pr-loop
// §3.7) or a team written github:@org/team; "" when it is fine. The argument is
// lower-case.
func badPrincipal(p string) string {
	const want = "write github:alice, gitlab:alice, <forge>@<host>:alice, or a team such as github:@org/team"
	instance, who, ok := strings.Cut(p, ":")
	if kind, host, hosted := strings.Cut(instance, "@"); hosted {
		// A host may carry a port: github@host:8443:alice.
		if port, rest, more := strings.Cut(who, ":"); more {
			host, who = host+":"+port, rest
		}
		if !hostPattern.MatchString(host) {
			return "a host has at least one dot; " + want
		}
		ok = ok && (kind == "github" || kind == "gitlab" || kind == "forgejo" || kind == "gitea")
	} else if instance == "forgejo" || instance == "gitea" {
		return "this forge has no default host; write " + instance + "@<host>:<name>"
	} else {
		ok = ok && (instance == "github" || instance == "gitlab")
	}
	if !ok {
		return want
	}
	if team, isTeam := strings.CutPrefix(who, "@"); isTeam {
		parts := strings.Split(team, "/")
		if len(parts) < 2 {
			return "a team is @org/team"
		}
		for _, part := range parts {
			if !loginPattern.MatchString(part) {
				return want
			}
		}
		return ""
	}
	if !loginPattern.MatchString(who) {
		return want
	}
	return ""
}

// newer tells whether version a is newer than b; both match versionPattern.
func newer(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range as {
		x, _ := strconv.Atoi(as[i]) // at most 9 digits by the pattern
		y, _ := strconv.Atoi(bs[i])
		if x != y {
			return x > y
		}
	}
	return false
}
