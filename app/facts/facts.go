// Package facts gives the use cases what they keep: it maps the stores of sql to
// the small interfaces the use cases declare. It decides nothing.
package facts

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chant-bot/chant/app/settle"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/sql/store"
)

// Facts is every store the use cases read and write.
type Facts struct {
	DB       *store.DB
	Plans    store.Plans
	Runs     store.Runs
	Said     store.Posts
	Trail    store.Audit
	Settings store.Settings
	Subjects store.Subjects
	Now      func() time.Time
}

// New gathers the stores of a database.
func New(db *store.DB, now func() time.Time) *Facts {
	return &Facts{
		DB: db, Plans: store.NewPlans(db), Runs: store.NewRuns(db), Said: store.NewPosts(db),
		Trail: store.NewAudit(db), Settings: store.NewSettings(db),
		Subjects: store.NewSubjects(db), Now: now,
	}
}

// extras is what a plan row's sources column holds.
type extras struct {
	Shown        usecase.Shown `json:"shown"`
	TrustChanged bool          `json:"trustChanged,omitempty"`
	NothingDue   bool          `json:"nothingDue,omitempty"`
}

// SavePlans stores the plans of one head in one transaction, together with what
// done does in it.
func (f *Facts) SavePlans(ctx context.Context, repo engine.Repo, number int, head, baseBranch, baseTip string, plans []usecase.PullPlan, trust usecase.Trust, done func(*sql.Tx) error) error {
	return f.DB.InTx(ctx, func(tx *sql.Tx) error {
		for _, p := range plans {
			key := store.PlanKey{
				PlanTarget: store.PlanTarget{
					RepoKey: repo.Key(), Env: p.Policy.Env.Name, Member: p.Member,
					Number: number, Head: head, BaseBranch: baseBranch,
				},
				BaseTip: baseTip,
			}
			if err := f.savePlan(ctx, tx, key, p, trust); err != nil {
				return err
			}
		}
		return done(tx)
	})
}

func (f *Facts) savePlan(ctx context.Context, tx *sql.Tx, key store.PlanKey, p usecase.PullPlan, trust usecase.Trust) error {
	plan := store.Plan{PlanKey: key, Tree: p.Tree, Digest: p.Report.Digest, At: f.Now()}
	var err error
	if plan.Report, err = p.Report.JSON(); err != nil {
		return fmt.Errorf("storing the report: %w", err)
	}
	x := extras{TrustChanged: trust.Changed}
	if p.Set != nil {
		plan.Document = p.Set.Document.JSON()
		x.Shown, x.NothingDue = p.Set.Shown(), p.Set.NothingDue()
	}
	if plan.Sources, err = json.Marshal(x); err != nil {
		return fmt.Errorf("storing what was shown: %w", err)
	}
	_, err = f.Plans.Add(ctx, tx, plan)
	return err
}

// Planned implements settle.Facts.
func (f *Facts) Planned(ctx context.Context, repo engine.Repo, number int, head, baseBranch string) ([]settle.KeptPlan, error) {
	ids, err := f.Plans.OfHead(ctx, repo.Key(), number, head, baseBranch)
	if err != nil {
		return nil, err
	}
	return f.keptAll(ctx, ids)
}

// Generation implements settle.Facts.
func (f *Facts) Generation(ctx context.Context, repo engine.Repo, s settle.Subject) (int64, error) {
	state, err := f.Subjects.Get(ctx, store.Subject{RepoKey: repo.Key(), Kind: store.SubjectKind(s.Kind), Name: s.Name})
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return state.Generation, err
}

// mostEarlier bounds how many earlier plans of a pull request are told apart from
// an unknown one.
const mostEarlier = 5

// Earlier implements settle.Facts.
func (f *Facts) Earlier(ctx context.Context, repo engine.Repo, number int, env, member string, current digest.Digest) ([]settle.KeptPlan, error) {
	target := store.PlanTarget{RepoKey: repo.Key(), Env: env, Member: member, Number: number}
	ids, err := f.Plans.Earlier(ctx, target, current, mostEarlier)
	if err != nil {
		return nil, err
	}
	return f.keptAll(ctx, ids)
}

func (f *Facts) keptAll(ctx context.Context, ids []int64) ([]settle.KeptPlan, error) {
	var out []settle.KeptPlan
	for _, id := range ids {
		_, kept, err := f.Plan(ctx, id)
		if err != nil {
			return nil, err
		}
		out = append(out, kept)
	}
	return out, nil
}

// PullPlan implements usecase.PullPlans.
func (f *Facts) PullPlan(ctx context.Context, repo engine.Repo, number int, head, env, member string) (usecase.StoredPlan, bool, error) {
	row, err := f.Plans.Newest(ctx, store.PlanTarget{RepoKey: repo.Key(), Env: env, Member: member, Number: number, Head: head})
	if errors.Is(err, store.ErrNotFound) {
		return usecase.StoredPlan{}, false, nil
	}
	if err != nil {
		return usecase.StoredPlan{}, false, err
	}
	kept, err := keptPlan(row)
	return kept.StoredPlan, err == nil && kept.Document != nil, err
}

