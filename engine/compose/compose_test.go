package compose

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// pr-loop §8.2, decision 8.
func TestGroups(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		estate []string
		change func(*Input)
		groups []string
		falls  []string
	}{
		"a reader and what it reads are a group": {estate: []string{"net terraform-apply", "app terraform-apply net"}, groups: []string{"net app"}},
		"a group is all that is connected": {
			estate: []string{"net terraform-apply", "app terraform-apply net", "web terraform-apply app", "dns terraform-apply net", "log terraform-apply", "job terraform-apply log"},
			groups: []string{"log job", "net app dns web"},
		},
		"two that read the same are connected through it": {estate: []string{"net terraform-apply", "a terraform-apply net", "b terraform-apply net"}, groups: []string{"net a b"}},
		"what only follows is not connected":              {estate: []string{"net terraform-apply", "app terraform-apply >net"}},
		"a group holds one kind":                          {estate: []string{"net terraform-apply", "app terraform-apply net", "topic gcp-apply", "queue gcp-apply topic"}, groups: []string{"net app", "topic queue"}},
		"what is not selected joins nothing": {
			estate: []string{"net terraform-apply", "app terraform-apply net", "web terraform-apply app"},
			change: func(in *Input) { in.Selection = graph.Selection{Waves: [][]string{{"app"}, {"web"}}} }, groups: []string{"app web"},
		},
		"only components with exactly one step join": {
			estate: []string{"net terraform-apply,kubectl-apply", "app terraform-apply net", "web terraform-apply app"},
			groups: []string{"app web"}, falls: []string{"net steps"},
		},
		"gates are counted": {
			estate: []string{"net terraform-apply", "app terraform-apply,gate net"}, falls: []string{"app steps", "net alone"},
		},
		"a component of another kind on a path between two splits them": {
			estate: []string{"net terraform-apply", "chart kubectl-apply >net", "app terraform-apply net >chart"},
			falls:  []string{"app capability", "net capability"},
		},
		"one of another kind that they read through keeps them apart": {
			estate: []string{"net terraform-apply", "chart kubectl-apply net", "app terraform-apply chart"},
			falls:  []string{"app capability", "net capability"},
		},
		"both sides of a split are groups where they can be": {
			estate: []string{"net terraform-apply", "vpn terraform-apply net", "chart kubectl-apply >vpn", "app terraform-apply net >chart", "web terraform-apply app"},
			groups: []string{"app web", "net vpn"},
		},
		"one that leads into a split goes with what reads it": {
			estate: []string{"net terraform-apply", "chart kubectl-apply >net", "zone terraform-apply", "dns terraform-apply net zone >chart"},
			groups: []string{"zone dns"}, falls: []string{"net capability"},
		},
		"whatever else follows it": {
			estate: []string{"net terraform-apply", "chart kubectl-apply >net", "zone terraform-apply", "dns terraform-apply net zone >chart", "job kubectl-apply >zone"},
			groups: []string{"zone dns"}, falls: []string{"net capability"},
		},
		"a split elsewhere splits nothing here": {
			estate: []string{
				"a1 terraform-apply", "x kubectl-apply >a1", "a2 terraform-apply a1 >x",
				"b1 gcp-apply", "b2 gcp-apply b1 >a2", "y kubectl-apply >b1", "b3 gcp-apply b2 >y",
			},
			groups: []string{"b1 b2"}, falls: []string{"a1 capability", "a2 capability", "b3 capability"},
		},
		"one of another kind beside the group splits nothing": {
			estate: []string{"chart kubectl-apply", "net terraform-apply >chart", "app terraform-apply net", "job kubectl-apply >app"},
			groups: []string{"net app"},
		},
		"one of the kind that may not join splits them as well": {
			estate: []string{"net terraform-apply", "mid terraform-apply,gate net", "app terraform-apply net mid"},
			falls:  []string{"app alone", "mid steps", "net alone"},
		},
		"two groups that would each wait for the other are both split": {
			estate: []string{"a1 terraform-apply", "b2 gcp-apply", "b1 gcp-apply b2 >a1", "a2 terraform-apply a1 >b2"},
			falls:  []string{"a1 capability", "a2 capability", "b1 capability", "b2 capability"},
		},
		"a wave gate leaves no group": {
			estate: []string{"net terraform-apply", "app terraform-apply net", "web terraform-apply,gate app"}, change: func(in *Input) { in.WaveGates = true },
			falls: []string{"app wave-gate", "net wave-gate", "web steps"},
		},
		"a canary runs first, by itself": {
			estate: []string{"net terraform-apply", "app terraform-apply net", "web terraform-apply app", "dns terraform-apply net"},
			change: func(in *Input) { in.Canary = []string{"net"} },
			groups: []string{"app web"}, falls: []string{"dns alone", "net wave-gate"},
		},
		"alone": {
			estate: []string{"net terraform-apply", "chart kubectl-apply net", "job kubectl-apply chart"}, falls: []string{"net alone"},
		},
		"one that reads nothing and is not read is no would-be member": {estate: []string{"net terraform-apply", "app kubectl-apply"}},
		"off": {
			estate: []string{"net terraform-apply", "app terraform-apply net"}, change: func(in *Input) {
				in.Kinds[apply] = Ability{Groups: true, Off: "terraform.compose: off"}
				in.WaveGates = true
			},
			falls: []string{"app off", "net off"},
		},
		"live": {
			estate: []string{"net terraform-apply", "app terraform-apply net", "web terraform-apply net"}, change: func(in *Input) { in.Live = map[string]bool{"app": true} },
			groups: []string{"net web"}, falls: []string{"app live"},
		},
		"what the driver refuses falls back for its reason": {
			estate: []string{"net terraform-apply", "app terraform-apply net", "web terraform-apply net"},
			change: func(in *Input) {
				in.Refused = map[string]Refusal{"app": {report.FallbackBackend, "its backend has no lock"}}
			},
			groups: []string{"net web"}, falls: []string{"app backend"},
		},
		"a group that could not be planned dissolves": {
			estate: []string{"net terraform-apply", "app terraform-apply net", "log terraform-apply", "job terraform-apply log"},
			change: func(in *Input) {
				in.Refused = map[string]Refusal{"net": {report.FallbackPlan, "count of an unknown"}, "app": {report.FallbackPlan, "count of an unknown"}}
			},
			groups: []string{"log job"}, falls: []string{"app plan", "net plan"},
		},
		"a capability that cannot group has no would-be members": {
			estate: []string{"net cfn-deploy", "app cfn-deploy net"},
		},
		"a value from outside the group that is not there keeps its reader out": {
			estate: []string{"chart kubectl-apply", "net terraform-apply", "app terraform-apply net chart", "web terraform-apply net"},
			change: func(in *Input) { in.Unknown = unknown("chart.id", "net.id") },
			groups: []string{"net web"}, falls: []string{"app reads"},
		},
		"and what reads that reader": {
			estate: []string{"chart kubectl-apply", "net terraform-apply", "app terraform-apply net chart", "web terraform-apply net app", "dns terraform-apply net"},
			change: func(in *Input) { in.Unknown = unknown("chart.id", "app.id") },
			groups: []string{"net dns"}, falls: []string{"app reads", "web reads"},
		},
		"one that is taken out may stand between the others": {
			estate: []string{"chart kubectl-apply", "net terraform-apply", "app terraform-apply net chart", "web terraform-apply net app"},
			change: func(in *Input) { in.Unknown = unknown("chart.id") },
			falls:  []string{"app reads", "net alone", "web alone"},
		},
		"a value that its group makes need not be there": {
			estate: []string{"net terraform-apply", "app terraform-apply net"}, change: func(in *Input) { in.Unknown = unknown("net.id") },
			groups: []string{"net app"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := everything(t, estate(t, c.estate...))
			if c.change != nil {
				c.change(&in)
			}
			got := composed(t, in)
			if diff := cmp.Diff(append([]string{}, c.groups...), groups(got)); diff != "" {
				t.Errorf("groups: %s", diff)
			}
			if diff := cmp.Diff(append([]string{}, c.falls...), kinds(got)); diff != "" {
				t.Errorf("fallbacks: %s", diff)
			}
		})
	}
}

