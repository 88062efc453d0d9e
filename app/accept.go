package app

import (
	"context"
	"fmt"
	"time"

	"github.com/chant-bot/chant/app/config"
)

// AcceptLedger takes the ledger of one served repository as its remote has it
// now, in the server's own clone, after an operator looked at why it was refused
// (pr-loop §1.5). It may run beside the server, which goes on with the next thing
// it settles. It returns the tip that is trusted now, "" for a ledger that is not
// there.
func AcceptLedger(ctx context.Context, c *config.Config, repository string) (tip string, err error) {
	repo, err := c.Named(repository)
	if err != nil {
		return "", err
	}
	if !c.Allows(repo) {
		return "", fmt.Errorf("%s is not among the repositories of the configuration", repository)
	}
	connections, err := connect(c, direct)
	if err != nil {
		return "", err
	}
	forge, err := connections.For(ctx, repo)
	if err != nil {
		return "", err
	}
	s := &sites{config: c, forges: connections, now: time.Now, open: map[string]*opened{}}
	known, err := s.ask(ctx, forge, repo)
	if err != nil {
		return "", err
	}
	o, err := s.openClone(ctx, known)
	if err != nil {
		return "", err
	}
	defer o.clone.Close()
	if err := o.ledger.Accept(ctx); err != nil {
		return "", err
	}
	snap, err := o.ledger.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	return snap.Tip(), nil
}
