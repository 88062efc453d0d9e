// Package digest decodes JSON exactly, writes it as canonical text (RFC 8785)
// and names it by a SHA-256 digest (change-set §1). It does no I/O and keeps
// numbers as the decimal text they were written in.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Prefix marks every digest this program writes: the algorithm that made the
// text (JCS, version 1) and the one that hashed it.
const Prefix = "jcs1-sha256:"

// legacyPrefix marks digests written before the canonical form was named. The
// hashed bytes are the same.
const legacyPrefix = "sha256:"

const hexLen = 2 * sha256.Size

// Digest names a value by its canonical text. It is comparable, but == tells
// the two prefixes apart; decisions use [Same]. The zero Digest is "none".
type Digest struct{ text string }

// Parse reads a digest of the form ^(?:jcs1-)?sha256:[0-9a-f]{64}$
// (change-set §1). Anything else is an error, the empty string too.
func Parse(s string) (Digest, error) {
	digits, ok := strings.CutPrefix(s, Prefix)
	if !ok {
		digits, ok = strings.CutPrefix(s, legacyPrefix)
	}
	if !ok || len(digits) != hexLen || strings.Trim(digits, "0123456789abcdef") != "" {
		shown := s
		if len(shown) > 100 {
			shown = shown[:100] + "..."
		}
		return Digest{}, fmt.Errorf("%q is not a digest: want %s and 64 lower-case hex digits", shown, Prefix)
	}
	return Digest{text: s}, nil
}

// String is the digest as it was parsed or made; "" for the zero Digest.
func (d Digest) String() string { return d.text }

// Hex is the 64 hex digits without a prefix; "" for the zero Digest.
func (d Digest) Hex() string {
	if d.IsZero() {
		return ""
	}
	return d.text[len(d.text)-hexLen:]
}

// Short is the first 12 hex digits, for people. It identifies nothing: a twin
// of it is found in seconds (soundness).
func (d Digest) Short() string {
	if d.IsZero() {
		return ""
	}
	return d.Hex()[:12]
}

// IsZero reports whether d is no digest at all.
func (d Digest) IsZero() bool { return d.text == "" }

// Same reports whether a and b name the same value: equal hex digits whatever
// the prefix. Two zero digests are the same; a zero and another are not.
func Same(a, b Digest) bool { return a.Hex() == b.Hex() }

// Equal is [Same], so that go-cmp compares digests as decisions do.
func (d Digest) Equal(other Digest) bool { return Same(d, other) }

// MarshalText writes String, so that a Digest is a JSON string.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.text), nil }

// UnmarshalText reads what MarshalText wrote; empty text is the zero Digest.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Digest{}
		return nil
	}
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

func fromSum(sum []byte) Digest { return Digest{text: Prefix + hex.EncodeToString(sum)} }
