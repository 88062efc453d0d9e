// Package resume decides whether an apply that stopped part way is carried on
// under the approval it had (pr-loop §5.12, decision 13). A record of it says
// what applied and under what; everything it rests on is read again, on the
// ledger, from the remote and in a fresh plan, and compared. A record opens
// nothing by itself, and one that is refused changes nothing.
package resume

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
)

// Record is how far an apply came. It names documents and holds none, and of the
// outputs that were read it holds hashes: they are compared and never used.
type Record struct {
	Digest    digest.Digest `json:"digest"`    // component-fan-out of what the apply selected
	Completed []string      `json:"completed"` // components that applied whole, sorted
	Failed    []string      `json:"failed"`    // components that did not end well; they carry nothing over
	// Waves are the gated waves and how they stand; empty where waves are not gated.
	Waves []report.Wave `json:"waves,omitempty"`
	// PrApply or Promote is which apply it was; never both.
	PrApply *Apply `json:"prApply,omitempty"`
	Promote *Apply `json:"promote,omitempty"`
}

// Apply is the apply that the record is of.
func (r Record) Apply() *Apply {
	if r.Promote != nil {
		return r.Promote
	}
	return r.PrApply
}

// Apply is which apply it was, and what allowed it.
type Apply struct {
	Env  string `json:"env"`
	Op   string `json:"op"`
	Gate string `json:"gate"`
	Head string `json:"head"` // the commit applied
	Base string `json:"base"`
	// Digest is the document approved at the gate, or the one the merges covered.
	Digest     digest.Digest `json:"digest"`
	Via        string        `json:"via"` // record.ViaGate or record.ViaMerges, of a promote record.ViaRelease
	ApprovedBy []string      `json:"approvedBy"`
	Merges     []Merge       `json:"merges,omitempty"`
	Gates      []Gate        `json:"gates,omitempty"` // of components, via release
	// Reads are what each member's plan read, by member.
	Reads map[string][]Read `json:"reads"`
}

// Merge is an approval that covered members of the apply.
type Merge struct {
	PR      int           `json:"pr"`
	Op      string        `json:"op"`
	Gate    string        `json:"gate"`
	Digest  digest.Digest `json:"digest"` // the approved document
	Members []string      `json:"members"`
}

// Gate is a gate of a component that let something of it deploy.
type Gate struct {
	Op         string        `json:"op"` // the component
	Gate       string        `json:"gate"`
	Digest     digest.Digest `json:"digest"` // the approved document, or the composition where nothing is planned
	ApprovedBy []string      `json:"approvedBy"`
}

// Read is an output that a plan was made with, as run.InputRead has it.
type Read struct {
	From   string `json:"from"` // component
	Output string `json:"output"`
	Hash   string `json:"hash"` // of the exact value, "" for one that was not known, or Within
}

// Within stands for the hash of a value that the member's group makes: what was
// approved is the member's plan with whatever that comes to (pr-loop §8.1).
const Within = "within its group"

// JSON is the record as its file holds it: 2 spaces, a final LF, no null lists.
func (r Record) JSON() ([]byte, error) {
	r.Completed, r.Failed = list(r.Completed), list(r.Failed)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("writing the resume record: %w", err)
	}
	return out.Bytes(), nil
}

// list is a sorted copy that is never null in JSON.
func list(items []string) []string {
	out := append([]string{}, items...)
	slices.Sort(out)
	return out
}

// Parse reads a record. A field that is missing, unknown or of another shape is
// an error: another version wrote it, and what it meant can't be told.
func Parse(data []byte) (Record, error) {
	var r Record
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	if err := in.Decode(&r); err != nil {
		return Record{}, fmt.Errorf("it is no resume record of this version: %w", err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return Record{}, errors.New("it is no resume record of this version: text follows it")
	}
	if err := r.check(); err != nil {
		return Record{}, fmt.Errorf("it is no resume record of this version: %w", err)
	}
	return r, nil
}

var shaPattern = regexp.MustCompile(`^[0-9a-f]{40}(?:[0-9a-f]{24})?$`)

func (r Record) check() error {
	a, key := r.PrApply, "prApply"
	if r.Promote != nil {
		a, key = r.Promote, "promote"
	}
	switch {
	case a == nil:
		return errors.New("field prApply: missing; it is a record of something else than pr-apply or promote")
	case r.PrApply != nil && r.Promote != nil:
		return errors.New("fields prApply and promote: want one of them")
	case r.Digest.IsZero():
		return errors.New("field digest: missing")
	case r.Completed == nil || r.Failed == nil:
		return errors.New("fields completed and failed: want two lists")
	case a.Env == "" || a.Op == "" || a.Gate == "" && a.Via != record.ViaRelease:
		return fmt.Errorf("fields %s.env, op and gate: want all three", key)
	case !shaPattern.MatchString(a.Head) || !shaPattern.MatchString(a.Base):
		return fmt.Errorf("fields %s.head and base: want two commits", key)
	case a.Digest.IsZero():
		return fmt.Errorf("field %s.digest: missing", key)
	case r.Promote == nil && a.Via != record.ViaGate && a.Via != record.ViaMerges:
		return fmt.Errorf("field prApply.via: want gate or merges, got %q", a.Via)
	case r.Promote != nil && a.Via != record.ViaGate && a.Via != record.ViaRelease:
		return fmt.Errorf("field promote.via: want gate or release, got %q", a.Via)
	case a.Via != record.ViaMerges && len(a.Merges) > 0:
		return fmt.Errorf("field %s.merges: want those of an apply via merges, and of no other", key)
	case a.Via != record.ViaRelease && len(a.Gates) > 0:
		return fmt.Errorf("field %s.gates: want those of a promote via release, and of no other", key)
	case a.Reads == nil:
		return fmt.Errorf("field %s.reads: missing", key)
	}
	for i, c := range r.Completed {
		if slices.Contains(r.Completed[:i], c) || slices.Contains(r.Failed, c) {
			return fmt.Errorf("component %q stands in it twice", c)
		}
	}
	return nil
}
