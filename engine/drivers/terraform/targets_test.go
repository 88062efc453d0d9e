package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/terraform/testprovider"
	plans "github.com/chant-bot/chant/engine/plans/terraform"
)

// cloud is where the targets of the test provider are; see its source.
type cloud struct {
	t   *testing.T
	dir string
}

// newCloudSite is a site whose root has targets in a cloud, and a variable value.
func newCloudSite(t *testing.T, body string) (*site, *Driver, cloud) {
	t.Helper()
	s := newSite(t, nil)
	c := cloud{t: t, dir: filepath.Join(s.state, "cloud")}
	if err := errors.Join(os.Mkdir(c.dir, 0o777), os.Chmod(c.dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	s.write(s.checkout, map[string]string{"roots/net/main.tf": targets(c.dir, body)})
	return s, s.driver(mirrored(t)), c
}

func targets(cloud, body string) string {
	return `terraform {
  backend "local" {}
  required_providers {
    probe = { source = "` + testprovider.Source + `" }
  }
}
provider "probe" { cloud = "` + cloud + `" }
` + body
}

// become gives the root another value to want.
func (s *site) become(value string) {
	s.target.Vars = map[string]digest.Value{"value": digest.StringOf(value)}
}

// is what a target is now, of value and kind.
func (c cloud) is(name string) string {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, name+".json"))
	if errors.Is(err, os.ErrNotExist) {
		return "gone"
	}
	var o struct{ Value, Kind string }
	if err = errors.Join(err, json.Unmarshal(data, &o)); err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(o.Value + " " + o.Kind)
}

// move is somebody else's hand on a target.
func (c cloud) move(name string, edit func(o map[string]any)) {
	c.t.Helper()
	path := filepath.Join(c.dir, name+".json")
	data, err := os.ReadFile(path)
	var o map[string]any
	if err = errors.Join(err, json.Unmarshal(data, &o)); err != nil {
		c.t.Fatal(err)
	}
	edit(o)
	if data, err = json.Marshal(o); err != nil {
		c.t.Fatal(err)
	}
	c.put(name+".json", string(data))
}

// put replaces a file: it may be another user's.
func (c cloud) put(file, text string) {
	c.t.Helper()
	c.remove(file)
	if err := os.WriteFile(filepath.Join(c.dir, file), []byte(text), 0o666); err != nil {
		c.t.Fatal(err)
	}
}

func (c cloud) remove(file string) {
	c.t.Helper()
	if err := os.RemoveAll(filepath.Join(c.dir, file)); err != nil {
		c.t.Fatal(err)
	}
}

// underApproval is what an approval of one plan says of a later one that was made
// from the same source.
func underApproval(t *testing.T, approved, fresh engine.Planned) cover.Verdict {
	t.Helper()
	side := func(p engine.Planned) cover.Side {
		doc, err := changeset.Compose([]changeset.Part{p.Part}, "")
		if err != nil {
			t.Fatal(err)
		}
		return cover.Side{Doc: doc, Sources: map[string]string{"net": "one source"}, Code: map[string]plans.RunsCode{"net": p.Code}}
	}
	report := cover.ByMerges([]cover.Merge{{PR: 1, Side: side(approved)}}, side(fresh), map[string]bool{"net": fresh.NoChanges})
	return report.Members[0]
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

const readsAnother = `
variable "value" { default = "a" }
resource "probe_target" "own" {
  name  = "own"
  value = var.value
}
data "probe_target" "other" { name = "other" }
data "probe_target" "late" {
  name       = "other"
  depends_on = [probe_target.own]
}
resource "probe_target" "reader" {
  name  = "reader"
  value = data.probe_target.other.value
}
resource "probe_target" "follower" {
  name  = "follower"
  value = data.probe_target.late.value
}
`

// What is read while planning is part of what is approved. What is read while applying
// was approved as a value that nobody knew.
func TestWhatADataSourceReadsWhenIsApprovedAsThat(t *testing.T) {
	t.Parallel()
	s, d, c := newCloudSite(t, readsAnother)
	c.put("other.json", `{"id":"other","value":"x","serial":1}`)
	approved := s.plan(d)
	want := []string{"create probe_target.follower", "create probe_target.own", "create probe_target.reader", "read data.probe_target.late"}
	if diff := cmp.Diff(want, entries(approved)); diff != "" {
		t.Fatalf("what is approved (-want +got):\n%s", diff)
	}
	if v := underApproval(t, approved, s.replan(d)); v.Status != cover.Covered {
		t.Errorf("nothing moved, and it is %s: %s", v.Status, v.Reason)
	}
	c.move("other", func(o map[string]any) { o["value"] = "y" })
	if v := underApproval(t, approved, s.replan(d)); v.Status != cover.Uncovered || !strings.Contains(v.Reason, "probe_target.reader") {
		t.Errorf("%s: %q", v.Status, v.Reason)
	}
	s.apply(d, approved)
	if c.is("reader") != "x" || c.is("follower") != "y" {
		t.Errorf("applied %s and %s", c.is("reader"), c.is("follower"))
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
