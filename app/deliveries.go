package app

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/chant-bot/chant/app/metrics"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/store"
	"github.com/chant-bot/chant/webhooks"
)

// receivers are the webhook endpoints by what follows /webhooks/: each forge's
// kind and host, and the kind alone for the first of a kind.
func (s *Server) receivers(where *sites) map[string]http.Handler {
	out := map[string]http.Handler{}
	for _, c := range s.forges {
		handler := s.metrics.Receives(c.instance, webhooks.Receiver(c.decoder, inbox{s.inbox, s.metrics}, where.serves, time.Now, s.log))
		out[string(c.instance.Kind)+"/"+c.instance.Host] = handler
		if c.first {
			out[string(c.instance.Kind)] = handler
		}
	}
	return out
}

// inbox maps a decoded delivery to its row, and counts it.
type inbox struct {
	*store.Inbox

	metrics *metrics.Metrics
}

// Accept implements webhooks.Inbox.
func (b inbox) Accept(ctx context.Context, d webhooks.Delivery) (bool, error) {
	row := store.Delivery{
		Instance: d.Instance, GUID: d.GUID, Event: d.Event, Action: d.Action, Installation: d.Installation,
		Repo: d.Repo, Sender: d.Sender, Header: d.Header, Body: d.Body, ReceivedAt: d.ReceivedAt,
		State: store.DeliveryPending,
	}
	if ignored, ok := d.Decoded.(engine.Ignored); ok {
		row.State, row.Outcome, row.OutcomeAt = store.DeliveryIgnored, ignored.Reason, d.ReceivedAt
	}
	fresh, err := b.Inbox.Accept(ctx, row)
	switch {
	case err != nil: // answered with a fault, and counted as one
	case !fresh:
		b.metrics.Received(d.Instance, "duplicate")
	case row.State == store.DeliveryIgnored:
		b.metrics.Received(d.Instance, "ignored")
	default:
		b.metrics.Received(d.Instance, "queued")
	}
	return fresh, err
}

// decode decodes a stored delivery again, as its endpoint did.
func (f connections) decode(d store.Delivery) (engine.Event, error) {
	c, err := f.of(d.Instance)
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	for k, v := range d.Header {
		h.Set(k, v)
	}
	decoded, err := c.decoder.Decode(h, d.Body)
	if err != nil {
		return nil, fmt.Errorf("decoding the stored delivery: %w", err)
	}
	return decoded.Decoded, nil
}
