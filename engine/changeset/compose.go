package changeset

import (
	"errors"

	"github.com/chant-bot/chant/engine/digest"
)

// Compose joins parts into one document (change-set §2.1).
func Compose(parts []Part, chantVersion string) (*Document, error) {
	return nil, errors.New("not built yet")
}

// Verify recomputes the document's digest and compares.
func (d *Document) Verify() bool { return false }

// Parse reads a document.
func Parse(data []byte) (*Document, error) { return nil, errors.New("not built yet") }

// JSON writes the document.
func (d *Document) JSON() []byte { return nil }

// SetDigest is the digest over members and their plan digests.
func SetDigest(members []Member) (digest.Digest, error) {
	return digest.Digest{}, errors.New("not built yet")
}

// WaveDigest is SetDigest over the members of one gated wave.
func WaveDigest(members []Member) (digest.Digest, error) {
	return digest.Digest{}, errors.New("not built yet")
}
