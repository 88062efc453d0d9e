package app

import (
	"context"
	"errors"
	"net/http"

	"github.com/chant-bot/chant/app/metrics"
	"github.com/chant-bot/chant/sql/queue"
	"github.com/chant-bot/chant/sql/store"
)

// measured serves what is counted, and looks at the queue, the processes and the
// ledgers when it is asked.
func (s *Server) measured(where *sites, planners *drivers) http.Handler {
	look := func(ctx context.Context) (metrics.Now, error) {
		now := metrics.Now{Pending: -1, Running: planners.running()}
		now.Appended, now.Contended = where.ledgerCounts()
		depths, err := queue.Depths(ctx, s.db)
		for _, d := range depths {
			now.Jobs = append(now.Jobs, metrics.Jobs{Kind: d.Kind, State: d.State, Count: d.Jobs})
		}
		pending, pendingErr := store.NewDeliveries(s.db).CountPending(ctx)
		if pendingErr == nil {
			now.Pending = pending
		}
		return now, errors.Join(err, pendingErr)
	}
	return s.metrics.Handler(look, func(ctx context.Context, err error) {
		s.log.WarnContext(ctx, "metrics without those of the database", "error", err)
	})
}
