package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"github.com/chant-bot/chant/app/logs"
	"github.com/chant-bot/chant/app/settle"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/sql/store"
)

const (
	// drained is how many deliveries are worked off in one transaction. One that
	// comes meanwhile is stored after it, so it must be short.
	drained = 20
	// mostYield is how long deliveries that rush in hold up what those stored
	// before ask for.
	mostYield = time.Second
	// lookTime is how long one delivery may hold up those of other repositories;
	// one that needs longer waits, and may take patientTime then.
	lookTime    = 5 * time.Second
	patientTime = time.Minute
	// waitTime is how long a delivery waits for its repository. What was to be
	// looked at is found by the sweep once the repository can be read again.
	waitTime = 24 * time.Hour
	// drainTime is how long one job drains: one that is still busy then ends well
	// and goes on as a new one, before its timeout would make a failure of it.
	drainTime = settleTimeout / 2
)

// eventWorker drains the inbox.
type eventWorker struct {
	river.WorkerDefaults[EventArgs]
	*Jobs
}

// Timeout implements river.Worker.
func (*eventWorker) Timeout(*river.Job[EventArgs]) time.Duration { return settleTimeout }

// Work takes every pending delivery, unless another replica does: that one looks
// again after it has let others in, and so sees what this one was woken for.
func (w *eventWorker) Work(ctx context.Context, _ *river.Job[EventArgs]) error {
	for {
		unlock, ok, err := w.replica.TryLock(ctx, queueEvent)
		if err != nil || !ok {
			return err
		}
		err = w.drain(ctx)
		unlock()
		if err != nil {
			return err
		}
		left, err := w.Deliveries.Pending(ctx, 1)
		if err != nil || len(left) == 0 {
			return err
		}
	}
}

// drain takes every pending delivery, oldest first. One that cannot be handled
// now waits with what else its repository sent, so that it holds up no other.
func (w *eventWorker) drain(ctx context.Context) error {
	for begin := w.Stage.Now(); ; {
		if w.Stage.Now().Sub(begin) > drainTime {
			return river.JobSnooze(0)
		}
		w.Inbox.Yield(ctx, mostYield)
		pending, err := w.Deliveries.Pending(ctx, drained)
		if err != nil || len(pending) == 0 {
			return err
		}
		g := w.gather(lookTime)
		for _, d := range pending {
			g.take(ctx, d)
		}
		if err := g.store(ctx); err != nil {
			return err
		}
	}
}

// waitingWorker hands on what waits for one repository.
type waitingWorker struct {
	river.WorkerDefaults[WaitingArgs]
	*Jobs
}

// Timeout implements river.Worker.
func (*waitingWorker) Timeout(*river.Job[WaitingArgs]) time.Duration { return settleTimeout }

// Work handles everything that waits for the repository, and is tried again
// while something does.
func (w *waitingWorker) Work(ctx context.Context, job *river.Job[WaitingArgs]) error {
	repo := engine.Repo{Instance: job.Args.Instance, ID: job.Args.RepoID}
	for {
		waiting, err := w.Deliveries.Waiting(ctx, repo, drained)
		if err != nil {
			return err
		}
		g := w.gather(patientTime)
		for _, d := range waiting {
			g.take(ctx, d)
		}
		err = w.DB.InTx(ctx, func(tx *sql.Tx) error {
			if err := g.storeTx(ctx, tx); err != nil {
				return err
			}
			// One that began to wait meanwhile found this job in its way. It holds the
			// job until it is there to be seen, so it is looked for after that.
			if _, err := river.JobCompleteTx[driver](ctx, tx, job); err != nil {
				return err
			}
			waited, err := w.Deliveries.WaitedFor(ctx, tx)
			if slices.Contains(waited, repo) {
				err = errWaits
			}
			return err
		})
		if !errors.Is(err, errWaits) {
			return err
		}
		if err := g.store(ctx); err != nil {
			return err
		}
		if g.failed != nil {
			return w.later(g.failed)
		}
	}
}

var errWaits = errors.New("deliveries still wait for the repository")

func (j *Jobs) gather(most time.Duration) *gathering {
	return &gathering{jobs: j, most: most, raised: map[store.Subject]bool{}, seen: map[engine.Repo]*sender{}}
}

// gathering is what some deliveries come to, stored together: a subject that
// many of them are about is raised once. It implements what settle.Receiver
// writes to.
type gathering struct {
	jobs     *Jobs
	most     time.Duration // one delivery takes
	outcomes []store.DeliveryOutcome
	raised   map[store.Subject]bool
	writes   []func(ctx context.Context, tx *sql.Tx) error
	seen     map[engine.Repo]*sender
	guid     string // of the delivery that is being handled
	failed   error  // the last one; some deliveries wait
}

// sender is a repository that sent something. why not empty says what keeps its
// deliveries from being looked at, err why they cannot be now.
type sender struct {
	site *usecase.Site
	self int64
	why  string
	err  error
}

// take handles one delivery. Nothing is stored yet.
func (g *gathering) take(ctx context.Context, d store.Delivery) {
	g.guid = d.GUID
	ctx = logs.With(ctx, slog.String(logs.Delivery, d.GUID), slog.String("event", d.Event), slog.String("action", d.Action))
	if d.Repo.ID != 0 {
		logs.Add(ctx, slog.String(logs.Repository, d.Repo.FullName()))
	}
	ctx, cancel := context.WithTimeout(ctx, g.most)
	defer cancel()
	outcome, state, err := g.handle(ctx, d)
	switch {
	case err != nil && g.jobs.Stage.Now().Sub(d.ReceivedAt) > waitTime:
		outcome, state = fmt.Sprintf("given up after %s: %v", waitTime, err), store.DeliveryFailed
	case err != nil:
		g.failed = fmt.Errorf("delivery %s: %w", d.GUID, err)
		outcome, state = "tried again: "+err.Error(), store.DeliveryWaiting
		if d.State != store.DeliveryWaiting {
			g.insert(WaitingArgs{Instance: d.Repo.Instance, RepoID: d.Repo.ID})
		}
	}
	level := slog.LevelDebug
	if state == store.DeliveryFailed || state == store.DeliveryWaiting {
		level = slog.LevelWarn
	}
	g.jobs.Log.Log(ctx, level, "delivery", "outcome", outcome, "state", string(state))
	g.jobs.Metrics.Handled(d.Instance, string(state))
	g.outcomes = append(g.outcomes, store.DeliveryOutcome{ID: d.ID, State: state, Outcome: outcome})
}