// pr-loop §8.1.
func TestWays(t *testing.T) {
	t.Parallel()
	in := everything(t, estate(t,
		"net terraform-apply", "app terraform-apply net", // a group
		"chart kubectl-apply net", "queue cfn-deploy net", // a hole and a preview
		"two kubectl-apply,cfn-deploy net.id", "job kubectl-apply net.cidr", "gated terraform-apply,gate net",
	))
	in.Unknown = unknown("net.id")
	want := map[string][]Way{
		"net": {Grouped}, "app": {Grouped}, "chart": {Hole}, "queue": {Preview},
		"two": {Hole, Plain}, "job": {Plain}, "gated": {Hole, Plain},
	}
	if diff := cmp.Diff(want, composed(t, in).Ways); diff != "" {
		t.Error(diff)
	}
	in.WaveGates = true
	want["net"], want["app"] = []Way{Plain}, []Way{Hole}
	if diff := cmp.Diff(want, composed(t, in).Ways); diff != "" {
		t.Errorf("without groups: %s", diff)
	}
}

func TestAGroupStandsInTheFirstWaveAfterWhatItsMembersFollowOutside(t *testing.T) {
	t.Parallel()
	in := everything(t, estate(t,
		"net terraform-apply", "chart kubectl-apply", "job kubectl-apply >chart", "app terraform-apply net >job",
		"dns kubectl-apply net", "web kubectl-apply >dns",
	))
	got := composed(t, in)
	if diff := cmp.Diff([][]string{{"chart"}, {"job"}, {"app", "net"}, {"dns"}, {"web"}}, got.Waves); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Group{{ID: "net", Wave: 3, Capability: apply, Members: []string{"net", "app"}}}, got.Groups); diff != "" {
		t.Error(diff)
	}
	if g, ok := groupOf(got, "app"); !ok || g.ID != "net" {
		t.Errorf("app is in group %q, %v", g.ID, ok)
	}
	if _, ok := groupOf(got, "web"); ok {
		t.Error("web is in a group")
	}
	in.WaveGates = true
	if diff := cmp.Diff(in.Selection.Waves, composed(t, in).Waves); diff != "" {
		t.Errorf("without a group the waves are the selection's: %s", diff)
	}
}

