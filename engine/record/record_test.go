package record

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform"
)

var (
	sha1    = strings.Repeat("1", 40)
	sha2    = strings.Repeat("2", 40)
	sha3    = strings.Repeat("3", 40)
	sha4    = strings.Repeat("4", 40)
	digests = cmp.Comparer(func(a, b digest.Digest) bool { return a == b })
)

func plan(t *testing.T, hex string) digest.Digest {
	t.Helper()
	d, err := digest.Parse("jcs1-sha256:" + strings.Repeat(hex, 64))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func merge(t *testing.T) Merge {
	t.Helper()
	pr, approved := 12, plan(t, "a")
	return Merge{
		Version: 1, Commit: sha1, Base: sha2, PR: &pr, Op: "pr-12", Gate: "pr-apply", Env: "prod", Digest: plan(t, "b"), Status: "planned",
		Approval: Approval{Status: "approved", ApprovedBy: []string{"github:alice"}}, Approved: &approved,
		Sources: map[string]string{"net": "s"}, Code: map[string]terraform.RunsCode{"net": {External: []string{"data.external.x"}}},
		Authors: []string{"github:bob"}, MergedBy: "github:carol", Timestamp: "2026-11-30T11:00:00.000Z",
	}
}

func TestMergeRecordSurvives(t *testing.T) {
	t.Parallel()
	direct := Merge{Version: 1, Commit: sha1, Base: sha2, Env: "prod", Status: "nothing", Approval: Approval{Status: "pending"}, Sources: map[string]string{}, Authors: []string{}, Timestamp: "2026-11-30T11:00:00.000Z"}
	for name, want := range map[string]Merge{"a pull request's": merge(t), "a commit no pull request merged": direct} {
		got, err := ParseMerge(want.JSON())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got, digests); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	direct.Sources, direct.Authors = nil, nil
	const want = `{
  "version": 1,
  "commit": "1111111111111111111111111111111111111111",
  "base": "2222222222222222222222222222222222222222",
  "pr": null,
  "op": "",
  "gate": "",
  "env": "prod",
  "digest": "",
  "status": "nothing",
  "approval": {
    "status": "pending"
  },
  "approved": null,
  "sources": {},
  "authors": [],
  "mergedBy": "",
  "timestamp": "2026-11-30T11:00:00.000Z"
}
`
	if diff := cmp.Diff(want, string(direct.JSON())); diff != "" {
		t.Errorf("record of a commit no pull request merged (-want +got):\n%s", diff)
	}
}

func TestApplyRecordAndAttempt(t *testing.T) {
	t.Parallel()
	a := Apply{Version: 1, Env: "prod", Commit: sha1, Base: sha2, Digest: plan(t, "a"), ApprovedBy: []string{"github:alice"}, Via: ViaMerges, Timestamp: "2026-11-30T11:00:00.000Z"}
	got, err := ParseApply(a.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, got, digests); diff != "" {
		t.Errorf("apply (-want +got):\n%s", diff)
	}
	attempt := Attempt{Version: 1, Env: "prod", Commit: sha1, Base: sha2, Digest: plan(t, "a"), Token: "t", StartedAt: "2026-11-30T11:00:00.000Z", Rounds: map[string]int{"app": 2}}
	again, err := ParseAttempt(attempt.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(attempt, again, digests); diff != "" {
		t.Errorf("attempt (-want +got):\n%s", diff)
	}
	// pr-loop §6.4, as published.
	published := `{"version":1,"env":"prod","commit":"` + sha1 + `","base":"` + sha2 + `","digest":"` + a.Digest.String() + `","approvedBy":["github:alice"],"via":"merges","timestamp":"2026-11-30T11:00:00.000Z"}`
	if got, err = ParseApply([]byte(published)); err != nil || !cmp.Equal(a, got, digests) {
		t.Errorf("the published record reads as %+v, %v", got, err)
	}
}

func TestBrokenRecordsAreErrorsThatNameTheField(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, old, new, field string }{
		{"a newer version", `"version": 1`, `"version": 2`, "version"},
		{"a shortened commit", `"commit": "` + sha1, `"commit": "1111`, "commit"},
		{"no base", `"base": "` + sha2 + `"`, `"base": ""`, "base"},
		{"no environment", `"env": "prod"`, `"env": ""`, "env"},
		{"a time without a zone", `11:00:00.000Z`, `11:00:00`, "timestamp"},
		{"a digest that is none", strings.Repeat("b", 64), "b", "digest"},
		{"an approved plan that is none", `"approved": "jcs1-sha256:` + strings.Repeat("a", 64) + `"`, `"approved": ""`, "approved"},
		{"no word on approval", `"approved": "jcs1`, `"aproved": "jcs1`, "approved"},
		{"an approval status of no meaning", `"status": "approved"`, `"status": "yes"`, "approval.status"},
		{"an approved merge without a pull request", `"pr": 12`, `"pr": null`, "pr"},
		{"an approved merge without an op", `"op": "pr-12"`, `"op": ""`, "op"},
		{"an approved merge without a gate", `"gate": "pr-apply"`, `"gate": ""`, "gate"},
		{"no sources", `"sources"`, `"source"`, "sources"},
		{"no authors", `"authors"`, `"writers"`, "authors"},
		{"authors that are no list", `"authors": [`, `"authors": 1, "x": [`, "authors"},
		{"text behind the record", "}\n", "}\n}", ""},
		{"no object", "{", "[{", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := string(merge(t).JSON())
			broken := strings.Replace(text, tt.old, tt.new, 1)
			if tt.old == "}\n" {
				broken = text + "}"
			}
			if broken == text {
				t.Fatalf("the record does not hold %q", tt.old)
			}
			if m, err := ParseMerge([]byte(broken)); err == nil || !strings.Contains(err.Error(), tt.field) {
				t.Errorf("read as %+v, %v; want an error that names %q", m, err, tt.field)
			}
		})
	}
	for name, text := range map[string]string{"apply by no means": `"via": "merges"`, "apply without via": `"via"`} {
		record := string(Apply{Env: "prod", Commit: sha1, Base: sha2, Via: ViaMerges, Timestamp: "2026-11-30T11:00:00.000Z"}.JSON())
		if a, err := ParseApply([]byte(strings.Replace(record, text, strings.ToUpper(text)+"x", 1))); err == nil {
			t.Errorf("%s was read as %+v", name, a)
		}
	}
	attempt := string(Attempt{Env: "prod", Commit: sha1, Base: sha2, StartedAt: "2026-11-30T11:00:00.000Z"}.JSON())
	if a, err := ParseAttempt([]byte(attempt)); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("an attempt without a token was read as %+v, %v", a, err)
	}
}

