package app

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/store"
	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/github"
)

// wireGitHub is the endpoint of the configured GitHub instance.
func (s *Server) wireGitHub(where *sites) http.Handler {
	decoder := github.New(s.config.Instance(), s.config.GitHub.Secrets())
	return webhooks.Receiver(decoder, inbox{s.inbox}, where.serves, time.Now, s.log)
}

// inbox maps a decoded delivery to its row.
type inbox struct{ *store.Inbox }

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
	return b.Inbox.Accept(ctx, row)
}

// decodeStored decodes a stored delivery again, as the endpoint did.
func decodeStored(c *config.Config) func(store.Delivery) (engine.Event, error) {
	return func(d store.Delivery) (engine.Event, error) {
		h := http.Header{}
		for k, v := range d.Header {
			h.Set(k, v)
		}
		decoded, err := github.Decode(c.Instance(), h, d.Body)
		if err != nil {
			return nil, fmt.Errorf("decoding the stored delivery: %w", err)
		}
		return decoded.Decoded, nil
	}
}
