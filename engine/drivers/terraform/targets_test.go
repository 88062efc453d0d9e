package terraform

import (
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
