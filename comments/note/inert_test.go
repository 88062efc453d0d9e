package note

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"github.com/chant-bot/chant/comments/command"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/engine/report"
)

// hostile are pieces that mean something to Markdown, HTML or a forge.
var hostile = []string{
	"`", "``", "```", "````", "~~~", "\n", "\n\n", "\r\n", "\r", "\t", " ", "  ", "|", `\|`, `\`, `\\`,
	"# Approved by @admin", "## x", "- a", "1. a", "* a", "> quote", "---", "===", "***", "    code", "\tcode",
	"@admin", "@org/team", "#1", "acme/infra#1", "GH-1", "!1", "$1", "%milestone", "~label", "&1", "Closes #1", "fixes", "deadbeef",
	"https://evil.example/x", "www.evil.example", "mailto:a@b.c", "[x](https://evil.example)", "![x](https://evil.example/i.png)", "[x]: https://evil.example",
	"<https://evil.example>", "<img src=x>", "<script>", "</details>", "</summary>", "<details>", "<!--", "-->", "<b>", "&lt;", "&#64;admin", "&commat;admin",
	"/approve", "/merge", "/close", "\n/approve\n", "chant apply", "\nchant apply\n", "**bold**", "__b__", "*i*", "_i_", "~~s~~", ":tada:", "$x$", "\\(x\\)", "[ ] task", "[^1]", "| a |\n|---|",
	"www.", "deadbeefé", "WWW.evil.example", "\x00", "\x1b[31m", "\u202e", "\u200b", "\u2028", "\ufeff", "\u00a0", "\u3164", "\U000e0041", "\xff", "路", "é", "plain", "net",
}

func digestFor(t *rapid.T) digest.Digest {
	d, err := digest.Parse("jcs1-sha256:" + strings.Repeat("9b1f", 16))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func hostileString(most int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(hostile), 0, most).Draw(t, "pieces"), "")
	})
}

func parser() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote))
}

var (
	ourHTML = regexp.MustCompile(`^(?:<!-- chant-pr:prod -->|<details><summary>[A-Za-z0-9 ,:]+</summary>|</details>)\s*$`)
	reach   = regexp.MustCompile(`[@#]|GH-\d|://|www\.|[!$&]\d|~\w|%\w|[0-9a-f]{7,}`)
)

// checkInert fails when anything in a body of ours does more than show text.
func checkInert(t interface{ Fatalf(string, ...any) }, body string, mayLink func(string) bool) {
	src := []byte(body)
	for n, l := range strings.Split(body, "\n") {
		if strings.HasPrefix(strings.TrimLeft(l, " \t"), "/") {
			t.Fatalf("line %d starts a quick action: %q", n+1, l)
		}
	}
	for _, r := range body {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r)) {
			t.Fatalf("invisible %U in:\n%s", r, body)
		}
	}
	doc := parser().Parser().Parse(text.NewReader(src))
	opened, closed, headings := 0, 0, 0
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.HTMLBlock:
			html := string(n.Lines().Value(src))
			if n.HasClosure() {
				html += string(n.ClosureLine.Value(src))
			}
			if !ourHTML.MatchString(html) {
				t.Fatalf("foreign HTML %q in:\n%s", html, body)
			}
			opened += strings.Count(html, "<details>")
			closed += strings.Count(html, "</details>")
		case *ast.RawHTML, *ast.Image, *extast.Strikethrough, *extast.TaskCheckBox, *extast.FootnoteLink, *extast.FootnoteList:
			t.Fatalf("%s in:\n%s", n.Kind(), body)
		case *ast.AutoLink:
			t.Fatalf("link to %s in:\n%s", n.URL(src), body)
		case *ast.Link:
			if !mayLink(string(n.Destination)) {
				t.Fatalf("link to %s in:\n%s", n.Destination, body)
			}
			return ast.WalkSkipChildren, nil
		case *ast.Heading:
			headings++
		case *ast.CodeBlock:
			t.Fatalf("indented code in:\n%s", body)
		case *ast.CodeSpan:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			if s := string(n.Segment.Value(src)); reach.MatchString(s) {
				t.Fatalf("text %q reaches out of:\n%s", s, body)
			}
		case *extast.Table:
			width := n.FirstChild().ChildCount()
			for row := n.FirstChild(); row != nil; row = row.NextSibling() {
				if row.ChildCount() != width {
					t.Fatalf("a row of %d cells under %d in:\n%s", row.ChildCount(), width, body)
				}
			}
		}
		return ast.WalkContinue, nil
	})
	if opened != closed || headings > 1 {
		t.Fatalf("%d folds open, %d close, %d headings in:\n%s", opened, closed, headings, body)
	}
}

