package git

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

func TestReadFile(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	sha := write(t, remote, "main", "top", "no line end", "dir/sub/file", "x\n", "dir/run*", "#!", "link@", "top", "empty", "")
	c := openClone(t, remote)
	tests := []struct {
		path, content string
		found, fails  bool
	}{
		{path: "top", content: "no line end", found: true},
		{path: "./dir//sub/file", content: "x\n", found: true},
		{path: "dir/run", content: "#!", found: true},
		{path: "empty", found: true},
		{path: "nope"},
		{path: "top/below a file"},
		{path: "dir/nope/file"},
		{path: "../top"},
		{path: "/top"},
		{path: "dir", fails: true},
		{path: "link", fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			content, found, err := c.ReadFile(t.Context(), sha, tt.path)
			if string(content) != tt.content || found != tt.found || (err != nil) != tt.fails {
				t.Errorf("got %q, %v, %v", content, found, err)
			}
		})
	}
	if _, _, err := c.ReadFile(t.Context(), "nope", "top"); !errors.Is(err, ErrUnknownRevision) {
		t.Errorf("an unknown commit: %v", err)
	}
}

func TestListTree(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	sha := write(t, remote, "main", "a", "1", "dir/b", "2", "dir/sub/c", "3", "link@", "a")
	c := openClone(t, remote)
	for dir, want := range map[string][]string{
		".":       {"100644 blob a", "040000 tree dir", "120000 blob link"},
		"dir":     {"100644 blob dir/b", "040000 tree dir/sub"},
		"dir/sub": {"100644 blob dir/sub/c"},
	} {
		var got []string
		for _, e := range must[[]TreeEntry](t)(c.ListTree(t.Context(), sha, dir)) {
			got = append(got, e.Mode+" "+e.Type+" "+e.Path)
			if want := gittest.Run(t, remote, "rev-parse", sha+":"+e.Path); e.OID != want {
				t.Errorf("%s has id %s, want %s", e.Path, e.OID, want)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", dir, diff)
		}
	}
	if _, err := c.ListTree(t.Context(), sha, "nope"); !errors.Is(err, ErrUnknownRevision) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := c.ListTree(t.Context(), sha, "a"); err == nil {
		t.Error("a file was listed")
	}
}

func TestObjectIDsLeavesOutWhatIsNotThere(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	sha := write(t, remote, "main", "a", "1", "dir/b", "2")
	c := openClone(t, remote)
	got := must[map[string]string](t)(c.ObjectIDs(t.Context(), sha, "a", "dir", "dir/b", "nope", "."))
	want := map[string]string{".": gittest.Run(t, remote, "rev-parse", sha+"^{tree}")}
	for _, p := range []string{"a", "dir", "dir/b"} {
		want[p] = gittest.Run(t, remote, "rev-parse", sha+":"+p)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Trees written here are the trees git itself writes from the same files.
func TestWriteTreeAgreesWithGit(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	write(t, remote, "main", "a", "1")
	c := openClone(t, remote)
	name := rapid.SampledFrom([]string{"a", "b", "a.b", "a-b", "a0", "A", "ü", "a b"})
	path := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(name, 1, 3).Draw(t, "path"), "/")
	})
	rapid.Check(t, func(rt *rapid.T) {
		tree, all := "", map[string][]byte{}
		for range rapid.IntRange(1, 4).Draw(rt, "writes") {
			batch := map[string][]byte{}
			for _, p := range rapid.SliceOfN(path, 1, 5).Draw(rt, "paths") {
				if !clashes(all, p) {
					batch[p] = rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(rt, "content")
					all[p] = batch[p]
				}
			}
			var err error
			if tree, err = c.WriteTree(t.Context(), tree, batch); err != nil {
				rt.Fatal(err)
			}
		}
		want := gittest.Run(t, remote, "rev-parse", gittest.Write(t, remote, gittest.Commit{Branch: "x", From: "refs/heads/main", Files: withoutA(all)})+"^{tree}")
		if tree != want {
			rt.Fatalf("tree %s, git's own %s, of %q", tree, want, all)
		}
	})
	if out := gittest.Run(t, c.Dir(), "fsck", "--strict", "--no-dangling"); out != "" {
		t.Errorf("fsck: %s", out)
	}
}

