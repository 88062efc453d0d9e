package usecase

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/run"
)

// sealedAway has journals that can't be read.
type sealedAway struct {
	engine.Grouper

	left, forgotten []string
}

func (s *sealedAway) Unended() ([]engine.UnendedGroup, error) {
	var out []engine.UnendedGroup
	for _, path := range s.left {
		out = append(out, engine.UnendedGroup{Journal: path, Err: errors.New("the key is another one")})
	}
	return out, nil
}

func (s *sealedAway) Forget(u engine.UnendedGroup) error {
	s.forgotten = append(s.forgotten, u.Journal)
	return nil
}

// The key of a journal is gone: its mark tells whom it keeps waiting, all others go on, and
// once somebody answered for their states it is void (adr/0025).
func TestAJournalThatCantBeReadKeepsItsOwnMembersWaiting(t *testing.T) {
	t.Parallel()
	one := record.OpenGroup{ID: "0123456789ab", Members: []string{"net", "app"}, Commit: "c", Machine: "here", Journal: "/state/groups/one"}
	for name, tt := range map[string]struct {
		marks     record.Groups
		waits     []string
		forgotten []string
		dry       bool
		refused   bool
	}{
		"marked":                      {marks: record.Groups{Open: []record.OpenGroup{one}}, waits: []string{"app", "net"}},
		"released":                    {marks: record.Groups{Released: []record.ReleasedGroup{{OpenGroup: one}}}, forgotten: []string{"/moved/groups/one"}},
		"released, seen by a dry run": {marks: record.Groups{Released: []record.ReleasedGroup{{OpenGroup: one}}}, dry: true},
		"of nobody knows who":         {refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			grouper := &sealedAway{left: []string{"/moved/groups/one"}}
			e := &groupEnds{grouper: grouper, in: ApplyInput{DryRun: tt.dry}, env: project.Env{Name: "prod"}, marks: tt.marks, waits: openGroups{}}
			_, err := e.endLeft(t.Context())
			if diff := cmp.Diff(tt.forgotten, grouper.forgotten); diff != "" {
				t.Fatalf("put aside (-want +got):\n%s", diff)
			}
			if _, refused := errors.AsType[*Refusal](err); refused != tt.refused {
				t.Fatalf("%v, want refused %v", err, tt.refused)
			}
			if diff := cmp.Diff(tt.waits, slices.Sorted(maps.Keys(e.waits)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("who waits (-want +got):\n%s", diff)
			}
			for member, why := range e.waits {
				if !strings.Contains(why.Error(), "the key is another one") || !strings.Contains(why.Error(), "chant unlock 0123456789ab") {
					t.Errorf("%s is told: %v", member, why)
				}
			}
		})
	}
}

// journaledHere has journals that can be read.
type journaledHere struct {
	engine.Grouper

	memo groupMemo
}

func (j journaledHere) Unended() ([]engine.UnendedGroup, error) {
	memo, err := json.Marshal(j.memo)
	return []engine.UnendedGroup{{Journal: "/state/groups/one", Memo: memo}}, err
}

// What keeps a group from being ended may never pass, such as a state of which the tool
// wrote half: whoever reads of it is told the way out.
func TestAGroupThatCantBeEndedSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	memo := groupMemo{Commit: "c", Plan: &GroupPlan{ID: "net", Members: []string{"net", "app"}, RunDir: "/runs/one"}}
	broken := engine.Tell(errors.New("its state can't be used"))
	for _, marked := range []bool{true, false} {
		e := &groupEnds{
			Stage: &Stage{}, grouper: journaledHere{memo: memo}, env: project.Env{Name: "prod"}, waits: openGroups{},
			from: func(context.Context, groupMemo) (PlanInput, Driver, error) { return PlanInput{}, nil, broken },
		}
		if marked {
			e.marks.Begin(record.OpenGroup{ID: memo.Plan.mark(), Members: memo.Plan.Members})
		}
		if _, err := e.endLeft(t.Context()); err != nil {
			t.Fatal(err)
		}
		why := e.waits.of("app")
		if why == nil || !strings.Contains(why.Error(), "its state can't be used") || !strings.Contains(why.Error(), "/state/groups/one") {
			t.Fatalf("app is told: %v", why)
		}
		if says := strings.Contains(why.Error(), "chant unlock "+memo.Plan.mark()); says != marked {
			t.Errorf("marked %v, and app is told: %v", marked, why)
		}
	}
}

// A root that waits for its state is not planned under another name.
func TestARenamedRootOfAnOpenGroupIsNotPlanned(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ declared, waits []string }{
		"as it was":      {[]string{"net", "app", "data"}, []string{"net", "app"}},
		"net is renamed": {[]string{"network", "app", "data"}, []string{"network", "app", "data"}},
		"net is removed": {[]string{"app", "data"}, []string{"app", "data"}},
	} {
		open := openGroups{}
		open.add([]string{"net", "app"}, "0123456789ab", Refusef("the group of net, app is open"))
		open.spread(tt.declared)
		for _, member := range tt.declared {
			why := open.of(member)
			if (why != nil) != slices.Contains(tt.waits, member) {
				t.Errorf("%s: %s waits: %v", name, member, why)
			}
			if o, ok := errors.AsType[openGroupError](why); why != nil && (!ok || o.mark != "0123456789ab" || !strings.Contains(why.Error(), "the group of net, app is open")) {
				t.Errorf("%s: %s is told %v", name, member, why)
			}
		}
	}
	none := openGroups{}
	if none.spread([]string{"net"}); len(none) > 0 {
		t.Errorf("without an open group %v waits", none)
	}
}

// A run that is carried on starts nothing that reads outputs of a group which another run
// left open, though it is no member of it: they may not stand any more (soundness I7).
func TestAReaderOfAnOpenGroupIsNotCarriedOn(t *testing.T) {
	t.Parallel()
	r, _ := rolledOut(t)
	open := openGroups{}
	open.add([]string{"net"}, "0123456789ab", Refusef("net is open"))
	for name, tt := range map[string]struct {
		planned PlannedMember
		waits   bool
	}{
		"net":  {waits: true},
		"app":  {planned: PlannedMember{Reads: []run.InputRead{{From: "net", Output: "x"}}}, waits: true},
		"data": {planned: PlannedMember{Unknown: []project.Read{{Component: "net", Output: "x"}}}, waits: true},
		"web":  {planned: PlannedMember{Reads: []run.InputRead{{From: "app", Output: "x"}}}},
	} {
		if why := open.behind(r.project, name, &tt.planned); (why != nil) != tt.waits {
			t.Errorf("%s: %v, want it to wait: %v", name, why, tt.waits)
		}
	}
}