// hostileInput puts hostile text into every foreign field.
func hostileInput(t *rapid.T) Input {
	s := func(label string) string { return hostileString(6).Draw(t, label) }
	list := func(label string) []string { return rapid.SliceOfN(hostileString(5), 0, 4).Draw(t, label) }
	in := Input{
		Marker: "<!-- chant-pr:prod -->", At: time.Unix(1_800_000_000, 0), RunURL: rapid.SampledFrom([]string{"", "https://chant.example/r/1", "javascript:x", "https://chant.example/)x"}).Draw(t, "url"),
		BaseBranch: s("branch"), BaseTip: s("tip"), BaseMoved: s("moved"), TrustChanged: list("trust"), Warnings: list("warnings"),
		NotIsolated: true, ApplyOnMerge: rapid.Bool().Draw(t, "apply"),
		Ask: Ask{Approvers: list("approvers"), Excluded: list("excluded"), Unenforced: rapid.SampledFrom([][]string{nil, {"a`@x"}}).Draw(t, "unenforced")},
	}
	r := &in.Report
	r.Stage = rapid.SampledFrom([]report.Stage{report.Plan, report.Apply}).Draw(t, "stage")
	r.Status = rapid.SampledFrom([]report.Status{report.Planned, report.PlanFailed, report.Nothing, report.Applied, report.Failed, report.Refused, report.Waiting, ""}).Draw(t, "status")
	r.Refusal = rapid.SampledFrom([]report.Refusal{report.NotApproved, report.PlanChanged, report.NotGreen, ""}).Draw(t, "refusal")
	r.Env, r.Member, r.Head, r.Base, r.Op, r.Gate = s("env"), s("member"), s("head"), s("base"), "pr-1", "pr-apply"
	r.Digest, r.Message = digestFor(t), s("message")
	r.Approval = report.Approval{Status: rapid.SampledFrom([]report.ApprovalStatus{report.Approved, report.Changed, report.Pending}).Draw(t, "approval"), ApprovedBy: list("by")}
	r.Selection = graph.Selection{Changed: list("changed"), Unclaimed: list("unclaimed"), Waves: [][]string{list("wave")}}
	r.ChangeSet = &changeset.Document{}
	for i, name := range list("members") {
		m := report.Member{Member: name, Component: s("component"), Status: rapid.SampledFrom([]report.MemberStatus{report.MemberPlanned, report.MemberFailed, report.MemberHeld, "x`|@y"}).Draw(t, "mstatus"),
			PlanDigest: &r.Digest, Error: s("error"), BlockedBy: s("blocked")}
		if i%2 == 0 {
			m.UnknownInputs = []report.UnknownInput{{From: s("from"), Output: s("output")}}
		}
		r.Members = append(r.Members, m)
		r.ChangeSet.Members = append(r.ChangeSet.Members, changeset.Member{Member: name, Holes: []changeset.Hole{{Address: s("hole"), Reason: s("why")}}})
		action := rapid.SampledFrom([]changeset.Action{changeset.Create, changeset.Update, changeset.Replace, changeset.Delete, changeset.Forget, "x`|@y"}).Draw(t, "action")
		r.ChangeSet.Entries = append(r.ChangeSet.Entries, changeset.Entry{Member: name, Address: s("address"), Deposed: s("deposed"), Action: action,
			Attributes: []changeset.Attribute{{Path: s("path"), Before: str(s("before")), After: str(s("after")), ForcesReplacement: true}}})
		r.ChangeSet.SideEffects = append(r.ChangeSet.SideEffects, changeset.SideEffect{Member: name, Address: s("effect"), Trigger: s("trigger")})
	}
	r.Fallbacks = []report.Fallback{{Component: s("fcomponent"), Kind: "steps", Reason: s("freason")}}
	r.Groups = []report.Group{{Members: list("group")}}
	r.RunsCode = map[string]report.RunsCode{s("cmember"): {Provisioners: []report.Provisioner{{Address: s("paddress"), Type: s("ptype")}}, External: list("external"), DeferredReads: true}}
	r.Rounds = []report.Round{{Round: 2, Gate: s("rgate"), Status: report.WaveApplied, ApprovedBy: list("rby"), Members: []report.RoundMember{{Member: s("rmember"), Reads: []report.Read{{From: s("rfrom"), Planned: s("planned"), Now: s("now")}}}}}}
	r.Waves = []report.Wave{{Wave: 1, Gate: s("wgate"), Status: report.WaveStatus(s("wstatus")), ApprovedBy: list("wby")}}
	r.Green = &report.Green{Merges: []report.Merge{{Commit: s("mcommit"), PR: new(7), Approved: &r.Digest, ApprovedBy: list("mby")}}}
	for _, m := range r.Members {
		r.Green.Cover = append(r.Green.Cover, report.Cover{Member: m.Member, Status: report.Uncovered, Reason: s("reason")})
	}
	in.Earlier = []Earlier{{Digest: r.Digest, Head: s("ehead"), Document: &changeset.Document{Entries: []changeset.Entry{{Member: s("emember"), Address: s("eaddress"), Action: changeset.Update}}}}}
	return in
}