// withoutA makes a commit's files on top of main, which holds "a" alone.
func withoutA(all map[string][]byte) map[string][]byte {
	next := map[string][]byte{}
	if all["a"] == nil && !clashes(all, "a") {
		next["a"] = nil
	}
	for p, content := range all {
		next[p] = append([]byte{}, content...)
	}
	return next
}

// clashes tells whether a path would be both a file and a directory.
func clashes(all map[string][]byte, path string) bool {
	for p := range all {
		if strings.HasPrefix(p, path+"/") || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

func TestWriteTreeRefuses(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	sha := write(t, remote, "main", "file", "1", "dir/x", "1")
	c := openClone(t, remote)
	tree := must[string](t)(c.TreeOf(t.Context(), sha))
	for name, batch := range map[string]map[string][]byte{
		"a file in the place of a directory": files("dir", "x"),
		"a directory in the place of a file": files("file/x", "x"),
		"one path as both":                   files("new", "x", "new/y", "y"),
		"a path out of the tree":             files("../x", "x"),
		"an absolute path":                   files("/x", "x"),
		"git's own directory":                files("dir/.GIT/config", "x"),
		"an empty name":                      files("dir//x", "x"),
		"no name":                            files("", "x"),
	} {
		if _, err := c.WriteTree(t.Context(), tree, batch); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}

func rawTree(t *testing.T, entries ...entry) []byte {
	t.Helper()
	tr := &tree{idSize: 20}
	for _, e := range entries {
		if e.oid == "" {
			e.oid = strings.Repeat("ab", 20)
		}
		if err := tr.append(e); err != nil {
			t.Fatal(err)
		}
	}
	return tr.raw
}

func TestMalformedTreeIsAnError(t *testing.T) {
	t.Parallel()
	good := rawTree(t, entry{mode: modeFile, name: "a"})
	for cut := 1; cut < len(good); cut++ {
		if _, err := parseTree(good[:cut], 20); err == nil {
			t.Errorf("a tree cut after %d bytes was read", cut)
		}
	}
	for name, entries := range map[string][]entry{
		"out of order":             {{mode: modeFile, name: "b"}, {mode: modeFile, name: "a"}},
		"twice the same":           {{mode: modeFile, name: "a"}, {mode: modeFile, name: "a"}},
		"a directory too early":    {{mode: modeTree, name: "a"}, {mode: modeFile, name: "a.b"}},
		"a file after a directory": {{mode: modeTree, name: "a0"}, {mode: modeTree, name: "a"}},
	} {
		if _, err := parseTree(rawTree(t, entries...), 20); err == nil {
			t.Errorf("%s: was read", name)
		}
	}
}

func TestADirectoryFollowsFilesAndDirectoriesThatItsNameBegins(t *testing.T) {
	t.Parallel()
	entries := []entry{
		{mode: modeTree, name: "app-old"}, {mode: modeFile, name: "app.component.json"}, {mode: modeTree, name: "app"}, {mode: modeFile, name: "b"},
	}
	tr, err := parseTree(rawTree(t, entries...), 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range entries {
		if got, found := tr.find(want.name); !found || got.mode != want.mode {
			t.Errorf("%s: %+v, %v", want.name, got, found)
		}
	}
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 a\x00" + strings.Repeat("x", 20)))
	f.Add([]byte("40000 a\x00" + strings.Repeat("x", 20) + "100644 b\x00" + strings.Repeat("\x00", 20)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		parsed, err := parseTree(raw, 20)
		if err != nil {
			return
		}
		for i, e := range parsed.entries() {
			if got, found := parsed.find(e.name); !found || got != e && got.name != e.name {
				t.Fatalf("entry %d, %+v, is not found: %+v", i, e, got)
			}
		}
		same, err := parsed.edit(parsed.entries())
		if err != nil || string(same.raw) != string(raw) {
			t.Fatalf("replacing every entry by itself gives %q (%v)", same.raw, err)
		}
	})
}

func TestObjectsSurviveTheEndOfTheReader(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	sha := write(t, remote, "main", "a", "1")
	c := openClone(t, remote)
	for range 3 {
		if content, _, err := c.ReadFile(t.Context(), sha, "a"); err != nil || string(content) != "1" {
			t.Fatalf("got %q, %v", content, err)
		}
		c.cat.mu.Lock()
		_ = c.cat.live.conn.Close() // as if the process had died while idle
		c.cat.mu.Unlock()
	}
}
