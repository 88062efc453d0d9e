package project

import (
	"slices"
	"testing"
)

func TestTheProjectsOfAWorkspace(t *testing.T) {
	t.Parallel()
	root := WorkspaceMember{Name: "estate", Dir: ".", Kind: "chant"}
	net := WorkspaceMember{Name: "net", Dir: "net", Kind: "chant"}
	docs := WorkspaceMember{Name: "docs", Dir: "docs", Kind: "other"}
	for name, c := range map[string]struct {
		members []WorkspaceMember
		holds   bool
		want    []string
	}{
		"no member is the root alone":                 {nil, false, []string{""}},
		"no member of ours is the root alone":         {[]WorkspaceMember{docs}, false, []string{""}},
		"the declared root has no name":               {[]WorkspaceMember{root}, false, []string{""}},
		"the declared root counts, whatever it holds": {[]WorkspaceMember{net, root}, false, []string{"", "net"}},
		"a root beside members that holds nothing":    {[]WorkspaceMember{docs, net}, false, []string{"net"}},
		"a root beside members that holds something":  {[]WorkspaceMember{net, docs}, true, []string{"", "net"}},
	} {
		d := &Declaration{Members: c.members}
		projects, err := d.Projects(func() (bool, error) { return c.holds, nil })
		var names []string
		for _, p := range projects {
			names = append(names, p.Name)
		}
		if err != nil || !slices.Equal(names, c.want) {
			t.Errorf("%s: %q, %v; want %q", name, names, err, c.want)
		}
	}
}
