package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Ref reads the object id a full ref name holds now, "" when there is none.
func (c *Clone) Ref(ctx context.Context, ref string) (string, error) {
	if !strings.HasPrefix(ref, "refs/") {
		return "", fmt.Errorf("reading %q: not a full ref name", ref)
	}
	o, err := c.cat.info(ctx, ref)
	if errors.Is(err, ErrUnknownRevision) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", ref, err)
	}
	return o.oid, nil
}

// Move takes one ref from Old to New. An empty Old means that it must not
// exist, an empty New deletes it.
type Move struct{ Ref, Old, New string }

// MoveRefs moves refs all together or not at all, each only from its old value.
// It returns ErrRefMoved when one holds another value, ErrStaleLock when a lock
// file is in the way, each with the ref's name.
func (c *Clone) MoveRefs(ctx context.Context, moves ...Move) error {
	var input strings.Builder
	for _, m := range moves {
		old, verb := m.Old, "update"
		if old == "" {
			old = c.hash.none()
		}
		switch {
		case m.Old == m.New:
			continue
		case m.New == "":
			verb = "delete"
			fmt.Fprintf(&input, "%s %s\x00%s\x00", verb, m.Ref, old)
		default:
			fmt.Fprintf(&input, "%s %s\x00%s\x00%s\x00", verb, m.Ref, m.New, old)
		}
	}
	if input.Len() == 0 {
		return nil
	}
	defer c.listed.forget()
	res, err := c.run(ctx, call{args: []string{"update-ref", "--no-deref", "--stdin", "-z"}, stdin: strings.NewReader(input.String())})
	if err == nil {
		err = failure("git update-ref", res)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrStaleLock) {
		return fmt.Errorf("moving %s: %w", moves[0].Ref, err)
	}
	for _, m := range moves {
		now, readErr := c.Ref(ctx, m.Ref)
		if readErr == nil && now != m.Old {
			return fmt.Errorf("moving %s from %s: %w: it holds %s", m.Ref, shown(m.Old), ErrRefMoved, shown(now))
		}
	}
	return fmt.Errorf("moving %s: %w", moves[0].Ref, err)
}

func shown(oid string) string {
	if oid == "" {
		return "nothing"
	}
	return oid
}

// RemoteRefs lists the commits, or tag objects, of the remote's refs that patterns
// name now; a pattern is a full ref name, or one that ends in *. Nothing is fetched.
func (c *Clone) RemoteRefs(ctx context.Context, patterns ...string) (map[string]string, error) {
	if c.remote == "" || len(patterns) == 0 {
		return nil, nil
	}
	res, err := c.run(ctx, call{remote: true, args: append([]string{"ls-remote", "--quiet", "--refs", "--", c.remote}, patterns...)})
	if err == nil {
		err = failure("git ls-remote", res)
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", strings.Join(patterns, " "), err)
	}
	refs := map[string]string{}
	for line := range strings.Lines(string(res.Stdout)) {
		oid, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if slices.ContainsFunc(patterns, func(p string) bool { return matches(p, ref) }) {
			refs[ref] = oid
		}
	}
	return refs, nil
}