func TestFieldsALaterVersionAddsAreIgnored(t *testing.T) {
	t.Parallel()
	text := strings.Replace(string(merge(t).JSON()), "{", `{"later": {"x": 1},`, 1)
	if _, err := ParseMerge([]byte(text)); err != nil {
		t.Error(err)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	const prefix = "_members/net/"
	for got, want := range map[string]string{
		MergePath(prefix, "prod", sha1):       "_members/net/_merges/prod/11/" + sha1 + ".json",
		AppliesPath("", "prod", sha1):         "_applies/prod/11/" + sha1 + ".json",
		GreenApplyPath("", "prod"):            "_green-applies/prod.json",
		AttemptPath("", "prod"):               "_green-applies/prod.attempt.json",
		GreenApplyPath("", "prod.attempt"):    "_green-applies/prod%2Eattempt.json",
		GreenApplyPath("", "../x"):            "_green-applies/..%2Fx.json",
		MergePath("", "..", sha1):             "_merges/%2E%2E/11/" + sha1 + ".json",
		MergePath("", "prod", "../x"):         "_merges/prod/%2/%2E%2E%2Fx.json",
		DocumentPath(prefix, plan(t, "a")):    "_members/net/_documents/aa/" + strings.Repeat("a", 64) + ".json",
		DocumentPath(prefix, digest.Digest{}): "",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
