// Package webhooks is the inbound edge: bytes of a forge to one event. It
// bounds, authenticates, decodes and hands over to an inbox. It calls no forge,
// knows no database and decides nothing from what it decodes.
package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/chant-bot/chant/engine"
)

// Delivery is one authenticated delivery of a forge, decoded.
type Delivery struct {
	Instance engine.Instance
	// GUID is the forge's id of the delivery; a redelivery carries it again.
	GUID   string
	Event  string // as the forge names it, "pull_request"
	Action string // "" for an event without actions
	// Installation is the app installation it came through, 0 for none.
	Installation int64
	// Repo is the zero value for an event that belongs to no repository.
	Repo engine.Repo
	// Sender is who caused the event and ViaApp the id of the app that wrote
	// the comment, 0 for none. The caller compares both with our own ids to
	// leave out what we did ourselves; text and login prove nothing.
	Sender engine.Actor
	ViaApp int64
	// Header is the part of the request header Decode needs to decode Body
	// again, canonical names; no signature.
	Header map[string]string
	// Body is the raw body. It is nil when the repository is not served here:
	// what a stranger sends is not kept.
	Body       []byte
	ReceivedAt time.Time
	Decoded    engine.Event // never nil
}

// Inbox keeps deliveries. Accept returns only when the delivery is durable. It
// stores an event that is engine.Ignored with its reason and queues no work for
// it. fresh is false when the GUID is known; then nothing was done. The body is
// the caller's again once Accept returns. Accept is safe for concurrent use.
type Inbox interface {
	Accept(ctx context.Context, d Delivery) (fresh bool, err error)
}

// Decoder knows one forge.
type Decoder interface {
	// Verify proves that the body comes from the forge. Any error means it
	// does not, a missing secret or header included; a *MisroutedError that the
	// header names another forge.
	Verify(h http.Header, body []byte) error
	// Decode turns a verified body into a delivery. It sets all but Body and
	// ReceivedAt. An unknown event or action is engine.Ignored; an error means
	// the body is not what the forge documents, and says what is wrong with it.
	Decode(h http.Header, body []byte) (Delivery, error)
}

// ErrUnsigned: no header or no secret to verify with. Kept apart from a wrong
// signature for the log only; the answer is the same.
var ErrUnsigned = errors.New("not signed")

// ErrSignature: no configured secret made this signature.
var ErrSignature = errors.New("signature does not match any configured secret")

// MisroutedError: the header names another forge than the one whose endpoint it
// came to. Nothing was verified.
type MisroutedError struct {
	Route, Sender engine.ForgeKind
	Fields        string // of the header, that tell the sender
}

func (e *MisroutedError) Error() string {
	return fmt.Sprintf("a delivery of %s (header %s) at the endpoint of %s: post it to the endpoint of its own forge", e.Sender, e.Fields, e.Route)
}
