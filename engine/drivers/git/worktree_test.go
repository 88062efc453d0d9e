package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

func TestWorktreeHoldsTheBlobsAndNothingElse(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	sha := write(t, remote, "main",
		".gitattributes", "*.txt eol=crlf\nsecret export-ignore\n*.v export-subst ident filter=lfs\n",
		"a.txt", "one\ntwo\n", "secret", "s", "x.v", "$Format:%H$ $Id$", "bin/run*", "#!/bin/sh\n",
		"dir/deep/file", "", "link@", "dir/deep/file", "dir/up@", "../a.txt", "dangling@", "not/there")
	c := openClone(t, remote)
	dir := filepath.Join(t.TempDir(), "tree")
	if err := c.Worktree(t.Context(), sha, dir); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(p)
			got[rel] = "-> " + target
			return err
		}
		data, err := os.ReadFile(p)
		got[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		".gitattributes": "*.txt eol=crlf\nsecret export-ignore\n*.v export-subst ident filter=lfs\n",
		"a.txt":          "one\ntwo\n", "secret": "s", "x.v": "$Format:%H$ $Id$", "bin/run": "#!/bin/sh\n",
		"dir/deep/file": "", "link": "-> dir/deep/file", "dir/up": "-> ../a.txt", "dangling": "-> not/there",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	run, err := os.Stat(filepath.Join(dir, "bin/run"))
	if err != nil || run.Mode()&0o100 == 0 {
		t.Errorf("bin/run is not executable: %v", err)
	}
	if err := c.Worktree(t.Context(), sha, dir); err == nil {
		t.Error("a second export into the same directory was made")
	}
	if err := RemoveWorktree(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the worktree is still there: %v", err)
	}
}

func TestWorktreeRefusesLinksOutOfIt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, refused string
		files         []string
	}{
		{"absolute", "x", []string{"x@", "/etc/passwd"}},
		{"above the root", "x", []string{"x@", "../other"}},
		{"above the root from below", "d/x", []string{"d/x@", "../../other"}},
		{"above through a name that is not there yet", "x", []string{"x@", "later/../../other"}},
		{"out through another link", "x", []string{"d@", ".", "x@", "d/d/../.."}},
		{"a loop leads nowhere", "x", []string{"x@", "y", "y@", "x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			remote := gittest.Bare(t)
			sha := write(t, remote, "main", append(tt.files, "keep", "k")...)
			c := openClone(t, remote)
			err := c.Worktree(t.Context(), sha, filepath.Join(t.TempDir(), "tree"))
			var link *LinkError
			if !errors.As(err, &link) || link.Path != tt.refused {
				t.Errorf("got %v, want %s refused", err, tt.refused)
			}
		})
	}
}

// A tree can name what no checkout may write, since git stores any bytes.
func TestWorktreeRefusesHostileNames(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	write(t, remote, "main", "a", "1")
	c := openClone(t, remote)
	blob := must[string](t)(c.WriteBlob([]byte("x")))
	for _, name := range []string{"..", ".", ".git", ".GiT", "a/b", "a\nb"} {
		raw := rawTree(t, entry{mode: modeFile, name: name, oid: blob})
		tree := must[string](t)(c.writeObject("tree", raw))
		commit := must[string](t)(c.WriteCommit(CommitSpec{Tree: tree, Message: "x"}))
		if err := c.Worktree(t.Context(), commit, filepath.Join(t.TempDir(), "tree")); err == nil {
			t.Errorf("a file named %q was written", name)
		}
	}
}

func TestWorktreeOfManyFiles(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	var pairs []string
	for i := range 3000 { // more than a socket holds in either direction
		pairs = append(pairs, filepath.Join("d", string(rune('a'+i%26)), string(rune('a'+i/26%26)), string(rune('a'+i/676))), "content "+string(rune('a'+i%26)))
	}
	sha := write(t, remote, "main", pairs...)
	c := openClone(t, remote)
	dir := filepath.Join(t.TempDir(), "tree")
	if err := c.Worktree(t.Context(), sha, dir); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if got, err := os.ReadFile(filepath.Join(dir, pairs[i])); err != nil || string(got) != pairs[i+1] {
			t.Fatalf("%s holds %q (%v)", pairs[i], got, err)
		}
	}
}
