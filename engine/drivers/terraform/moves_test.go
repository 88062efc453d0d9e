package terraform

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// movesRoot has outputs that stand, and then move each in its own way.
func movesRoot(outputs string) map[string]string {
	return map[string]string{"roots/net/main.tf": backend + `
variable "cidr" { default = "10.0.0.0/8" }
resource "terraform_data" "net" { triggers_replace = var.cidr }
output "stays" { value = "same" }
output "secret" {
  value     = "k-${var.cidr}"
  sensitive = true
}
` + outputs}
}

const (
	movesBefore = `
output "updated" { value = { cidr = var.cidr, zone = "z" } }
output "replaced" { value = terraform_data.net.id }
output "removed" { value = "gone" }
`
	movesAfter = `
output "updated" { value = { cidr = var.cidr, zone = "z" } }
output "replaced" { value = terraform_data.net.id }
output "created" { value = "new" }
`
)

// pr-loop decision 8: what the tool says of the outputs of a root is what its readers
// are told, planned alone or in a group.
func TestAPlanSaysWhichOutputsItMoves(t *testing.T) {
	t.Parallel()
	s := newSite(t, movesRoot(movesBefore))
	d := s.driver()
	p := s.plan(d)
	if want := []string{"removed", "replaced", "secret", "stays", "updated"}; !slices.Equal(p.Moves, want) {
		t.Errorf("a first plan moves %q, want %q", p.Moves, want)
	}
	s.apply(d, p)
	if p := s.replan(d); len(p.Moves) != 0 {
		t.Errorf("a plan of nothing moves %q", p.Moves)
	}
	s.write(s.checkout, movesRoot(movesAfter))
	s.write(s.checkout, map[string]string{"roots/net/net.auto.tfvars": "cidr = \"10.9.0.0/16\"\n"})
	want := []string{"created", "removed", "replaced", "secret", "updated.cidr"}
	if p := s.replan(d); !slices.Equal(p.Moves, want) {
		t.Errorf("the plan moves %q, want %q", p.Moves, want)
	}

	s.write(s.checkout, map[string]string{"roots/app/main.tf": groupRoots()["roots/app/main.tf"]})
	target := s.netAndApp()
	target.Members[1] = s.member("app", `{"names":["a"]}`, reads("net", "replaced", "net"))
	group := s.planGroup(s.grouper(), target)
	if diff := cmp.Diff([][]string{want, {"apps"}}, [][]string{group.Members[0].Moves, group.Members[1].Moves}); diff != "" {
		t.Errorf("in a group (-want +got):\n%s", diff)
	}
}
