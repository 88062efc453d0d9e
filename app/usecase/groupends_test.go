package usecase

import (
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

// A run that is carried on starts nothing that reads outputs of a group which another run
// left open, though it is no member of it: they may not stand any more (soundness I7).
func TestAReaderOfAnOpenGroupIsNotCarriedOn(t *testing.T) {
	t.Parallel()
	r, _ := rolledOut(t)
	open := openGroups{}
	open.add([]string{"net"}, "0123456789ab", refusef("net is open"))
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
