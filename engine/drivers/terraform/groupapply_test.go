package terraform

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/exec"
)

func TestAGroupCarriesAValueWithinOneApply(t *testing.T) {
	t.Parallel()
	s := newSite(t, groupRoots())
	g := s.grouper()
	target := s.netAndApp()
	p := s.planGroup(g, target)
	want := []string{`app: create terraform_data.app["$${b}"]`, `app: create terraform_data.app["a"]`, "net: create terraform_data.net"}
	if diff := cmp.Diff(want, groupEntries(p)); diff != "" || p.NoChanges || p.Members[0].NoChanges {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	for _, m := range p.Members {
		if m.Part.Member.PlanDigest == nil || !digest.Same(*m.Part.Member.PlanDigest, p.Digest) || m.Part.Member.Member != m.Member {
			t.Errorf("%s: %+v", m.Member, m.Part.Member)
		}
	}
	out := s.applyGroup(g, p)
	if out.Error != "" || out.Unknown || statuses(out) != "net applied, app applied" {
		t.Fatalf("%s: %+v", statuses(out), out)
	}
	if got := text(out.Members[1].Outputs["apps"].Value); got != `["${b} in 10.0.0.0/8","a in 10.0.0.0/8"]` {
		t.Errorf("app has %s", got)
	}
	if o := out.Members[0].Outputs["secret"]; text(o.Value) != `"hidden-10.0.0.0/8"` || !o.Sensitive {
		t.Errorf("secret is %+v", o)
	}
	s.noLeftovers()
	// Each root by itself finds what it would have made.
	for i, values := range []string{`{}`, `{"net":"10.0.0.0/8"}`} {
		if p := s.alone(target.Members[i], values); !p.NoChanges {
			t.Errorf("%s alone: %v", p.Target.Member, entries(p))
		}
	}
	again := target
	again.RunDir = shortDir(t)
	p = s.planGroup(g, again)
	if !p.NoChanges || !p.Members[0].NoChanges || !p.Members[1].NoChanges {
		t.Errorf("the group again: %v", groupEntries(p))
	}
	before := serialOf(t, s.stateOf("net"))
	if out := s.applyGroup(g, p); statuses(out) != "net no-changes, app no-changes" || serialOf(t, s.stateOf("net")) != before {
		t.Errorf("applied again: %s", statuses(out))
	}
}

func TestAGroupOfRootsThatWereAppliedAloneChangesOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	files := groupRoots()
	s := newSite(t, files)
	target := s.netAndApp()
	d := s.driver()
	for i, values := range []string{`{}`, `{"net":"10.0.0.0/8"}`} {
		s.apply(d, s.alone(target.Members[i], values))
	}
	lineages := []string{s.stateOf("net").Get("lineage").String(), s.stateOf("app").Get("lineage").String()}
	g := s.grouper()
	delete(target.Members[1].Target.Vars, "net")
	if p := s.planGroup(g, target); !p.NoChanges {
		t.Fatalf("the group has changes: %v", groupEntries(p))
	}
	s.write(s.checkout, map[string]string{"roots/net/net.auto.tfvars": `cidr = "10.9.0.0/16"` + "\n"})
	target.RunDir = shortDir(t)
	p := s.planGroup(g, target)
	want := []string{`app: update terraform_data.app["$${b}"]`, `app: update terraform_data.app["a"]`, "net: update terraform_data.net"}
	if diff := cmp.Diff(want, groupEntries(p)); diff != "" {
		t.Fatalf("planned (-want +got):\n%s", diff)
	}
	// What is known of a member is planned as in a root of its own.
	net := s.alone(target.Members[0], `{}`)
	if diff := cmp.Diff(net.Part.Entries, p.Members[0].Part.Entries); diff != "" {
		t.Errorf("net (-alone +group):\n%s", diff)
	}
	if diff := cmp.Diff(net.Code, p.Members[0].Code); diff != "" {
		t.Errorf("the code of net (-alone +group):\n%s", diff)
	}
	out := s.applyGroup(g, p)
	if statuses(out) != "net applied, app applied" || text(out.Members[1].Outputs["apps"].Value) != `["${b} in 10.9.0.0/16","a in 10.9.0.0/16"]` {
		t.Errorf("%s: %+v", statuses(out), out)
	}
	for i, name := range []string{"net", "app"} {
		if got := s.stateOf(name).Get("lineage").String(); got != lineages[i] {
			t.Errorf("the lineage of %s was %s and is %s", name, lineages[i], got)
		}
	}
	s.noLeftovers()
}

