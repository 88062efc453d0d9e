package record

import (
	"errors"
	"fmt"
)

// Base says from which commit the first green commit of an environment was
// measured. It counts until something was applied there: whatever waits or failed
// meanwhile stays part of what the next green commit brings (pr-loop §6.4).
type Base struct {
	Version int    `json:"version"`
	Env     string `json:"env"`
	Commit  string `json:"commit"`
}

// JSON is the record as stored: 2 spaces and a final LF.
func (b Base) JSON() []byte {
	b.Version = Version
	return encode(b)
}

// ParseBase reads a base.
func ParseBase(data []byte) (Base, error) {
	var b Base
	if err := decode(data, &b); err != nil {
		return Base{}, fmt.Errorf("reading the base of the first apply: %w", err)
	}
	if err := errors.Join(version(b.Version), sha("commit", b.Commit), named("env", b.Env)); err != nil {
		return Base{}, fmt.Errorf("reading the base of the first apply: %w", err)
	}
	return b, nil
}