// Plan reads one plan by its id, with what it is kept as; store.ErrNotFound.
func (f *Facts) Plan(ctx context.Context, id int64) (store.Plan, settle.KeptPlan, error) {
	row, err := f.Plans.Get(ctx, id)
	if err != nil {
		return row, settle.KeptPlan{}, err
	}
	kept, err := keptPlan(row)
	return row, kept, err
}

func keptPlan(row store.Plan) (k settle.KeptPlan, err error) {
	k = settle.KeptPlan{
		ID: row.ID, Env: row.Env, Member: row.Member, Head: row.Head,
		BaseTip: row.BaseTip, PlannedAt: row.At, StoredPlan: usecase.StoredPlan{Tree: row.Tree},
	}
	if k.Report, err = report.Parse(row.Report); err != nil {
		return k, fmt.Errorf("report of plan %d: %w", row.ID, err)
	}
	k.Status = string(k.Report.Status)
	if len(row.Document) > 0 {
		if k.Document, err = changeset.Parse(row.Document); err != nil {
			return k, fmt.Errorf("document of plan %d: %w", row.ID, err)
		}
	}
	var x extras
	if err := json.Unmarshal(row.Sources, &x); err != nil {
		return k, fmt.Errorf("sources of plan %d: %w", row.ID, err)
	}
	k.Shown, k.TrustChanged, k.NothingDue = x.Shown, x.TrustChanged, x.NothingDue
	return k, nil
}

// PlanRequested implements settle.Facts.
func (f *Facts) PlanRequested(ctx context.Context, repo engine.Repo, number int, head string) (bool, error) {
	_, err := f.Settings.Get(ctx, requestKey(repo, number, head))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// NotePlanRequest remembers that a person asked for a plan of this head.
func (f *Facts) NotePlanRequest(ctx context.Context, tx *sql.Tx, repo engine.Repo, number int, head string) error {
	return f.Settings.Put(ctx, tx, requestKey(repo, number, head), []byte("requested"), f.Now())
}

func requestKey(repo engine.Repo, number int, head string) string {
	return fmt.Sprintf("plan-requested %s %d %s", repo.Key(), number, head)
}

// Post implements settle.Posts.
func (f *Facts) Post(ctx context.Context, repo engine.Repo, target string) (settle.Post, bool, error) {
	p, err := f.Said.Get(ctx, repo.Key(), target)
	if errors.Is(err, store.ErrNotFound) {
		return settle.Post{}, false, nil
	}
	return settle.Post{Hash: p.Hash, RemoteID: p.RemoteID}, err == nil, err
}

// SavePost implements settle.Posts. It waits for no disk: what a power cut takes of
// it stands on the forge, where a note is found by its marker, and a status set
// twice is harmless.
func (f *Facts) SavePost(ctx context.Context, repo engine.Repo, target string, p settle.Post) error {
	return f.DB.InLazyTx(ctx, func(tx *sql.Tx) error {
		return f.Said.Put(ctx, tx, repo.Key(), target, store.Post{Hash: p.Hash, RemoteID: p.RemoteID, PostedAt: f.Now()})
	})
}

// ClaimPost implements settle.Posts.
func (f *Facts) ClaimPost(ctx context.Context, repo engine.Repo, target string, p settle.Post) (claimed bool, err error) {
	err = f.DB.InTx(ctx, func(tx *sql.Tx) error {
		claimed, err = f.Said.Claim(ctx, tx, repo.Key(), target, store.Post{Hash: p.Hash, PostedAt: f.Now()})
		return err
	})
	return claimed, err
}

// Audit implements settle.Audit.
func (f *Facts) Audit(ctx context.Context, repo engine.Repo, row settle.AuditRow) error {
	return f.DB.InTx(ctx, func(tx *sql.Tx) error { return f.AuditTx(ctx, tx, repo, row) })
}

// AuditTx is Audit in the transaction of the decision. repo is zero for one about
// no repository.
func (f *Facts) AuditTx(ctx context.Context, tx *sql.Tx, repo engine.Repo, row settle.AuditRow) error {
	key := ""
	if repo.ID != 0 {
		key = repo.Key()
	}
	return f.Trail.Record(ctx, tx, store.AuditEntry{
		At: f.Now(), RepoKey: key, Actor: row.Actor, Delivery: row.Delivery, Action: row.Action,
		Digest: row.Digest.String(), Rule: row.Rule, Result: row.Result, Detail: row.Detail,
	})
}

// ServedSince is when the repository was first seen here; comments from before
// are not read as commands by the sweep.
func (f *Facts) ServedSince(ctx context.Context, repo engine.Repo) (time.Time, error) {
	key := "served-since " + repo.Key()
	value, err := f.Settings.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		now := f.Now().UTC()
		return now, f.DB.InTx(ctx, func(tx *sql.Tx) error {
			return f.Settings.Put(ctx, tx, key, []byte(now.Format(time.RFC3339)), now)
		})
	}
	if err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339, string(value))
}

// NewestCommits are the commits of the newest apply of each env and project.
func (f *Facts) NewestCommits(ctx context.Context, repo engine.Repo) ([]string, error) {
	return f.Runs.NewestCommits(ctx, repo.Key())
}
