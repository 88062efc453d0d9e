package project

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The names of one pull request and one green commit (pr-loop §5.3). A member
// is empty for the root project.

// OpPull is the op of pull request n.
func OpPull(n int, member string) string { return withMember("pr-"+strconv.Itoa(n), member) }

// Short is a commit as people and ops say it; sha has 40 to 64 hex digits.
func Short(sha string) string { return sha[:min(12, len(sha))] }

// OpGreen is the op of the green gate of a commit; sha has 40 to 64 hex digits.
func OpGreen(sha, member string) string {
	return withMember("green-"+Short(sha), member)
}

func withMember(op, member string) string {
	if member == "" {
		return op
	}
	return op + "-" + member
}

var pullPattern = regexp.MustCompile(`^pr-([0-9]{1,18})(?:-([a-z0-9][a-z0-9-]*))?$`)

// PullOf reads the op of a pull request back.
func PullOf(op string) (n int, member string, ok bool) {
	m := pullPattern.FindStringSubmatch(op)
	if m == nil {
		return 0, "", false
	}
	n, err := strconv.Atoi(m[1])
	return n, m[2], err == nil
}

// RoundGate is the gate of round n of an apply; the main pass is round 1.
func RoundGate(gate string, n int) string { return gate + "-round-" + strconv.Itoa(n) }

// RoundOf reads the number back from the gate of a round, 0 for another gate.
func RoundOf(gate, name string) int {
	number, ok := strings.CutPrefix(name, gate+"-round-")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 2 || RoundGate(gate, n) != name {
		return 0
	}
	return n
}

// WaveGate is the gate of wave k; the first wave is 1.
func WaveGate(gate string, k int) string { return gate + "-wave-" + strconv.Itoa(k) }

var countedGate = regexp.MustCompile(`^(.+?)(?:-(?:round|wave)-[1-9][0-9]*)+$`)

// BaseGate is the gate that one named like a round or a wave is a round or wave of, or a
// round of such a wave; the gate itself where it is none.
func BaseGate(gate string) string {
	if m := countedGate.FindStringSubmatch(gate); m != nil {
		return m[1]
	}
	return gate
}

// NoteMarker is the first line of the note of an env.
func NoteMarker(env, member string) string {
	if member == "" {
		return "<!-- chant-pr:" + env + " -->"
	}
	return "<!-- chant-pr:" + env + ":" + member + " -->"
}

// The stages a status context names.
const (
	StagePlan  = "plan"
	StageApply = "apply"
)

// maxContext is how many characters a forge takes for a status context.
const maxContext = 255

// Context is the context of a commit status: chant/<stage>, /<member> behind it
// in a workspace member, and @<env> at the end only where two envs share the
// branch (decision 3). A context that is too long is cut, with a hash of the
// whole behind it, so that two long names stay distinct and each stays the same.
func Context(stage, member, env string, withEnv bool) string {
	context := "chant/" + stage
	if member != "" {
		context += "/" + member
	}
	if withEnv {
		context += "@" + env
	}
	if utf8.RuneCountInString(context) <= maxContext {
		return context
	}
	sum := sha256.Sum256([]byte(context))
	suffix := "~" + hex.EncodeToString(sum[:6])
	return string([]rune(context)[:maxContext-len(suffix)]) + suffix
}

// SharedBranch tells whether the contexts of a branch carry the env.
func SharedBranch(envs []Env) bool { return len(envs) > 1 }

// LedgerPrefix is <L> of pr-loop §1.1: where on the ledger branch the project of a
// workspace member, "" for the root's, keeps its files.
func LedgerPrefix(member string) string {
	if member == "" {
		return ""
	}
	return "_members/" + member + "/"
}

// LeaseKey is the key of the lease that lets one apply of an env run at a time,
// with the ledger prefix (pr-loop §9). Without it a member named like an env
// would hide in that env's lease, or under it where no second ref can be.
func LeaseKey(env, member string) string {
	if member == "" {
		return "ci-apply/" + env
	}
	return fmt.Sprintf("%sci-apply/%s/%s", LedgerPrefix(member), member, env)
}