// What a root no longer has is destroyed with the provider configuration that its
// state names, its own or the one above it.
func TestAGroupDestroysWhatARootNoLongerHas(t *testing.T) {
	t.Parallel()
	const more = `
provider "terraform" {}
module "sub" { source = "./sub" }
resource "terraform_data" "old" {
  count = 2
}
`
	s := newSite(t, groupRoots())
	s.write(s.checkout, map[string]string{
		"roots/net/more.tf": more, "roots/net/sub/main.tf": "resource \"terraform_data\" \"in\" {}\n",
		"roots/app/more.tf": "resource \"terraform_data\" \"old\" {}\n",
	})
	g := s.grouper()
	s.applyGroup(g, s.planGroup(g, s.netAndApp()))
	if !strings.Contains(s.stateOf("net").String(), `"provider":"provider[\"terraform.io/builtin/terraform\"]"`) || strings.Contains(s.stateOf("net").String(), "m1") {
		t.Errorf("the state is %s", s.stateOf("net"))
	}
	s.write(s.checkout, map[string]string{"roots/net/more.tf": "provider \"terraform\" {}\n", "roots/app/more.tf": ""})
	p := s.planGroup(g, s.netAndApp())
	var destroyed []string
	for _, e := range groupEntries(p) {
		if strings.Contains(e, "delete") {
			destroyed = append(destroyed, e)
		}
	}
	want := []string{"app: delete terraform_data.old", "net: delete module.sub.terraform_data.in", "net: delete terraform_data.old[0]", "net: delete terraform_data.old[1]"}
	if diff := cmp.Diff(want, destroyed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if out := s.applyGroup(g, p); statuses(out) != "net applied, app applied" || strings.Contains(s.stateOf("net").String(), "old") {
		t.Errorf("%s: %s", statuses(out), s.stateOf("net"))
	}
	s.noLeftovers()
}

// failing makes app's apply fail after net's, and another of app go through.
func failing(command string) string {
	return backend + `
variable "net" { type = string }
variable "names" { type = list(string) }
resource "terraform_data" "app" { input = var.net }
resource "terraform_data" "fails" {
  input = terraform_data.app.output
  provisioner "local-exec" {
    command     = "` + command + `"
    working_dir = path.module
  }
}
output "app" { value = terraform_data.fails.output }
`
}

func TestAGroupThatFailsHalfWayGivesEveryMemberWhatApplied(t *testing.T) {
	t.Parallel()
	files := groupRoots()
	files["roots/app/main.tf"] = failing("echo why >&2; exit 1")
	files["roots/last/main.tf"] = backend + "variable \"app\" { type = string }\nresource \"terraform_data\" \"last\" { input = var.app }\n"
	s := newSite(t, files)
	target := s.netAndApp()
	target.Members = append(target.Members, s.member("last", "", reads("app", "app", "app")))
	g := s.grouper()
	out := s.applyGroup(g, s.planGroup(g, target))
	if statuses(out) != "net applied, app partial, last not-started" || !strings.Contains(out.Error, "why") || out.Unknown {
		t.Errorf("%s: %+v", statuses(out), out)
	}
	if strings.Contains(out.Error, "module.m") || strings.Contains(out.Error, s.checkout) {
		t.Errorf("the error is %q", out.Error)
	}
	s.noLeftovers()
	if p := s.alone(target.Members[0], `{}`); !p.NoChanges {
		t.Errorf("net alone: %v", entries(p))
	}
	if got := s.stateOf("app").String(); !strings.Contains(got, `"name":"app"`) {
		t.Errorf("the state of app is %s", got)
	}
	// The same members go on from there.
	files["roots/app/main.tf"] = failing("true")
	s.write(s.checkout, files)
	target.RunDir = shortDir(t)
	if out := s.applyGroup(g, s.planGroup(g, target)); statuses(out) != "net no-changes, app applied, last applied" {
		t.Errorf("then %s: %s", statuses(out), out.Error)
	}
}

// asKilled tells whether outcomes are those of a group whose tool was killed while it
// made app: net was made, and what the tool had not written down by then is not known.
// It writes each output when it is made, beside app; tofu writes nothing for 20 seconds.
func asKilled(t *testing.T, out engine.GroupOutcome) bool {
	t.Helper()
	binary, err := tool()
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(binary) == "tofu" {
		return statuses(out) == "net failed, app failed"
	}
	return slices.Contains([]string{"net applied, app partial", "net partial, app partial"}, statuses(out))
}

func TestAGroupWhoseToolIsKilledGivesBackWhatItWroteAndSaysThatItMayBeLess(t *testing.T) {
	t.Parallel()
	files := groupRoots()
	files["roots/app/main.tf"] = failing("kill -9 $PPID")
	s := newSite(t, files)
	// Behind a wall it is the first process of its name space, which none in it ends.
	none, err := exec.DetectWall(t.Context(), exec.WallNone)
	if err != nil {
		t.Fatal(err)
	}
	g := s.grouper(func(c *Config) { c.Wall = none })
	out := s.applyGroup(g, s.planGroup(g, s.netAndApp()))
	if !asKilled(t, out) || !out.Unknown || !strings.Contains(out.Error, "137") {
		t.Errorf("%s: %+v", statuses(out), out)
	}
	s.noLeftovers()
}

func TestAGroupThatIsNotReadyDoesNotStart(t *testing.T) {
	t.Parallel()
	s := newSite(t, groupRoots())
	g := s.grouper()
	p := s.planGroup(g, s.netAndApp())
	no := errors.New("its approval was revoked")
	p.Target.Ready = func() error { return no }
	if out, err := g.ApplyGroup(context.Background(), p, nil); !errors.Is(err, no) {
		t.Errorf("it gave %+v, %v", out, err)
	}
	s.noLeftovers()
	if _, found, err := g.RecoverGroup(context.Background(), p); found || err != nil {
		t.Errorf("an apply was found: %v, %v", found, err)
	}
	p.Target.Ready = nil
	if out := s.applyGroup(g, p); statuses(out) != "net applied, app applied" {
		t.Errorf("then %s", statuses(out))
	}
	if _, err := os.Stat(filepath.Join(s.checkout, composeDir, "g1")); !os.IsNotExist(err) {
		t.Errorf("the generated root is left: %v", err)
	}
}

func TestAGroupsSwappedPlanIsRefusedAndAppliesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, groupRoots())
	g := s.grouper()
	target := s.netAndApp()
	p := s.planGroup(g, target)
	target.RunDir = shortDir(t)
	target.Members[1].Target.Vars["names"] = s.decode(`["other"]`)
	if err := os.Rename(s.planGroup(g, target).File, p.File); err != nil {
		t.Fatal(err)
	}
	if out, err := g.ApplyGroup(context.Background(), p, nil); err == nil || !strings.Contains(err.Error(), "root g1 is not the one that was made") {
		t.Errorf("it gave %+v, %v", out, err)
	}
	if !s.stateOf("net").IsAbsent() {
		t.Errorf("there is a state: %s", s.stateOf("net"))
	}
	s.noLeftovers()
}

