package terraform

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/drivertest"
)

// standIns previews a root by planning it with the stand-ins as values of its
// variables. No run does: a root joins a group, or is a hole (seed 001).
type standIns struct{ *Driver }

func (d standIns) Preview(ctx context.Context, t engine.Target, unresolved []engine.UnresolvedInput, sink engine.Sink) (cover.PlanShape, error) {
	t.Vars = maps.Clone(t.Vars)
	var texts []string
	for _, u := range unresolved {
		t.Vars[u.Path[0]] = digest.StringOf(u.StandIn)
		texts = append(texts, u.StandIn)
	}
	p, err := d.Plan(ctx, t, sink)
	if err != nil {
		return cover.PlanShape{}, err
	}
	return cover.NewShape(p.Part, texts)
}

// readerRoot writes a value that it knows and one that comes from elsewhere.
const readerRoot = backend + `
variable "cidr" { type = string }
variable "size" { type = string }
resource "terraform_data" "net" {
  input = { range = "range ${var.cidr}", size = var.size }
}
resource "terraform_data" "size" { input = var.size }
output "net" { value = terraform_data.net.output }
`

func TestPlansOfRootsKeepToTheirShapes(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": readerRoot})
	d := s.driver()
	check := func(known, moved string) {
		drivertest.Shapes{
			Planner: d, Previewer: standIns{d},
			Target: func(vars map[string]digest.Value) engine.Target {
				target := s.target
				target.Vars, target.RunDir = vars, shortDir(t)
				return target
			},
			Known: map[string]digest.Value{"size": digest.StringOf(known)},
			Later: map[string]digest.Value{"cidr": digest.StringOf("10.0.0.0/16")},
			Moved: map[string]digest.Value{"size": digest.StringOf(moved)},
		}.Check(t)
	}
	check("1", "2")
	s.target.Vars = map[string]digest.Value{"size": digest.StringOf("1"), "cidr": digest.StringOf("10.0.0.0/8")}
	s.apply(d, s.plan(d))
	check("2", "3") // the same as updates
}

// inGroup previews a root as the member of a group whose other member makes what it
// reads.
type inGroup struct {
	*Grouper

	upstream func() engine.GroupMember
	runDir   func() string
}

func (g inGroup) Preview(ctx context.Context, t engine.Target, unresolved []engine.UnresolvedInput, sink engine.Sink) (cover.PlanShape, error) {
	reader := engine.GroupMember{Target: t}
	for _, u := range unresolved {
		reader.Reads = append(reader.Reads, engine.GroupRead{Member: "net", Output: "cidr", Path: u.Path})
	}
	p, err := g.PlanGroup(ctx, engine.GroupTarget{Group: "g1", RunDir: g.runDir(), Members: []engine.GroupMember{g.upstream(), reader}}, sink)
	if err != nil || len(p.Fallbacks) > 0 {
		return cover.PlanShape{}, fmt.Errorf("planning the group: %w, %v", err, p.Fallbacks)
	}
	return cover.PlanShape{Part: p.Members[1].Part}, nil
}

// What a group shows of a member covers the member planned alone, once what it reads
// was applied, and nothing else: so a group that dissolves after its approval, or of
// which a resumed run has less left, needs no other one.
func TestWhatAGroupShowsOfAMemberIsAShape(t *testing.T) {
	t.Parallel()
	files := groupRoots()
	files["roots/app/main.tf"] = readerRoot
	s := newSite(t, files)
	drivertest.Shapes{
		Planner:   s.driver(),
		Previewer: inGroup{s.grouper(), func() engine.GroupMember { return s.member("net", "") }, func() string { return shortDir(t) }},
		Target: func(vars map[string]digest.Value) engine.Target {
			target := s.member("app", "").Target
			target.Vars = vars
			return target
		},
		Known: map[string]digest.Value{"size": digest.StringOf("1")},
		Later: map[string]digest.Value{"cidr": digest.StringOf("10.0.0.0/8")},
		Moved: map[string]digest.Value{"size": digest.StringOf("2")},
	}.Check(t)
}
