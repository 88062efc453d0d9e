package command

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/digest"
)

const full = "jcs1-sha256:9b1f04c2a7d39b1f04c2a7d39b1f04c2a7d39b1f04c2a7d39b1f04c2a7d39b1f"

func verbsOf(p Parsed) []Verb {
	var out []Verb
	for _, c := range p.Commands {
		out = append(out, c.Verb)
	}
	return out
}

func TestEachFormOfTheGrammarIsRead(t *testing.T) {
	t.Parallel()
	d, err := digest.Parse(full)
	if err != nil {
		t.Fatal(err)
	}
	sha := strings.Repeat("4e1c9a0b7d", 4)
	for body, want := range map[string]Command{
		"chant approve pr-12 pr-apply --plan " + full:      {Verb: Approve, Op: "pr-12", Gate: "pr-apply", Plan: full, Digest: d},
		"/chant approve --plan " + full:                    {Verb: Approve, Plan: full, Digest: d},
		"@chant-app approve --plan=" + full:                {Verb: Approve, Plan: full, Digest: d},
		"chant approve --plan " + full + " pr-12 pr-apply": {Verb: Approve, Op: "pr-12", Gate: "pr-apply", Plan: full, Digest: d},
		"chant approve pr-12-net pr-apply-round-2 --plan " + full[5:]: {Verb: Approve, Op: "pr-12-net", Gate: "pr-apply-round-2",
			Plan: full[5:], Digest: mustParse(t, full[5:])},
		"Chant Approve --plan " + full:  {Verb: Approve, Plan: full, Digest: d},
		"chant revoke":                  {Verb: Revoke},
		"chant revoke green-1 pr-apply": {Verb: Revoke, Op: "green-1", Gate: "pr-apply"},
		"chant plan":                    {Verb: Plan},
		"chant plan " + sha:             {Verb: Plan, Head: sha},
		"chant apply":                   {Verb: Apply},
		"chant unlock":                  {Verb: Unlock},
		"chant explain":                 {Verb: Explain},
		"chant explain net/eu":          {Verb: Explain, Member: "net/eu"},
		"chant help":                    {Verb: Help},
		"  chant   apply\u00a0":         {Verb: Apply},
	} {
		want.Line, want.Raw = 1, strings.TrimSpace(body)
		got := Parse(body, "chant-app")
		if diff := cmp.Diff(Parsed{Commands: []Command{want}}, got, cmp.Comparer(digest.Same)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", body, diff)
		}
	}
}

func mustParse(t *testing.T, s string) digest.Digest {
	t.Helper()
	d, err := digest.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAnApproveWithoutAFullDigestParsesWithAZeroDigest(t *testing.T) {
	t.Parallel()
	for body, plan := range map[string]string{
		"chant approve":                                      "",
		"chant approve pr-12 pr-apply":                       "",
		"chant approve --plan":                               "",
		"chant approve --plan 9b1f04c2a7d3":                  "9b1f04c2a7d3",
		"chant approve --plan " + full[:len(full)-1]:         full[:len(full)-1],
		"chant approve --plan " + strings.ToUpper(full):      strings.ToUpper(full),
		"chant approve --plan " + full[len("jcs1-sha256:"):]: full[len("jcs1-sha256:"):],
	} {
		p := Parse(body, "")
		if len(p.Commands) != 1 || !p.Commands[0].Digest.IsZero() || p.Commands[0].Plan != plan {
			t.Errorf("%q: %+v", body, p)
		}
	}
}

// runatlantis/atlantis#6643.
func TestTrailingCommentsBlankLinesAndCRLFAreIgnored(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"chant apply\r\n\r\n<!-- linear:isThreadRoot -->",
		"chant apply <!-- x -->",
		"chant apply\n<!--\nchant plan\n-->\n",
		"chant apply\r\n",
		"\r\n\r\nchant apply\r\n\r\n",
		"chant apply\r",
		"Looks good to me.\nchant apply\nThanks!",
		"chant apply  \nsecond line",
		"text <!-- a\nchant plan\n--> text\n\nchant apply",
	} {
		p := Parse(body, "")
		if diff := cmp.Diff([]Verb{Apply}, verbsOf(p)); diff != "" || len(p.Near) > 0 {
			t.Errorf("%q: %+v", body, p)
		}
	}
}

