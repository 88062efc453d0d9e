package gate

import (
	"slices"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine/digest"
	"pgregory.net/rapid"
)

// anyLine is a line as any writer may have left it: any clock up to an hour off,
// ties, any environment, plan and kind.
func anyLine(t *rapid.T, plans []digest.Digest) Record {
	r := Record{
		Version: 1, Op: op, Gate: rapid.SampledFrom([]string{gt, gt, gt, "release"}).Draw(t, "gate"),
		Environment: rapid.SampledFrom([]string{prod, prod, prod, "staging", ""}).Draw(t, "env"),
		Timestamp:   at(rapid.IntRange(-3600, 3600).Draw(t, "stamp")),
		PlanDigest:  rapid.SampledFrom(plans).Draw(t, "plan"),
	}
	if rapid.Bool().Draw(t, "pending") {
		r.Kind, r.ExpiresAt = KindPending, at(7200)
		return r
	}
	r.ResolvedBy = rapid.SampledFrom([]string{"github:alice", "github:bob"}).Draw(t, "by")
	return r
}

func anyFile(t *rapid.T) (lines []Record, q Query) {
	plans := []digest.Digest{plan(t, "a"), plan(t, "a"), plan(t, "b"), {}}
	for range rapid.IntRange(0, 12).Draw(t, "lines") {
		lines = append(lines, anyLine(t, plans))
	}
	q = ask(plans[0])
	q.OnlyEnv = rapid.Bool().Draw(t, "onlyEnv")
	return lines, q
}

// I3, I2: nothing that stands above a revocation counts after it, whatever the
// clocks said.
func TestNoApprovalBeforeARevocationCountsAfterIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines, q := anyFile(t)
		clock := t0.Add(time.Duration(rapid.IntRange(-3600, 3600).Draw(t, "clock")) * time.Second)
		revocation, err := NewRevocation(Act{Op: op, Gate: gt, Env: prod, By: "github:bob"}, lines, clock)
		if err != nil {
			t.Fatal(err)
		}
		after := append(slices.Clone(lines), revocation)
		if Evaluate(after, q).Satisfied {
			t.Fatalf("an approval survived the revocation: %v", after)
		}
		// Replaying any old line below it changes nothing: its stamp is older.
		for _, old := range lines {
			if Evaluate(append(slices.Clone(after), old), q).Satisfied {
				t.Fatalf("the replayed line %v opened the gate", old)
			}
		}
	})
}

// I14: more lines that void never open a gate, wherever they are put in.
func TestMoreRevocationsNeverOpenAGate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines, q := anyFile(t)
		shut := !Evaluate(lines, q).Satisfied
		extra := revokeAt(rapid.IntRange(-3600, 3600).Draw(t, "revoked at"))
		extra.Environment = rapid.SampledFrom([]string{prod, "staging", ""}).Draw(t, "revoked in")
		place := rapid.IntRange(0, len(lines)).Draw(t, "place")
		if shut && Evaluate(slices.Insert(slices.Clone(lines), place, extra), q).Satisfied {
			t.Fatalf("a revocation at line %d opened the gate", place)
		}
	})
}

// I14: more approvals never shut a gate.
func TestMoreApprovalsNeverShutAGate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines, q := anyFile(t)
		open := Evaluate(lines, q).Satisfied
		extra := anyLine(t, []digest.Digest{q.Digest, plan(t, "b")})
		if !extra.IsResolution() {
			return
		}
		place := rapid.IntRange(0, len(lines)).Draw(t, "place")
		if open && !Evaluate(slices.Insert(slices.Clone(lines), place, extra), q).Satisfied {
			t.Fatalf("an approval at line %d shut the gate", place)
		}
	})
}

// I11: lines of another environment or gate change nothing.
func TestLinesOfAnotherEnvironmentOrGateChangeNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines, q := anyFile(t)
		extra := anyLine(t, []digest.Digest{q.Digest})
		if rapid.Bool().Draw(t, "other gate") {
			extra.Gate = "release"
		} else {
			extra.Environment = "staging"
		}
		place := rapid.IntRange(0, len(lines)).Draw(t, "place")
		if Evaluate(lines, q).Satisfied != Evaluate(slices.Insert(slices.Clone(lines), place, extra), q).Satisfied {
			t.Fatalf("line %v changed the decision", extra)
		}
	})
}

// Lines our writers append are stamped in file order, whatever their clocks say,
// and an approval so written counts at once.
func TestStampsGrowAndApprovalsCountAtOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines, q := anyFile(t)
		clock := t0.Add(time.Duration(rapid.IntRange(-3600_000, 3600_000).Draw(t, "clock")) * time.Millisecond)
		stamp, skewed := Stamp(lines, clock)
		for _, r := range lines {
			if when, _ := r.Time(); !stamp.After(when) {
				t.Fatalf("stamp %s is not after line %s", Timestamp(stamp), r.Timestamp)
			}
		}
		approval := Approval{Act: Act{Op: op, Gate: gt, Env: prod, By: "github:alice"}, Digest: q.Digest}
		r, err := NewResolution(approval, lines, clock)
		if (err != nil) != skewed {
			t.Fatalf("skewed %v, but the approval ended with %v", skewed, err)
		}
		if err == nil && !Evaluate(append(slices.Clone(lines), r), q).Satisfied {
			t.Fatal("the approval just written does not count")
		}
	})
}
