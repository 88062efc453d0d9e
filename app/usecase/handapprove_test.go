package usecase

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/git/gittest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
)

// siteOf is a clone of its own of a remote, with its ledger.
func siteOf(t *testing.T, remote string) *Site {
	t.Helper()
	clone, err := git.Open(t.Context(), filepath.Join(t.TempDir(), "clone.git"), remote, git.Auth{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clone.Close)
	return &Site{Clone: clone, Ledger: ledger.Open(clone, time.Now)}
}

// An approval by hand has no time of the forge's: what came onto the ledger while
// it was being written came after it, whatever the clocks say (pr-loop §1.5,
// soundness I3).
func TestAnApprovalByHandNeverPassesARevocationThatWasFaster(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	here, elsewhere := siteOf(t, remote), siteOf(t, remote)
	act := gate.Act{Op: "pr-12", Gate: "pr-apply", Env: "prod", Origin: "cli"}
	revoke := func() {
		by := act
		by.By = "github:bob"
		slow := &Stage{Now: func() time.Time { return time.Now().Add(-time.Hour) }}
		if _, err := slow.Revoke(t.Context(), elsewhere, "", by); err != nil {
			t.Error(err)
		}
	}
	revoke()
	decided := 0
	stage := &Stage{Now: func() time.Time {
		if decided++; decided == 1 {
			revoke() // between what the approval was decided on and its push
		}
		return time.Now()
	}}
	in := HandApproval{Site: here, Declaration: &project.Declaration{}, Approval: gate.Approval{Act: act}}
	in.Approval.By = "github:alice"
	var err error
	if in.Approval.Digest, err = digest.Parse("jcs1-sha256:" + strings.Repeat("a", 64)); err != nil {
		t.Fatal(err)
	}
	_, err = stage.ApproveByHand(t.Context(), in)
	if _, refused := errors.AsType[*Refusal](err); !refused || !strings.Contains(err.Error(), "github:bob") {
		t.Fatalf("ended with %v, want a refusal that names who revoked", err)
	}
	// What stood before the approval was begun keeps nobody from approving again.
	done, err := stage.ApproveByHand(t.Context(), in)
	if err != nil || !done.Written.Pushed {
		t.Errorf("approving again: %+v, %v", done.Written, err)
	}
}
