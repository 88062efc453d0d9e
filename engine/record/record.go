// Package record is the JSON documents the lifecycle branch keeps beside gates:
// what was merged under which approval, what was applied, and which apply is
// running (pr-loop decisions 4 and 18, §6.4). It reads and writes their bytes
// and names their paths; it touches no branch.
package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform"
)

// Version is the version of every record here.
const Version = 1

// Merge says what a first-parent commit of a target branch brought, and under
// which approval (decision 4). PR is null for a commit no pull request merged;
// such a record covers nothing and hides nothing.
type Merge struct {
	Version int           `json:"version"`
	Commit  string        `json:"commit"`
	Base    string        `json:"base"` // commit it was measured from
	PR      *int          `json:"pr"`
	Op      string        `json:"op"`
	Gate    string        `json:"gate"`
	Env     string        `json:"env"`
	Member  string        `json:"member,omitempty"`
	Digest  digest.Digest `json:"digest"` // plan of the merge commit; "" when nothing was planned
	Status  string        `json:"status"` // as the report of that plan
	// Message says why there is no plan, where Status is plan-failed.
	Message string `json:"message,omitempty"`
	// Approval is the gate's answer when the merge was recorded.
	Approval Approval `json:"approval"`
	// Approved names the document an approval stood for, when it covers the
	// recorded plan; null when none.
	Approved *digest.Digest `json:"approved"`
	// Sources are the members' sources shown when Approved was approved, and
	// Code what those plans execute; coverage compares both (pr-loop §5.11).
	Sources   map[string]string             `json:"sources"`
	Code      map[string]terraform.RunsCode `json:"code,omitempty"`
	Authors   []string                      `json:"authors"` // principals
	MergedBy  string                        `json:"mergedBy"`
	Timestamp string                        `json:"timestamp"`
}

// Approval is what the gate said.
type Approval struct {
	Status     string   `json:"status"` // approved, changed or pending
	ApprovedBy []string `json:"approvedBy,omitempty"`
}

// The ways an apply was allowed.
const (
	ViaMerges  = "merges"
	ViaGate    = "gate"
	ViaRelease = "release" // promoted by hand, under the gates that its components have
	ViaNothing = "nothing" // nothing was to apply, so nobody had to allow it
)

// Apply says that a commit was applied: every selected member ended applied or
// without changes at it (soundness I10).
type Apply struct {
	Version    int           `json:"version"`
	Env        string        `json:"env"`
	Commit     string        `json:"commit"`
	Base       string        `json:"base"`
	Digest     digest.Digest `json:"digest"`
	ApprovedBy []string      `json:"approvedBy"`
	Via        string        `json:"via"`
	Timestamp  string        `json:"timestamp"`
}

// Attempt says which apply of an environment is running or ran last (decision
// 18). Token is drawn once per run.
type Attempt struct {
	Version   int           `json:"version"`
	Env       string        `json:"env"`
	Commit    string        `json:"commit"`
	Base      string        `json:"base"`
	Digest    digest.Digest `json:"digest"`
	Token     string        `json:"token"`
	StartedAt string        `json:"startedAt"`
	// Rounds are the members of a release that only a round may apply, with its number,
	// 0 where none was asked yet.
	Rounds map[string]int `json:"rounds,omitempty"`
	// Started are the commits of earlier attempts that did not finish either, oldest
	// first (Unfinished).
	Started []string `json:"started,omitempty"`
}

// JSON is the record as stored: 2 spaces, final LF, no null lists.
func (m Merge) JSON() []byte {
	m.Version = Version
	if m.Sources == nil {
		m.Sources = map[string]string{}
	}
	if m.Authors == nil {
		m.Authors = []string{}
	}
	return encode(m)
}

// JSON is the record as stored: 2 spaces, final LF, no null lists.
func (a Apply) JSON() []byte {
	a.Version = Version
	if a.ApprovedBy == nil {
		a.ApprovedBy = []string{}
	}
	return encode(a)
}

// JSON is the record as stored: 2 spaces and a final LF.
func (a Attempt) JSON() []byte {
	a.Version = Version
	return encode(a)
}

