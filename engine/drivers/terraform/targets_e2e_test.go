//go:build e2e

package terraform

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
)

// become gives the root another value to want.
func (s *site) become(value string) {
	s.target.Vars = map[string]digest.Value{"value": digest.StringOf(value)}
}

const oneTarget = `
variable "value" { default = "a" }
resource "probe_target" "t" {
  name  = "t"
  value = var.value
  kind  = "small"
}
output "serial" { value = probe_target.t.serial }
`

// pr-loop §5.11: an approval was given for a change of one thing as it was. Somebody
// moved it since.
func TestATargetThatMovedSinceTheApprovalIsNotCovered(t *testing.T) {
	t.Parallel()
	s, d, c := newCloudSite(t, oneTarget)
	s.apply(d, s.plan(d))
	s.become("b")
	approved := s.replan(d)
	if diff := cmp.Diff([]string{"update probe_target.t"}, entries(approved)); diff != "" {
		t.Fatalf("what is approved (-want +got):\n%s", diff)
	}
	was, err := os.ReadFile(filepath.Join(c.dir, "t.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		move    func(c cloud)
		entries []string
		status  cover.Status
		why     string
	}{
		"nobody moved it": {
			move: func(cloud) {}, entries: []string{"update probe_target.t"}, status: cover.Covered,
		},
		"to another value": {
			move:    func(c cloud) { c.move("t", func(o map[string]any) { o["value"] = "somebody else's" }) },
			entries: []string{"update probe_target.t"}, status: cover.Uncovered, why: "value",
		},
		"to the value that is wanted": {
			move:    func(c cloud) { c.move("t", func(o map[string]any) { o["value"] = "b" }) },
			entries: []string{"no-op probe_target.t"}, status: cover.NothingToDo,
		},
		"away": {
			move: func(c cloud) { c.remove("t.json") }, entries: []string{"create probe_target.t"}, status: cover.Uncovered, why: "create",
		},
		"to a kind that is only left by a replacement": {
			move:    func(c cloud) { c.move("t", func(o map[string]any) { o["kind"] = "large" }) },
			entries: []string{"replace probe_target.t"}, status: cover.Uncovered, why: "replace",
		},
		"where it is only replaced, for the same change": {
			move: func(c cloud) { c.put("t.fixed", "") }, entries: []string{"replace probe_target.t"}, status: cover.Uncovered, why: "replace",
		},
	} {
		c.put("t.json", string(was))
		c.remove("t.fixed")
		tc.move(c)
		fresh := s.replan(d)
		if diff := cmp.Diff(tc.entries, entries(fresh)); diff != "" {
			t.Errorf("%s: planned again (-want +got):\n%s", name, diff)
		}
		if v := underApproval(t, approved, fresh); v.Status != tc.status || !strings.Contains(v.Reason, tc.why) {
			t.Errorf("%s: %s: %q", name, v.Status, v.Reason)
		}
	}
}

const twoTargets = `
resource "probe_target" "first" {
  name  = "first"
  value = "1"
}
resource "probe_target" "second" {
  name  = "second"
  value = "after ${probe_target.first.serial}"
}
`

// A provider that fails half way leaves what it made in the state, and the rest to a
// plan of its own.
func TestAnApplyThatFailsHalfWayKeepsWhatItMade(t *testing.T) {
	t.Parallel()
	for fails, tc := range map[string]struct {
		second string   // what the cloud has then
		rest   []string // the next plan
		status cover.Status
	}{
		"before create": {second: "gone", rest: []string{"create probe_target.second", "no-op probe_target.first"}, status: cover.Covered},
		// What was made broken is replaced, and nobody was asked about that.
		"after create": {second: "after 1", rest: []string{"no-op probe_target.first", "replace probe_target.second"}, status: cover.Uncovered},
	} {
		t.Run(fails, func(t *testing.T) {
			t.Parallel()
			s, d, c := newCloudSite(t, twoTargets)
			c.put("second.fails", fails)
			approved := s.plan(d)
			out, err := d.Apply(context.Background(), approved, s.lines.add)
			if err != nil || !strings.Contains(out.Error, "the cloud ") || out.Unknown || out.Moved || len(out.Outputs) > 0 {
				t.Fatalf("got %+v, %v", out, err)
			}
			if c.is("first") != "1" || c.is("second") != tc.second {
				t.Errorf("the cloud has %s and %s", c.is("first"), c.is("second"))
			}
			if _, err := d.Apply(context.Background(), approved, nil); err == nil {
				t.Error("the same plan was applied again")
			}
			c.remove("second.fails")
			rest := s.replan(d)
			if diff := cmp.Diff(tc.rest, entries(rest)); diff != "" {
				t.Errorf("the rest (-want +got):\n%s", diff)
			}
			if v := underApproval(t, approved, rest); v.Status != tc.status {
				t.Errorf("%s: %q", v.Status, v.Reason)
			}
			s.apply(d, rest)
			if c.is("second") != "after 1" || !s.replan(d).NoChanges {
				t.Errorf("it is not as wanted: %s", c.is("second"))
			}
		})
	}
}

// pr-loop §5.11: a replacement that failed when the old one was gone leaves a creation,
// the half of what was approved that is still to do.
func TestAReplacementThatFailedHalfWayLeavesACreation(t *testing.T) {
	t.Parallel()
	s, d, c := newCloudSite(t, strings.Replace(oneTarget, `"small"`, "var.value", 1))
	s.apply(d, s.plan(d))
	s.become("b")
	approved := s.replan(d)
	c.put("t.fails", "before create")
	if out, err := d.Apply(context.Background(), approved, nil); err != nil || !strings.Contains(out.Error, "refuses to create t") || c.is("t") != "gone" {
		t.Fatalf("%+v, %v; the cloud has %s", out, err, c.is("t"))
	}
	c.remove("t.fails")
	rest := s.replan(d)
	if diff := cmp.Diff([]string{"create probe_target.t"}, entries(rest)); diff != "" {
		t.Errorf("the rest (-want +got):\n%s", diff)
	}
	if v := underApproval(t, approved, rest); v.Status != cover.Covered {
		t.Errorf("%s: %q", v.Status, v.Reason)
	}
	s.apply(d, rest)
	if c.is("t") != "b b" {
		t.Errorf("the cloud has %s", c.is("t"))
	}
}
