package exec

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestScrubMasksEveryForm(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in, want string
		secrets        []string
	}{
		{"no secret", "plain", "plain", nil},
		{"an empty value masks nothing", "plain", "plain", []string{""}},
		{"one value twice", "x k9 y k9", "x *** y ***", []string{"k9"}},
		{"the longer of two", "abcdef", "***f", []string{"abc", "abcde"}},
		{"values that overlap are one", "xabcdefx", "x***x", []string{"abcd", "cdef"}},
		{"JSON escapes", `{"a":"p\"q\u003c"}`, `{"a":"***"}`, []string{`p"q<`}},
		{"JSON escapes without those for HTML", `{"a":"p\"q<"}`, `{"a":"***"}`, []string{`p"q<`}},
		{"a quote at the end", `{"a":"secret\""}`, `{"a":"***"}`, []string{`secret"`}},
		{"a long line of several", "  | MIIEvQIBADANBgkqhkiG9w0", "  | ***", []string{"-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nshort\n"}},
		{"a short line of several is left", "short", "short", []string{"-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nshort\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newScrubber(tc.secrets)
			got := string(append(s.next([]byte(tc.in)), s.rest()...))
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestScrubGivesTheSameWhereverChunksAreCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,6}`), 0, 4).Draw(t, "secrets")
		text := rapid.StringMatching(`[abc]{0,40}`).Draw(t, "text")
		want := maskedByHand(text, secrets)
		s := newScrubber(secrets)
		var got strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "chunk")
			got.Write(s.next([]byte(rest[:n])))
			rest = rest[n:]
		}
		got.Write(s.rest())
		if got.String() != want {
			t.Fatalf("got %q, want %q", got.String(), want)
		}
		for _, secret := range secrets {
			if strings.Contains(got.String(), secret) {
				t.Fatalf("%q is left in %q", secret, got.String())
			}
		}
	})
}

// maskedByHand marks every byte of every occurrence; runs of occurrences that
// overlap are one mask.
func maskedByHand(text string, secrets []string) string {
	var out strings.Builder
	end := 0 // of the run under way
	for i := range len(text) {
		longest := 0
		for _, s := range secrets {
			if strings.HasPrefix(text[i:], s) {
				longest = max(longest, len(s))
			}
		}
		if longest > 0 {
			if i >= end {
				out.WriteString(mask)
			}
			end = max(end, i+longest)
		}
		if i >= end {
			out.WriteByte(text[i])
		}
	}
	return out.String()
}

func TestScrubHoldsBackOnlyWhatMayBeASecret(t *testing.T) {
	t.Parallel()
	s := newScrubber([]string{strings.Repeat("k", 2000)})
	if got := string(s.next([]byte("a line\n"))); got != "a line\n" {
		t.Errorf("got %q at once", got)
	}
	if got := string(s.next([]byte("kk"))); got != "" {
		t.Errorf("got %q of a possible secret", got)
	}
	if got := string(s.next([]byte("x"))); got != "kkx" {
		t.Errorf("got %q once it was none", got)
	}
}
