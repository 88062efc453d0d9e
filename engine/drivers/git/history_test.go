package git

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	sha := write(t, remote, "main", "a", "1")
	gittest.Run(t, remote, "tag", "-a", "-m", "x", "ci/green/"+sha, sha)
	c := openClone(t, remote)
	tests := []struct {
		name, rev string
		want      string
	}{
		{"a full id", sha, sha},
		{"a remote branch", "refs/remotes/origin/main", sha},
		{"an annotated tag peels", "ci/green/" + sha, sha},
		{"a branch that is not there", "nope", ""},
		{"an unknown id", "1111111111111111111111111111111111111111", ""},
		{"an option is no revision", "--all", ""},
		{"a line end is no revision", sha + "\ncontents HEAD", ""},
		{"nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.Resolve(t.Context(), tt.rev)
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if tt.want == "" && !errors.Is(err, ErrUnknownRevision) {
				t.Errorf("got %v, want ErrUnknownRevision", err)
			}
		})
	}
}

func TestMergeBase(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	base := write(t, remote, "main", "a", "1")
	tip := write(t, remote, "main", "b", "1")
	head := gittest.Write(t, remote, gittest.Commit{Branch: "pr", From: base, Files: files("c", "1")})
	alone := write(t, remote, "orphan", "z", "1")
	c := openClone(t, remote)
	if got := must[string](t)(c.MergeBase(t.Context(), tip, head)); got != base {
		t.Errorf("merge base %s, want %s", got, base)
	}
	if _, err := c.MergeBase(t.Context(), tip, alone); !errors.Is(err, ErrUnknownRevision) {
		t.Errorf("unrelated histories: got %v, want ErrUnknownRevision", err)
	}
	for _, tt := range []struct {
		a, b string
		want bool
	}{{base, tip, true}, {tip, base, false}, {tip, tip, true}, {head, tip, false}} {
		if got := must[bool](t)(c.IsAncestor(t.Context(), tt.a, tt.b)); got != tt.want {
			t.Errorf("IsAncestor(%s, %s) = %v", tt.a, tt.b, got)
		}
	}
}

func TestFirstParentsLeavesOutMergedBranches(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	root := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: files("a", "1"), At: 1000})
	side := gittest.Write(t, remote, gittest.Commit{Branch: "pr", From: root, Files: files("b", "1"), At: 1500})
	merge := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: files("b", "1"), Merge: []string{side}, At: 2000})
	old := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: files("a", "2"), At: 900})
	tip := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: files("a", "3"), At: 3000})
	c := openClone(t, remote)
	tests := []struct {
		name string
		walk Walk
		want []string
	}{
		{"all of the line, newest first", Walk{}, []string{tip, old, merge, root}},
		{"a commit with an old time hides none below it", Walk{Since: time.Unix(2000, 0)}, []string{tip, merge}},
		{"the bound counts to the second", Walk{Since: time.Unix(2001, 0)}, []string{tip}},
		{"stop is left out", Walk{Stop: merge}, []string{tip, old}},
		{"at most", Walk{Max: 1}, []string{tip}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			commits := must[[]Commit](t)(c.FirstParents(t.Context(), tip, tt.walk))
			var got []string
			for _, commit := range commits {
				got = append(got, commit.SHA)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	line := must[[]Commit](t)(c.FirstParents(t.Context(), tip, Walk{Stop: merge}))
	if got := line[len(line)-1].Parent; got != merge {
		t.Errorf("the last commit's parent is %s, want the stop %s", got, merge)
	}
}

func TestCommitsCarryEveryCoAuthor(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	base := write(t, remote, "main", "a", "1")
	head := gittest.Write(t, remote, gittest.Commit{
		Branch: "pr", From: base, Files: files("b", "1"), At: 1_700_000_500,
		Author: "Älice <alice@example.com>", Committer: "GitHub <noreply@github.com>",
		Message: "add b\n\nCo-authored-by: Bob <1+bob@users.noreply.github.com>\n\nmore text\nco-AUTHORED-by:Carol<carol@example.com>\nCo-authored-by: no address",
	})
	c := openClone(t, remote)
	got := must[[]Commit](t)(c.Commits(t.Context(), base, head))
	want := []Commit{{
		SHA: head, Parent: base, Parents: []string{base}, Tree: gittest.Run(t, remote, "rev-parse", head+"^{tree}"),
		CommitterTime: time.Unix(1_700_000_500, 0).UTC(),
		CoAuthors: []Person{
			{"Bob", "1+bob@users.noreply.github.com"},
			{"Carol", "carol@example.com"},
			{"no address", ""},
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if none := must[[]Commit](t)(c.Commits(t.Context(), head, head)); len(none) != 0 {
		t.Errorf("an empty range has commits: %v", none)
	}
}
