package usecase

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/git/gittest"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/engine/run"
	"github.com/chant-bot/chant/forges"
)

// checked is a forge whose one check ended in a conclusion.
type checked struct {
	forges.Forge
	conclusion string
}

func (f checked) CheckRuns(context.Context, engine.Repo, string) ([]green.CheckRun, error) {
	return []green.CheckRun{{ID: 1, Name: "test", Status: "completed", Conclusion: f.conclusion}}, nil
}

// Decision 5: a tag says what the checks were. They are read again where an apply begins
// and before each of its steps, and one that failed since stops it.
func TestAGreenTagIsNotBelievedOverAFailedCheck(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"a": []byte("1")}})
	sha := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"chant.workspace.json": []byte(`{"name":"estate","schema":1,"minReader":"0.108.0",
		"ci":{"green":{"branch":"main","phases":{"check":["test"]},"require":["check"]}},
		"x-bot":{"envs":[{"name":"prod","branch":"main","applyOnMerge":true}]}}`)}})
	gittest.Run(t, remote, "update-ref", "refs/tags/ci/green/"+sha, sha)
	for conclusion, want := range map[string]string{"success": "", "failure": "its checks do not pass now"} {
		t.Run(conclusion, func(t *testing.T) {
			t.Parallel()
			site := siteOf(t, remote)
			site.Forge = checked{conclusion: conclusion}
			st := &Stage{Now: time.Now, DefaultEnv: "prod"}
			found, err := st.GreenTarget(t.Context(), ApplyInput{Site: site, Branch: "main", Env: "prod"})
			if err != nil || found.Commit != sha || (found.Refusal == "") != (want == "") || !strings.Contains(found.Refusal, want) {
				t.Errorf("where it begins: %q, %v; want %q", found.Refusal, err, want)
			}
			ex := &execution{Stage: st, in: ApplyInput{Site: site}, apply: &Apply{Branch: "main", Pass: Pass{State: run.State{Commit: sha}}}}
			reason, err := ex.stillGreen(t.Context())
			if err != nil || (reason == "") != (want == "") || !strings.Contains(reason, want) {
				t.Errorf("before a step: %q, %v; want %q", reason, err, want)
			}
		})
	}
}
