package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/chant-bot/chant/app/logs"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/store"
)

// logged says on every line what job it is of, counts the job, and writes how it
// ended.
type logged struct {
	river.MiddlewareDefaults

	jobs *Jobs
}

// Work implements rivertype.WorkerMiddleware.
func (l *logged) Work(ctx context.Context, job *rivertype.JobRow, do func(context.Context) error) error {
	start := time.Now()
	ctx = logs.With(ctx, l.jobs.about(ctx, job)...)
	err := do(ctx)
	took := time.Since(start)
	attrs := []any{"args", string(job.EncodedArgs), "attempt", job.Attempt, "took", took.Round(time.Millisecond)}
	outcome := "done"
	var snooze *river.JobSnoozeError
	switch {
	case errors.As(err, &snooze):
		outcome = "waits"
		level := slog.LevelInfo
		if snooze.Duration <= lockWait {
			level = slog.LevelDebug // behind another job of its subject: a line a second
		}
		l.jobs.Log.Log(ctx, level, "job waits", append(attrs, "for", snooze.Duration, "why", err)...)
	case err != nil:
		outcome = "failed"
		l.jobs.Log.ErrorContext(ctx, "job failed", append(attrs, "error", err)...)
	default:
		l.jobs.Log.DebugContext(ctx, "job done", attrs...)
	}
	l.jobs.Metrics.Job(job.Kind, outcome, took)
	return err
}

// named are the arguments of the kinds of jobs that say what a job is about.
type named struct {
	Repo     json.RawMessage   `json:"repo"` // a key, or of deliveries that wait an id
	Instance engine.Instance   `json:"instance"`
	Number   int               `json:"number"`
	Subject  store.SubjectKind `json:"subject"`
	Name     string            `json:"name"`
	Branch   string            `json:"branch"`
	Env      string            `json:"env"`
	Member   string            `json:"member"`
	Delivery string            `json:"delivery"`
	Ref      engine.CommentRef `json:"ref"`
}

// about is what a job is and what it is about. What its arguments don't say is
// empty, and left out of its lines.
func (j *Jobs) about(ctx context.Context, job *rivertype.JobRow) []slog.Attr {
	var a named
	_ = json.Unmarshal(job.EncodedArgs, &a) //nolint:musttag // as the queue encodes them; what does not read is not said
	attrs := []slog.Attr{
		slog.String("ref", fmt.Sprintf("job-%d", job.ID)), slog.String("kind", job.Kind),
		slog.String(logs.Delivery, a.Delivery), slog.Any(logs.Repository, repoName{ctx, j.Repos, a.repoKey()}),
	}
	switch {
	case a.Subject == store.SubjectPull:
		attrs = append(attrs, slog.String(logs.Change, a.Name))
	case a.Subject != "":
		attrs = append(attrs, slog.String(string(a.Subject), a.Name))
	default:
		attrs = append(attrs, changeAttr(max(a.Number, a.Ref.Number)), slog.String("branch", a.Branch))
	}
	return append(attrs, slog.String("env", a.Env), slog.String("member", a.Member))
}

func changeAttr(number int) slog.Attr { return slog.Int(logs.Change, number) }

func (a named) repoKey() string {
	var key string
	if json.Unmarshal(a.Repo, &key) == nil {
		return key
	}
	if id, err := strconv.ParseInt(string(a.Repo), 10, 64); err == nil {
		return engine.Repo{Instance: a.Instance, ID: id}.Key()
	}
	return ""
}

// repoName is what a repository is called, looked up when a line is written.
type repoName struct {
	ctx   context.Context //nolint:containedctx // of the job whose lines it is on
	repos store.Repos
	key   string
}

// LogValue implements slog.LogValuer. A repository that is not known, or cannot
// be looked up now, is named by its key.
func (n repoName) LogValue() slog.Value {
	if n.key == "" {
		return slog.Value{}
	}
	repo, err := n.repos.Get(context.WithoutCancel(n.ctx), n.key)
	if err != nil {
		return slog.StringValue(n.key)
	}
	return slog.StringValue(repo.FullName())
}

// changeOf is the pull request that an event is about, 0 for none.
func changeOf(event engine.Event) int {
	switch e := event.(type) {
	case engine.ChangeUpdated:
		return e.Number
	case engine.ChangeClosed:
		return e.Number
	case engine.ReviewChanged:
		return e.Number
	case engine.CommandPosted:
		return e.Comment.Number
	}
	return 0
}
