package usecase

import (
	"context"
	"maps"
	"slices"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// planSelection plans all that is selected at one time, against the outputs that stand,
// and looks what that moves. What reads a moved output from outside its group has a
// plan with a value that will not stand: it is a hole. A group that it was a member of
// is composed again without it. Each look finds more outputs that move or is the last.
func (p *planner) planSelection(ctx context.Context, selection graph.Selection) (*groupPlans, []*member, error) {
	in := p.composeInput(selection)
	valueless := in
	in.Unknown = maps.Clone(in.Unknown)
	planned := map[string]*plannedGroup{} // by their members
	for {
		groups, err := p.planGroups(ctx, in, planned)
		if err != nil {
			return nil, nil, err
		}
		members := p.planAll(ctx, selection.Order(), groups.members)
		p.refuseSharedStates(ctx, members)
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		moves, err := p.moves(members)
		if err != nil {
			return nil, nil, err
		}
		moved, err := groups.Moved(valueless, moves)
		if err != nil {
			return nil, nil, err
		}
		known := len(in.Unknown)
		maps.Copy(in.Unknown, moved)
		if len(in.Unknown) > known {
			continue
		}
		p.makeHoles(ctx, members, moved)
		return groups, members, nil
	}
}

// moves are the outputs that each component's plan moves. One that an earlier apply of
// the commit applied, and that changes no resource now, is not applied again, whatever
// becomes of its outputs: they stand.
func (p *planner) moves(members []*member) (map[string][]string, error) {
	moves := map[string][]string{}
	for _, m := range members {
		name := m.component.Name
		if len(m.planned.Planned.Moves) == 0 {
			continue
		}
		if slices.Contains(p.in.Applied, name) {
			doc, err := changeset.Compose([]changeset.Part{m.part}, p.Version)
			if err != nil {
				return nil, err
			}
			if cover.Nothing(doc, m.name, true) {
				continue
			}
		}
		moves[name] = append(moves[name], m.planned.Planned.Moves...)
	}
	return moves, nil
}

// makeHoles drops the plans that were made with a value that will not stand. One that
// failed stays failed: what is wrong with it may be no value.
func (p *planner) makeHoles(ctx context.Context, members []*member, moved map[report.UnknownInput]bool) {
	for _, m := range members {
		if m.planned.Group != "" || m.planned.Error != "" {
			continue
		}
		unknown := slices.Clone(m.planned.Unknown)
		for _, read := range m.outputReads() {
			input := report.UnknownInput{From: read.Component, Output: read.Output}
			same := func(r project.Read) bool {
				return r.Component == read.Component && r.Output == read.Output && slices.Equal(r.Path, read.Path)
			}
			if moved[input] && !slices.ContainsFunc(unknown, same) {
				unknown = append(unknown, read)
			}
		}
		if len(unknown) == len(m.planned.Unknown) {
			continue
		}
		p.progress("%s waits for what it reads", m.name)
		p.in.trees.drop(m.name)
		m.planned = &PlannedMember{Component: m.component.Name, Step: m.index, Unknown: unknown}
		var err error
		if m.part, err = p.hole(m, unknown); err != nil {
			p.fail(ctx, m, err)
		}
	}
}
