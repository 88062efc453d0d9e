package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/chant-bot/chant/app/usecase"
)

// UnlockOptions are those of `chant unlock`.
type UnlockOptions struct {
	Mark     string `arg:"" help:"Name of the apply, as the message that refuses its roots gives it."`
	Approver string `placeholder:"WHO" help:"Who answers for the states of the roots, such as github:alice. Default: the job's actor, else USER; without either it is required."`
	URL      string `name:"url" placeholder:"URL" help:"Address that explains the act."`
}

// Unlock takes the mark of an apply away whose machine is gone for good. It waits
// for the lease that the machine may have left.
func Unlock(ctx context.Context, h *Host, o UnlockOptions) error {
	c, err := h.open(ctx, "")
	if err != nil {
		return err
	}
	by := o.Approver
	if by == "" {
		if by, err = h.person(c.job); err != nil {
			return err
		}
	}
	var done usecase.UnlockedGroup
	stage := &usecase.Stage{Now: h.Now}
	err = h.whenFree(ctx, func() (err error) {
		done, err = stage.UnlockGroup(ctx, c.site, o.Mark, by, o.URL)
		return err
	})
	if refusal, ok := errors.AsType[*usecase.Refusal](err); ok {
		return &ExitError{Code: Failed, Err: refusal}
	}
	if err != nil {
		return err
	}
	void := "journal"
	if done.Group.Kept {
		void = "kept state"
	}
	h.sayf("unlocked %s in %s by %s: it is planned from the states as they are, and the %s %s on %s is void",
		strings.Join(done.Group.Members, ", "), done.Env, by, void, done.Group.Journal, done.Group.Machine)
	return nil
}
