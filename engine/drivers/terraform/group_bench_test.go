package terraform

import (
	"context"
	"fmt"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/report"
)

const benchRoots = 20

// chain is a group of roots of which each reads the one before it.
func (s *site) chain(n int) engine.GroupTarget {
	s.t.Helper()
	t := engine.GroupTarget{Group: "g1", RunDir: shortDir(s.t)}
	for i := range n {
		name := fmt.Sprintf("r%02d", i)
		s.write(s.checkout, map[string]string{"roots/" + name + "/main.tf": backend + `
variable "up" { type = string }
resource "terraform_data" "d" {
  count = 3
  input = "${var.up} ${count.index}"
}
output "id" { value = terraform_data.d[0].id }
`})
		if i == 0 {
			t.Members = append(t.Members, s.member(name, `{"up":"first"}`))
			continue
		}
		t.Members = append(t.Members, s.member(name, "", reads(t.Members[i-1].Target.Member, "id", "up")))
	}
	return t
}

// BenchmarkTwentyRoots plans and applies twenty roots of which each reads the one
// before it: as a group, and one after the other, each with the value that the one
// before made.
func BenchmarkTwentyRoots(b *testing.B) {
	ctx := context.Background()
	pool := func(c *Config) { c.Pool = exec.NewPool(2) }
	b.Run("a group", func(b *testing.B) {
		for b.Loop() {
			s := newSite(b, nil)
			g := s.grouper(pool)
			out := s.applyGroup(g, s.planGroup(g, s.chain(benchRoots)))
			if out.Error != "" || out.Members[benchRoots-1].Status != report.OutcomeApplied {
				b.Fatalf("%+v", out)
			}
		}
	})
	b.Run("one after the other", func(b *testing.B) {
		for b.Loop() {
			s := newSite(b, nil)
			d := s.driver(pool)
			var last engine.Outcome
			for i, m := range s.chain(benchRoots).Members {
				if i > 0 {
					m.Target.Vars["up"] = last.Outputs["id"].Value
				}
				p, err := d.Plan(ctx, m.Target, nil)
				if err != nil {
					b.Fatal(err)
				}
				if last, err = d.Apply(ctx, p, nil); err != nil || last.Error != "" {
					b.Fatal(last, err)
				}
			}
		}
	})
}