func TestAGroupIsRefusedWhenAStateMovedSinceItsPlan(t *testing.T) {
	t.Parallel()
	s := newSite(t, groupRoots())
	g := s.grouper()
	target := s.netAndApp()
	p := s.planGroup(g, target)
	s.write(s.checkout, map[string]string{"roots/net/net.auto.tfvars": `cidr = "10.1.0.0/16"` + "\n"})
	s.apply(s.driver(), s.alone(target.Members[0], `{}`))
	out := s.applyGroup(g, p)
	if !out.Moved || statuses(out) != "net not-started, app not-started" || !strings.Contains(out.Error, "state of net") {
		t.Errorf("%s: %+v", statuses(out), out)
	}
	if !s.stateOf("app").IsAbsent() {
		t.Errorf("app was applied: %s", s.stateOf("app"))
	}
	s.noLeftovers()
}

func TestAGroupsPlanIsAppliedOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, groupRoots())
	g := s.grouper()
	p := s.planGroup(g, s.netAndApp())
	s.applyGroup(g, p)
	if _, err := g.ApplyGroup(context.Background(), p, nil); err == nil || !strings.Contains(err.Error(), "used already") {
		t.Errorf("a second apply gave %v", err)
	}
	out, found, err := g.RecoverGroup(context.Background(), p)
	if err != nil || !found || statuses(out) != "net applied, app applied" || text(out.Members[0].Outputs["cidr"].Value) != `"10.0.0.0/8"` {
		t.Errorf("recovered %s, %v, %v", statuses(out), found, err)
	}
}
