package usecase

import (
	"context"
	"fmt"
	"os"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/terraform"
	"github.com/chant-bot/chant/engine/project"
)

// sources hashes what each member's plan was made from (pr-loop §5.11): the git
// objects under the root's watched paths and its lock file, the component as
// authored, the root's settings, the env's variables and the engine. Values of
// upstream outputs are no part of it.
func (p *planner) sources(ctx context.Context, members []*member) (map[string]string, error) {
	paths := map[string][]string{}
	var all []string
	checkout := os.DirFS(p.in.Checkout.Dir)
	for _, m := range members {
		root, ok := p.in.Project.Roots[m.name]
		if !ok {
			continue
		}
		given, err := givenTo(m, p.in.Env)
		if err != nil {
			return nil, fmt.Errorf("source of %s: %w", m.name, err)
		}
		watched, err := terraform.SourcePaths(p.in.Project.Dir, root, checkout, given)
		if err != nil {
			return nil, err
		}
		paths[m.name] = watched
		all = append(all, watched...)
	}
	oids, err := p.in.Site.Clone.ObjectIDs(ctx, p.in.Checkout.Commit, all...)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(members))
	for _, m := range members {
		d, err := memberSource(p.in.Project.Roots[m.name], m, paths[m.name], oids, p.in.Env)
		if err != nil {
			return nil, fmt.Errorf("source of %s: %w", m.name, err)
		}
		out[m.name] = d.String()
	}
	return out, nil
}

// givenTo is the text of what a member's root is given besides its files: a variable
// may name one.
func givenTo(m *member, env project.Env) (string, error) {
	component, err := m.component.Node.ToValue()
	if err != nil {
		return "", err
	}
	text, err := digest.ArrayOf(component, digest.ObjectOf(env.Vars)).MarshalJSON()
	return string(text), err
}

func memberSource(root project.Root, m *member, paths []string, oids map[string]string, env project.Env) (digest.Digest, error) {
	files := map[string]digest.Value{}
	for _, p := range paths {
		files[p] = digest.StringOf(oids[p])
	}
	backend := map[string]digest.Value{}
	for k, v := range root.BackendConfig {
		backend[k] = digest.StringOf(v)
	}
	component, err := m.component.Node.ToValue()
	if err != nil {
		return digest.Digest{}, err
	}
	varFiles := make([]digest.Value, 0, len(root.VarFiles))
	for _, f := range root.VarFiles {
		varFiles = append(varFiles, digest.StringOf(f))
	}
	return digest.Of("member-source", digest.ObjectOf(map[string]digest.Value{
		"files":     digest.ObjectOf(files),
		"component": component,
		"dir":       digest.StringOf(root.Dir),
		"workspace": digest.StringOf(root.Workspace),
		"backend":   digest.ObjectOf(backend),
		"varFiles":  digest.ArrayOf(varFiles...),
		"vars":      digest.ObjectOf(env.Vars),
		"engine":    digest.StringOf(m.planned.Planned.Engine),
	}))
}
