package green

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	c1 = strings.Repeat("1", 40)
	c2 = strings.Repeat("2", 40)
	c3 = strings.Repeat("3", 40)
	at = time.Date(2026, 11, 30, 10, 0, 0, 999, time.FixedZone("", 3600))
)

func greenTag(named, peeled string) Tag {
	return Tag{Name: GreenPrefix + named, Commit: peeled}
}
func revokedTag(named string) Tag { return Tag{Name: RevokedPrefix + named, Commit: named} }

func TestDue(t *testing.T) {
	t.Parallel()
	failing := run(7, "unit (1)", "failure")
	pass, fail := Verdict{State: Pass}, Verdict{State: Fail, Phase: "check", Run: &failing}
	tests := []struct {
		name    string
		tags    []Tag
		verdict Verdict
		want    string // tag name, "" for none
	}{
		{"a commit without tags that passes turns green", nil, pass, GreenPrefix + c1},
		{"a commit without tags that fails gets none", nil, fail, ""},
		{"a pending commit gets none", nil, Verdict{State: Pending}, ""},
		{"a green commit that passes gets none", []Tag{greenTag(c1, c1)}, pass, ""},
		{"a green commit that fails is revoked", []Tag{greenTag(c1, c1)}, fail, RevokedPrefix + c1},
		{"a green commit that is pending again stays green", []Tag{greenTag(c1, c1)}, Verdict{State: Pending}, ""},
		{"a revoked commit gets nothing more", []Tag{greenTag(c1, c1), revokedTag(c1)}, fail, ""},
		{"a commit revoked before it was green never turns green", []Tag{revokedTag(c1)}, pass, ""},
		{"tags of another commit do not matter", []Tag{greenTag(c2, c2), revokedTag(c2)}, pass, GreenPrefix + c1},
		{"a name that is taken by a wrong tag is not made again", []Tag{greenTag(c1, c2)}, pass, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Due(rules, c1, "main", tt.tags, tt.verdict, at)
			if got == nil {
				got = &TagDue{}
			}
			if got.Name != tt.want || got.Name != "" && got.Commit != c1 {
				t.Errorf("due %q at %q, want %q", got.Name, got.Commit, tt.want)
			}
		})
	}
}

func TestTagMessages(t *testing.T) {
	t.Parallel()
	runs := []CheckRun{run(1, "lint", "success"), run(2, "unit (1)", "success"), run(3, "e2e", "skipped"), run(4, "never", "success")}
	made := Due(rules, c1, "main", nil, Judge(rules, runs), at)
	const wantGreen = `green: every required phase passed: check, e2e

{
  "schema": 1,
  "tag": "green",
  "commit": "1111111111111111111111111111111111111111",
  "branch": "main",
  "at": "2026-11-30T09:00:00Z",
  "phases": {
    "check": [
      {
        "name": "lint",
        "id": 1,
        "conclusion": "success",
        "url": "https://example.org/lint"
      },
      {
        "name": "unit (1)",
        "id": 2,
        "conclusion": "success",
        "url": "https://example.org/unit (1)"
      }
    ],
    "e2e": [
      {
        "name": "e2e",
        "id": 3,
        "conclusion": "skipped",
        "url": "https://example.org/e2e"
      }
    ]
  }
}
`
	if diff := cmp.Diff(wantGreen, made.Message); diff != "" {
		t.Errorf("green (-want +got):\n%s", diff)
	}
	runs[1] = run(9, "unit (1)", "timed_out")
	runs[1].Name = "unit (<1>\n&)"
	revoked := Due(rules, c1, "main", []Tag{greenTag(c1, c1)}, Judge(rules, runs), at)
	const wantRevoked = `revoked: phase check: unit (<1> &) ended timed_out

{
  "schema": 1,
  "tag": "revoked",
  "commit": "1111111111111111111111111111111111111111",
  "branch": "main",
  "at": "2026-11-30T09:00:00Z",
  "phase": "check",
  "run": {
    "name": "unit (<1>\n&)",
    "id": 9,
    "conclusion": "timed_out",
    "url": "https://example.org/unit (1)"
  }
}
`
	if diff := cmp.Diff(wantRevoked, revoked.Message); diff != "" {
		t.Errorf("revoked (-want +got):\n%s", diff)
	}
}

