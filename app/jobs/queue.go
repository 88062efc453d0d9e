package jobs

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/chant-bot/chant/app/facts"
	"github.com/chant-bot/chant/app/metrics"
	"github.com/chant-bot/chant/app/settle"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/sql/queue"
	"github.com/chant-bot/chant/sql/store"
)

// Sites opens repositories by their key.
type Sites interface {
	Open(ctx context.Context, repoKey string) (*usecase.Site, error)
	// Forget drops what is kept of an installation whose grant changed.
	Forget(installation int64)
	// Moved drops what is kept of where a repository is served from: it is not
	// found there any more.
	Moved(repo engine.Repo)
	// Maintain packs what the clones gathered.
	Maintain(ctx context.Context) error
	// Know makes a repository known that a delivery names.
	Know(ctx context.Context, repo engine.Repo) error
	// Listed names the repositories served, as the allow-list does.
	Listed() []string
	// Discover reads what the forge says of one of them now, and remembers it;
	// forges.ErrNotFound for one that is not installed.
	Discover(ctx context.Context, name string) (store.Repo, error)
	// Swept keeps what came of looking at all that is open in one of them, for
	// people; the error may be nil.
	Swept(name string, err error)
}

// Inbox is where deliveries come in.
type Inbox interface {
	// Yield waits, at most that long, while many wait to be stored.
	Yield(ctx context.Context, most time.Duration)
}

// Jobs is the queue with its workers.
type Jobs struct {
	DB         *store.DB
	Facts      *facts.Facts
	Subjects   store.Subjects
	Comments   store.Comments
	Deliveries store.Deliveries
	Repos      store.Repos
	Sites      Sites
	Decode     func(store.Delivery) (engine.Event, error)
	Stage      *usecase.Stage
	Settler    *settle.Settler
	Commander  *settle.Commander
	SelfID     func(ctx context.Context, repo engine.Repo) (int64, error)
	RunsDir    string
	Log        *slog.Logger
	Metrics    *metrics.Metrics
	Retention  time.Duration
	// Inbox is set before Start: it wakes the queue and so comes after Open.
	Inbox Inbox

	client  *river.Client[*sql.Tx]
	replica *queue.Replica
}

// Config is how many jobs run at once and how often the sweep comes.
type Config struct {
	Settles, Plans, Applies int
	Sweep                   time.Duration
}

// Open registers the workers. Nothing runs before Start.
func (j *Jobs) Open(c Config) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, &eventWorker{Jobs: j})
	river.AddWorker(workers, &settleWorker{Jobs: j})
	river.AddWorker(workers, &planWorker{Jobs: j})
	river.AddWorker(workers, &recordWorker{Jobs: j})
	river.AddWorker(workers, &tickWorker{Jobs: j})
	river.AddWorker(workers, &applyWorker{Jobs: j})
	river.AddWorker(workers, &commandWorker{Jobs: j})
	river.AddWorker(workers, &sweepWorker{Jobs: j})
	river.AddWorker(workers, &sweepRepoWorker{Jobs: j})
	river.AddWorker(workers, &unreadWorker{Jobs: j})
	river.AddWorker(workers, &waitingWorker{Jobs: j})
	config := queue.Config(j.Log)
	config.Middleware = []rivertype.Middleware{&logged{jobs: j}}
	config.Workers = workers
	config.RetryPolicy = soon{}
	config.Queues = map[string]river.QueueConfig{
		queueEvent:  {MaxWorkers: 1},
		queueSettle: {MaxWorkers: c.Settles},
		queuePlan:   {MaxWorkers: c.Plans},
		queueApply:  {MaxWorkers: c.Applies},
	}
	config.PeriodicJobs = []*river.PeriodicJob{river.NewPeriodicJob(
		river.PeriodicInterval(c.Sweep),
		func() (river.JobArgs, *river.InsertOpts) { return SweepArgs{}, nil },
		&river.PeriodicJobOpts{RunOnStart: true},
	)}
	// Who may apply is told by a lease, and nothing may end an apply that runs.
	replica, err := queue.NewReplica(j.DB, j.Log, ApplyArgs{}.Kind())
	if err != nil {
		return err
	}
	j.replica = replica
	j.client, err = queue.New(replica, config)
	return err
}