func TestHostileTextStaysInertInEverythingWeWrite(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := hostileInput(t)
		ours := func(u string) bool { return in.RunURL != "" && strings.HasPrefix(u, "https://chant.example/r/1") }
		for _, limit := range []int{65_536, 14_000, 2_000} {
			body := Render(in, limit)
			if length(body) > limit {
				t.Fatalf("%d code points, limit %d", length(body), limit)
			}
			checkInert(t, body, ours)
		}
		checkInert(t, Explain(in, ""), ours)
		checkInert(t, Explain(in, hostileString(4).Draw(t, "who")), ours)
		for _, m := range in.Report.Members {
			checkInert(t, Explain(in, m.Member), ours)
		}
		checkInert(t, NotGreen("4053a471dcec", green.Waits{Missing: []string{hostileString(4).Draw(t, "check")}}), ours)
		_, description := Status(in.Report)
		if length(description) > MaxDescription || strings.ContainsAny(description, "\n\r\x1b") {
			t.Fatalf("description %q", description)
		}
	})
}

func TestHostileTextStaysInertInRefusals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := func(label string) string { return hostileString(6).Draw(t, label) }
		r := Refused{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Op: "pr-1", Gate: "pr-apply", Given: digestFor(t), Now: digestFor(t), Head: strings.Repeat("ab", 20), RunURL: "https://chant.example/r/1",
			Names: []string{s("name")}, Holder: s("holder"), Since: time.Unix(1_800_000_000, 0), Detail: s("detail"), Ref: s("ref"),
			Problems: []Problem{{File: s("file"), Line: 3, Field: s("field"), Message: s("message"), Next: s("next")}},
			Lines:    command.Parse("> chant apply\n\n"+s("body"), "").Near}
		checkInert(t, Refusal(r), func(u string) bool { return u == "https://chant.example/r/1#since" })
	})
}

func TestOneForeignStringIsOneCodeSpan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(hostileString(8), rapid.String()).Draw(t, "s")
		for _, body := range []string{"a " + Inline(s) + " b\n", "- **x** " + Inline(s) + "\n", "| " + Inline(s) + " | b |\n|---|---|\n| c | " + Inline(s) + " |\n"} {
			checkInert(t, body, func(string) bool { return false })
			doc := parser().Parser().Parse(text.NewReader([]byte(body)))
			spans := 0
			_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
				if entering && n.Kind() == ast.KindCodeSpan {
					spans++
				}
				return ast.WalkContinue, nil
			})
			want := strings.Count(body, Inline(s))
			if Inline(s) == "(empty)" {
				want = 0
			}
			if spans != want {
				t.Fatalf("%d spans, want %d: %q", spans, want, body)
			}
		}
	})
}

func FuzzForeignTextIsInert(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Add("`\n\n# Approved by @admin [x](https://evil.example)") // github/lock#87
	f.Add("x[\"</details>\"]")
	f.Fuzz(func(t *testing.T, s string) {
		none := func(string) bool { return false }
		checkInert(t, "a "+Inline(s)+" b\n", none)
		checkInert(t, "> "+Text(s)+"\n", none)
		checkInert(t, Text(s)+"\n", none)
		checkInert(t, "| "+Text(s)+" | "+Inline(s)+" |\n|---|---|\n", none)
		body := "before\n\n" + Fence("diff", s) + "\nafter\n"
		checkInert(t, body, none)
		doc := parser().Parser().Parse(text.NewReader([]byte(body)))
		if doc.ChildCount() != 3 || doc.LastChild().Kind() != ast.KindParagraph {
			t.Fatalf("the fence did not hold: %q", body)
		}
	})
}

// github/lock#87, as it was reported.
func TestTheReportedInjectionIsShownAsText(t *testing.T) {
	t.Parallel()
	name := "a`\n\n# Approved by @admin [x](https://evil.example)"
	if got, want := Inline(name), "``a`\\n\\n# Approved by @admin [x](https://evil.example)``"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got, want := Inline("x[\"</details>\"]"), "`x[\"</details>\"]`"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var html bytes.Buffer
	if err := parser().Convert([]byte("a "+Inline("</details>")), &html); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(html.String(), "&lt;/details&gt;") {
		t.Errorf("HTML is not escaped: %s", html.String())
	}
}

