package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/db"
)

// DeliveryState is how far a delivery got.
type DeliveryState string

// The states of a delivery. Pending and waiting still mean work: a waiting one
// could not be handled with the others, and is tried again with what else waits
// for its repository; its outcome says why.
const (
	DeliveryPending DeliveryState = "pending"
	DeliveryWaiting DeliveryState = "waiting"
	DeliveryDone    DeliveryState = "done"
	DeliveryIgnored DeliveryState = "ignored"
	DeliveryFailed  DeliveryState = "failed"
)

// Delivery is one authenticated delivery of a forge.
type Delivery struct {
	ID           int64 // ours, in order of acceptance; set by the store
	Instance     engine.Instance
	GUID         string
	Event        string
	Action       string
	Installation int64
	Repo         engine.Repo // zero for an event of no repository
	Sender       engine.Actor
	// Header and Body are what is needed to decode it again; lists leave them
	// out.
	Header     map[string]string
	Body       []byte
	ReceivedAt time.Time
	State      DeliveryState
	Outcome    string // for people: what was done, or why nothing was
	OutcomeAt  time.Time
}

// Deliveries reads what was received and records what became of it.
type Deliveries struct{ db *DB }

// NewDeliveries is the store of deliveries in d.
func NewDeliveries(d *DB) Deliveries { return Deliveries{d} }

