// Package github decodes GitHub's webhook deliveries. It reads only what our
// events need, through small structs of its own, and trusts only what the
// signature covers (forge-facts 1.4). It makes no call and reads no clock.
package github

import (
	"net/http"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
)

type decoder struct {
	instance engine.Instance
	secrets  [][]byte
}

// New is the decoder of one GitHub instance. Every secret in the list is
// accepted, so that a secret can be replaced without losing a delivery; with an
// empty list, or for an empty secret, nothing verifies.
func New(instance engine.Instance, secrets [][]byte) webhooks.Decoder {
	return &decoder{instance: instance, secrets: secrets}
}

func (d *decoder) Verify(h http.Header, body []byte) error { return verify(d.secrets, h, body) }

func (d *decoder) Decode(h http.Header, body []byte) (webhooks.Delivery, error) {
	return Decode(d.instance, h, body)
}
