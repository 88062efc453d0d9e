package git

import (
	"strings"
	"testing"
)

func TestAGitThatCannotMergeWithoutAWorktreeIsRefused(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"git version 2.38.0\n":                  "",
		"git version 2.39.5 (Apple Git-154)\n":  "",
		"git version 3.0.windows.1\n":           "",
		"git version 2.37.7\n":                  "git 2.37 is too old; install git 2.38 or newer",
		"git version 1.99\n":                    "git 1.99 is too old",
		"hello":                                 `git says "hello"`,
		"git version 99999999999999999999999.1": "reading the version of git",
	} {
		err := recent(said)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", said, err, want)
		}
	}
	if err := Check(t.Context()); err != nil {
		t.Error(err)
	}
}
