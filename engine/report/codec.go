package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

// JSON is the report as a file: 2 spaces, final LF, no null lists.
func (r Report) JSON() ([]byte, error) {
	r.Members = notNil(r.Members)
	r.Selection.Changed = notNil(r.Selection.Changed)
	r.Selection.Dependents = notNil(r.Selection.Dependents)
	r.Selection.Unclaimed = notNil(r.Selection.Unclaimed)
	r.Selection.Indeterminate = notNil(r.Selection.Indeterminate)
	r.Selection.Waves = notNil(r.Selection.Waves)
	if r.Green != nil {
		green := *r.Green
		green.Merges, green.Cover = notNil(green.Merges), notNil(green.Cover)
		r.Green = &green
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("writing the report: %w", err)
	}
	return buf.Bytes(), nil
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Parse reads a report and checks what it must hold. Fields it does not know are
// ignored. The change set's digest is not recomputed; see
// changeset.Document.Verify.
func Parse(data []byte) (Report, error) {
	v, err := digest.Decode(data)
	if err != nil {
		return Report{}, fmt.Errorf("reading the report: %w", err)
	}
	for _, field := range []string{
		"$schema", "contract", "stage", "pr", "env", "base", "head", "op", "gate", "digest", "status",
		"approval", "selection", "members", "changeSet",
	} {
		if v.Get(field).IsAbsent() {
			return Report{}, fmt.Errorf("reading the report: %s is missing", field)
		}
	}
	var r struct {
		Report
		ChangeSet json.RawMessage `json:"changeSet"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return Report{}, fmt.Errorf("reading the report: %w", err)
	}
	if r.Report.ChangeSet, err = changeset.Parse(r.ChangeSet); err != nil {
		return Report{}, fmt.Errorf("reading the report: changeSet: %w", err)
	}
	return r.Report, r.check()
}

func (r Report) check() error {
	var errs []error
	if r.Schema != Schema || r.Contract != Contract {
		errs = append(errs, fmt.Errorf("$schema %q, contract %d: this is not a pr-report of contract %d", r.Schema, r.Contract, Contract))
	}
	errs = append(errs,
		among("stage", r.Stage, Plan, Apply),
		among("status", r.Status, Planned, PlanFailed, Nothing, Applied, Failed, Refused, Waiting),
		among("approval.status", r.Approval.Status, Approved, Changed, Pending),
		among("refusal", r.Refusal, "", NotApproved, PlanChanged, NotAReviewer, NoPullRequest, NotGreen),
	)
	if (r.Status == Refused) != (r.Refusal != "") {
		errs = append(errs, errors.New("refusal: a refused report has one and no other has"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("reading the report: %w", err)
	}
	return nil
}

func among[T ~string](field string, word T, words ...T) error {
	if slices.Contains(words, word) {
		return nil
	}
	return fmt.Errorf("%s: %q is none of %q", field, word, words)
}
