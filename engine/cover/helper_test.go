package cover

import (
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform"
)

const (
	net    = "net"
	source = "source-1"
)

type fataler interface {
	Helper()
	Fatal(args ...any)
}

// plan is a digest whose 64 hex digits repeat one.
func plan(t fataler, hex string) *digest.Digest {
	t.Helper()
	d, err := digest.Parse("jcs1-sha256:" + strings.Repeat(hex, 64))
	if err != nil {
		t.Fatal(err)
	}
	return &d
}

// part is a planned terraform member.
func part(member string, d *digest.Digest, entries ...changeset.Entry) changeset.Part {
	entries = slices.Clone(entries) // cases that run at once share theirs
	for i := range entries {
		entries[i].Member = member
	}
	return changeset.Part{
		Member: changeset.Member{
			Member: member, Lexicon: "terraform", Planner: "terraform", Scope: "default", Status: changeset.Planned, PlanDigest: d, Holes: []changeset.Hole{},
		},
		Entries: entries,
	}
}

// side composes parts that were all planned from the same source and run no code.
func side(t fataler, parts ...changeset.Part) Side {
	t.Helper()
	doc, err := changeset.Compose(parts, "")
	if err != nil {
		t.Fatal(err)
	}
	s := Side{Doc: doc, Sources: map[string]string{}, Code: map[string]terraform.RunsCode{}}
	for _, p := range parts {
		s.Sources[p.Member.Member] = source
		s.Code[p.Member.Member] = terraform.RunsCode{}
	}
	return s
}

func entry(address string, action changeset.Action, attributes ...changeset.Attribute) changeset.Entry {
	kind, _, _ := strings.Cut(address, ".")
	return changeset.Entry{
		Lexicon: "terraform", Planner: "terraform", Address: address, Type: kind, Action: action,
		Disruption: map[changeset.Action]string{changeset.Update: "in-place", changeset.Delete: "destroy", changeset.Replace: "destroy"}[action],
		Attributes: attributes,
	}
}

func write(path, before, after string) changeset.Attribute {
	return changeset.Attribute{Path: path, Before: text(before), After: text(after)}
}

func unknown(path, before string) changeset.Attribute {
	return changeset.Attribute{Path: path, Before: text(before), Unknown: true}
}

func secret(path string) changeset.Attribute { return changeset.Attribute{Path: path, Sensitive: true} }

// text is a string value, absent for "".
func text(s string) digest.Value {
	if s == "" {
		return digest.Value{}
	}
	return digest.StringOf(s)
}

func number(t fataler, s string) digest.Value {
	t.Helper()
	v, err := digest.NumberOf(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func effect(address, trigger, event string) changeset.SideEffect {
	return changeset.SideEffect{Address: address, Type: "action", Trigger: trigger, Event: event}
}