// Pending lists deliveries nothing was done about yet, in the order they were
// accepted, with their bodies.
func (s Deliveries) Pending(ctx context.Context, limit int) ([]Delivery, error) {
	rows, err := new(db.Queries).PendingDeliveries(ctx, s.db.Read, clampLimit(limit))
	if err != nil {
		return nil, fmt.Errorf("listing pending deliveries: %w", err)
	}
	out := make([]Delivery, len(rows))
	for i, row := range rows {
		if out[i], err = whole(db.GetDeliveryRow(row)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Waiting lists the deliveries that wait for a repository, oldest first, with
// their bodies.
func (s Deliveries) Waiting(ctx context.Context, repo engine.Repo, limit int) ([]Delivery, error) {
	rows, err := new(db.Queries).WaitingDeliveries(ctx, s.db.Read, db.WaitingDeliveriesParams{
		Instance: repo.Instance.String(), RepoID: repo.ID, Limit: clampLimit(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("listing the deliveries that wait for %s: %w", repo.Key(), err)
	}
	out := make([]Delivery, len(rows))
	for i, row := range rows {
		if out[i], err = whole(db.GetDeliveryRow(row)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// WaitedFor lists the repositories that deliveries wait for, by instance and id
// alone. on may be a transaction.
func (s Deliveries) WaitedFor(ctx context.Context, on Conn) ([]engine.Repo, error) {
	rows, err := new(db.Queries).ReposWithWaitingDeliveries(ctx, on)
	if err != nil {
		return nil, fmt.Errorf("listing what deliveries wait for: %w", err)
	}
	out := make([]engine.Repo, len(rows))
	for i, row := range rows {
		out[i] = engine.Repo{Instance: parseInstance(row.Instance), ID: row.RepoID}
	}
	return out, nil
}

// Get reads one delivery with its body; ErrNotFound.
func (s Deliveries) Get(ctx context.Context, id int64) (Delivery, error) {
	row, err := new(db.Queries).GetDelivery(ctx, s.db.Read, id)
	if err != nil {
		return Delivery{}, notFound(err, "reading delivery %d", id)
	}
	return whole(row)
}

// List pages through deliveries, newest first, without header and body. before
// is the ID to go on from, 0 for the newest; an empty state means any.
func (s Deliveries) List(ctx context.Context, state DeliveryState, before int64, limit int) ([]Delivery, error) {
	rows, err := new(db.Queries).ListDeliveries(ctx, s.db.Read, db.ListDeliveriesParams{
		Before: orNewest(before), State: string(state), Count: clampLimit(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("listing deliveries: %w", err)
	}
	out := make([]Delivery, len(rows))
	for i, row := range rows {
		out[i] = delivery(row)
	}
	return out, nil
}

// CountPending is the length of the backlog.
func (s Deliveries) CountPending(ctx context.Context) (int64, error) {
	return new(db.Queries).CountPendingDeliveries(ctx, s.db.Read)
}

// Finish records the one outcome of a delivery that has none, or that it waits.
// It reports false, and changes nothing, when it has its outcome already.
func (s Deliveries) Finish(ctx context.Context, on Conn, id int64, state DeliveryState, outcome string, at time.Time) (bool, error) {
	n, err := new(db.Queries).FinishDelivery(ctx, on, db.FinishDeliveryParams{
		ID: id, State: string(state), Outcome: outcome, OutcomeAt: millis(at),
	})
	if err != nil {
		return false, fmt.Errorf("finishing delivery %d: %w", id, err)
	}
	return n == 1, nil
}

// DeliveryOutcome is what became of one delivery.
type DeliveryOutcome struct {
	ID      int64
	State   DeliveryState
	Outcome string
}

// FinishAll is Finish for what one job worked off together, in its transaction.
func (s Deliveries) FinishAll(ctx context.Context, tx *sql.Tx, outcomes []DeliveryOutcome, at time.Time) error {
	for _, o := range outcomes {
		if _, err := s.Finish(ctx, tx, o.ID, o.State, o.Outcome, at); err != nil {
			return err
		}
	}
	return nil
}

// Replay makes a delivery pending again. It reports false when it is pending
// already or unknown. The caller wakes the worker in the same transaction.
func (s Deliveries) Replay(ctx context.Context, on Conn, id int64) (bool, error) {
	n, err := new(db.Queries).ReplayDelivery(ctx, on, id)
	if err != nil {
		return false, fmt.Errorf("replaying delivery %d: %w", id, err)
	}
	return n == 1, nil
}

// DeleteBefore forgets deliveries received before t that have an outcome, the
// oldest first and at most that many, and with them their GUIDs: t must be older
// than the forge's redelivery window. It returns how many went.
func (s Deliveries) DeleteBefore(ctx context.Context, tx *sql.Tx, t time.Time, most int) (int, error) {
	q := new(db.Queries)
	ids, err := q.DeleteOldDeliveries(ctx, tx, db.DeleteOldDeliveriesParams{ReceivedAt: millis(t), Limit: clampLimit(most)})
	if err != nil {
		return 0, fmt.Errorf("deleting deliveries: %w", err)
	}
	for _, id := range ids {
		if err := q.DeleteDeliveryContent(ctx, tx, id); err != nil {
			return 0, fmt.Errorf("deleting the body of delivery %d: %w", id, err)
		}
	}
	return len(ids), nil
}

func whole(row db.GetDeliveryRow) (Delivery, error) {
	d := delivery(db.Delivery{
		ID: row.ID, Instance: row.Instance, Guid: row.Guid, Event: row.Event, Action: row.Action,
		Installation: row.Installation, RepoID: row.RepoID, RepoOwner: row.RepoOwner, RepoName: row.RepoName,
		SenderID: row.SenderID, Sender: row.Sender, SenderBot: row.SenderBot, ReceivedAt: row.ReceivedAt,
		State: row.State, Outcome: row.Outcome, OutcomeAt: row.OutcomeAt,
	})
	var err error
	if d.Body, err = unpack(row.Body, row.Packed); err != nil {
		return Delivery{}, fmt.Errorf("body of delivery %d: %w", row.ID, err)
	}
	if err := json.Unmarshal(row.Header, &d.Header); err != nil {
		return Delivery{}, fmt.Errorf("header of delivery %d: %w", row.ID, err)
	}
	return d, nil
}

func delivery(row db.Delivery) Delivery {
	instance := parseInstance(row.Instance)
	d := Delivery{
		ID: row.ID, Instance: instance, GUID: row.Guid, Event: row.Event, Action: row.Action,
		Installation: row.Installation,
		Sender:       engine.Actor{ID: row.SenderID, Login: row.Sender, Bot: row.SenderBot},
		ReceivedAt:   fromMillis(row.ReceivedAt),
		State:        DeliveryState(row.State), Outcome: row.Outcome, OutcomeAt: fromMillis(row.OutcomeAt),
	}
	if row.RepoID != 0 {
		d.Repo = engine.Repo{Instance: instance, ID: row.RepoID, Owner: row.RepoOwner, Name: row.RepoName}
	}
	return d
}

// orNewest turns "from the newest" into an ID above all others.
func orNewest(before int64) int64 {
	if before <= 0 {
		return math.MaxInt64
	}
	return before
}
