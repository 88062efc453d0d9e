package command

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"chant approve pr-12 pr-apply --plan " + full,
		"chant apply\r\n\r\n<!-- linear:isThreadRoot -->",
		"> chant apply\nchant plan\n```\nchant apply\n```\n<div>\n\nchant help",
		"| chant apply |\n|---|\n|x|\n[^1]: chant apply\n    chant plan",
		"text <!-- a\nchant apply",
		"\x00chant\tapply\\",
	} {
		f.Add(s, "app")
	}
	f.Fuzz(func(t *testing.T, body, app string) {
		p := Parse(body, app)
		if len(p.Commands) > MaxCommands || len(p.Near) > MaxNear {
			t.Fatalf("%d commands, %d near", len(p.Commands), len(p.Near))
		}
		source := strings.Split(normalise(body), "\n")
		for _, c := range p.Commands {
			if c.Line < 1 || c.Line > len(source) {
				t.Fatalf("line %d of %d", c.Line, len(source))
			}
			for word := range strings.FieldsSeq(c.Raw) {
				if !strings.Contains(source[c.Line-1], word) {
					t.Fatalf("line %d is %q, command is %q", c.Line, source[c.Line-1], c.Raw)
				}
			}
			if !c.Digest.IsZero() && c.Digest.String() != c.Plan {
				t.Fatalf("digest %s from %q", c.Digest, c.Plan)
			}
		}
	})
}

// Whatever a quoted, fenced, indented or commented body holds, nothing of it runs.
func TestNothingInsideAContainerRuns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{
			"chant apply", "chant approve --plan " + full, "", "text", "> a", "- b", "# c", "---", "<b>", "`x", "*y", "| z |",
		}), 1, 8).Draw(t, "lines")
		wrap := rapid.SampledFrom([]func(string) string{
			func(s string) string { return "> " + s },
			func(s string) string { return "    " + s },
		}).Draw(t, "wrap")
		var b strings.Builder
		for _, l := range lines {
			b.WriteString(wrap(l) + "\n")
		}
		fence := "````\n" + strings.Join(lines, "\n") + "\n````\n"
		comment := "<!--\n" + strings.Join(lines, "\n") + "\n-->\n"
		for _, body := range []string{b.String(), fence, comment} {
			if p := Parse(body, ""); len(p.Commands) > 0 {
				t.Fatalf("%q ran %+v", body, p.Commands)
			}
		}
	})
}
