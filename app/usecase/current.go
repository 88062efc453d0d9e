package usecase

import (
	"context"
	"maps"
	"slices"

	"github.com/chant-bot/chant/engine/digest"
)

// secrets are the sensitive values that a member was planned with.
func (ex *execution) secrets(ctx context.Context, m *PlannedMember) ([]digest.Value, error) {
	var secrets []digest.Value
	for _, read := range m.Reads {
		now, sensitive, err := ex.current(ctx, read.From, read.Output)
		if err != nil {
			return nil, err
		}
		if sensitive {
			secrets = append(secrets, secretsIn(now, ex.upstreams.values())...)
		}
	}
	return secrets, nil
}

// current is an output as it stands now, and whether it is a secret or hands one on: from
// the apply that just ended in this process, else read again, never from a record. What
// could not be read is tried again by who asks next.
func (ex *execution) current(ctx context.Context, component, output string) (digest.Value, bool, error) {
	u := ex.upstreams
	_, secret := u.paths.above(component)
	for _, name := range append(slices.Sorted(maps.Keys(secret)), component) {
		if r, known := u.of(name); !known || r.err != nil {
			u.read(ctx, name)
		}
	}
	if r, _ := u.of(component); r.err != nil {
		return digest.Value{}, false, r.err
	}
	value, sensitive := lookup(u.shownAs(component)[component], output)
	return value, sensitive, nil
}
