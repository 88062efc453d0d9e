package exec

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

const mask = "***"

// minLineSecret is the length in bytes from which one line of a secret of
// several lines is a secret of its own: tools indent and wrap what they print.
const minLineSecret = 16

// scrubber masks exact values in a stream, wherever its chunks are cut.
// Overlapping values are masked as one.
type scrubber struct {
	secrets [][]byte
	longest int
	buf     []byte
}

func newScrubber(values []string) *scrubber {
	s := &scrubber{}
	for _, v := range values {
		for _, form := range formsOf(v) {
			s.secrets = append(s.secrets, []byte(form))
			s.longest = max(s.longest, len(form))
		}
	}
	return s
}

// formsOf lists how a value may be printed: as it is, as a JSON string's
// content with and without HTML escapes, and its long lines.
func formsOf(v string) []string {
	if v == "" {
		return nil
	}
	forms := []string{v}
	for _, escapeHTML := range []bool{true, false} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(escapeHTML)
		if err := enc.Encode(v); err != nil {
			continue // never: every string encodes
		}
		quoted := strings.TrimSpace(b.String())
		forms = append(forms, quoted[1:len(quoted)-1])
	}
	if strings.Contains(v, "\n") {
		for line := range strings.Lines(v) {
			if line = strings.TrimSpace(line); len(line) >= minLineSecret {
				forms = append(forms, line)
			}
		}
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

func (s *scrubber) pending() int { return len(s.buf) }

// next takes a chunk and returns what is certain to hold no secret's part.
func (s *scrubber) next(chunk []byte) []byte {
	if s.longest == 0 {
		return chunk
	}
	s.buf = append(s.buf, chunk...)
	return s.drain(s.undecided())
}

// undecided is the first position from which a value may have begun whose rest
// is still to come.
func (s *scrubber) undecided() int {
	for i := max(len(s.buf)-s.longest+1, 0); i < len(s.buf); i++ {
		for _, secret := range s.secrets {
			if bytes.HasPrefix(secret, s.buf[i:]) {
				return i
			}
		}
	}
	return len(s.buf)
}

// rest returns what was held back; the stream has ended.
func (s *scrubber) rest() []byte { return s.drain(len(s.buf)) }

// drain masks and returns the text before the position decided, from which on
// a value may still be incomplete.
func (s *scrubber) drain(decided int) []byte {
	var out []byte
	for decided > 0 {
		from, to := s.match(s.buf)
		switch {
		case from < 0 || from >= decided:
			out = append(out, s.buf[:decided]...)
			s.buf = s.buf[decided:]
			return out
		case to > decided && decided < len(s.buf):
			// The masked run may still grow: keep it whole.
			out = append(out, s.buf[:from]...)
			s.buf = s.buf[from:]
			return out
		}
		out = append(append(out, s.buf[:from]...), mask...)
		s.buf = s.buf[to:]
		decided -= to
	}
	return out
}

// match finds the first run of overlapping values; from is -1 without one.
func (s *scrubber) match(b []byte) (from, to int) {
	from = -1
	for _, secret := range s.secrets {
		if i := bytes.Index(b, secret); i >= 0 && (from < 0 || i < from) {
			from = i
		}
	}
	if from < 0 {
		return from, 0
	}
	to = from + 1
	for i := from; i < to; i++ {
		for _, secret := range s.secrets {
			if bytes.HasPrefix(b[i:], secret) {
				to = max(to, i+len(secret))
			}
		}
	}
	return from, to
}
