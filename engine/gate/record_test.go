package gate

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/digest"
)

var hexA = strings.Repeat("a", 64)

func TestMalformedLinesAreSkippedAndCounted(t *testing.T) {
	t.Parallel()
	good := `{"gate":"g","op":"o","resolvedBy":"github:alice","timestamp":"2026-11-30T10:05:00.000Z","version":1}`
	tests := []struct{ name, line string }{
		{"not JSON", `{"version":1`},
		{"an array", `[1]`},
		{"another version", strings.Replace(good, `"version":1`, `"version":2`, 1)},
		{"a version as text", strings.Replace(good, `"version":1`, `"version":"1"`, 1)},
		{"no op", strings.Replace(good, `"op":"o",`, ``, 1)},
		{"an op that is no string", strings.Replace(good, `"op":"o"`, `"op":1`, 1)},
		{"a gate that is no string", strings.Replace(good, `"gate":"g"`, `"gate":null`, 1)},
		{"no timestamp", strings.Replace(good, `"timestamp":"2026-11-30T10:05:00.000Z",`, ``, 1)},
		{"a plan that is no string", strings.Replace(good, `{`, `{"planDigest":null,`, 1)},
		{"a resolution by nobody", strings.Replace(good, `"resolvedBy":"github:alice",`, ``, 1)},
		{"a pending fact without an expiry", strings.Replace(good, `{`, `{"kind":"pending",`, 1)},
		{"an approval whose environment is no string", strings.Replace(good, `{`, `{"environment":["prod"],`, 1)},
		{"a lone surrogate", strings.Replace(good, `github:alice`, `\ud800`, 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lines, malformed := ParseFile([]byte(good + "\n\n  \n" + tt.line + "\r\n" + good))
			if len(lines) != 2 || malformed != 1 {
				t.Errorf("%d lines, %d malformed; want 2 and 1", len(lines), malformed)
			}
		})
	}
}

func TestFieldsOfAnotherTypeNeverApproveAndStillVoid(t *testing.T) {
	t.Parallel()
	approval := string(approvalAt(10, plan(t, "a"), "github:alice").Line())
	for name, line := range map[string]string{
		"a kind":                       strings.Replace(approval, `{`, `{"kind":1,`, 1),
		"a pending fact's environment": strings.Replace(string(revokeAt(10).Line()), `"environment":"prod"`, `"environment":null`, 1),
	} {
		lines, _ := ParseFile([]byte(line))
		if len(lines) != 1 || lines[0].IsResolution() {
			t.Fatalf("%s: read as %+v", name, lines)
		}
		if Evaluate(lines, ask(plan(t, "a"))).Satisfied {
			t.Errorf("%s of another type approves", name)
		}
		if Evaluate(append([]Record{approvalAt(5, plan(t, "a"), "github:alice")}, lines...), ask(plan(t, "a"))).Satisfied {
			t.Errorf("%s of another type must still void", name)
		}
	}
	prose, malformed := ParseFile([]byte(strings.Replace(approval, `{`, `{"note":1,"url":[],`, 1)))
	if malformed != 0 || !Evaluate(prose, ask(plan(t, "a"))).Satisfied {
		t.Error("prose of another type makes no line malformed")
	}
}

func TestEveryFieldSurvivesTheLine(t *testing.T) {
	t.Parallel()
	seal, err := digest.Decode([]byte(`{"key":"SHA256:q3","signature":"-----BEGIN SSH SIGNATURE-----\nab<>&\n","signer":"github:alice"}`))
	if err != nil {
		t.Fatal(err)
	}
	a := plan(t, "a")
	records := []Record{
		{
			Version: 1, Op: "pr-12", Gate: "pr-apply", Timestamp: at(1), PlanDigest: a, Environment: "prod", Note: "ok  <b>", URL: "https://example.org/1",
			Origin: "forge", ResolvedBy: "github:alice", SameOriginOverride: true, Approver: &Approver{Kind: "human", Roles: []string{"release"}},
			PolicyDecision: seal, Seal: seal, RelayedBy: "github:bot", Sources: "jcs1-sha256:" + hexA,
		},
		{
			Version: 1, Kind: KindPending, Op: "pr-12", Gate: "pr-apply", Timestamp: at(1), OtherDigest: "sha256:short", Environment: "prod",
			ExpiresAt: at(2), Description: "d", RunID: "r", URL: "https://example.org/1", RevokedBy: "github:bob", Note: "n", Origin: "cli", Approval: seal,
		},
	}
	for _, want := range records {
		got, err := ParseLine(want.Line())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, digests, values); diff != "" {
			t.Errorf("after a round trip (-want +got):\n%s", diff)
		}
		if bytes.ContainsAny(want.Line(), "\n") {
			t.Error("a line holds a line feed")
		}
	}
}

var values = cmp.Comparer(digest.Equal)

// The lines of pr-loop §3.1 and §3.2, byte for byte.
func TestPublishedLinesAreReproduced(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"description":"pull request #12: net, app","expiresAt":"2026-12-02T10:00:00.000Z","gate":"pr-apply","kind":"pending","op":"pr-12","origin":"cli","planDigest":"jcs1-sha256:` + hexA + `","timestamp":"2026-11-30T10:00:00.000Z","version":1}`,
		`{"approver":{"kind":"human"},"gate":"pr-apply","op":"pr-12","origin":"cli","planDigest":"jcs1-sha256:` + hexA + `","resolvedBy":"github:alice","seal":{"key":"SHA256:q3","signature":"-----BEGIN SSH SIGNATURE-----\nx\n-----END SSH SIGNATURE-----\n","signer":"github:alice"},"timestamp":"2026-11-30T10:05:00.000Z","version":1}`,
	} {
		r, err := ParseLine([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(line, string(r.Line())); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}
	}
}

func TestAppendLine(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, content, want string }{
		{"the first line has no line feed", "", "x"},
		{"lines are joined by one", "a", "a\nx"},
		{"one trailing line feed is dropped", "a\n", "a\nx"},
		{"a second one stays", "a\n\n", "a\n\nx"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			content := []byte(tt.content)
			if got := string(AppendLine(content, []byte("x"))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if string(content) != tt.content {
				t.Error("the old content was changed")
			}
		})
	}
}

func TestAnOpNeverLeavesTheGatesFolder(t *testing.T) {
	t.Parallel()
	for op, want := range map[string]string{
		"pr-12":          "_members/net/_gates/pr-12.jsonl",
		"green-1a2b-net": "_members/net/_gates/green-1a2b-net.jsonl",
		"../../x":        "_members/net/_gates/..%2F..%2Fx.jsonl",
		"a\x00b":         "_members/net/_gates/a%00b.jsonl",
	} {
		if got := Path("_members/net/", op); got != want {
			t.Errorf("op %q: %s, want %s", op, got, want)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add([]byte(`{"gate":"g","op":"o","resolvedBy":"github:alice","timestamp":"2026-11-30T10:05:00.000Z","version":1}`))
	f.Add([]byte(`{"kind":"pending","gate":"g","op":"o","expiresAt":"x","timestamp":"t","version":1,"approval":{"quorum":{"count":2}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := ParseLine(line)
		if err != nil {
			return
		}
		again, err := ParseLine(r.Line())
		if err != nil {
			t.Fatalf("a line written from %q does not parse: %v", line, err)
		}
		if diff := cmp.Diff(r, again, digests, values); diff != "" {
			t.Fatalf("a line changed (-first +second):\n%s", diff)
		}
	})
}