func TestProseStaysProse(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"The plan changed after review, so nothing was applied.":                  "The plan changed after review, so nothing was applied.",
		"cidr_block is 10.0.9.0/24 now, 10.0.8.0/24 was approved":                 "`cidr_block` is `10.0.9.0/24` now, `10.0.8.0/24` was approved",
		"approved: jcs1-sha256:d181...; planned now: jcs1-sha256:cef9....":        "approved: `jcs1-sha256:d181...`; planned now: `jcs1-sha256:cef9....`",
		"ask @admin to close #1":                                                  "ask `@admin` to close `#1`",
		"approve it: chant approve pr-2 pr-apply --plan jcs1-sha256:cef9... then": "approve it: chant approve `pr-2` pr-apply `--plan jcs1-sha256:cef9...` then",
		"`net.cidr` is not known yet":                                             "`net.cidr` is not known yet",
		"`input` of `a.b`: update, `x`.":                                          "`input` of `a.b`: update, `x`.",
		"a `b c` and a``d":                                                        "a `b c` and ```a``d```",
		"comment `chant apply` to try again, `chant plan`, or `chant":             "comment `chant apply` to try again, `chant plan`, or `` `chant ``",
		"3 of 5 members, 2 failed":                                                "3 of 5 members, 2 failed",
		"":                                                                        "",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q)\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestOnlyActNowMentionsAndOnlyWhoItIsFor(t *testing.T) {
	t.Parallel()
	in := estate(t)
	got := ActNow(in, "org/platform", "")
	if strings.Count(got, "@") != 1 || !strings.HasPrefix(got, "@org/platform: ") {
		t.Errorf("%s", got)
	}
	got = ActNow(in, "x](https://evil.example) @all", "")
	if strings.HasPrefix(got, "@") || !strings.HasPrefix(got, "`") {
		t.Errorf("%s", got)
	}
}

func TestLongNamesAreShortenedAndSayHowLongTheyAre(t *testing.T) {
	t.Parallel()
	got := Inline(strings.Repeat("a", 100_000))
	if length(got) > maxName+60 || !strings.Contains(got, "(100000 characters)") {
		t.Errorf("%d code points: %.80s", length(got), got)
	}
}

var kinds = []Kind{OlderPlan, UnknownPlan, NoDigest, Ambiguous, NotOpen, NothingWaits, NoReview, WroteChange, AuthorsUnknown, NotRecorded, NoPermission, NotAdministrator,
	NotAnApprover, Bot, Edited, Revoked, RevokedByHand, NotRun, PlanMoved, TargetMoved, LeaseHeld, NoSuchGroup, GroupsUnreadable, HolderAlive, LedgerUnusable, Declaration, Unenforced,
	MergedAlready, NotGreenYet, ForkNeedsHead, ForksNever, ClockAhead, Internal}

func TestEveryRefusalSaysWhatWhyAndWhatToDo(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	seen := map[string]Kind{}
	for _, k := range kinds {
		body := Refusal(Refused{Kind: k, Op: "pr-12", Gate: "pr-apply", Given: digestOf(t, "51c0"), Now: digestOf(t, "9b1f"), Head: strings.Repeat("ab", 20),
			RunURL: "https://chant.example/r/812", Names: []string{"dana"}, Holder: "host1:4821:9f2c1a3b", Since: time.Unix(1_800_000_000, 0), Ref: "d-81",
			Problems: []Problem{{File: "chant.workspace.json", Line: 7, Field: "x-bot.envs[0].gate", Message: "two envs of one branch share a gate name", Next: "give each its own"}},
			Lines:    command.Parse("> chant apply", "").Near})
		fmt.Fprintf(&all, "## %s\n\n%s\n", k, body)
		if other, dup := seen[body]; dup {
			t.Errorf("%s and %s read alike", k, other)
		}
		seen[body] = k
	}
	golden(t, "refusals", all.String())
	// Where no gate waits nothing is named, and nothing leads up to a line to copy.
	for _, k := range []Kind{NothingWaits, MergedAlready, NotOpen, Edited, Unenforced} {
		body := Refusal(Refused{Kind: k, Names: []string{"dana"}})
		if strings.Contains(body, "``") || strings.HasSuffix(strings.TrimSpace(body), ":") {
			t.Errorf("%s without a gate reads\n%s", k, body)
		}
	}
}
