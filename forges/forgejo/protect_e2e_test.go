//go:build e2e

package forgejo_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chant-bot/chant/forges/forgejo/giteatest"
)

// What docs/install-forgejo.md says of protecting: the rules keep the ledger and
// the tags for chant alone, though somebody else may write or even administer, and
// no rule reaches a lease.
func TestTheLedgerAndTheTagsCanBeProtectedAndLeasesCannot(t *testing.T) {
	s := startGitea(t)
	dir := filepath.Join(t.TempDir(), "clone")
	git := func(args ...string) error {
		return exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).Run()
	}
	giteatest.Output(t, exec.CommandContext(t.Context(), "git", "clone", "--quiet", s.Remote("bob", "acme/infra"), dir))
	pushes := func(user, refspec string) bool {
		return git("push", "--quiet", s.Remote(user, "acme/infra"), refspec) == nil
	}
	if !pushes("bob", "HEAD:refs/heads/chant/lifecycle") || !pushes("bob", "HEAD:refs/tags/ci/green/x") {
		t.Fatal("who may write may not push what nothing protects")
	}
	s.Do(t, "boss", "POST", "repos/acme/infra/branch_protections", object{
		"rule_name": "chant/lifecycle", "enable_push": true, "enable_push_whitelist": true, "push_whitelist_usernames": []string{"chant"},
	}, nil)
	s.Do(t, "boss", "POST", "repos/acme/infra/tag_protections", object{"name_pattern": "ci/**", "whitelist_usernames": []string{"chant"}}, nil)
	if err := git("-c", "user.name=bob", "-c", "user.email=bob@example.com", "commit", "--quiet", "--allow-empty", "-m", "Approve it myself"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		user, refspec string
		want          bool
	}{
		{"bob", "HEAD:refs/heads/chant/lifecycle", false},
		{"bob", "+HEAD:refs/heads/chant/lifecycle", false},
		{"bob", ":refs/heads/chant/lifecycle", false},
		{"bob", "HEAD:refs/tags/ci/green/y", false},
		{"bob", ":refs/tags/ci/green/x", false},
		{"boss", "HEAD:refs/heads/chant/lifecycle", false},
		{"chant", "HEAD:refs/heads/chant/lifecycle", true},
		{"chant", "HEAD:refs/tags/ci/green/y", true},
		{"erin", "HEAD:refs/chant/lease/ci-apply/prod", false},
		{"bob", "HEAD:refs/chant/lease/ci-apply/prod", true},
		{"bob", ":refs/chant/lease/ci-apply/prod", true},
	} {
		if got := pushes(tt.user, tt.refspec); got != tt.want {
			t.Errorf("%s pushes %s: %v, want %v", tt.user, tt.refspec, got, tt.want)
		}
	}
}
