package usecase

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/git/gittest"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/examples"
)

// unended is a driver with one apply of a group that did not end.
type unended struct {
	hostile

	memo  []byte
	ended engine.PlannedGroup
}

func (u *unended) For(engine.Repo, string, string, CredentialKind) (Driver, error) { return u, nil }

func (u *unended) Unended() ([]engine.UnendedGroup, error) {
	return []engine.UnendedGroup{{Journal: "journal", Memo: u.memo}}, nil
}

func (u *unended) RecoverGroup(_ context.Context, p engine.PlannedGroup) (engine.GroupOutcome, bool, error) {
	u.ended = p
	return engine.GroupOutcome{}, true, nil
}

func (*unended) PlanGroup(context.Context, engine.GroupTarget, engine.Sink) (engine.PlannedGroup, error) {
	panic("not asked for")
}

func (*unended) ApplyGroup(context.Context, engine.PlannedGroup, engine.Sink) (engine.GroupOutcome, error) {
	panic("not asked for")
}

func (*unended) Forget(engine.UnendedGroup) error { panic("not asked for") }

type ownKeys struct{}

func (ownKeys) For(context.Context, engine.Repo, string, CredentialKind) ([]string, error) {
	return []string{"KEY=own"}, nil
}

// ADR 17, soundness I13: whoever ends a group of a pull request's environment works on the
// states of that environment, as the merge that was applied declares them, even when the
// pull request went on since.
func TestAGroupOfAPullRequestsEnvironmentIsEndedInItsOwnWorkspace(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	example, err := examples.Files("two-roots")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for name, text := range example {
		files[name] = []byte(text)
	}
	base := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: files})
	head := gittest.Write(t, remote, gittest.Commit{Branch: "grow", From: base, Files: map[string][]byte{"a": []byte("1")}})
	site := siteOf(t, remote)
	for _, branch := range []string{"main", "grow"} {
		if err := site.FetchBranch(t.Context(), branch); err != nil {
			t.Fatal(err)
		}
	}
	driver := &unended{}
	if driver.memo, err = json.Marshal(groupMemo{Commit: "gone", Head: head, Base: base, Plan: &GroupPlan{
		ID: "net", Members: []string{"net", "app"}, RunDir: filepath.Join(t.TempDir(), "groups", "net"),
	}}); err != nil {
		t.Fatal(err)
	}
	st := &Stage{Drivers: driver, Credentials: ownKeys{}, NewID: uuid.NewString}
	d, err := st.openPullEnv(t.Context(), PullEnvInput{Site: site, Number: 12, Head: base, BaseTip: base, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.begin(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range driver.ended.Target.Members {
		got = append(got, m.Target.Member+" in "+m.Target.Root.Workspace)
		if !slices.ContainsFunc(m.Target.Apart, func(r project.Root) bool { return r.Workspace == "" && r.Name == m.Target.Member }) {
			t.Errorf("%s is not kept apart from its declared root: %v", m.Target.Member, m.Target.Apart)
		}
	}
	if diff := cmp.Diff([]string{"net in pr-12", "app in pr-12"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