// soundness: a green tag on a commit that is not on the branch, moved, or put
// there by anyone who can push tags.
func TestCount(t *testing.T) {
	t.Parallel()
	line := []string{c2, c1}
	tests := []struct {
		name     string
		tags     []Tag
		green    []string
		problems int
	}{
		{"a green tag counts", []Tag{greenTag(c1, c1)}, []string{c1}, 0},
		{"a lightweight tag counts", []Tag{{Name: GreenPrefix + c1, Commit: c1}}, []string{c1}, 0},
		{"a revoked commit does not count, whichever tag is listed first", []Tag{revokedTag(c1), greenTag(c1, c1)}, nil, 0},
		{"a revoked tag alone makes nothing green", []Tag{revokedTag(c1)}, nil, 0},
		{"openSUSE/open-build-service#13206: a tag that peels to another commit is a problem", []Tag{greenTag(c1, c2)}, nil, 1},
		{"a tag that peels to no commit is a problem", []Tag{greenTag(c1, "")}, nil, 1},
		{"a wrong green tag does not make the commit it peels to green", []Tag{greenTag(c1, c2), greenTag(c2, c2)}, []string{c2}, 1},
		{"a revoked tag that peels elsewhere still revokes", []Tag{greenTag(c1, c1), {Name: RevokedPrefix + c1, Commit: c2}}, nil, 1},
		{"a commit off the first-parent line does not count", []Tag{greenTag(c3, c3)}, nil, 0},
		{"a shortened sha is no ci tag", []Tag{{Name: GreenPrefix + c1[:12], Commit: c1}}, nil, 0},
		{"more behind the sha is no ci tag", []Tag{{Name: GreenPrefix + c1 + "/x", Commit: c1}}, nil, 0},
		{"upper case is no ci tag", []Tag{{Name: GreenPrefix + strings.Repeat("A", 40), Commit: c1}}, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := Count(tt.tags, line)
			want := map[string]bool{}
			for _, sha := range tt.green {
				want[sha] = true
			}
			if diff := cmp.Diff(want, c.Green); diff != "" {
				t.Errorf("green (-want +got):\n%s", diff)
			}
			if len(c.Problems) != tt.problems {
				t.Errorf("problems %q, want %d", c.Problems, tt.problems)
			}
		})
	}
}

func TestAProblemSaysWhatIsWrongWithTheTag(t *testing.T) {
	t.Parallel()
	tags := []Tag{greenTag(c1, c2), greenTag(c2, ""), {Name: RevokedPrefix + c1, Commit: c2}}
	want := []string{"peels to " + c2 + ", so it is ignored", "peels to no commit", "stays revoked"}
	for i, problem := range Count(tags, nil).Problems {
		if !strings.Contains(problem, want[i]) || !strings.Contains(problem, tags[i].Name) {
			t.Errorf("problem %q, want %q", problem, want[i])
		}
	}
}

func TestLastIsTheNewestGreenCommit(t *testing.T) {
	t.Parallel()
	line := []string{c3, c2, c1}
	if got, ok := Last(line, []Tag{greenTag(c1, c1), greenTag(c2, c2)}); !ok || got != c2 {
		t.Errorf("last green %s, %v; want %s", got, ok, c2)
	}
	if got, ok := Last(line, []Tag{greenTag(c1, c1), greenTag(c2, c2), revokedTag(c2)}); !ok || got != c1 {
		t.Errorf("last green %s, %v; want %s, since the newer one is revoked", got, ok, c1)
	}
	if got, ok := Last(line, nil); ok {
		t.Errorf("last green %s without tags", got)
	}
}

// I14: a revoked tag never makes more green, and no order of tags matters.
func TestCountProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		anyTag := rapid.Custom(func(t *rapid.T) Tag {
			prefix := rapid.SampledFrom([]string{GreenPrefix, RevokedPrefix}).Draw(t, "prefix")
			commit := rapid.SampledFrom([]string{c1, c2, c3})
			return Tag{Name: prefix + commit.Draw(t, "named"), Commit: commit.Draw(t, "peeled")}
		})
		tags := rapid.SliceOfN(anyTag, 0, 6).Draw(t, "tags")
		line := []string{c2, c1}
		before := Count(tags, line)
		if diff := cmp.Diff(before.Green, Count(rapid.Permutation(tags).Draw(t, "order"), line).Green); diff != "" {
			t.Fatalf("order of tags matters:\n%s", diff)
		}
		after := Count(append(tags, revokedTag(rapid.SampledFrom(line).Draw(t, "revoked"))), line)
		for sha := range after.Green {
			if !before.Green[sha] {
				t.Fatalf("%s turned green by a revoked tag", sha)
			}
		}
	})
}
