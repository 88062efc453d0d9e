package project

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNamesOfAPullRequest(t *testing.T) {
	t.Parallel()
	const sha = "1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d"
	for got, want := range map[string]string{
		OpPull(12, ""):                             "pr-12",
		OpPull(12, "network"):                      "pr-12-network",
		OpGreen(sha, ""):                           "green-1a2b3c4d5e6f",
		OpGreen(sha, "network"):                    "green-1a2b3c4d5e6f-network",
		NoteMarker("prod", ""):                     "<!-- chant-pr:prod -->",
		NoteMarker("prod", "network"):              "<!-- chant-pr:prod:network -->",
		Context(StagePlan, "", "prod", false):      "chant/plan",
		Context(StageApply, "", "staging", true):   "chant/apply@staging",
		Context(StageApply, "network", "p", false): "chant/apply/network",
		Context(StagePlan, "network", "p", true):   "chant/plan/network@p",
		RoundGate("pr-apply", 2):                   "pr-apply-round-2",
		WaveGate("release", 3):                     "release-wave-3",
		LeaseKey("prod", ""):                       "ci-apply/prod",
		LeaseKey("prod", "network"):                "_members/network/ci-apply/network/prod",
		LedgerPrefix(""):                           "",
		LedgerPrefix("network"):                    "_members/network/",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAnOpIsReadBack(t *testing.T) {
	t.Parallel()
	if n, m, ok := PullOf(OpPull(12, "net-2")); n != 12 || m != "net-2" || !ok {
		t.Errorf("got %d %q %v", n, m, ok)
	}
	for _, op := range []string{"pr-", "pr-x", "pr-12-", "pr-12_a", "green-1", "pr-unknown", "xpr-1", "pr-99999999999999999999"} {
		if _, _, ok := PullOf(op); ok {
			t.Errorf("%q was read as a pull request", op)
		}
	}
}

// A context of 256 characters made another bot's status fail (atlantis#2506).
func TestALongContextIsCutToADistinctStableName(t *testing.T) {
	t.Parallel()
	fits := strings.Repeat("é", 255-len("chant/plan/"))
	if got := Context(StagePlan, fits, "", false); got != "chant/plan/"+fits {
		t.Errorf("a context of 255 characters was changed to %q", got)
	}
	one, two := Context(StagePlan, fits+"a", "", false), Context(StagePlan, fits+"b", "", false)
	if one == two {
		t.Error("two long names became one context")
	}
	if one != Context(StagePlan, fits+"a", "", false) {
		t.Error("a name is cut differently each time")
	}
	for _, c := range []string{one, two, Context(StageApply, strings.Repeat("m", 400), "prod", true)} {
		if n := utf8.RuneCountInString(c); n != 255 || !utf8.ValidString(c) {
			t.Errorf("%d characters, valid %v", n, utf8.ValidString(c))
		}
	}
	if Context(StagePlan, fits+"a", "x", true) == Context(StagePlan, fits+"a", "y", true) {
		t.Error("the env was lost in the cut")
	}
}

func TestTheNumberOfARoundIsReadBack(t *testing.T) {
	t.Parallel()
	if n := RoundOf("pr-apply", RoundGate("pr-apply", 12)); n != 12 {
		t.Errorf("got %d, want 12", n)
	}
	for _, name := range []string{"pr-apply", "pr-apply-round-", "pr-apply-round-1", "pr-apply-round-02", "pr-apply-round-x", "other-round-2", "pr-apply-wave-2"} {
		if n := RoundOf("pr-apply", name); n != 0 {
			t.Errorf("%q was read as round %d", name, n)
		}
	}
}
