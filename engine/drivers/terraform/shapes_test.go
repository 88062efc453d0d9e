package terraform

import (
	"context"
	"maps"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/drivertest"
)

// standIns previews a root by planning it with the stand-ins as values of its
// variables. No run previews a root: it joins a group, or is a hole (seed 001). That
// its plans would make shapes that hold is what a group's plan rests on too, where a
// value is unknown to the one and known to the other.
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

func TestPlansOfRootsKeepToTheirShapes(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": backend + `
variable "cidr" { type = string }
variable "size" { type = string }
resource "terraform_data" "net" {
  input = { range = "range ${var.cidr}", size = var.size }
}
resource "terraform_data" "size" { input = var.size }
output "net" { value = terraform_data.net.output }
`})
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