func TestCanariesAreAWaveBeforeAllElse(t *testing.T) {
	t.Parallel()
	in := everything(t, estate(t, "net terraform-apply", "app terraform-apply net", "web terraform-apply app", "log kubectl-apply"))
	in.Canary = []string{"net"}
	if diff := cmp.Diff([][]string{{"net"}, {"app", "log", "web"}}, composed(t, in).Waves); diff != "" {
		t.Error(diff)
	}
}

func TestAReasonNamesWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	in := everything(t, estate(t,
		"net terraform-apply", "chart kubectl-apply >net", "app terraform-apply net >chart",
		"web terraform-apply,gate,gate app", "job terraform-apply app.url",
	))
	in.Unknown = unknown("app.url")
	in.Kinds[kube] = Ability{}
	want := map[string]string{
		"net": "chart (kubectl-apply) comes between it",
		"web": "it has 3 steps",
	}
	for _, f := range composed(t, in).Fallbacks {
		if part, ok := want[f.Component]; ok && !strings.Contains(f.Reason, part) {
			t.Errorf("%s: %q does not say %q", f.Component, f.Reason, part)
		}
		delete(want, f.Component)
	}
	if len(want) > 0 {
		t.Errorf("no fallback for %v", want)
	}
	in = everything(t, estate(t, "chart kubectl-apply", "net terraform-apply", "app terraform-apply net chart.url"))
	in.Unknown = unknown("chart.url")
	for _, f := range composed(t, in).Fallbacks {
		if f.Component == "app" && !strings.Contains(f.Reason, "chart.url, which it reads, is not known before the apply") {
			t.Errorf("app: %q", f.Reason)
		}
	}
}

func TestASelectionOfOtherComponentsIsRefused(t *testing.T) {
	t.Parallel()
	components := estate(t, "net terraform-apply", "app terraform-apply net")
	for name, waves := range map[string][][]string{
		"selected but not declared": {{"net"}, {"web"}},
		"which follows it":          {{"app"}, {"net"}},
	} {
		if _, err := Of(Input{Components: components, Selection: graph.Selection{Waves: waves}}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Of(Input{Components: []*project.Component{}}); err != nil {
		t.Errorf("nothing selected: %v", err)
	}
}

// groupOf is the group a component is planned in.
func groupOf(c Composition, component string) (Group, bool) {
	i := slices.IndexFunc(c.Groups, func(g Group) bool { return slices.Contains(g.Members, component) })
	if i < 0 {
		return Group{}, false
	}
	return c.Groups[i], true
}
