package usecase

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
)

// readUpstreams reads the outputs of every component the selection reads from,
// once each (pr-loop §5.4).
func (p *planner) readUpstreams(ctx context.Context, order []string) {
	p.outputs, p.outputErr = map[string]map[string]engine.Output{}, map[string]error{}
	names := readBy(p.components, order...)
	p.readOutputs(ctx, names)
	p.markSecrets(ctx, names)
}

// readBy are the components of which names read an output, sorted.
func readBy(components map[string]*project.Component, names ...string) []string {
	read := map[string]bool{}
	for _, name := range names {
		for _, r := range components[name].Reads() {
			read[r.Component] = true
		}
	}
	return slices.Sorted(maps.Keys(read))
}

func (p *planner) readOutputs(ctx context.Context, names []string) {
	var mu sync.Mutex
	each(p.driver.Parallel(), names, func(name string) {
		outs, err := componentOutputs(ctx, p.driver, p.in, p.components[name], p.credentials)
		mu.Lock()
		defer mu.Unlock()
		p.outputs[name], p.outputErr[name] = outs, err
	})
}

// markSecrets marks the outputs that hand on a secret of a component further up, which
// nothing here may read.
func (p *planner) markSecrets(ctx context.Context, names []string) {
	paths := newSecretPaths(p.driver, p.in, p.components)
	p.readOutputs(ctx, paths.unread(names, p.outputs))
	p.outputs = paths.mark(names, p.outputs, p.outputErr)
}

// componentOutputs reads the outputs of one component's steps as they stand
// now, merged in step order.
func componentOutputs(ctx context.Context, d engine.OutputReader, in PlanInput, c *project.Component, credentials []string) (map[string]engine.Output, error) {
	merged := map[string]engine.Output{}
	if c == nil {
		return merged, nil
	}
	for _, step := range c.Steps() {
		if step.RootOf() == "" {
			continue
		}
		if err := in.Open.of(memberName(c, step)); err != nil {
			return nil, err
		}
		target, err := in.target(step, nil, credentials)
		if err != nil {
			return nil, err
		}
		outs, err := d.Outputs(ctx, target)
		if err != nil {
			return nil, fmt.Errorf("reading the outputs of %s: %w", c.Name, err)
		}
		maps.Copy(merged, outs)
	}
	return merged, nil
}