func TestWhatIsNotPlainTextOfItsOwnNeverRunsAndIsReported(t *testing.T) {
	t.Parallel()
	for body, why := range map[string]string{
		"> chant apply\n\nwhat does this do?":          "in a quote",
		"> said\nchant apply":                          "in a quote", // lazy continuation is shown in the quote
		"> > chant apply":                              "in a quote",
		"```\nchant apply\n```":                        "in a code block",
		"~~~sh\nchant apply\n~~~":                      "in a code block",
		"```\nchant apply":                             "in a code block",
		"    chant apply":                              "in a code block",
		"`chant apply`":                                "in formatted text",
		"**chant apply**":                              "in formatted text",
		"chant `apply`":                                "in formatted text",
		"[chant apply](https://example.com)":           "",
		"- chant apply":                                "in a list",
		"1. chant apply":                               "in a list",
		"- a\n\n  chant apply":                         "in a list",
		"# chant apply":                                "in a heading",
		"chant apply\n---":                             "in a heading",
		"<div>\nchant apply\n</div>":                   "inside an HTML element",
		"<blockquote>\n\nchant apply\n\n</blockquote>": "inside an HTML element",
		"so <blockquote>\n\nchant apply\n":             "inside an HTML element",
		"| a |\n|---|\n| chant apply |":                "in a table",
		"<!-- x --> chant apply":                       "inside an HTML element", // Markdown takes the whole line for HTML
		"chant apply extra":                            `extra words: "extra"`,
		"chant unlock now please":                      `extra words: "now", "please"`,
		"chant approve pr-12 --plan " + full:           "name both",
		"chant approve a b c --plan " + full:           `extra words: "c"`,
		"chant approve a b --plan " + full + " --sign": "command line",
		"chant approve a b —plan " + full:              "two plain hyphens",
		"chant approve a b --plan x --plan y":          "given twice",
		"chant approve ../x pr-apply --plan " + full:   "extra words",
		"chant plan 4e1c9a0b7d21":                      "full commit sha",
		"chant aprove --plan " + full:                  "is no command",
		"/chant destroy":                               "is no command",
		"/chant":                                       "no command follows",
		"ch\u200bant apply":                            "invisible",
	} {
		p := Parse(body, "")
		if len(p.Commands) != 0 {
			t.Errorf("%q ran: %+v", body, p.Commands)
		}
		if why == "" {
			continue
		}
		if len(p.Near) != 1 || !strings.Contains(p.Near[0].Why, why) {
			t.Errorf("%q: want one report naming %q, got %+v", body, why, p.Near)
		}
	}
}

func TestProseAndHiddenTextGetNoAnswer(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"",
		"chant is great",
		"chant",
		"I would run `chant apply` now",
		"@chant-app thanks!",
		"merchant apply",
		"<!-- chant apply -->",
		"<!--\nchant apply\n-->",
		"the chant: apply it",
	} {
		if p := Parse(body, "chant-app"); len(p.Commands)+len(p.Near) > 0 {
			t.Errorf("%q: %+v", body, p)
		}
	}
}

func TestAQuotedLineDoesNotStopTheCommandBelowIt(t *testing.T) {
	t.Parallel()
	p := Parse("> chant approve --plan "+full+"\n\nNo, this one first:\n\nchant plan\n", "")
	if diff := cmp.Diff([]Verb{Plan}, verbsOf(p)); diff != "" {
		t.Error(diff)
	}
	if len(p.Near) != 1 || p.Near[0].Line != 1 || p.Commands[0].Line != 5 {
		t.Errorf("%+v", p)
	}
}

func TestSeveralCommandsKeepTheirOrderAndLines(t *testing.T) {
	t.Parallel()
	p := Parse("chant plan\nchant help\n\nchant apply", "")
	if diff := cmp.Diff([]Verb{Plan, Help, Apply}, verbsOf(p)); diff != "" {
		t.Error(diff)
	}
	if p.Commands[1].Line != 2 || p.Commands[2].Line != 4 {
		t.Errorf("%+v", p.Commands)
	}
}

func TestTheNumberOfCommandsIsBounded(t *testing.T) {
	t.Parallel()
	p := Parse(strings.Repeat("chant plan\n", 100), "")
	if len(p.Commands) != MaxCommands || len(p.Near) != MaxNear || !strings.Contains(p.Near[0].Why, "at most") {
		t.Errorf("%d commands, %d near", len(p.Commands), len(p.Near))
	}
}

func TestABodyBeyondTheBoundsRunsNothingAndSaysSo(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"long":     "chant apply\n" + strings.Repeat("x", MaxBody),
		"nested":   "chant apply\n\n" + strings.Repeat("> ", 1000) + "a",
		"brackets": "chant apply\n\n" + strings.Repeat("[", 10000),
	} {
		p := Parse(body, "")
		if len(p.Commands) != 0 || len(p.Near) != 1 || !strings.Contains(p.Near[0].Why, "too long") {
			t.Errorf("%s: %d commands, %+v", name, len(p.Commands), p.Near)
		}
	}
}

func TestTheAppsNameIsOnlyAnAddressWhenItIsKnown(t *testing.T) {
	t.Parallel()
	if p := Parse("@chant-app apply", ""); len(p.Commands) != 0 {
		t.Errorf("ran for an unknown app: %+v", p)
	}
	if p := Parse("@other apply", "chant-app"); len(p.Commands)+len(p.Near) != 0 {
		t.Errorf("answered for another account: %+v", p)
	}
	if p := Parse("@Chant-App apply", "chant-app"); len(p.Commands) != 1 {
		t.Errorf("accounts fold case: %+v", p)
	}
}
