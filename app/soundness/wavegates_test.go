package soundness_test

import (
	"testing"
)

// waveGated is an env that gates each wave after the first.
func waveGated(roots ...root) project {
	return project{envs: []object{{"name": "prod", "branch": "main", "applyOnMerge": true, "waveGate": "release"}}, roots: roots}
}

// pr-loop §7.4: each wave is planned again when it is reached. One whose plan the
// approved one covers needs nothing; one whose plan moved waits at its gate, and
// nothing after it applies.
func TestEachWaveIsDecidedWhenItIsReached(t *testing.T) {
	t.Parallel()
	w := newWorld(t, waveGated(
		root{name: "net", tf: plain("one")}, root{name: "app", tf: reader, vars: readsFrom("net")},
		root{name: "top", tf: plain("one"), after: []string{"app"}},
	), settings{})
	w.start()
	pr := w.propose("two", map[string]string{
		"roots/net/main.tf": plain("two"), "roots/app/main.tf": reader + "# two\n", "roots/top/main.tf": plain("two"),
	})
	w.approved(pr)
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "waits: wave 2 needs approval at release-wave-2")
	w.holds("net", "two")
	w.holds("app", "")
	w.holds("top", "")
	w.awaitNote(pr, "| 3 | `release-wave-3` | not started |")
	w.approveRound(pr, merge, "release-wave-2")
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("app", "reads two")
	w.holds("top", "two")
	w.awaitNote(pr, "| 1 | `pr-apply` | applied |")
	w.awaitNote(pr, "| 3 | `release-wave-3` | applied | the approved plan, which covers it |")
	if n := w.tool.runs("apply"); n != 3 {
		t.Errorf("terraform applied %d times, want once each", n)
	}
	if got := w.applied("prod"); got != merge {
		t.Errorf("the ledger says %q was applied, want %q", got, merge)
	}
}

// pr-loop §8.2: the plan of a pull request forms groups as ever, and under a wave gate
// none is applied: each wave is planned and decided by itself.
func TestUnderAWaveGateNoGroupIsApplied(t *testing.T) {
	t.Parallel()
	p := waveGated(root{name: "net", tf: plain("one")}, root{name: "app", tf: reader, vars: readsFrom("net")})
	p.groups = true
	w := newWorld(t, p, settings{})
	w.start()
	pr := w.propose("two", map[string]string{"roots/net/main.tf": plain("two"), "roots/app/main.tf": reader + "# two\n"})
	w.awaitNote(pr, "planned with `app` as one group")
	w.approved(pr)
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("net", "two")
	w.holds("app", "reads two")
	if n := w.tool.runs("apply"); n != 2 {
		t.Fatalf("terraform applied %d times, want once a wave", n)
	}
	w.awaitNote(pr, "(wave-gate)")
	w.awaitNote(pr, "| 2 | `release-wave-2` | applied | the approved plan, which covers it |")
}

// A failed member blocks what reads from it; the next wave applies the rest.
func TestAFailedMemberLeavesTheRestOfTheNextWave(t *testing.T) {
	t.Parallel()
	bad := header + "resource \"terraform_data\" \"service\" {\n  input = \"two\"\n  provisioner \"local-exec\" {\n    command = \"exit 1\"\n  }\n}\n"
	w := newWorld(t, waveGated(
		root{name: "bad", tf: plain("one")}, root{name: "below", tf: plain("one"), after: []string{"bad"}},
		root{name: "beside", tf: plain("one")}, root{name: "next", tf: plain("one"), after: []string{"beside"}},
	), settings{})
	w.start()
	pr := w.propose("two", map[string]string{
		"roots/bad/main.tf": bad, "roots/below/main.tf": plain("two"), "roots/beside/main.tf": plain("two"), "roots/next/main.tf": plain("two"),
	})
	w.approved(pr)
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "failure", "bad")
	w.holds("beside", "two")
	w.holds("next", "two")
	w.holds("below", "")
	w.awaitNote(pr, "| 2 | `release-wave-2` | failed |")
	if got := w.applied("prod"); got != "" {
		t.Errorf("the ledger says %s was applied", got)
	}
}
