package usecase

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// moving is a driver whose plans move outputs, and that groups all but refused.
type moving struct {
	hostile
	moves   map[string][]string // by member
	refused string

	mu    sync.Mutex
	calls []string // members that were planned, by call
}

var _ engine.Grouper = (*moving)(nil)

func (d *moving) For(engine.Repo, string, string, CredentialKind) (Driver, error) { return d, nil }

func (d *moving) called(members ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, strings.Join(members, " "))
}

func (d *moving) Plan(_ context.Context, t engine.Target, _ engine.Sink) (engine.Planned, error) {
	d.called(t.Member)
	return engine.Planned{Part: plannedPart(t.Member), Moves: d.moves[t.Member]}, nil
}

func (*moving) Outputs(context.Context, engine.Target) (map[string]engine.Output, error) {
	return map[string]engine.Output{"id": {Value: digest.StringOf("1")}}, nil
}

func (d *moving) PlanGroup(_ context.Context, t engine.GroupTarget, _ engine.Sink) (engine.PlannedGroup, error) {
	var names []string
	p := engine.PlannedGroup{}
	for _, m := range t.Members {
		name := m.Target.Member
		names = append(names, name)
		if name == d.refused {
			p.Fallbacks = append(p.Fallbacks, engine.GroupFallback{Member: name, Kind: report.FallbackConfig, Reason: "a test"})
		}
		p.Members = append(p.Members, engine.PlannedMember{Member: name, Part: plannedPart(name), Moves: d.moves[name]})
	}
	d.called(names...)
	return p, nil
}

func (*moving) ApplyGroup(context.Context, engine.PlannedGroup, engine.Sink) (engine.GroupOutcome, error) {
	return engine.GroupOutcome{}, errors.New("not asked for")
}

func (*moving) RecoverGroup(context.Context, engine.PlannedGroup) (engine.GroupOutcome, bool, error) {
	return engine.GroupOutcome{}, false, errors.New("not asked for")
}

func (*moving) Unended() ([]engine.UnendedGroup, error) { return nil, nil }

func (*moving) Forget(engine.UnendedGroup) error { return errors.New("not asked for") }

// plannedPart is a plan of one change.
func plannedPart(member string, entries ...changeset.Entry) changeset.Part {
	return changeset.Part{Entries: entries, Member: changeset.Member{
		Member: member, Lexicon: "terraform", Planner: "terraform", Status: changeset.Planned, PlanDigest: &digest.Digest{},
	}}
}

