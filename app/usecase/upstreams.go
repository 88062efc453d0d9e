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

// outputs are those of one component.
type outputs = map[string]engine.Output

// read is what reading a component's outputs came to.
type read struct {
	values outputs
	err    error
}

// upstreams are the outputs of components as they were read or made so far, for all who
// plan or apply one thing.
type upstreams struct {
	load  func(ctx context.Context, component string) (outputs, error)
	limit int // how many are read at once, 0 for all
	paths *secretPaths

	mu  sync.Mutex
	got map[string]read // by component
}

func newUpstreams(driver Driver, in PlanInput, components map[string]*project.Component, load func(ctx context.Context, component string) (outputs, error)) *upstreams {
	return &upstreams{load: load, limit: driver.Parallel(), paths: newSecretPaths(driver, in, components), got: map[string]read{}}
}

// read reads components, whatever is known of them.
func (u *upstreams) read(ctx context.Context, names ...string) {
	each(u.limit, names, func(name string) {
		values, err := u.load(ctx, name)
		u.keep(name, read{values: values, err: err})
	})
}

// readSecrets reads what further up is a secret that the outputs of names may hand on.
func (u *upstreams) readSecrets(ctx context.Context, names ...string) {
	u.read(ctx, u.paths.unread(names, u.values())...)
}

// keep is what reading a component, or making its outputs, came to.
func (u *upstreams) keep(name string, r read) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.got[name] = r
}

// add is the word of who just made some of the outputs.
func (u *upstreams) add(name string, made outputs) {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := outputs{}
	maps.Copy(all, u.got[name].values)
	maps.Copy(all, made)
	u.got[name] = read{values: all}
}

// of is what is known of a component.
func (u *upstreams) of(name string) (r read, known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	r, known = u.got[name]
	return r, known
}

// values are the outputs, by component.
func (u *upstreams) values() map[string]outputs {
	return ofEach(u, func(r read) outputs { return r.values })
}

// errs are why outputs could not be read, by component.
func (u *upstreams) errs() map[string]error {
	return ofEach(u, func(r read) error { return r.err })
}

// ofEach is one part of what is known of each component.
func ofEach[T any](u *upstreams, part func(read) T) map[string]T {
	u.mu.Lock()
	defer u.mu.Unlock()
	parts := map[string]T{}
	for name, r := range u.got {
		parts[name] = part(r)
	}
	return parts
}

// shownAs are the outputs, of names with those marked that hand a secret on.
func (u *upstreams) shownAs(names ...string) map[string]outputs {
	return u.paths.mark(names, u.values(), u.errs())
}

// readUpstreams reads the outputs of every component the selection reads from,
// once each (pr-loop §5.4).
func (p *planner) readUpstreams(ctx context.Context, order []string) {
	names := readBy(p.components, order...)
	u := newUpstreams(p.driver, p.in, p.components, func(ctx context.Context, name string) (outputs, error) {
		return componentOutputs(ctx, p.driver, p.in, p.components[name], p.credentials)
	})
	u.read(ctx, names...)
	u.readSecrets(ctx, names...)
	p.outputs, p.outputErr = u.shownAs(names...), u.errs()
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

// componentOutputs reads the outputs of one component's steps as they stand
// now, merged in step order.
func componentOutputs(ctx context.Context, d engine.OutputReader, in PlanInput, c *project.Component, credentials []string) (outputs, error) {
	merged := outputs{}
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