func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(v) //nolint:errchkjson // strings, numbers, lists and maps of them always encode
	return buf.Bytes()
}

// ParseMerge reads a merge record. The error names what is wrong; a record that
// does not parse is never read as "not approved" or "approved".
func ParseMerge(data []byte) (Merge, error) {
	var m Merge
	if err := decode(data, &m, "pr", "approved", "sources", "authors"); err != nil {
		return Merge{}, fmt.Errorf("reading merge record: %w", err)
	}
	err := errors.Join(
		version(m.Version), sha("commit", m.Commit), sha("base", m.Base), named("env", m.Env), moment("timestamp", m.Timestamp),
		oneOf("approval.status", m.Approval.Status, "approved", "changed", "pending"),
	)
	if m.Approved != nil {
		err = errors.Join(err, named("op", m.Op), named("gate", m.Gate))
		if m.PR == nil || *m.PR <= 0 {
			err = errors.Join(err, errors.New("pr: an approved merge names its pull request"))
		}
		if m.Approved.IsZero() {
			err = errors.Join(err, errors.New("approved: not a plan digest"))
		}
	}
	if err != nil {
		return Merge{}, fmt.Errorf("reading merge record: %w", err)
	}
	return m, nil
}

// ParseApply reads an apply record.
func ParseApply(data []byte) (Apply, error) {
	var a Apply
	if err := decode(data, &a); err != nil {
		return Apply{}, fmt.Errorf("reading apply record: %w", err)
	}
	if err := errors.Join(
		version(a.Version), sha("commit", a.Commit), sha("base", a.Base), named("env", a.Env), moment("timestamp", a.Timestamp),
		oneOf("via", a.Via, ViaMerges, ViaGate, ViaRelease, ViaNothing),
	); err != nil {
		return Apply{}, fmt.Errorf("reading apply record: %w", err)
	}
	return a, nil
}

// ParseAttempt reads an attempt.
func ParseAttempt(data []byte) (Attempt, error) {
	var a Attempt
	if err := decode(data, &a); err != nil {
		return Attempt{}, fmt.Errorf("reading apply attempt: %w", err)
	}
	if err := errors.Join(
		version(a.Version), sha("commit", a.Commit), sha("base", a.Base), named("env", a.Env), named("token", a.Token), moment("startedAt", a.StartedAt),
		shas("started", a.Started),
	); err != nil {
		return Attempt{}, fmt.Errorf("reading apply attempt: %w", err)
	}
	return a, nil
}

// decode refuses trailing text and an object without the required keys; fields
// a later version adds are ignored.
func decode(data []byte, into any, required ...string) error {
	v, err := digest.Decode(data)
	if err != nil {
		return err
	}
	if v.Kind() != digest.Object {
		return fmt.Errorf("want an object, have %s", v.Kind())
	}
	for _, key := range required {
		if v.Get(key).IsAbsent() {
			return fmt.Errorf("%s: missing", key)
		}
	}
	return json.Unmarshal(data, into)
}

var shaPattern = regexp.MustCompile(`^[0-9a-f]{40}(?:[0-9a-f]{24})?$`)

func version(v int) error {
	if v != Version {
		return fmt.Errorf("version: %d is not %d; a newer chant wrote this, update this one", v, Version)
	}
	return nil
}

func sha(field, s string) error {
	if !shaPattern.MatchString(s) {
		return fmt.Errorf("%s: %q is not a full commit sha", field, s)
	}
	return nil
}

func shas(field string, list []string) error {
	var errs []error
	for _, s := range list {
		errs = append(errs, sha(field, s))
	}
	return errors.Join(errs...)
}

func named(field, s string) error {
	if s == "" {
		return fmt.Errorf("%s: missing", field)
	}
	return nil
}

func moment(field, s string) error {
	if _, err := time.Parse(time.RFC3339Nano, s); err != nil {
		return fmt.Errorf("%s: %q is not an ISO 8601 time", field, s)
	}
	return nil
}

func oneOf(field, s string, words ...string) error {
	if slices.Contains(words, s) {
		return nil
	}
	return fmt.Errorf("%s: %q is none of %q", field, s, words)
}