// soon tries a failed job again within a minute at most: what keeps one from
// ending is mostly a forge or a remote that comes back.
type soon struct{}

// NextRetry implements river.ClientRetryPolicy.
func (soon) NextRetry(job *rivertype.JobRow) time.Time {
	n := len(job.Errors) + 1
	return time.Now().Add(min(time.Duration(n*n)*time.Second, time.Minute))
}

// Start takes up what killed processes left and begins to work.
func (j *Jobs) Start(ctx context.Context) error {
	resumed, err := j.replica.Start(ctx)
	if err != nil {
		return err
	}
	if resumed > 0 {
		j.Log.Info("resuming jobs of an earlier process", "jobs", resumed)
	}
	if err := j.dropLeftovers(ctx); err != nil {
		return err
	}
	return j.client.Start(ctx)
}

// Stop lets running jobs end, and cancels those that have not when ctx is done.
func (j *Jobs) Stop(ctx context.Context) error {
	err := j.client.Stop(ctx)
	hard, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err != nil {
		err = j.client.StopAndCancel(hard)
	}
	return errors.Join(err, j.replica.Stop(hard))
}

// Wake queues the job that drains the inbox, in the transaction that stores the
// deliveries, unless one waits already.
func (j *Jobs) Wake() store.Wake { return queue.Wake(j.DB, j.client, queueEvent, EventArgs{}) }

func (j *Jobs) insert(ctx context.Context, args river.JobArgs) error {
	return j.DB.InTx(ctx, func(tx *sql.Tx) error {
		_, err := j.client.InsertTx(ctx, tx, args, nil)
		return err
	})
}

// Raise implements settle.Next.
func (j *Jobs) Raise(ctx context.Context, repo engine.Repo, s settle.Subject) error {
	return j.DB.InTx(ctx, func(tx *sql.Tx) error { return j.raiseTx(ctx, tx, subjectOf(repo.Key(), s)) })
}

