package usecase

import (
	"context"
	"maps"

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
			secrets = append(secrets, secretsIn(now, ex.known())...)
		}
	}
	return secrets, nil
}

// current is an output as it stands now, and whether it is a secret or hands one on.
func (ex *execution) current(ctx context.Context, component, output string) (digest.Value, bool, error) {
	if err := ex.readOutputs(ctx, component); err != nil {
		return digest.Value{}, false, err
	}
	paths, failed := ex.secretPaths(), map[string]error{}
	_, secret := paths.above(component)
	for from := range secret {
		failed[from] = ex.readOutputs(ctx, from)
	}
	value, sensitive := lookup(paths.mark([]string{component}, ex.known(), failed)[component], output)
	return value, sensitive, nil
}

func (ex *execution) secretPaths() *secretPaths {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.paths == nil {
		ex.paths = newSecretPaths(ex.driver, ex.planInput(), ex.components)
	}
	return ex.paths
}

// readOutputs has the outputs of a component: from the apply that just ended in this
// process, else read again, never from a record.
func (ex *execution) readOutputs(ctx context.Context, component string) error {
	if _, known := ex.known()[component]; known {
		return nil
	}
	outs, err := componentOutputs(ctx, ex.driver, ex.planInput(), ex.components[component], ex.credentials)
	if err != nil {
		return err
	}
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.outputs[component] = outs
	return nil
}

// known are the outputs that were read or made so far, by component.
func (ex *execution) known() map[string]outputs {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return maps.Clone(ex.outputs)
}
