package compose

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/report"
)

// pr-loop §8.1, decision 8: what its upstream's plan moves is an unknown input of a
// reader outside the group.
func TestWhatAPlanMovesIsUnknownToItsReadersOutsideTheGroup(t *testing.T) {
	t.Parallel()
	chain := []string{"net " + apply, "app " + apply + " net", "web " + apply + " app"}
	for name, tt := range map[string]struct {
		components []string
		refused    string // in no group
		unknown    string
		moves      map[string][]string
		moved      string // outputs
		ways       string // of each component, once composed again
	}{
		"nothing moves":                           {chain, "net app web", "", nil, "", "net plain, app plain, web plain"},
		"another output moves":                    {chain, "net app web", "", map[string][]string{"net": {"cidr", "id2"}}, "", "net plain, app plain, web plain"},
		"one does, and all of a hole":             {chain, "net app web", "", map[string][]string{"net": {"id"}}, "app.id net.id", "net plain, app hole, web hole"},
		"in the middle":                           {chain, "net app web", "", map[string][]string{"app": {"id"}}, "app.id", "net plain, app plain, web hole"},
		"one that has no value":                   {chain, "net app web", "net.id", nil, "app.id net.id", "net plain, app hole, web hole"},
		"a part of what is read":                  {chain, "net app web", "", map[string][]string{"app": {"id.x.y"}}, "app.id", "net plain, app plain, web hole"},
		"the whole of what is read":               {[]string{chain[0], "app " + apply + " net.id.x"}, "net app", "", map[string][]string{"net": {"id"}}, "net.id.x", "net plain, app hole"},
		"another part":                            {[]string{chain[0], "app " + apply + " net.id.x"}, "net app", "", map[string][]string{"net": {"id.y", "id.xx"}}, "", "net plain, app plain"},
		"within a group it moves with it":         {chain, "", "", map[string][]string{"net": {"id"}, "app": {"id"}, "web": {"id"}}, "", "net group, app group, web group"},
		"from a group to outside":                 {chain, "web", "", map[string][]string{"app": {"id"}}, "app.id", "net group, app group, web hole"},
		"what only follows waits for no value":    {[]string{chain[0], "app " + apply + " >net"}, "net app", "", map[string][]string{"net": {"id"}}, "", "net plain, app plain"},
		"into a group, which falls apart":         {chain, "net", "", map[string][]string{"net": {"id"}}, "app.id net.id", "net plain, app hole, web hole"},
		"into a group, whose rest stays together": {[]string{"zone " + apply, chain[0], "app " + apply + " net", "web " + apply + " app zone"}, "zone", "", map[string][]string{"zone": {"id"}}, "zone.id", "zone plain, net group, app group, web hole"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := everything(t, estate(t, tt.components...))
			in.Refused = map[string]Refusal{}
			for r := range strings.FieldsSeq(tt.refused) {
				in.Refused[r] = Refusal{Kind: report.FallbackAlone, Reason: "a test"}
			}
			known := in
			known.Unknown = unknown(strings.Fields(tt.unknown)...)
			in.Unknown = maps.Clone(known.Unknown)
			c, moved := composed(t, in), map[report.UnknownInput]bool{}
			for again := true; again; c = composed(t, in) {
				var err error
				if moved, err = c.Moved(known, tt.moves); err != nil {
					t.Fatal(err)
				}
				before := len(in.Unknown)
				maps.Copy(in.Unknown, moved)
				again = len(in.Unknown) > before
			}
			got := []string{}
			for m := range moved {
				got = append(got, m.From+"."+m.Output)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.moved, strings.Join(got, " ")); diff != "" {
				t.Errorf("moved (-want +got):\n%s", diff)
			}
			for want := range strings.SplitSeq(tt.ways, ", ") {
				component, way, _ := strings.Cut(want, " ")
				if got := c.Ways[component]; len(got) != 1 || string(got[0]) != way {
					t.Errorf("%s is planned as %s, want %s", component, got, way)
				}
			}
		})
	}
}
