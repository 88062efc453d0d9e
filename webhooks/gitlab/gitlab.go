// Package gitlab decodes GitLab's webhook deliveries. It reads only what our
// events need and trusts only that the sender knows the secret (forge-facts part
// 2). It makes no call; the clock it is given only bounds the age of a signature.
//
// GitLab has no hook for a commit status: the pipeline a status is written to
// moves with it, and its hook says so.
package gitlab

import (
	"net/http"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/internal/decode"
)

type decoder struct {
	instance engine.Instance
	tokens   [][]byte
	keys     [][]byte // of signing tokens
	now      func() time.Time
}

// New is the decoder of one GitLab instance. A secret that begins with whsec_ is
// a signing token, any other a secret token. Every one in the list is accepted,
// so that one can be replaced without losing a delivery; with an empty list, or
// for an empty secret, nothing verifies. As soon as a signing token is among
// them, only signed deliveries verify (forge-facts 2.1). An error means that a
// signing token is not what GitLab makes.
func New(instance engine.Instance, secrets [][]byte, now func() time.Time) (webhooks.Decoder, error) {
	d := &decoder{instance: instance, now: now}
	for i, secret := range secrets {
		key, signing, err := signingKey(secret)
		switch {
		case err != nil:
			return nil, secretError(i, err)
		case signing:
			d.keys = append(d.keys, key)
		default:
			d.tokens = append(d.tokens, secret)
		}
	}
	return d, nil
}

// Verify implements webhooks.Decoder.
func (d *decoder) Verify(h http.Header, body []byte) error {
	if err := decode.CheckRoute(h, engine.GitLab); err != nil {
		return err
	}
	if len(d.keys) > 0 {
		return verifySignature(d.keys, d.now(), h, body)
	}
	return verifyToken(d.tokens, h)
}

// Decode implements webhooks.Decoder.
func (d *decoder) Decode(h http.Header, body []byte) (webhooks.Delivery, error) {
	return Decode(d.instance, h, body)
}
