package resume

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/record"
)

func TestARecordReadsAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, via := range []string{record.ViaGate, record.ViaMerges} {
		want := stopAfterNet(t, via).record
		text, err := want.JSON()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil || !strings.HasSuffix(string(text), "\n}\n") {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	text, err := Record{Completed: []string{"b", "a"}, PrApply: nil}.JSON()
	if err != nil || !strings.Contains(string(text), "\"completed\": [\n    \"a\",\n    \"b\"\n  ],\n  \"failed\": []") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestARecordOfAnotherShapeIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*Record)
		why    string
	}{
		{"of a fan-out", func(r *Record) { r.PrApply = nil }, "prApply: missing; it is a record of something else than pr-apply"},
		{"no selection", func(r *Record) { r.Digest = digest.Digest{} }, "field digest: missing"},
		{"no env", func(r *Record) { r.PrApply.Env = "" }, "prApply.env"},
		{"no op", func(r *Record) { r.PrApply.Op = "" }, "prApply.env, op"},
		{"no gate", func(r *Record) { r.PrApply.Gate = "" }, "op and gate"},
		{"a short head", func(r *Record) { r.PrApply.Head = "abc" }, "prApply.head"},
		{"no base", func(r *Record) { r.PrApply.Base = "" }, "and base"},
		{"no approved digest", func(r *Record) { r.PrApply.Digest = digest.Digest{} }, "prApply.digest"},
		{"nothing allowed it", func(r *Record) { r.PrApply.Via = record.ViaNothing }, `want gate or merges, got "nothing"`},
		{"via the gate with a merge", func(r *Record) { r.PrApply.Merges = []Merge{{PR: 1}} }, "prApply.merges"},
		{"of two", func(r *Record) { r.Promote = r.PrApply }, "prApply and promote: want one"},
		{"gates of components", func(r *Record) { r.PrApply.Gates = []Gate{{Op: "web"}} }, "prApply.gates"},
		{"a promote via merges", func(r *Record) { r.Promote, r.PrApply = r.PrApply, nil; r.Promote.Via = record.ViaMerges }, "promote.via: want gate or release"},
		{"no reads", func(r *Record) { r.PrApply.Reads = nil }, "prApply.reads"},
		{"no list of what applied", func(r *Record) { r.Completed = nil }, "completed and failed: want two lists"},
		{"no list of what failed", func(r *Record) { r.Failed = nil }, "completed and failed: want two lists"},
		{"completed twice", func(r *Record) { r.Completed = []string{"net", "net"} }, `"net" stands in it twice`},
		{"completed and failed", func(r *Record) { r.Failed = []string{"net"} }, `"net" stands in it twice`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := stopAfterNet(t, record.ViaGate).record
			tt.change(&r)
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), tt.why) {
				t.Errorf("%v, want %q", err, tt.why)
			}
		})
	}
	promote := stopAfterNet(t, record.ViaGate).record // of a release with a gate of its own
	promote.Promote, promote.PrApply = promote.PrApply, nil
	if text, err := promote.JSON(); err != nil {
		t.Error(err)
	} else if _, err := Parse(text); err != nil {
		t.Error(err)
	}
	good, err := stopAfterNet(t, record.ViaGate).record.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for text, why := range map[string]string{
		"":                         "EOF",
		"[]":                       "cannot unmarshal",
		string(good) + "{}":        "text follows it",
		string(good[:len(good)-9]): "unexpected EOF",
		strings.Replace(string(good), `"failed"`, `"carried": {}, "failed"`, 1): `unknown field "carried"`,
		strings.Replace(string(good), `"failed": [`, `"gone": [`, 1):            `unknown field "gone"`,
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, want %q", err, why)
		}
	}
}
