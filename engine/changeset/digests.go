package changeset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
)

// SetDigest is the digest of {member, planDigest} over every member that is
// not provisional, failed ones too (change-set §2.3). A member named twice is
// an error.
func SetDigest(members []Member) (digest.Digest, error) {
	sorted := sortedMembers(members)
	pairs := make([]digest.Value, 0, len(sorted))
	for i, m := range sorted {
		if i > 0 && sorted[i-1].Member == m.Member {
			return digest.Digest{}, fmt.Errorf("the change set names member %s twice", m.Member)
		}
		if m.Provisional {
			continue
		}
		plan := digest.NullValue()
		if m.PlanDigest != nil && !m.PlanDigest.IsZero() {
			plan = digest.StringOf(m.PlanDigest.String())
		}
		var pair digest.Builder
		pair.Text("member", m.Member)
		pair.Value("planDigest", plan)
		pairs = append(pairs, pair.Object())
	}
	return digest.Of("change-set", digest.ArrayOf(pairs...))
}

// WaveDigest is the set digest over the members of one gated wave. A
// provisional member is an error: approving the wave must not approve a
// preview.
func WaveDigest(members []Member) (digest.Digest, error) {
	var previews []string
	for _, m := range members {
		if m.Provisional {
			previews = append(previews, m.Member)
		}
	}
	if len(previews) > 0 {
		slices.SortFunc(previews, digest.Compare)
		return digest.Digest{}, fmt.Errorf("a wave cannot be approved on previews: %s is provisional; plan it again once what it reads has applied",
			strings.Join(slices.Compact(previews), ", "))
	}
	return SetDigest(members)
}

// digest is the document digest over {set, members, entries, sideEffects}
// without what is provisional. It is written piece by piece, keys in order,
// since a document can hold a hundred thousand entries.
func (c *content) digest() (digest.Digest, error) {
	set, err := SetDigest(c.members)
	if err != nil {
		return digest.Digest{}, err
	}
	h := digest.NewHash("change-set-document")
	h.Raw(`{"entries":`)
	writeList(h, c.entries, func(e *Entry) (digest.Value, bool) {
		if c.provisional[e.Member] {
			return digest.Value{}, false
		}
		return e.object(), true
	})
	h.Raw(`,"members":`)
	writeList(h, c.members, func(m *Member) (digest.Value, bool) {
		var r record
		r.Text("member", m.Member)
		r.Text("status", string(m.Status))
		r.Value("holes", holeList(m.Holes))
		return r.Object(), !m.Provisional
	})
	h.Raw(`,"set":`)
	h.Value(digest.StringOf(set.String()))
	h.Raw(`,"sideEffects":`)
	writeList(h, c.sideEffects, func(s *SideEffect) (digest.Value, bool) {
		return s.record().Object(), !c.provisional[s.Member]
	})
	h.Raw(`}`)
	return h.Sum()
}

// writeList writes the items that value keeps, as an array.
func writeList[T any](h *digest.Hash, items []T, value func(*T) (digest.Value, bool)) {
	separator := "["
	for i := range items {
		v, keep := value(&items[i])
		if !keep {
			continue
		}
		h.Raw(separator)
		h.Value(v)
		separator = ","
	}
	if separator == "[" {
		h.Raw("[")
	}
	h.Raw("]")
}