func (g *gathering) handle(ctx context.Context, d store.Delivery) (string, store.DeliveryState, error) {
	event, err := g.jobs.Decode(d)
	if err != nil {
		return err.Error(), store.DeliveryFailed, nil //nolint:nilerr // what is said of the delivery
	}
	logs.Add(ctx, changeAttr(changeOf(event)))
	if ignored, ok := event.(engine.Ignored); ok {
		return ignored.Reason, store.DeliveryIgnored, nil
	}
	if changed, ok := event.(engine.InstallationChanged); ok {
		g.jobs.Sites.Forget(changed.Installation)
		g.insert(SweepArgs{})
		return "the installation is read again", store.DeliveryDone, nil
	}
	if d.Repo.ID == 0 {
		return "belongs to no repository", store.DeliveryIgnored, nil
	}
	from := g.from(ctx, d.Repo)
	switch {
	case from.err != nil:
		return "", "", from.err
	case from.why != "":
		return from.why, store.DeliveryIgnored, nil
	case d.Sender.ID == from.self && ownAct(from.site, d):
		return "our own act", store.DeliveryIgnored, nil
	}
	receiver := settle.Receiver{Subjects: g, Commands: g, Heads: g.jobs.Settler}
	outcome, err := receiver.Receive(ctx, from.site.Forge, event)
	from.err = err // the next one of this repository would find the same
	return outcome, store.DeliveryDone, err
}

// ownAct tells whether a delivery whose sender is our account speaks of what we
// did. That is known here already, and a hint at it would only make every settle
// cause another one. A person whose token we use does things too: then only
// statuses are ours, and comments are told apart when they are read.
func ownAct(site *usecase.Site, d store.Delivery) bool {
	return !site.SharedAccount || d.Event == "status"
}

// from opens the repository a delivery names, once for all of them.
func (g *gathering) from(ctx context.Context, repo engine.Repo) *sender {
	if s := g.seen[repo]; s != nil {
		return s
	}
	s := &sender{}
	g.seen[repo] = s
	s.site, s.err = g.open(ctx, repo)
	if errors.Is(s.err, forges.ErrNotFound) { // or it was transferred
		g.jobs.Sites.Moved(repo)
		s.site, s.err = g.open(ctx, repo)
	}
	if s.err == nil {
		// From here on comments are read, whether or not their delivery comes.
		_, s.err = g.jobs.Facts.ServedSince(ctx, s.site.Repo)
	}
	if errors.Is(s.err, store.ErrNotFound) || errors.Is(s.err, forges.ErrNotFound) {
		s.why, s.err = "the repository is not installed or not visible", nil
	} else if s.err == nil {
		s.self, s.err = g.jobs.SelfID(ctx, s.site.Repo)
	}
	return s
}

func (g *gathering) open(ctx context.Context, repo engine.Repo) (*usecase.Site, error) {
	if err := g.jobs.Sites.Know(ctx, repo); err != nil {
		return nil, err
	}
	return g.jobs.Sites.Open(ctx, repo.Key())
}

// Raise implements settle.Raiser.
func (g *gathering) Raise(_ context.Context, repo engine.Repo, s settle.Subject) error {
	g.raised[subjectOf(repo.Key(), s)] = true
	return nil
}

// RaiseBranches implements settle.Raiser.
func (g *gathering) RaiseBranches(ctx context.Context, repo engine.Repo, defaultBranch string) error {
	branches, err := g.jobs.branches(ctx, repo, defaultBranch)
	for _, branch := range branches {
		g.raised[subjectOf(repo.Key(), settle.BranchOf(branch))] = true
	}
	return err
}

// QueueCommand implements usecase.CommandQueue.
func (g *gathering) QueueCommand(_ context.Context, repo engine.Repo, ref engine.CommentRef) error {
	guid := g.guid
	g.writes = append(g.writes, func(ctx context.Context, tx *sql.Tx) error { return g.jobs.commandTx(ctx, tx, repo, ref, guid) })
	return nil
}

func (g *gathering) insert(args river.JobArgs) {
	g.writes = append(g.writes, func(ctx context.Context, tx *sql.Tx) error {
		_, err := g.jobs.client.InsertTx(ctx, tx, args, nil)
		return err
	})
}

// store commits everything at once. It need not wait for the disk: what it
// loses with the power is worked off again from the deliveries.
func (g *gathering) store(ctx context.Context) error {
	return g.jobs.DB.InLazyTx(ctx, func(tx *sql.Tx) error { return g.storeTx(ctx, tx) })
}

func (g *gathering) storeTx(ctx context.Context, tx *sql.Tx) error {
	if err := g.jobs.raiseTx(ctx, tx, slices.Collect(maps.Keys(g.raised))...); err != nil {
		return err
	}
	for _, write := range g.writes {
		if err := write(ctx, tx); err != nil {
			return err
		}
	}
	return g.jobs.Deliveries.FinishAll(ctx, tx, g.outcomes, g.jobs.Stage.Now())
}
