package gate

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStampFollowsTheNewestLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		lines  []Record
		want   time.Time
		skewed bool
	}{
		{"an empty file takes the clock", nil, t0, false},
		{"an older line takes the clock", []Record{revokeAt(-5)}, t0, false},
		{"a line of this millisecond gives the next", []Record{revokeAt(0)}, t0.Add(time.Millisecond), false},
		{"a line ahead gives the millisecond after it", []Record{revokeAt(90), revokeAt(10)}, t0.Add(90*time.Second + time.Millisecond), false},
		{"five minutes ahead is still fine", []Record{with(revokeAt(0), func(r *Record) { r.Timestamp = Timestamp(t0.Add(5*time.Minute - time.Millisecond)) })}, t0.Add(5 * time.Minute), false},
		{"more than five minutes ahead is skewed", []Record{revokeAt(300)}, t0.Add(300*time.Second + time.Millisecond), true},
		{"a line of another gate of the op counts too", []Record{with(revokeAt(3), func(r *Record) { r.Gate = "release" })}, t0.Add(3*time.Second + time.Millisecond), false},
		{"a stamp that is no time is passed over", []Record{with(revokeAt(0), func(r *Record) { r.Timestamp = "?" })}, t0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, skewed := Stamp(tt.lines, t0)
			if !got.Equal(tt.want) || skewed != tt.skewed {
				t.Errorf("stamp %s, skewed %v; want %s, %v", Timestamp(got), skewed, Timestamp(tt.want), tt.skewed)
			}
		})
	}
}

func TestNewResolution(t *testing.T) {
	t.Parallel()
	a := plan(t, "a")
	good := Approval{Act: Act{Op: op, Gate: gt, Env: prod, By: "github:alice", URL: "https://example.org/c/1", Origin: "forge"}, Digest: a, Sources: "s"}
	r, err := NewResolution(good, []Record{pendingAt(0, a)}, t0)
	want := Record{
		Version: 1, Op: op, Gate: gt, Environment: prod, Timestamp: Timestamp(t0.Add(time.Millisecond)), PlanDigest: a, ResolvedBy: "github:alice",
		URL: "https://example.org/c/1", Origin: "forge", Approver: &Approver{Kind: "human"}, Sources: "s",
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, r, digests, values); diff != "" {
		t.Errorf("resolution (-want +got):\n%s", diff)
	}
	agent := good
	agent.Agent, agent.URL = true, "http://example.org"
	if r, err = NewResolution(agent, nil, t0); err != nil || !r.ByAgent() {
		t.Errorf("an approval marked as an agent's reads as a person's: %+v, %v", r, err)
	}
	refused := map[string]func(*Approval){
		"no op":                          func(a *Approval) { a.Op = "" },
		"no gate":                        func(a *Approval) { a.Gate = "" },
		"nobody":                         func(a *Approval) { a.By = " " },
		"no plan":                        func(a *Approval) { a.Digest = Record{}.PlanDigest },
		"an address without a scheme":    func(a *Approval) { a.URL = "example.org/1" },
		"an address of another scheme":   func(a *Approval) { a.URL = "ftp://example.org/1" },
		"an address that is a script":    func(a *Approval) { a.URL = "javascript:alert(1)" },
		"an address without a host":      func(a *Approval) { a.URL = "https:///x" },
		"an address that does not parse": func(a *Approval) { a.URL = "https://a b" },
	}
	for name, change := range refused {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			bad := good
			change(&bad)
			if r, err := NewResolution(bad, nil, t0); err == nil {
				t.Errorf("recorded %+v", r)
			}
		})
	}
}

func TestAnApprovalAheadOfTheClockIsRefusedAndARevocationIsWritten(t *testing.T) {
	t.Parallel()
	lines := []Record{pendingAt(600, plan(t, "a"))}
	act := Act{Op: op, Gate: gt, Env: prod, By: "github:alice"}
	if _, err := NewResolution(Approval{Act: act, Digest: plan(t, "a")}, lines, t0); !errors.Is(err, ErrSkew) {
		t.Errorf("approval ended with %v, want ErrSkew", err)
	}
	r, err := NewRevocation(act, lines, t0)
	if err != nil {
		t.Fatal(err)
	}
	stamp := Timestamp(t0.Add(10*time.Minute + time.Millisecond))
	if r.Timestamp != stamp || r.ExpiresAt != stamp || r.RevokedBy != "github:alice" || r.Kind != KindPending {
		t.Errorf("revocation %+v, want a pending fact stamped and expiring at %s", r, stamp)
	}
}

func TestAModelMayNotApproveOverItsOwnChannel(t *testing.T) {
	t.Parallel()
	a := plan(t, "a")
	tests := []struct {
		name, standing, channel string
		allow                   bool
		refused, override       bool
	}{
		{"mcp over mcp is refused", "mcp", "mcp", false, true, false},
		{"acp over acp is refused", "acp", "acp", false, true, false},
		{"the override is recorded", "mcp", "mcp", true, false, true},
		{"cli over cli is allowed", "cli", "cli", false, false, false},
		{"differing channels are allowed", "mcp", "acp", false, false, false},
		{"an unknown origin never refuses", "", "mcp", false, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lines := []Record{with(pendingAt(0, a), func(r *Record) { r.Origin = tt.standing })}
			approval := Approval{Act: Act{Op: op, Gate: gt, Env: prod, By: "github:alice", Origin: tt.channel}, Digest: a, AllowSameOrigin: tt.allow}
			r, err := NewResolution(approval, lines, t0)
			if errors.Is(err, ErrSameOrigin) != tt.refused || r.SameOriginOverride != tt.override {
				t.Errorf("ended with %v, override %v", err, r.SameOriginOverride)
			}
			if err == nil && r.ByAgent() != (tt.channel != "cli") {
				t.Errorf("by an agent: %v over %s", r.ByAgent(), tt.channel)
			}
		})
	}
}
