package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/chant-bot/chant/engine/compose"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// derive selects, layers and composes few components and many, each with four edges,
// and compares the time a component takes.
func derive(_ context.Context, b *bench) error {
	few, many := 1_250, b.of(5_000, 2_500)
	small, err := estateOf(few)
	if err != nil {
		return err
	}
	large, err := estateOf(many)
	if err != nil {
		return err
	}
	taken, err := inTurn(b.of(15, 3),
		func() (float64, error) { return timeDerive(large, 1) },
		func() (float64, error) { return timeDerive(small, many/few) })
	if err != nil {
		return err
	}
	b.atMost(fmt.Sprintf("selection, waves and composition of %d components", many), taken[0], 0.5, " s")
	b.atMost(fmt.Sprintf("time a component of %d, of %d", many, few), over(taken[0], taken[1]), 1.5, ratio)
	return nil
}

// timeDerive returns seconds for so many rounds.
func timeDerive(in compose.Input, rounds int) (float64, error) {
	changed := in.Selection.Order()
	runtime.GC()
	begin := time.Now()
	for range rounds {
		selection, err := graph.SelectChanges(in.Components, graph.Changes{Components: changed})
		if err != nil {
			return 0, err
		}
		in.Selection = selection
		if _, err := compose.Of(in); err != nil {
			return 0, err
		}
	}
	return time.Since(begin).Seconds(), nil
}

// estateOf is n components with up to four edges each to some not far before them.
// Half of the edges are reads; each twentieth component is of a kind that does not
// group, and a tenth of the outputs have no value. It is one knot, to be split in many
// places.
func estateOf(n int) (compose.Input, error) {
	in := compose.Input{
		Kinds:   map[string]compose.Ability{"terraform-apply": {Groups: true}},
		Unknown: map[report.UnknownInput]bool{},
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("c%05d", i)
		var reads, after []string
		near := min(i, 211)
		for k := range min(i, 4) { // all different
			other := names[i-1-(i*7919+k*max(1, near/4))%near]
			if k%2 == 0 {
				reads = append(reads, other)
			} else {
				after = append(after, other)
			}
		}
		kind := "terraform-apply"
		if i%20 == 7 {
			kind = "kubectl-apply"
		}
		c, err := project.ParseComponent(componentOf(names[i], kind, reads, after))
		if err != nil {
			return in, err
		}
		in.Components = append(in.Components, c)
		if i*31%10 == 0 {
			in.Unknown[report.UnknownInput{From: names[i], Output: "id"}] = true
		}
	}
	var err error
	in.Selection, err = graph.SelectChanges(in.Components, graph.Changes{Components: names})
	return in, err
}

// componentOf is a component with one step, as a file declares it.
func componentOf(name, kind string, reads, after []string) *project.Node {
	vars, follows := object(), &project.Node{Kind: project.Array}
	for k, from := range reads {
		vars.Fields = append(vars.Fields, field(fmt.Sprintf("v%d", k), object(field("stackOutput", object(field("stack", text(from)), field("name", text("id")))))))
	}
	for _, other := range after {
		follows.Items = append(follows.Items, text(other))
	}
	step := object(field("kind", text(kind)), field("root", text(name)), field("vars", vars))
	if kind != "terraform-apply" {
		step.Fields[1].Name = "stack"
	}
	phase := object(field("phase", text("Apply")), field("steps", list(step)))
	return object(field("name", text(name)), field("dependsOn", follows), field("deploy", list(phase)))
}

func text(s string) *project.Node { return &project.Node{Kind: project.String, Text: s} }

func list(items ...*project.Node) *project.Node {
	return &project.Node{Kind: project.Array, Items: items}
}

func object(fields ...project.Field) *project.Node {
	return &project.Node{Kind: project.Object, Fields: fields}
}

func field(name string, value *project.Node) project.Field {
	return project.Field{Name: name, Value: value}
}
