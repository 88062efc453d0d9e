package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/sql/db"
)

// PlanStatus is how far a plan got.
type PlanStatus string

// The states of a plan.
const (
	PlanQueued  PlanStatus = "queued"
	PlanRunning PlanStatus = "running"
	PlanDone    PlanStatus = "done"
	PlanFailed  PlanStatus = "failed"
)

// PlanTarget is what settle looks a plan up by: a moved base tip alone does not
// make another plan count (pr-loop decision 1).
type PlanTarget struct {
	RepoKey, Env, Member string
	Number               int
	Head, BaseBranch     string
}

// PlanKey tells plans apart (pr-loop decision 1). The pull request's number is
// part of it, since two may share a head and a base.
type PlanKey struct {
	PlanTarget
	BaseTip string
}

// Plan is one attempt to plan a pull request. Document, Report and Sources are
// JSON, empty until the plan is done and left out of lists.
type Plan struct {
	ID int64
	PlanKey
	Attempt  int64
	Tree     string // tree planned; empty until the plan starts
	Status   PlanStatus
	Digest   digest.Digest
	Error    string // for people
	Created  time.Time
	Finished time.Time
	Document []byte
	Report   []byte
	Sources  []byte
}

// Plans keeps the plans of pull requests.
type Plans struct{ db *DB }

// NewPlans is the store of plans in d.
func NewPlans(d *DB) Plans { return Plans{d} }

// Ensure returns the newest plan of a key, or queues the first one. With again
// it queues another attempt unless one is queued or running. created tells that
// the caller must queue the job, in the same transaction.
func (s Plans) Ensure(ctx context.Context, tx *sql.Tx, key PlanKey, again bool, at time.Time) (id int64, created bool, err error) {
	q := new(db.Queries)
	for {
		id, created, err = s.ensure(ctx, q, tx, key, again, at)
		if err != nil || id != 0 {
			return id, created, err
		}
	}
}

// ensure is one try of Ensure. It returns no id when another transaction made the
// attempt that was the next one a moment ago.
func (s Plans) ensure(ctx context.Context, q *db.Queries, tx *sql.Tx, key PlanKey, again bool, at time.Time) (id int64, created bool, err error) {
	newest, err := q.NewestAttempt(ctx, tx, db.NewestAttemptParams{
		RepoKey: key.RepoKey, Env: key.Env, Member: key.Member, Number: int64(key.Number),
		Head: key.Head, BaseBranch: key.BaseBranch, BaseTip: key.BaseTip,
	})
	switch status := PlanStatus(newest.Status); {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return 0, false, fmt.Errorf("looking for a plan of %s: %w", key.Head, err)
	case !again || status == PlanQueued || status == PlanRunning:
		return newest.ID, false, nil
	}
	made, err := q.InsertPlan(ctx, tx, db.InsertPlanParams{
		RepoKey: key.RepoKey, Env: key.Env, Member: key.Member, Number: int64(key.Number),
		Head: key.Head, BaseBranch: key.BaseBranch, BaseTip: key.BaseTip,
		Attempt: newest.Attempt + 1, CreatedAt: millis(at), Document: []byte{},
	})
	if err != nil {
		return 0, false, fmt.Errorf("queueing a plan of %s: %w", key.Head, err)
	}
	if len(made) == 0 {
		return 0, false, nil
	}
	return made[0], true, nil
}

// Start says that planning of tree begins, again after a crash. It reports
// false for a plan that has ended.
func (s Plans) Start(ctx context.Context, on Conn, id int64, tree string) (bool, error) {
	n, err := new(db.Queries).StartPlan(ctx, on, db.StartPlanParams{ID: id, Tree: tree})
	if err != nil {
		return false, fmt.Errorf("starting plan %d: %w", id, err)
	}
	return n == 1, nil
}

// PlanResult is how a plan ended: PlanDone with a digest and documents, or
// PlanFailed with an error and what documents there are.
type PlanResult struct {
	Status   PlanStatus
	Digest   digest.Digest
	Error    string
	Document []byte
	Report   []byte
	Sources  []byte
}

// Finish records the end of a plan, once: it reports false for a plan that has
// ended, and changes nothing.
func (s Plans) Finish(ctx context.Context, on Conn, id int64, r PlanResult, at time.Time) (bool, error) {
	n, err := new(db.Queries).FinishPlan(ctx, on, db.FinishPlanParams{
		ID: id, Status: string(r.Status), Digest: r.Digest.String(), Error: r.Error, FinishedAt: millis(at),
		Document: blob(r.Document), Report: blob(r.Report), Sources: blob(r.Sources),
	})
	if err != nil {
		return false, fmt.Errorf("finishing plan %d: %w", id, err)
	}
	return n == 1, nil
}

