package jobs

import (
	"context"

	"github.com/chant-bot/chant/app/settle"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
)

// queued raises what the forge's merge queue tries now: it waits for a status, and
// nobody else says so again where the delivery was lost.
func (w *sweepRepoWorker) queued(ctx context.Context, site *usecase.Site, open []engine.Change) error {
	numbers := make([]int, len(open))
	for i, c := range open {
		numbers[i] = c.Number
	}
	refs, err := site.Clone.RemoteRefs(ctx, site.Repo.Instance.QueueRefs(numbers)...)
	if err != nil {
		return err
	}
	for _, sha := range refs {
		if err := w.Raise(ctx, site.Repo, settle.QueueOf(sha)); err != nil {
			return err
		}
	}
	return nil
}
