package sealed

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAKeyComesFromAFileAVariableOrACommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	digits := strings.Repeat("0a", 32)
	for name, text := range map[string]string{"chant.key": digits + "\n", "short": "abc", "words": strings.Repeat("zz", 32)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := ParseKey([]byte(digits))
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{"PATH=" + os.Getenv("PATH"), "KEY=" + digits, "EMPTY="}
	tests := []struct{ ref, why string }{
		{"file:chant.key", ""},
		{"file:" + filepath.Join(dir, "chant.key"), ""},
		{"env:KEY", ""},
		{"command:cat chant.key", ""},
		{`command:printf %s "$KEY"`, ""},
		{"file:missing", "there is no such file; make a key with: (umask 077; openssl"},
		{"file:short", "file:short: want a key of 64 hexadecimal digits, got 3 characters"},
		{"file:words", "got others among them"},
		{"env:MISSING", "the environment variable MISSING is not set; make a key with"},
		{"env:EMPTY", "is not set"},
		{"command:exit 3", "the key's command: exit code 3"},
		{"command:echo swordfish", "the output of the key's command: want a key of 64"},
		{"", "want file:PATH, env:NAME or command:LINE"},
		{"file:", "want file:PATH"},
		{digits, "want file:PATH"},
		{"vault:x", "want file:PATH"},
	}
	for _, tt := range tests {
		t.Run(tt.ref, func(t *testing.T) {
			t.Parallel()
			k, err := Source{Ref: tt.ref, Dir: dir, Environ: environ}.Key(t.Context())
			switch {
			case tt.why == "" && (err != nil || k.id() != want.id()):
				t.Errorf("key %q, %v", k.id(), err)
			case tt.why != "" && (err == nil || !k.IsZero() || !strings.Contains(err.Error(), tt.why)):
				t.Errorf("%v; want %q", err, tt.why)
			case tt.why != "" && (strings.Contains(err.Error(), digits) || strings.Contains(err.Error(), "swordfish")):
				t.Errorf("the error shows what it was given: %v", err)
			}
		})
	}
}

func TestAKeyIsNeverPrinted(t *testing.T) {
	t.Parallel()
	k := key(t, "a")
	text, err := json.Marshal(map[string]any{"key": k})
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{string(text), fmt.Sprint(k), fmt.Sprintf("%v %+v %#v %s %q", k, k, k, k, k)} {
		if strings.Contains(shown, "aaaa") || strings.Contains(shown, "0xaa") || strings.Contains(shown, "170") {
			t.Errorf("a key shows as %s", shown)
		}
	}
}
