// Package release decides about the release ledger: which artifact of a component
// was deployed to an environment, one line a deploy (components §1.1). It reads and
// writes lines; where they are kept is the caller's.
package release

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"

	"github.com/chant-bot/chant/engine/digest"
)

// Record is one line: a component was deployed to an environment.
type Record struct {
	Component, Env string
	// Digest of the published artifact, never of a plan: what joins environments.
	// It is kept as recorded, old spellings too.
	Digest string
	GitSHA string // commit the artifact was built from
	RunID  string
	// Timestamp is UTC with milliseconds, "2026-11-30T10:00:00.000Z", as every line
	// of the ledger has it.
	Timestamp string
	Actor     string
	Origin    Origin // where the run was; the zero value is not written
}

// Origin says where a run was made (pr-loop §1.1, runOrigin).
type Origin struct {
	Forge string // github, gitlab or local
	Repo  string
	URL   string
}

// Path is the release ledger of an environment under a ledger prefix. A name can't
// leave the folder it makes, nor be one of the ledger's own, which start with "_".
func Path(prefix, env string) (string, error) {
	segment := url.PathEscape(env)
	if segment == "" || segment[0] == '_' || segment == "." || segment == ".." {
		return "", fmt.Errorf("%q cannot name an environment with releases; use a name that starts with a letter or digit", env)
	}
	return prefix + segment + "/releases.jsonl", nil
}

// Check refuses a record that no reader would take: each required field is a text
// that is not empty, and the digest is one.
func (r Record) Check() error {
	for _, f := range r.required() {
		if f.value == "" {
			return fmt.Errorf("a release record needs %s", f.name)
		}
	}
	if _, err := digest.Parse(r.Digest); err != nil {
		return fmt.Errorf("%q is not the digest of an artifact: want sha256: and 64 hex digits, as its registry gives it", r.Digest)
	}
	return nil
}

type field struct{ name, value string }

func (r Record) required() []field {
	return []field{
		{"component", r.Component}, {"env", r.Env}, {"digest", r.Digest}, {"gitSha", r.GitSHA},
		{"runId", r.RunID}, {"timestamp", r.Timestamp}, {"actor", r.Actor},
	}
}

// Line is the record as one line of the ledger, without its line end: keys sorted,
// no spaces.
func (r Record) Line() []byte {
	line, _ := digest.Canonical(r.value()) // texts and a small number never fail
	return line
}

// MarshalJSON is Line.
func (r Record) MarshalJSON() ([]byte, error) { return r.Line(), nil }

func (r Record) value() digest.Value {
	fields := map[string]digest.Value{"version": digest.IntOf(1)}
	for _, f := range r.required() {
		fields[f.name] = digest.StringOf(f.value)
	}
	origin := map[string]digest.Value{}
	for _, f := range []field{{"forge", r.Origin.Forge}, {"repo", r.Origin.Repo}, {"url", r.Origin.URL}} {
		if f.value != "" {
			origin[f.name] = digest.StringOf(f.value)
		}
	}
	if len(origin) > 0 {
		fields["runOrigin"] = digest.ObjectOf(origin)
	}
	return digest.ObjectOf(fields)
}

// Parse reads the ledger of an environment, oldest line first. Lines it does not
// understand are skipped and counted: whoever reads on says so.
func Parse(data []byte) (records []Record, skipped int) {
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		r, err := parseLine(line)
		if err != nil {
			skipped++
			continue
		}
		records = append(records, r)
	}
	return records, skipped
}

var errNotRelease = errors.New("not a release record")

func parseLine(line []byte) (Record, error) {
	v, err := digest.Decode(line)
	if err != nil || v.Kind() != digest.Object {
		return Record{}, errNotRelease
	}
	text := func(v digest.Value, name string) string {
		s, _ := v.Get(name).Text()
		return s
	}
	origin := v.Get("runOrigin")
	r := Record{
		Component: text(v, "component"), Env: text(v, "env"), Digest: text(v, "digest"), GitSHA: text(v, "gitSha"),
		RunID: text(v, "runId"), Timestamp: text(v, "timestamp"), Actor: text(v, "actor"),
		Origin: Origin{Forge: text(origin, "forge"), Repo: text(origin, "repo"), URL: text(origin, "url")},
	}
	for _, f := range r.required() {
		if f.value == "" {
			return Record{}, errNotRelease
		}
	}
	return r, nil
}

// Latest is what of each component was deployed last: the highest timestamp, by
// text; of equal ones the later line.
func Latest(records []Record) map[string]Record {
	latest := map[string]Record{}
	for _, r := range records {
		if old, ok := latest[r.Component]; !ok || r.Timestamp >= old.Timestamp {
			latest[r.Component] = r
		}
	}
	return latest
}
