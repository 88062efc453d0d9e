package run

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/chant-bot/chant/engine/digest"
)

// InputRead is one upstream output a member was planned with. It holds no
// sensitive value: Planned and Now are what people are shown.
type InputRead struct {
	From    string `json:"from"` // component
	Output  string `json:"output"`
	Planned string `json:"planned"`
	Now     string `json:"now,omitempty"`
	// Hash identifies the exact value planned with, "" when it was unknown.
	Hash      string `json:"hash,omitempty"`
	Sensitive bool   `json:"sensitive,omitempty"`
}

// Redacted stands for a sensitive value.
const Redacted = "(sensitive)"

// NotKnown stands for a value that did not exist yet.
const NotKnown = "(not known)"

// InGroup stands for a value that the member's group passes on to it.
const InGroup = "(passed on in its group)"

// NotKept stands for a value of which only its hash was kept.
const NotKept = "(another value)"

// PlannedRead notes the value a member was planned with. An absent value was not
// known.
func PlannedRead(from, output string, value digest.Value, sensitive bool) InputRead {
	r := InputRead{From: from, Output: output, Planned: shown(value, sensitive), Sensitive: sensitive}
	if !value.IsAbsent() {
		r.Hash = exactHash(value)
	}
	return r
}

// Moved compares a read with the value standing now, just before the member
// starts (pr-loop §7.5). A read that was not known when it was planned always
// moved; so has one whose output is gone, or differs in anything, also in digits
// a double cannot hold. The returned read says what it is now.
func (r InputRead) Moved(now digest.Value, sensitive bool) (InputRead, bool) {
	r.Sensitive = r.Sensitive || sensitive
	if r.Sensitive && r.Hash != "" {
		r.Planned = Redacted
	}
	r.Now = shown(now, r.Sensitive)
	return r, r.Hash == "" || now.IsAbsent() || exactHash(now) != r.Hash
}

// MovedTo compares a read with the same one of a newer plan, as Moved does with a
// value.
func (r InputRead) MovedTo(now InputRead) (InputRead, bool) {
	r.Sensitive = r.Sensitive || now.Sensitive
	r.Now = now.Planned
	if r.Sensitive && r.Hash != "" {
		r.Planned = Redacted
	}
	if r.Sensitive && now.Hash != "" {
		r.Now = Redacted
	}
	return r, r.Hash == "" || r.Hash != now.Hash
}

func shown(v digest.Value, sensitive bool) string {
	switch {
	case v.IsAbsent():
		return NotKnown
	case sensitive:
		return Redacted
	}
	text, err := v.MarshalJSON()
	if err != nil {
		return NotKnown
	}
	return string(text)
}

// exactHash is over the value's exact text, keys sorted: numbers that round to
// one double stay apart, and a number spelled another way counts as moved.
func exactHash(v digest.Value) string {
	text, err := v.MarshalJSON()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
