package git

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

func TestChangedFilesListsBothSidesOfARename(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	base := write(t, remote, "main", "old name", "same content, long enough to be seen as a rename", "mode", "x", "kept", "k")
	head := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{
		"old name": nil, "new\nname": []byte("same content, long enough to be seen as a rename"), "mode*": []byte("x"),
		"link@": []byte("kept"), "dir/ü": []byte("1"),
	}})
	c := openClone(t, remote)
	got := must[[]string](t)(c.ChangedFiles(t.Context(), base, head))
	if diff := cmp.Diff([]string{"dir/ü", "link", "mode", "new\nname", "old name"}, got); diff != "" {
		t.Error(diff)
	}
	if none := must[[]string](t)(c.ChangedFiles(t.Context(), head, head)); len(none) != 0 {
		t.Errorf("a commit differs from itself in %v", none)
	}
}

// What decides which roots are planned is what git itself says differs, whatever
// stands where: files in place of directories, links, modes.
func TestChangedFilesAreThoseOfGitsOwnComparison(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "a/b", "a/b/c", "a-", "a.b/c", "ab", "b/a/x", "b/a/y", "b", "link"}
	var commits []string
	for range 7 {
		files := map[string][]byte{"keep": []byte("k")}
		for range 4 {
			name := names[r.IntN(len(names))]
			for other := range files { // one name is a file or a directory
				plain := strings.TrimRight(other, "*@")
				if strings.HasPrefix(plain, name+"/") || strings.HasPrefix(name, plain+"/") || plain == name {
					delete(files, other)
				}
			}
			files[name+[]string{"", "", "*", "@"}[r.IntN(4)]] = fmt.Append(nil, r.IntN(2))
		}
		branch := fmt.Sprintf("b%d", len(commits))
		commits = append(commits, gittest.Write(t, remote, gittest.Commit{Branch: branch, Files: files}))
	}
	c := openClone(t, remote)
	for _, a := range commits {
		for _, b := range commits {
			want := strings.Split(gittest.Run(t, c.Dir(), "diff-tree", "-r", "-z", "--name-only", "--no-renames", a, b), "\x00")
			want = slices.DeleteFunc(want, func(s string) bool { return s == "" })
			slices.Sort(want)
			got := must[[]string](t)(c.ChangedFiles(t.Context(), a, b))
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s to %s: %s", a, b, diff)
			}
		}
	}
}

func TestAComparisonEndsWithItsContext(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	base := write(t, remote, "main", "a", "1")
	head := write(t, remote, "main", "dir/b", "1")
	c := openClone(t, remote)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := c.ChangedFiles(ctx, base, head); err == nil {
		t.Errorf("got %v, want an error", got)
	}
}
