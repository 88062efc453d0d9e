package usecase

import (
	"context"
	"slices"
	"sync"
)

// statesTaken are the places of states, each with the member that keeps its own there. Its
// zero value has none.
type statesTaken struct {
	mu sync.Mutex
	by map[string]string
}

// take notes where a member keeps its state, "" where that can't be told, and names the
// other member that keeps its own there, "" for none.
func (s *statesTaken) take(member, place string) (other string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch by := s.by[place]; {
	case place == "", by == member:
		return ""
	case by != "":
		return by
	}
	if s.by == nil {
		s.by = map[string]string{}
	}
	s.by[place] = member
	return ""
}

func sharedState(one, other string) error {
	return Refusef("%s and %s keep their state in one place, so that each would destroy what the other makes; give each root a state of its own", one, other)
}

// takeState refuses a root that keeps its state where another one of the deployment does.
// A rollback may have the state of what it takes back, and an end is of whatever is there.
func (d *Deployment) takeState(m *member) error {
	if m.index < 0 || d.own != nil && d.own.ends {
		return nil
	}
	switch other := d.states.take(m.name, m.planned.Planned.State); {
	case other == "":
		return nil
	case d.own != nil:
		return Refusef("roots %s and %s keep one state in workspace %s; give each a state of its own (workspace_dir of a local backend, key of s3)", other, m.name, d.in.Env)
	default:
		return sharedState(other, m.name)
	}
}

// placeStates finds out where every root of the run keeps its state, those of later waves
// too, and refuses two in one place before the first step. Where that can't be told yet the
// root's own plan tells it, or fails for the same reason.
func (r *rollout) placeStates(ctx context.Context) error {
	var all []*member
	for _, name := range r.in.Run.Plan.Order() {
		for _, m := range r.rootMembers(r.components[name]) {
			if !slices.ContainsFunc(all, func(o *member) bool { return o.name == m.name }) {
				all = append(all, m)
			}
		}
	}
	if len(all) < 2 {
		return nil
	}
	each(r.planning.driver.Parallel(), all, func(m *member) {
		target, err := r.planInput(r.planning, r.runDir()).target(m.step, nil, r.planning.credentials)
		if err != nil {
			return
		}
		defer r.planning.trees.drop(m.name)
		if place, err := r.planning.driver.Place(ctx, target); err == nil {
			m.planned.Planned.State = place
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, m := range all {
		if err := r.takeState(m); err != nil {
			return err
		}
	}
	return nil
}