// readers are the files of roots that each read the output id of others: "app net".
func readers(t *testing.T, compose string, written ...string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{"chant.workspace.json": []byte(`{"name": "readers", "schema": 1, "minReader": "0.108.0"}`)}
	declared := map[string]any{}
	for _, w := range written {
		words := strings.Fields(w)
		name, vars := words[0], map[string]any{}
		for _, from := range words[1:] {
			vars[from] = map[string]any{"stackOutput": map[string]string{"stack": from, "name": "id"}}
		}
		text, err := json.Marshal(map[string]any{"name": name, "dependsOn": []string{}, "deploy": []any{
			map[string]any{"phase": "Apply", "steps": []any{map[string]any{"kind": "terraform-apply", "root": name, "vars": vars}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		files[name+".component.json"], files["roots/"+name+"/main.tf"] = text, []byte("# nothing\n")
		declared[name] = map[string]string{"dir": "roots/" + name}
	}
	config, err := json.Marshal(map[string]any{"lexicons": []string{"terraform"}, "terraform": map[string]any{"compose": compose, "roots": declared}})
	if err != nil {
		t.Fatal(err)
	}
	files["chant.config.json"] = config
	return files
}

// pr-loop §8.1, decision 8: no reader outside the group keeps a plan made with a value
// that its upstream's plan moves.
func TestAReaderOfWhatAPlanMovesIsAHole(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		compose string
		written []string
		refused string
		moves   map[string][]string
		unknown []string // "app net.id"
		groups  []string
		calls   []string
	}{
		"nothing moves": {
			"off", []string{"net", "app net"}, "", map[string][]string{"net": {"cidr"}}, nil, nil, []string{"app", "net"},
		},
		"a chain is one of holes": {
			"off", []string{"net", "app net", "web app"}, "", map[string][]string{"net": {"id"}},
			[]string{"app net.id", "web app.id"}, nil, []string{"app", "net", "web"},
		},
		"in the middle of a chain": {
			"off", []string{"net", "app net", "web app"}, "", map[string][]string{"app": {"id"}},
			[]string{"web app.id"}, nil, []string{"app", "net", "web"},
		},
		"a group carries it": {
			"auto", []string{"net", "app net"}, "", map[string][]string{"net": {"id"}, "app": {"id"}}, nil, []string{"net app"}, []string{"net app"},
		},
		"into a group, which goes on without the reader": {
			"auto", []string{"zone", "net", "app net", "web app zone"}, "zone", map[string][]string{"zone": {"id"}},
			[]string{"web zone.id"}, []string{"net app"},
			[]string{"net app", "net app web", "net zone app web", "web", "zone"},
		},
		"into a group, which falls apart": {
			"auto", []string{"zone", "net zone", "app net"}, "zone", map[string][]string{"zone": {"id"}},
			[]string{"app net.id", "net zone.id"}, nil,
			[]string{"app", "net", "net app", "zone", "zone net app"},
		},
		"out of a group": {
			"auto", []string{"net", "app net", "web app"}, "web", map[string][]string{"net": {"id"}, "app": {"id"}},
			[]string{"web app.id"}, []string{"net app"}, []string{"net app", "net app web", "web"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver := &moving{moves: tt.moves, refused: tt.refused}
			_, _, _, set := planned(t, driver, readers(t, tt.compose, tt.written...))
			var unknown, groups []string
			for name, m := range set.Members {
				doc, _ := set.Document.Member(name)
				if len(doc.Holes) != len(m.Unknown) || len(m.Unknown) > 0 && len(m.Reads) > 0 || m.Error != "" {
					t.Errorf("%s has holes %v and reads %v: %s", name, doc.Holes, m.Reads, m.Error)
				}
				for _, r := range m.Unknown {
					unknown = append(unknown, fmt.Sprintf("%s %s.%s", name, r.Component, r.Output))
				}
			}
			for _, g := range set.Groups {
				groups = append(groups, strings.Join(g.Members, " "))
			}
			slices.Sort(unknown)
			slices.Sort(driver.calls)
			for what, diff := range map[string]string{
				"unknown": cmp.Diff(tt.unknown, unknown), "groups": cmp.Diff(tt.groups, groups), "planned": cmp.Diff(tt.calls, driver.calls),
			} {
				if diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

// ADR 0014: what an earlier apply of the commit applied is not applied again for an
// output that no plan leaves as it is.
func TestWhatIsNotAppliedAgainMovesNothing(t *testing.T) {
	t.Parallel()
	update := changeset.Entry{Member: "net", Address: "a.b", Action: changeset.Update}
	for name, tt := range map[string]struct {
		applied []string
		part    changeset.Part
		want    int
	}{
		"never applied":                {nil, plannedPart("net"), 1},
		"another one was":              {[]string{"app"}, plannedPart("net"), 1},
		"applied, and changes nothing": {[]string{"net"}, plannedPart("net"), 0},
		"applied, and changes":         {[]string{"net"}, plannedPart("net", update), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &planner{Stage: &Stage{}, in: PlanInput{Applied: tt.applied}}
			moves, err := p.moves([]*member{{
				name: "net", component: &project.Component{Name: "net"}, part: tt.part,
				planned: &PlannedMember{Planned: engine.Planned{Moves: []string{"stamp"}}},
			}})
			if err != nil || len(moves["net"]) != tt.want {
				t.Errorf("moves %v, %v; want %d", moves, err, tt.want)
			}
		})
	}
}
