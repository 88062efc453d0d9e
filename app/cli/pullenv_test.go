package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// oneChange is a forge that has one pull request.
type oneChange struct {
	forges.Forge

	change engine.Change
	err    error
}

func (f oneChange) Change(context.Context, engine.Repo, int) (engine.Change, error) {
	return f.change, f.err
}

// soundness, walls: forks never; and what is closed has no environment that would be
// made anew by a job that comes late.
func TestAPullRequestThatIsAForksOrClosedHasNoEnvironment(t *testing.T) {
	t.Parallel()
	open := engine.Change{Number: 12, Head: "head", State: engine.Open}
	with := func(change func(*engine.Change)) forges.Forge {
		c := open
		change(&c)
		return oneChange{change: c}
	}
	for name, tc := range map[string]struct {
		forge forges.Forge
		want  string
	}{
		"open":             {oneChange{change: open}, ""},
		"no forge to ask":  {nil, ""},
		"of a fork":        {with(func(c *engine.Change) { c.Fork = true }), "comes from a fork"},
		"closed":           {with(func(c *engine.Change) { c.State = engine.Closed }), "is not open; end its environment with --destroy"},
		"merged":           {with(func(c *engine.Change) { c.State = engine.Merged }), "is not open; end its environment with --destroy"},
		"pushed meanwhile": {with(func(c *engine.Change) { c.Head = "newer" }), "head is not the head of pull request #12, which is newer"},
		"a forge in need":  {oneChange{err: errors.New("down")}, "reading pull request #12: down"},
	} {
		err := mayHaveEnv(t.Context(), &checkout{site: &usecase.Site{Forge: tc.forge}}, 12, "head")
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// components decision 6: credentials of its own. What steers chant, the forge's tokens
// and the runner's own are nobody's to give.
func TestCredentialsOfAnEnvironmentAreWhatItsFileSays(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want jobCredentials
		err  string
	}{
		"pairs":             {text: "# of pull requests\nAWS_REGION=eu\r\n\nTF_VAR_a=b=c d\n", want: jobCredentials{"AWS_REGION=eu", "TF_VAR_a=b=c d"}},
		"nothing":           {text: "# none\n"},
		"no value":          {text: "AWS_REGION=\n", err: ":1: want NAME=VALUE"},
		"no pair":           {text: "A=b\nhunter2\n", err: ":2: want NAME=VALUE"},
		"the forge's token": {text: "GITHUB_TOKEN=t\n", err: ":1: want NAME=VALUE"},
		"chant's own":       {text: "CHANT_FORGE_TOKEN=t\n", err: ":1: want NAME=VALUE"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "own"), []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := (&Host{Dir: dir, Environ: []string{"AWS_ACCESS_KEY_ID=of-production"}}).ownCredentials("own")
		if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v, want %q", name, err, tc.err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
