package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/db"
)

// Post is what was last posted on a target, such as a note or a status of one
// commit. Target is a name of the caller's.
type Post struct {
	Hash     string // of the content
	RemoteID int64  // of the comment; 0 where the forge gives none
	PostedAt time.Time
}

// Posts remembers what was said last, so that nothing is said twice.
type Posts struct{ db *DB }

// NewPosts is the store of posts in d.
func NewPosts(d *DB) Posts { return Posts{d} }

// Get reads the last post on a target; ErrNotFound.
func (s Posts) Get(ctx context.Context, repoKey, target string) (Post, error) {
	row, err := new(db.Queries).GetPost(ctx, s.db.Read, db.GetPostParams{RepoKey: repoKey, Target: target})
	if err != nil {
		return Post{}, notFound(err, "reading the post %s", target)
	}
	return Post{Hash: row.Hash, RemoteID: row.RemoteID, PostedAt: fromMillis(row.PostedAt)}, nil
}

// Put records what was just posted.
func (s Posts) Put(ctx context.Context, on Conn, repoKey, target string, p Post) error {
	err := new(db.Queries).UpsertPost(ctx, on, db.UpsertPostParams{
		RepoKey: repoKey, Target: target, Hash: p.Hash, RemoteID: p.RemoteID, PostedAt: millis(p.PostedAt),
	})
	if err != nil {
		return fmt.Errorf("storing the post %s: %w", target, err)
	}
	return nil
}

// Claim is Put where nothing was posted on the target, and tells whether it was.
func (s Posts) Claim(ctx context.Context, on Conn, repoKey, target string, p Post) (bool, error) {
	made, err := new(db.Queries).ClaimPost(ctx, on, db.ClaimPostParams{
		RepoKey: repoKey, Target: target, Hash: p.Hash, RemoteID: p.RemoteID, PostedAt: millis(p.PostedAt),
	})
	if err != nil {
		return false, fmt.Errorf("claiming the post %s: %w", target, err)
	}
	return made == 1, nil
}

// CommentOutcome is what became of a comment with commands.
type CommentOutcome string

// The outcomes of a comment. Received means not decided yet.
const (
	CommentReceived CommentOutcome = "received"
	CommentRefused  CommentOutcome = "refused"
	CommentDone     CommentOutcome = "done"
)

// Comments gives each comment exactly one outcome (soundness I8).
type Comments struct{ db *DB }

// NewComments is the store of comments in d.
func NewComments(d *DB) Comments { return Comments{d} }

// Receive notes that a comment is to be decided. fresh is false when it was
// noted before, by a doubled delivery or by the sweep; whether it was decided
// then, Outcome tells.
func (s Comments) Receive(ctx context.Context, on Conn, repoKey string, ref engine.CommentRef, at time.Time) (fresh bool, err error) {
	n, err := new(db.Queries).InsertComment(ctx, on, db.InsertCommentParams{
		RepoKey: repoKey, Kind: string(ref.Kind), CommentID: ref.ID, ReceivedAt: millis(at),
	})
	if err != nil {
		return false, fmt.Errorf("noting %s %d: %w", ref.Kind, ref.ID, err)
	}
	return n == 1, nil
}

// Outcome reads what became of a comment; ErrNotFound for one never received.
func (s Comments) Outcome(ctx context.Context, repoKey string, ref engine.CommentRef) (CommentOutcome, string, error) {
	row, err := new(db.Queries).GetComment(ctx, s.db.Read, db.GetCommentParams{
		RepoKey: repoKey, Kind: string(ref.Kind), CommentID: ref.ID,
	})
	if err != nil {
		return "", "", notFound(err, "reading %s %d", ref.Kind, ref.ID)
	}
	return CommentOutcome(row.Outcome), row.Detail, nil
}

// Decide records the one outcome of a received comment. It reports false, and
// changes nothing, when there is one.
func (s Comments) Decide(ctx context.Context, on Conn, repoKey string, ref engine.CommentRef, o CommentOutcome, detail string, at time.Time) (bool, error) {
	if o == CommentReceived {
		return false, errors.New("received is no outcome")
	}
	n, err := new(db.Queries).FinishComment(ctx, on, db.FinishCommentParams{
		RepoKey: repoKey, Kind: string(ref.Kind), CommentID: ref.ID, Outcome: string(o), Detail: detail, OutcomeAt: millis(at),
	})
	if err != nil {
		return false, fmt.Errorf("deciding %s %d: %w", ref.Kind, ref.ID, err)
	}
	return n == 1, nil
}

// AuditEntry is one decision: who, through which delivery, on which digest, by
// which rule, with which result, refusals too.
type AuditEntry struct {
	ID       int64 // set by the store
	At       time.Time
	RepoKey  string
	Actor    string // principal, or a word such as "server"
	Delivery string // GUID, or "" for a decision no delivery led to
	Action   string
	Digest   string
	Rule     string
	Result   string
	Detail   string
}

// Audit is the trail of decisions. Entries are only ever added.
type Audit struct{ db *DB }

// NewAudit is the trail in d.
func NewAudit(d *DB) Audit { return Audit{d} }

// Record adds an entry, in the transaction of the decision where there is one.
func (s Audit) Record(ctx context.Context, on Conn, e AuditEntry) error {
	err := new(db.Queries).InsertAudit(ctx, on, db.InsertAuditParams{
		At: millis(e.At), RepoKey: e.RepoKey, Actor: e.Actor, Delivery: e.Delivery, Action: e.Action,
		Digest: e.Digest, Rule: e.Rule, Result: e.Result, Detail: e.Detail,
	})
	if err != nil {
		return fmt.Errorf("recording %s: %w", e.Action, err)
	}
	return nil
}

// List pages through the trail, newest first. An empty repoKey means any;
// before is the ID to go on from, 0 for the newest.
func (s Audit) List(ctx context.Context, repoKey string, before int64, limit int) ([]AuditEntry, error) {
	rows, err := new(db.Queries).ListAudit(ctx, s.db.Read, db.ListAuditParams{
		RepoKey: repoKey, Before: orNewest(before), Count: clampLimit(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("reading the audit trail: %w", err)
	}
	out := make([]AuditEntry, len(rows))
	for i, row := range rows {
		out[i] = AuditEntry{
			ID: row.ID, At: fromMillis(row.At), RepoKey: row.RepoKey, Actor: row.Actor, Delivery: row.Delivery,
			Action: row.Action, Digest: row.Digest, Rule: row.Rule, Result: row.Result, Detail: row.Detail,
		}
	}
	return out, nil
}

// Settings are values made at run time, such as an app created from its
// manifest. What is secret is sealed by the caller.
type Settings struct{ db *DB }

// NewSettings is the store of settings in d.
func NewSettings(d *DB) Settings { return Settings{d} }

// Get reads a value; ErrNotFound.
func (s Settings) Get(ctx context.Context, name string) ([]byte, error) {
	value, err := new(db.Queries).GetSetting(ctx, s.db.Read, name)
	if err != nil {
		return nil, notFound(err, "reading the setting %s", name)
	}
	return value, nil
}

// Put stores a value.
func (s Settings) Put(ctx context.Context, on Conn, name string, value []byte, at time.Time) error {
	err := new(db.Queries).PutSetting(ctx, on, db.PutSettingParams{Name: name, Value: blob(value), UpdatedAt: millis(at)})
	if err != nil {
		return fmt.Errorf("storing the setting %s: %w", name, err)
	}
	return nil
}
