// Package gate reads and decides gates: approvals of one plan, kept as facts in
// an append-only file per op (pr-loop §3). It decides from lines and facts given
// to it; it fetches no ledger, reads no clock and verifies no signature.
package gate

import (
	"bytes"
	"fmt"
	"net/url"
	"time"

	"github.com/chant-bot/chant/engine/digest"
)

// The kinds of line. A resolution is written with no kind.
const (
	KindPending    = "pending"
	KindResolution = "resolution"
)

// Record is one line of a gate file: a pending fact, which says that a run
// reached the gate and voids every approval before it, or a resolution, which is
// an approval. Lines are never rewritten.
type Record struct {
	Version   int // always 1
	Kind      string
	Op, Gate  string
	Timestamp string // as written, see Time

	// PlanDigest is the plan the run reached the gate with, or the plan
	// approved; zero when the line names none. OtherDigest holds text found in
	// its place that is no digest: it equals no plan.
	PlanDigest  digest.Digest
	OtherDigest string
	Environment string
	Note, URL   string
	Origin      string // channel of the writer: cli, forge, mcp, acp

	// Of a pending fact.
	ExpiresAt   string
	Description string
	RunID       string
	RevokedBy   string       // set on a revocation (decision 6)
	ActedAt     string       // ours: when a revocation was made by the forge's clock, where one says so
	Approval    digest.Value // quorum or policy block, as it stands

	// Of a resolution.
	ResolvedBy         string // principal
	SameOriginOverride bool
	Approver           *Approver
	PolicyDecision     digest.Value
	Seal               digest.Value
	RelayedBy          string
	Sources            string // hash of the sources shown with the document approved
}

// Approver is what a resolution says about who approved.
type Approver struct {
	Kind  string // human or agent
	Roles []string
}

// IsResolution tells an approval from a fact that voids. A kind this version
// does not know voids: doubt never opens a gate (soundness I14).
func (r Record) IsResolution() bool { return r.Kind == "" || r.Kind == KindResolution }

// ByAgent reports that no person made this resolution: it says so, or it came
// over a channel a model speaks through (pr-loop §3.2, §3.5).
func (r Record) ByAgent() bool {
	said := r.Approver != nil && r.Approver.Kind != "" && r.Approver.Kind != "human"
	return said || modelAuthored(r.Origin)
}

// modelAuthored are the channels a model speaks through.
func modelAuthored(origin string) bool { return origin == "mcp" || origin == "acp" }

// Time is Timestamp as an instant; ok is false when it is no ISO 8601 time with
// a zone.
func (r Record) Time() (t time.Time, ok bool) { return parseTime(r.Timestamp) }

func parseTime(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, s)
	return t, err == nil
}

// Timestamp writes an instant as the lines hold it: UTC with milliseconds.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Path is the gate file of an op under a ledger prefix (pr-loop §1.1). Comments
// can name any op, so characters that could leave the folder are escaped; the
// names chant gives ops have none.
func Path(prefix, op string) string { return prefix + "_gates/" + url.PathEscape(op) + ".jsonl" }

// AppendLine is the content of a gate file with one more line (pr-loop §1.2):
// lines are joined by LF and the last has none.
func AppendLine(content, line []byte) []byte {
	content = bytes.TrimSuffix(content, []byte("\n"))
	out := make([]byte, 0, len(content)+1+len(line))
	if len(content) > 0 {
		out = append(append(out, content...), '\n')
	}
	return append(out, line...)
}

// ParseFile reads a gate file. Blank lines are skipped; malformed ones (pr-loop
// §3.3) are skipped and counted.
func ParseFile(data []byte) (lines []Record, malformed int) {
	for text := range bytes.SplitSeq(data, []byte("\n")) {
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		r, err := ParseLine(text)
		if err != nil {
			malformed++
			continue
		}
		lines = append(lines, r)
	}
	return lines, malformed
}

// ParseLine reads one line. The error names the field.
func ParseLine(text []byte) (Record, error) {
	v, err := digest.Decode(text)
	if err != nil {
		return Record{}, fmt.Errorf("reading gate line: %w", err)
	}
	if v.Kind() != digest.Object {
		return Record{}, fmt.Errorf("reading gate line: want an object, have %s", v.Kind())
	}
	p := fieldReader{v: v}
	r := Record{
		Version: p.version(),
		Kind:    p.kind(),
		Op:      p.required("op"), Gate: p.required("gate"), Timestamp: p.required("timestamp"),
		Environment: p.optional("environment"), Note: p.optional("note"), URL: p.optional("url"), Origin: p.optional("origin"),
		ExpiresAt: p.optional("expiresAt"), Description: p.optional("description"), RunID: p.optional("runId"),
		RevokedBy: p.optional("revokedBy"), ActedAt: p.optional("actedAt"), Approval: v.Get("approval"),
		ResolvedBy: p.optional("resolvedBy"), PolicyDecision: v.Get("policyDecision"), Seal: v.Get("seal"),
		RelayedBy: p.optional("relayedBy"), Sources: p.optional("sources"), Approver: approverOf(v.Get("approver")),
	}
	r.SameOriginOverride, _ = v.Get("sameOriginOverride").Bool()
	r.PlanDigest, r.OtherDigest = p.planDigest()
	switch {
	case r.IsResolution():
		p.required("resolvedBy")
		if !v.Get("environment").IsAbsent() { // read as missing it could count where it should not
			p.required("environment")
		}
	case r.Kind == KindPending:
		p.required("expiresAt")
	}
	if p.err != nil {
		return Record{}, fmt.Errorf("reading gate line: %w", p.err)
	}
	return r, nil
}

