package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/sql/db"
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

// Plan is one plan of a pull request. Document, Report and Sources are JSON.
type Plan struct {
	ID int64 // set by the store
	PlanKey
	Tree     string // tree planned
	Digest   digest.Digest
	At       time.Time // when it was made
	Document []byte
	Report   []byte
	Sources  []byte
}

// Plans keeps the plans of pull requests.
type Plans struct{ db *DB }

// NewPlans is the store of plans in d.
func NewPlans(d *DB) Plans { return Plans{d} }

// Add keeps a plan beside the earlier ones of its key, and returns its ID.
func (s Plans) Add(ctx context.Context, tx *sql.Tx, p Plan) (int64, error) {
	for {
		made, err := new(db.Queries).InsertPlan(ctx, tx, db.InsertPlanParams{
			RepoKey: p.RepoKey, Env: p.Env, Member: p.Member, Number: int64(p.Number),
			Head: p.Head, BaseBranch: p.BaseBranch, BaseTip: p.BaseTip,
			Tree: p.Tree, Digest: p.Digest.String(), CreatedAt: millis(p.At),
			Document: blob(p.Document), Report: blob(p.Report), Sources: blob(p.Sources),
		})
		if err != nil {
			return 0, fmt.Errorf("storing the plan of %s: %w", p.Head, err)
		}
		if len(made) > 0 {
			return made[0], nil
		}
	}
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
		Tree: row.Tree, At: fromMillis(row.FinishedAt),
		Document: row.Document, Report: row.Report, Sources: row.Sources,
	}
	if err := p.Digest.UnmarshalText([]byte(row.Digest)); err != nil {
		return Plan{}, fmt.Errorf("digest of plan %d: %w", row.ID, err)
	}
	return p, nil
}
