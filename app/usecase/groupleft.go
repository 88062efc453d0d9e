package usecase

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/lease"
)

// LeftGroup is what the journal of a group's apply says of where it was applied.
type LeftGroup struct {
	Repo   string // its key
	Env    string
	Member string // of the workspace

	commit string
}

// LeftBy reads it; ok is false where only the next apply of its environment can tell.
func LeftBy(u engine.UnendedGroup) (left LeftGroup, ok bool) {
	memo, err := memoOf(u)
	if err != nil {
		return LeftGroup{}, false
	}
	return LeftGroup{memo.Repo, memo.Env, memo.Member, memo.Commit}, memo.Repo != "" && memo.Env != ""
}

// EndLeft ends the applies of groups that a killed server left here in an environment, for
// whom others wait who can't. It needs no run, and nothing to apply. The error is
// *lease.Held while somebody works on the environment.
func (st *Stage) EndLeft(ctx context.Context, site *Site, left LeftGroup, dir string) error {
	_, err := st.leased(ctx, site, left.Env, left.Member, func(*lease.Lease) (*Apply, error) {
		declaration, err := site.Declaration(ctx, left.commit)
		if err != nil {
			return nil, err
		}
		policy, err := deployPolicy(declaration, left.Env)
		if err != nil {
			return nil, err
		}
		checkout, err := site.Checkout(ctx, left.commit, filepath.Join(dir, "tree"))
		if err != nil {
			return nil, err
		}
		proj, err := findProject(checkout.Workspace, left.Member)
		if err != nil {
			return nil, err
		}
		ends, err := st.groupEnds(ctx, ApplyInput{Site: site, Env: left.Env, Member: left.Member, Dir: dir}, policy.Env, proj)
		if err != nil {
			return nil, err
		}
		return nil, ends.all(ctx)
	})
	return err
}

// all ends those whose journals are here, and is the reasons why some can't be.
func (e *groupEnds) all(ctx context.Context) error {
	if _, err := e.endLeft(ctx); err != nil {
		return err
	}
	var errs []error
	for _, why := range e.waits {
		errs = append(errs, why)
	}
	return errors.Join(errs...)
}