// Get reads one plan; ErrNotFound.
func (s Plans) Get(ctx context.Context, id int64) (Plan, error) {
	row, err := new(db.Queries).GetPlan(ctx, s.db.Read, id)
	if err != nil {
		return Plan{}, notFound(err, "reading plan %d", id)
	}
	return plan(row)
}

// OfHead lists the newest finished plan of every env and member for one head on
// one base branch, of any base tip (pr-loop decision 1), by ID, oldest first.
func (s Plans) OfHead(ctx context.Context, repoKey string, number int, head, baseBranch string) ([]int64, error) {
	ids, err := new(db.Queries).NewestPlansOfHead(ctx, s.db.Read, db.NewestPlansOfHeadParams{
		RepoKey: repoKey, Number: int64(number), Head: head, BaseBranch: baseBranch,
	})
	if err != nil {
		return nil, fmt.Errorf("listing the plans of %s: %w", head, err)
	}
	return ids, nil
}

// Newest reads the newest finished plan of a head, whatever its base;
// ErrNotFound. The target's base branch is not looked at.
func (s Plans) Newest(ctx context.Context, t PlanTarget) (Plan, error) {
	row, err := new(db.Queries).NewestPlanOfHead(ctx, s.db.Read, db.NewestPlanOfHeadParams{
		RepoKey: t.RepoKey, Env: t.Env, Member: t.Member, Number: int64(t.Number), Head: t.Head,
	})
	if err != nil {
		return Plan{}, notFound(err, "looking for the plan of %s", t.Head)
	}
	return plan(row)
}

// Earlier lists the newest plan of each digest but one that the pull request had
// in an env and member, by ID, newest first. The target's head and base branch are
// not looked at.
func (s Plans) Earlier(ctx context.Context, t PlanTarget, but digest.Digest, limit int) ([]int64, error) {
	ids, err := new(db.Queries).EarlierPlans(ctx, s.db.Read, db.EarlierPlansParams{
		RepoKey: t.RepoKey, Env: t.Env, Member: t.Member, Number: int64(t.Number), Digest: but.String(), Limit: clampLimit(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("listing earlier plans of pull request %d: %w", t.Number, err)
	}
	return ids, nil
}

// List pages through plans, newest first, without documents. before is the ID
// to go on from, 0 for the newest.
func (s Plans) List(ctx context.Context, before int64, limit int) ([]Plan, error) {
	rows, err := new(db.Queries).ListPlans(ctx, s.db.Read, db.ListPlansParams{Before: orNewest(before), Count: clampLimit(limit)})
	if err != nil {
		return nil, fmt.Errorf("listing plans: %w", err)
	}
	return lightPlans(rows)
}

func lightPlans(rows []db.ListPlansRow) ([]Plan, error) {
	out := make([]Plan, len(rows))
	for i, row := range rows {
		p, err := plan(db.Plan{
			ID: row.ID, RepoKey: row.RepoKey, Env: row.Env, Member: row.Member, Number: row.Number, Head: row.Head,
			BaseBranch: row.BaseBranch, BaseTip: row.BaseTip, Attempt: row.Attempt, Tree: row.Tree, Status: row.Status,
			Digest: row.Digest, Error: row.Error, CreatedAt: row.CreatedAt, FinishedAt: row.FinishedAt,
		})
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}

func plan(row db.Plan) (Plan, error) {
	p := Plan{
		ID: row.ID,
		PlanKey: PlanKey{
			PlanTarget: PlanTarget{
				RepoKey: row.RepoKey, Env: row.Env, Member: row.Member, Number: int(row.Number),
				Head: row.Head, BaseBranch: row.BaseBranch,
			},
			BaseTip: row.BaseTip,
		},
		Attempt: row.Attempt, Tree: row.Tree, Status: PlanStatus(row.Status), Error: row.Error,
		Created: fromMillis(row.CreatedAt), Finished: fromMillis(row.FinishedAt),
		Document: row.Document, Report: row.Report, Sources: row.Sources,
	}
	if err := p.Digest.UnmarshalText([]byte(row.Digest)); err != nil {
		return Plan{}, fmt.Errorf("digest of plan %d: %w", row.ID, err)
	}
	return p, nil
}