// fieldReader takes fields of one line and keeps the first error.
type fieldReader struct {
	v   digest.Value
	err error
}

func (p *fieldReader) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *fieldReader) version() int {
	if !digest.Equal(p.v.Get("version"), digest.IntOf(1)) {
		p.fail("version is not 1")
	}
	return 1
}

func (p *fieldReader) required(name string) string {
	s, ok := p.v.Get(name).Text()
	if !ok {
		p.fail("%s is not a string", name)
	}
	return s
}

// optional is a string field; missing, or of another type, it is empty.
func (p *fieldReader) optional(name string) string {
	s, _ := p.v.Get(name).Text()
	return s
}

// kind is empty only where the line has none, so that a kind of another type is
// one this version does not know.
func (p *fieldReader) kind() string {
	v := p.v.Get("kind")
	if s, ok := v.Text(); ok || v.IsAbsent() {
		return s
	}
	return "(no text)"
}

func (p *fieldReader) planDigest() (digest.Digest, string) {
	v := p.v.Get("planDigest")
	if v.IsAbsent() {
		return digest.Digest{}, ""
	}
	s, ok := v.Text()
	if !ok {
		p.fail("planDigest is not a string")
		return digest.Digest{}, ""
	}
	d, err := digest.Parse(s)
	if err != nil {
		return digest.Digest{}, s
	}
	return d, ""
}

func approverOf(v digest.Value) *Approver {
	if v.Kind() != digest.Object {
		return nil
	}
	a := &Approver{}
	a.Kind, _ = v.Get("kind").Text()
	roles := v.Get("roles")
	for i := range roles.Len() {
		if role, ok := roles.At(i).Text(); ok {
			a.Roles = append(a.Roles, role)
		}
	}
	return a
}

// Line is the record as a ledger line: one JSON object, keys sorted, no spaces,
// no final LF. Empty fields are left out.
func (r Record) Line() []byte {
	fields := map[string]digest.Value{
		"version":        digest.IntOf(1),
		"op":             digest.StringOf(r.Op),
		"gate":           digest.StringOf(r.Gate),
		"timestamp":      digest.StringOf(r.Timestamp),
		"approval":       r.Approval,
		"policyDecision": r.PolicyDecision,
		"seal":           r.Seal,
	}
	text := func(name, s string) {
		if s != "" {
			fields[name] = digest.StringOf(s)
		}
	}
	text("kind", r.Kind)
	text("planDigest", r.PlanDigest.String()+r.OtherDigest)
	text("environment", r.Environment)
	text("note", r.Note)
	text("url", r.URL)
	text("origin", r.Origin)
	text("description", r.Description)
	text("runId", r.RunID)
	text("revokedBy", r.RevokedBy)
	text("actedAt", r.ActedAt)
	text("relayedBy", r.RelayedBy)
	text("sources", r.Sources)
	text("expiresAt", r.ExpiresAt)
	// What a reader requires is written even when it is empty.
	switch {
	case r.IsResolution():
		fields["resolvedBy"] = digest.StringOf(r.ResolvedBy)
	case r.Kind == KindPending:
		fields["expiresAt"] = digest.StringOf(r.ExpiresAt)
	}
	if r.SameOriginOverride {
		fields["sameOriginOverride"] = digest.BoolOf(true)
	}
	if r.Approver != nil {
		fields["approver"] = r.Approver.value()
	}
	// Objects are written key-sorted and compact, numbers as they were read; a
	// value that exists always encodes.
	line, _ := digest.ObjectOf(fields).MarshalJSON()
	return line
}

func (a Approver) value() digest.Value {
	fields := map[string]digest.Value{}
	if a.Kind != "" {
		fields["kind"] = digest.StringOf(a.Kind)
	}
	if len(a.Roles) > 0 {
		roles := make([]digest.Value, len(a.Roles))
		for i, role := range a.Roles {
			roles[i] = digest.StringOf(role)
		}
		fields["roles"] = digest.ArrayOf(roles...)
	}
	return digest.ObjectOf(fields)
}
