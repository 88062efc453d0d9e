package gate

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/digest"
)

const (
	op   = "pr-12"
	gt   = "pr-apply"
	prod = "prod"
)

var t0 = time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)

// digests compares digests as they are written.
var digests = cmp.Comparer(func(a, b digest.Digest) bool { return a == b })

type fataler interface {
	Helper()
	Fatal(args ...any)
}

// plan is a digest whose 64 hex digits repeat one.
func plan(t fataler, hex string) digest.Digest {
	t.Helper()
	d, err := digest.Parse("jcs1-sha256:" + strings.Repeat(hex, 64))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func at(seconds int) string { return Timestamp(t0.Add(time.Duration(seconds) * time.Second)) }

func pendingAt(seconds int, d digest.Digest) Record {
	return Record{
		Version: 1, Kind: KindPending, Op: op, Gate: gt, Environment: prod, Timestamp: at(seconds),
		ExpiresAt: at(seconds + 48*3600), PlanDigest: d, Origin: "cli",
	}
}

func approvalAt(seconds int, d digest.Digest, by string) Record {
	return Record{
		Version: 1, Op: op, Gate: gt, Environment: prod, Timestamp: at(seconds), PlanDigest: d,
		ResolvedBy: by, Approver: &Approver{Kind: "human"}, Origin: "cli",
	}
}

func revokeAt(seconds int) Record {
	r := pendingAt(seconds, digest.Digest{})
	r.ExpiresAt, r.RevokedBy = r.Timestamp, "github:bob"
	return r
}

func ask(d digest.Digest) Query {
	return Query{Op: op, Gate: gt, Env: prod, Digest: d, Now: t0.Add(time.Hour)}
}

func with(r Record, change func(*Record)) Record {
	change(&r)
	return r
}

func ExampleRecord_Line() {
	d, _ := digest.Parse("jcs1-sha256:" + strings.Repeat("a", 64))
	r := NewPending(Query{Op: "pr-12", Gate: "pr-apply", Env: "prod", Digest: d, Now: t0}, nil, DefaultTimeout, "pull request #12: net, app")
	fmt.Println(string(r.Line()))
	// Output:
	// {"description":"pull request #12: net, app","environment":"prod","expiresAt":"2026-12-02T10:00:00.000Z","gate":"pr-apply","kind":"pending","op":"pr-12","origin":"cli","planDigest":"jcs1-sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","timestamp":"2026-11-30T10:00:00.000Z","version":1}
}