// raiseTx notes a fact about a subject. The first one since the subject was
// settled queues the settle; a settle that ends under a newer generation queues
// the next itself. So a subject has one settle at a time, however many facts
// come.
//
// Several are raised in one order everywhere: transactions that run side by side
// would wait for one another otherwise.
func (j *Jobs) raiseTx(ctx context.Context, tx *sql.Tx, subjects ...store.Subject) error {
	slices.SortFunc(subjects, func(a, b store.Subject) int {
		return cmp.Or(cmp.Compare(a.RepoKey, b.RepoKey), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	for _, subject := range subjects {
		generation, first, err := j.Subjects.Raise(ctx, tx, subject, j.Stage.Now())
		if err == nil && first {
			err = j.settleTx(ctx, tx, subject, generation)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func subjectOf(repoKey string, s settle.Subject) store.Subject {
	return store.Subject{RepoKey: repoKey, Kind: store.SubjectKind(s.Kind), Name: s.Name}
}

func (j *Jobs) settleTx(ctx context.Context, tx *sql.Tx, s store.Subject, generation int64) error {
	_, err := j.client.InsertTx(ctx, tx, SettleArgs{RepoKey: s.RepoKey, Subject: string(s.Kind), Name: s.Name, Generation: generation}, nil)
	return err
}

// branches are the default branch and every branch tracked already.
func (j *Jobs) branches(ctx context.Context, repo engine.Repo, defaultBranch string) ([]string, error) {
	known, err := j.Subjects.ToSettle(ctx)
	if err != nil {
		return nil, err
	}
	branches := []string{defaultBranch}
	for _, s := range known {
		if s.RepoKey == repo.Key() && s.Kind == store.SubjectBranch && s.Name != defaultBranch {
			branches = append(branches, s.Name)
		}
	}
	return branches, nil
}

// QueuePlan implements settle.Next.
func (j *Jobs) QueuePlan(ctx context.Context, repo engine.Repo, number int, head, baseBranch string) error {
	return j.insert(ctx, PlanArgs{RepoKey: repo.Key(), Number: number, Head: head, BaseBranch: baseBranch})
}

// QueueRecord implements settle.Next.
func (j *Jobs) QueueRecord(ctx context.Context, repo engine.Repo, branch, tip string) error {
	return j.insert(ctx, RecordArgs{RepoKey: repo.Key(), Branch: branch, Tip: tip})
}

// QueueTick implements settle.Next.
func (j *Jobs) QueueTick(ctx context.Context, repo engine.Repo, branch string) error {
	return j.insert(ctx, TickArgs{RepoKey: repo.Key(), Branch: branch})
}

// QueueApply implements settle.Next.
func (j *Jobs) QueueApply(ctx context.Context, repo engine.Repo, branch, env, member, commit string) error {
	return j.insert(ctx, ApplyArgs{RepoKey: repo.Key(), Branch: branch, Env: env, Member: member, Commit: commit})
}

// RequestPlan implements settle.Requests.
func (j *Jobs) RequestPlan(ctx context.Context, repo engine.Repo, number int, head, baseBranch string) error {
	return j.DB.InTx(ctx, func(tx *sql.Tx) error {
		if err := j.Facts.NotePlanRequest(ctx, tx, repo, number, head); err != nil {
			return err
		}
		_, err := j.client.InsertTx(ctx, tx, PlanArgs{RepoKey: repo.Key(), Number: number, Head: head, BaseBranch: baseBranch, Again: true}, nil)
		return err
	})
}

// RequestApply implements settle.Requests.
func (j *Jobs) RequestApply(ctx context.Context, repo engine.Repo, branch, env, member string) error {
	return j.insert(ctx, ApplyArgs{RepoKey: repo.Key(), Branch: branch, Env: env, Member: member})
}

// QueueCommand implements usecase.CommandQueue: a comment is noted once, and
// handled until it has an outcome.
func (j *Jobs) QueueCommand(ctx context.Context, repo engine.Repo, ref engine.CommentRef, delivery string) error {
	return j.DB.InTx(ctx, func(tx *sql.Tx) error { return j.commandTx(ctx, tx, repo, ref, delivery) })
}

func (j *Jobs) commandTx(ctx context.Context, tx *sql.Tx, repo engine.Repo, ref engine.CommentRef, delivery string) error {
	if _, err := j.Comments.Receive(ctx, tx, repo.Key(), ref, j.Stage.Now()); err != nil {
		return err
	}
	_, err := j.client.InsertTx(ctx, tx, CommandArgs{RepoKey: repo.Key(), Ref: ref, Delivery: delivery}, nil)
	return err
}

// later turns a forge's rate limit, a remote that does not answer, or a lease that
// was not renewed in time, into a later try of the job, which keeps its reason for
// the log.
func (j *Jobs) later(err error) error {
	if wait, ok := waits(err); ok {
		return fmt.Errorf("%w (%w)", err, river.JobSnooze(wait))
	}
	return err
}

// waits tells whether a try failed only because it came too early, and for how
// long to wait.
func waits(err error) (time.Duration, bool) {
	if limited, ok := errors.AsType[*forges.RateLimited](err); ok {
		return max(time.Second, time.Until(limited.Until)), true
	}
	return 15 * time.Second, errors.Is(err, git.ErrUnreachable) || errors.Is(err, lease.ErrLost)
}

// finish completes a job in the transaction that stores what it found.
func finish[A river.JobArgs](ctx context.Context, j *Jobs, job *river.Job[A], store func(*sql.Tx) error) error {
	return j.DB.InTx(ctx, func(tx *sql.Tx) error {
		if err := store(tx); err != nil {
			return err
		}
		_, err := river.JobCompleteTx[driver](ctx, tx, job)
		return err
	})
}

// lockWait is how soon a job comes again whose key another one holds.
const lockWait = time.Second

// lock takes a key for one job, or says that the job comes again soon.
func (j *Jobs) lock(ctx context.Context, key ...string) (unlock func(), err error) {
	unlock, ok, err := j.replica.TryLock(ctx, key...)
	if err == nil && !ok {
		err = river.JobSnooze(lockWait)
	}
	return unlock, err
}

func numberOf(name string) (int, error) {
	n, err := strconv.Atoi(name)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("subject %q is no pull request number", name)
	}
	return n, nil
}
