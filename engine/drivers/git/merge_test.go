package git

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

func TestMergeResultIsTheSameCommitEveryTime(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	base := write(t, remote, "main", "a", "1", "b", "1")
	head := gittest.Write(t, remote, gittest.Commit{Branch: "pr", From: base, Files: files("a", "2")})
	tip := write(t, remote, "main", "b", "2")
	one, two := openClone(t, remote), openClone(t, remote)

	commit, tree, conflicts, err := one.MergeResult(t.Context(), tip, head)
	if err != nil || len(conflicts) > 0 {
		t.Fatalf("conflicts %v, error %v", conflicts, err)
	}
	again, _, _, err := two.MergeResult(t.Context(), "refs/remotes/origin/main", "refs/remotes/origin/pr")
	if err != nil || again != commit {
		t.Errorf("in another clone the same merge is %s (%v), want %s", again, err, commit)
	}
	got := must[Commit](t)(one.Commit(t.Context(), commit))
	if got.Tree != tree || !cmp.Equal(got.Parents, []string{tip, head}) {
		t.Errorf("merge commit %+v, want tree %s and parents %s, %s", got, tree, tip, head)
	}
	a, _, errA := one.ReadFile(t.Context(), commit, "a")
	b, _, errB := one.ReadFile(t.Context(), commit, "b")
	if string(a)+string(b) != "22" || errA != nil || errB != nil {
		t.Errorf("merged content %q and %q (%v, %v), want both changes", a, b, errA, errB)
	}
	if out := gittest.Run(t, one.Dir(), "fsck", "--strict", "--no-dangling"); out != "" {
		t.Errorf("fsck: %s", out)
	}
	if refs := gittest.Run(t, one.Dir(), "for-each-ref", "--contains", commit); refs != "" {
		t.Errorf("the merge result is named by %s", refs)
	}
}

func TestMergeResultNamesConflicts(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	base := write(t, remote, "main", "dir/a b", "1", "c", "1", "d", "1")
	head := gittest.Write(t, remote, gittest.Commit{Branch: "pr", From: base, Files: map[string][]byte{
		"dir/a b": []byte("2"), "c": nil, "d": []byte("2"),
	}})
	tip := write(t, remote, "main", "dir/a b", "3", "c", "3")
	c := openClone(t, remote)
	commit, tree, conflicts, err := c.MergeResult(t.Context(), tip, head)
	if err != nil || commit != "" || tree != "" {
		t.Fatalf("commit %q, tree %q, error %v; want none", commit, tree, err)
	}
	if diff := cmp.Diff([]string{"c", "dir/a b"}, conflicts); diff != "" {
		t.Error(diff)
	}
}

func TestMergeResultOfUnrelatedHistoriesIsAnError(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	base, head := write(t, remote, "main", "a", "1"), write(t, remote, "pr", "b", "1")
	c := openClone(t, remote)
	if commit, _, conflicts, err := c.MergeResult(t.Context(), base, head); err == nil {
		t.Errorf("got commit %q, conflicts %v; want an error", commit, conflicts)
	}
}

// A commit is here before its tree while a fetch of it runs, and git before 2.45
// takes the missing tree for an empty one.
func TestMergeResultOfACommitWhoseTreeIsNotHereIsAnError(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	base := write(t, remote, "main", "a", "1")
	c := openClone(t, remote)
	by := Signature{Person: Person{Name: "x", Email: "x@example.com"}}
	head, err := c.WriteCommit(CommitSpec{
		Tree: "1234567890123456789012345678901234567890", Parents: []string{base}, Author: by, Committer: by, Message: "half fetched",
	})
	if err != nil {
		t.Fatal(err)
	}
	if commit, tree, _, err := c.MergeResult(t.Context(), base, head); !errors.Is(err, ErrUnknownRevision) {
		t.Errorf("commit %q, tree %q, error %v; want ErrUnknownRevision", commit, tree, err)
	}
}

// A merge driver named by the repository's attributes is a program.
func TestMergeResultRunsNoMergeDriver(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	base := write(t, remote, "main", ".gitattributes", "* merge=union\n*.x filter=evil diff=evil\n", "a", "1\n")
	head := gittest.Write(t, remote, gittest.Commit{Branch: "pr", From: base, Files: files("a", "2\n")})
	tip := write(t, remote, "main", "a", "3\n")
	c := openClone(t, remote)
	_, _, conflicts, err := c.MergeResult(t.Context(), tip, head)
	if err != nil || !cmp.Equal(conflicts, []string{"a"}) {
		t.Errorf("conflicts %v, error %v; want a conflict in a: the repository's attributes don't decide", conflicts, err)
	}
}

// A head on top of base is merged without a process; git's own merge of the two has
// the same tree.
func TestMergeResultOfAHeadOnTopOfBaseIsGitsOwn(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	base := write(t, remote, "main", "a", "1", "old/b", "2", "old/c", "3")
	gittest.Write(t, remote, gittest.Commit{Branch: "pr", From: base, Files: map[string][]byte{"old/b": nil, "new/b": []byte("2"), "a*": []byte("1")}})
	head := write(t, remote, "pr", "new/d", "4")
	c := openClone(t, remote)
	_, tree, conflicts, err := c.MergeResult(t.Context(), base, head)
	if err != nil || len(conflicts) > 0 {
		t.Fatalf("conflicts %v, error %v", conflicts, err)
	}
	if want := gittest.Run(t, c.Dir(), "merge-tree", "--write-tree", base, head); tree != want {
		t.Errorf("tree %s, want %s", tree, want)
	}
	if got, err := c.MergeBase(t.Context(), base, head); got != base || err != nil {
		t.Errorf("merge base %s (%v), want %s", got, err, base)
	}
}
