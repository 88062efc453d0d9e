package record

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// soundness: a re-run wave job, or a database restored from a backup, applies an
// older commit.
func TestFence(t *testing.T) {
	t.Parallel()
	line := []string{sha3, sha2, sha1} // newest first
	attempt := func(commit, token string) *Attempt { return &Attempt{Commit: commit, Token: token} }
	applied := func(commit string) *Apply { return &Apply{Commit: commit} }
	tests := []struct {
		name    string
		commit  string
		attempt *Attempt
		applied *Apply
		token   string
		want    error
	}{
		{"the first apply of an environment may start", sha1, nil, nil, "", nil},
		{"a newer commit may start", sha3, attempt(sha2, "old"), applied(sha1), "", nil},
		{"the same commit may start again", sha2, attempt(sha2, "old"), applied(sha2), "", nil},
		{"an older commit than the one applied may not", sha1, nil, applied(sha2), "", ErrOlder},
		{"an older commit than the one started may not", sha1, attempt(sha2, "old"), nil, "", ErrOlder},
		{"an older commit may not, whichever record is newer", sha2, attempt(sha1, "old"), applied(sha3), "", ErrOlder},
		{"a commit that is not on the branch may not", "f00", nil, nil, "", ErrOffLine},
		{"a commit whose place to the one applied is unknown may not", sha3, nil, applied("f00"), "", ErrOffLine},
		{"a commit whose place to the one started is unknown may not", sha3, attempt("f00", "old"), nil, "", ErrOffLine},
		{"a run goes on under its own attempt", sha2, attempt(sha2, "mine"), applied(sha1), "mine", nil},
		{"a run stops when another wrote the attempt for its commit", sha2, attempt(sha2, "other"), nil, "mine", ErrTaken},
		{"a run stops when another wrote the attempt for an older commit", sha2, attempt(sha1, "other"), nil, "mine", ErrTaken},
		{"a run stops when a newer commit started", sha2, attempt(sha3, "other"), nil, "mine", ErrOlder},
		{"a run stops when its attempt names another commit", sha2, attempt(sha1, "mine"), nil, "mine", ErrTaken},
		{"a run stops when its attempt is gone", sha2, nil, nil, "mine", ErrTaken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := Fence(tt.commit, line, tt.attempt, tt.applied, tt.token)
			if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Errorf("fence: %v, want %v", err, tt.want)
			}
		})
	}
}

// Soundness I8: what an apply that did not finish changed is part of the next one's
// change, whatever came in between.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	line := []string{sha4, sha3, sha2, sha1} // newest first
	applied := func(commit string) *Apply { return &Apply{Commit: commit} }
	for name, tt := range map[string]struct {
		attempt *Attempt
		applied *Apply
		want    []string
	}{
		"nothing was tried":                         {nil, applied(sha1), nil},
		"what was tried was applied":                {&Attempt{Commit: sha2}, applied(sha2), nil},
		"something newer was, without a step":       {&Attempt{Commit: sha2}, applied(sha3), nil},
		"it did not finish":                         {&Attempt{Commit: sha2}, applied(sha1), []string{sha2}},
		"nor did the one before":                    {&Attempt{Commit: sha3, Started: []string{sha2}}, applied(sha1), []string{sha2, sha3}},
		"the one before it was, whatever it says":   {&Attempt{Commit: sha3, Started: []string{sha1, sha2}}, applied(sha2), []string{sha3}},
		"nothing was ever applied":                  {&Attempt{Commit: sha2, Started: []string{sha1}}, nil, []string{sha1, sha2}},
		"this commit's own attempt tells of others": {&Attempt{Commit: sha4, Started: []string{sha2, sha2}}, applied(sha1), []string{sha2}},
		"one that is not on the branch any more":    {&Attempt{Commit: sha3, Started: []string{"f00"}}, applied(sha1), []string{sha3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Unfinished(sha4, line, tt.attempt, tt.applied); !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// I5: whatever runs try in whatever order, commits whose apply starts in an
// environment never go back along the first-parent line, and after a run wrote
// its attempt no older run passes.
func TestAppliesOnlyGoForward(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := []string{sha1} // newest first
		var attempt *Attempt
		var applied *Apply
		started := -1 // distance of the last started commit from the oldest
		live := map[string]string{}
		for i := range rapid.IntRange(1, 12).Draw(t, "moves") {
			token := string(rune('a' + i))
			switch rapid.IntRange(0, 3).Draw(t, "move") {
			case 0:
				line = append([]string{token}, line...)
			case 1: // a new run, perhaps of an old commit
				commit := rapid.SampledFrom(line).Draw(t, "commit")
				if Fence(commit, line, attempt, applied, "") != nil {
					continue
				}
				at := len(line) - slices.Index(line, commit)
				if at < started {
					t.Fatalf("%s started after a newer commit", commit)
				}
				started, attempt = at, &Attempt{Commit: commit, Token: token}
				live[token] = commit
			case 2: // any run that ever started tries its next step
				for token, commit := range live {
					if Fence(commit, line, attempt, applied, token) == nil && attempt.Token != token {
						t.Fatalf("run %s passed, and %s owns the attempt", token, attempt.Token)
					}
				}
			case 3:
				if attempt != nil {
					applied = &Apply{Commit: attempt.Commit}
				}
			}
		}
	})
}
