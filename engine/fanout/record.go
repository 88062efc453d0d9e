package fanout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/chant-bot/chant/engine/digest"
)

// Record is how far a fan-out came, kept in a file between its runs (components
// §2.1). Only Completed decides anything in a later run: what completed is not run
// again. Outputs are for readers of the file; a run reads those that stand, and
// sensitive ones are left out.
type Record struct {
	Digest    digest.Digest                      `json:"digest"`
	Completed []string                           `json:"completed"`
	Failed    []string                           `json:"failed"`
	Outputs   map[string]map[string]digest.Value `json:"outputs"`
	Waves     []Wave                             `json:"waves,omitempty"`
}

// Wave is how a gated wave was decided and ended (pr-loop §7.4).
type Wave struct {
	Wave       int           `json:"wave"`
	Op         string        `json:"op"`
	Gate       string        `json:"gate"`
	Components []string      `json:"components"`
	Digest     string        `json:"digest"` // of the set of its members, "" where none could be planned
	Members    []WaveMember  `json:"members"`
	Status     WaveStatus    `json:"status"`
	ApprovedBy []string      `json:"approvedBy,omitempty"`
	Approved   string        `json:"approved,omitempty"` // another digest that is approved at the gate
	Failed     []WaveFailure `json:"failed,omitempty"`
}

// WaveStatus is how a gated wave ended.
type WaveStatus string

// The ends of a gated wave.
const (
	WaveGated   WaveStatus = "gated"
	WaveApplied WaveStatus = "applied"
	WaveFailed  WaveStatus = "failed"
)

// WaveMember is one plan that the digest of a wave binds.
type WaveMember struct {
	Member     string         `json:"member"`
	PlanDigest *digest.Digest `json:"planDigest"`
}

// WaveFailure is a component of a wave that failed.
type WaveFailure struct {
	Component string `json:"component"`
	Error     string `json:"error,omitempty"`
}

// ParseRecord reads a record. What does not read is an error: to run everything again
// because a file is broken is for its owner to say, and a file of something else would
// be written over.
func ParseRecord(data []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("it is no attempt record; remove it to start over: %w", err)
	}
	if r.Digest.IsZero() || r.Completed == nil || r.Failed == nil {
		return Record{}, errors.New("it is no attempt record, so it is not written over: digest, completed and failed are not all there; name another file, or remove it to start over")
	}
	return r, nil
}

// JSON is the record as its file holds it: 2 spaces, a final LF.
func (r Record) JSON() ([]byte, error) {
	r.Completed, r.Failed = list(r.Completed), list(r.Failed)
	if r.Outputs == nil {
		r.Outputs = map[string]map[string]digest.Value{}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("writing the attempt record: %w", err)
	}
	return out.Bytes(), nil
}

// list is a sorted copy that is never null in JSON.
func list(items []string) []string {
	out := append([]string{}, items...)
	slices.Sort(out)
	return out
}
