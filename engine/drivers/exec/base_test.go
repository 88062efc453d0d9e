package exec

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plant makes directories and files below dir.
func plant(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, name := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// snapshot is every file below dir: its mode, its links, and what it holds or
// leads to.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		held := ""
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			held = string(text)
		case info.Mode()&fs.ModeSymlink != 0:
			if held, err = os.Readlink(path); err != nil {
				return err
			}
		}
		all[strings.TrimPrefix(path, dir)] = fmt.Sprint(info.Mode(), " ", held)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// vandal tries what code of one member could do to the files of the commit and of
// the other members, each in a way of its own; it runs in roots/x.
const vandal = `
tree=$1 other=$2
for at in "$tree" "$other" "$tree"/roots/y; do
	echo owned >"$at"/lib/m; echo owned >>"$at"/top; echo owned >"$at"/new
	echo owned >mine; mv -f mine "$at"/top; cp mine "$at"/lib/other
	mv "$at"/lib/m moved; rm -rf "$at"/lib; mkdir "$at"/dir
	ln "$at"/top hard && echo owned >hard; ln "$at"/lib/m "$at"/hard
	ln -sfn /etc "$at"/lib; chmod 0777 "$at" "$at"/top "$at"/lib; touch -d 1999-01-01 "$at"/top
done
mv "$tree"/roots/x "$tree"/roots/gone; rm -rf "$tree"/roots/y; ln -sfn "$other" "$tree"/roots/y
ln -sfn ../../top through; echo owned >through; ln -sfn "$other" away; echo owned >away/top
mount -o remount,rw "$tree"; umount "$tree"/roots/x; umount "$tree"
unshare -Urm sh -c 'mount -o remount,rw,bind "$1"; umount "$1"/roots/x; umount -l "$1"; echo owned >"$1"/top' sh "$tree"
chmod 0700 main; mkdir sub && echo own >sub/own; cat ../../lib/m sub/own
exit 0
`

// soundness I1, I13: what several members are shown as one, none of them changes.
func TestCodeSeesTheBaseAndChangesItsOwnDirectoryAlone(t *testing.T) {
	t.Parallel()
	base, tree, other := workDir(t), workDir(t), workDir(t)
	plant(t, base, "top", "lib/m", "roots/x/main", "roots/y/top", "roots/y/lib/m")
	plant(t, tree, "roots/x/main")
	plant(t, other, "top", "lib/m")
	was := map[string]map[string]string{base: snapshot(t, base), other: snapshot(t, other)}
	cmd := shell(vandal, tree, other)
	cmd.Dir = filepath.Join(tree, "roots/x")
	cmd, err := testWalls(t)[0].Wrap(cmd, View{
		Base: Mount{From: base, At: tree}, ReadWrite: []string{filepath.Join(tree, "roots/x")}, Limits: DefaultLimits(),
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := Run(t.Context(), cmd)
	if err != nil || !strings.HasSuffix(string(res.Stdout), "lib/mown\n") {
		t.Errorf("it saw %q, %v\n%s", res.Stdout, err, res.Stderr)
	}
	if !strings.Contains(string(res.Stderr), "Read-only file system") {
		t.Errorf("nothing told it why: %s", res.Stderr)
	}
	for dir, before := range was {
		if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
			t.Errorf("%s changed (-before +after):\n%s", dir, diff)
		}
	}
	own := snapshot(t, tree)
	if own["/roots/x/sub/own"] == "" || own["/roots/x/main"] != "-rwx------ roots/x/main" || own["/top"] != "" {
		t.Errorf("its own directory holds %v", own)
	}
}

// Over a copy that is open to it the same code changes all it aims at, so the test
// above proves something.
func TestTheSameCodeWouldChangeACopyThatIsOpenToIt(t *testing.T) {
	t.Parallel()
	tree, other := workDir(t), workDir(t)
	plant(t, tree, "top", "lib/m", "roots/x/main", "roots/y/top", "roots/y/lib/m")
	plant(t, other, "top", "lib/m")
	cmd := shell(vandal, tree, other)
	cmd.Dir = filepath.Join(tree, "roots/x")
	cmd, err := testWalls(t)[0].Wrap(cmd, View{ReadWrite: []string{tree, other}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), cmd); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{tree, other} {
		now := snapshot(t, dir)
		if now["/lib"] != "Lrwxrwxrwx /etc" || now["/dir"] == "" || !strings.Contains(now["/top"], "owned") {
			t.Errorf("%s holds %v", dir, now)
		}
	}
}

func TestOnlyAWallThatMountsTakesABase(t *testing.T) {
	t.Parallel()
	work, base := workDir(t), workDir(t)
	view := View{ReadWrite: []string{work}, Base: Mount{From: base, At: work}}
	for _, wall := range append(testWalls(t), noWall{}, newSystemd()) {
		_, err := wall.Wrap(shell("exit 0"), view)
		if mounts := wall.Name() == WallBwrap; (err == nil) != mounts || wall.Mounts() != mounts {
			t.Errorf("%s: mounts %v, and gave %v", wall.Name(), wall.Mounts(), err)
		}
	}
	view.Base.From = "relative"
	if _, err := testWalls(t)[0].Wrap(shell("exit 0"), view); err == nil {
		t.Error("a base that is no absolute path is taken")
	}
}
