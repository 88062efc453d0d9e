package sealed

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const purpose = "resume record of prod"

func key(t *testing.T, digit string) Key {
	t.Helper()
	k, err := ParseKey([]byte(strings.Repeat(digit, 64) + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func written(t *testing.T, content string) (k Key, path string, file []byte) {
	t.Helper()
	k, path = key(t, "a"), filepath.Join(t.TempDir(), "new", "record")
	if err := k.Write(path, purpose, []byte(content)); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return k, path, file
}

func TestWhatWasSealedOpens(t *testing.T) {
	t.Parallel()
	k, path, file := written(t, "the password is swordfish")
	got, err := k.Read(path, purpose)
	if err != nil || string(got) != "the password is swordfish" {
		t.Errorf("read %q, %v", got, err)
	}
	if bytes.Contains(file, []byte("swordfish")) || bytes.Contains(file, []byte("aaaa")) {
		t.Error("the file shows its content or the key")
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v: others may read it", info.Mode(), err)
	}
}

func TestEachSealIsAnother(t *testing.T) {
	t.Parallel()
	k, path, first := written(t, "same")
	if err := k.Write(path, purpose, []byte("same")); err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(path)
	if err != nil || bytes.Equal(first, second) {
		t.Errorf("the same bytes twice, %v: a nonce was used twice", err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("%d files, %v: only the one written may stay", len(left), err)
	}
}

func TestAFileThatDoesNotOpenSaysWhy(t *testing.T) {
	t.Parallel()
	k, path, file := written(t, "content")
	with := func(old, now string) []byte { return bytes.Replace(file, []byte(old), []byte(now), 1) }
	last := bytes.Clone(file)
	last[len(last)-1] ^= 1
	tests := []struct {
		name    string
		key     Key
		purpose string
		file    []byte
		why     string
	}{
		{"wrong key", key(t, "b"), purpose, file, "sealed with another key"},
		{"other purpose", k, "journal of a group", file, `sealed as "resume record of prod", not as "journal of a group"`},
		{"cut file", k, purpose, file[:len(file)-3], "cut off: 32 of 35 bytes are there"},
		{"cut within the first line", k, purpose, file[:20], "no file that chant sealed"},
		{"empty file", k, purpose, nil, "no file that chant sealed"},
		{"plain text", k, purpose, []byte(`{"completed":["net"]}`), "no file that chant sealed"},
		{"bytes added", k, purpose, append(bytes.Clone(file), '\n'), "1 bytes were added"},
		{"changed byte", k, purpose, last, "changed since it was sealed"},
		{"a purpose put in", k, "resume record of test", with("prod", "test"), "changed since it was sealed"},
		{"the same purpose written another way", k, purpose, with("prod", `p\x72od`), "changed since it was sealed"},
		{"a later format", k, purpose, with("chant-sealed 1", "chant-sealed 2"), "no file that chant sealed"},
		{"no key at all", Key{}, purpose, file, "sealed with another key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at := filepath.Join(t.TempDir(), filepath.Base(path))
			if err := os.WriteFile(at, tt.file, 0o600); err != nil {
				t.Fatal(err)
			}
			content, err := tt.key.Read(at, tt.purpose)
			broken, ok := errors.AsType[*BrokenError](err)
			if !ok || content != nil || !strings.Contains(broken.Why, tt.why) || broken.Path != at {
				t.Errorf("%q, %v; want %q", content, err, tt.why)
			}
		})
	}
}

func TestNoChangedFileOpens(t *testing.T) {
	t.Parallel()
	k := key(t, "a")
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(t, "content")
		file, err := k.seal(purpose, content)
		if err != nil {
			t.Fatal(err)
		}
		got, err := k.open(purpose, file)
		if err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%q, %v", got, err)
		}
		at := rapid.IntRange(0, len(file)-1).Draw(t, "at")
		if got, err := k.open(purpose, file[:at]); err == nil {
			t.Fatalf("cut at %d it opens: %q", at, got)
		}
		file[at] ^= rapid.ByteRange(1, 255).Draw(t, "change")
		if got, err := k.open(purpose, file); err == nil {
			t.Fatalf("changed at %d it opens: %q", at, got)
		}
	})
}

func TestAWriteThatFailsLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	k, path, _ := written(t, "old")
	if err := (Key{}).Write(path, purpose, []byte("new")); !errors.Is(err, errNoKey) {
		t.Errorf("without a key: %v", err)
	}
	if err := k.Write(filepath.Join(path, "below"), purpose, nil); err == nil {
		t.Error("a file was written below a file")
	}
	if got, err := k.Read(path, purpose); err != nil || string(got) != "old" {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := k.Read(path+"x", purpose); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
