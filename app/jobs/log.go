package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// logged writes one line a job: what it was called with, how long it took and
// how it ended.
type logged struct {
	river.MiddlewareDefaults
	log *slog.Logger
}

// Work implements rivertype.WorkerMiddleware.
func (l *logged) Work(ctx context.Context, job *rivertype.JobRow, do func(context.Context) error) error {
	start := time.Now()
	err := do(ctx)
	attrs := []any{"ref", fmt.Sprintf("job-%d", job.ID), "kind", job.Kind, "args", string(job.EncodedArgs), "attempt", job.Attempt, "took", time.Since(start).Round(time.Millisecond)}
	var snooze *river.JobSnoozeError
	switch {
	case errors.As(err, &snooze):
		l.log.Info("job waits", append(attrs, "for", snooze.Duration)...)
	case err != nil:
		l.log.Error("job failed", append(attrs, "error", err)...)
	default:
		l.log.Debug("job done", attrs...)
	}
	return err
}
