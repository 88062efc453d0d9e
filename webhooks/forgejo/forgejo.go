// Package forgejo decodes the deliveries of Forgejo and Gitea; family.go holds
// what differs between the two. It reads only what our events need, and trusts
// only what the signature covers. A review comes without its id and its commit,
// a dismissal does not come at all: both only say where to look again. It makes
// no call and reads no clock.
package forgejo

import (
	"net/http"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/internal/decode"
)

type decoder struct {
	instance engine.Instance
	secrets  [][]byte
}

// New is the decoder of one Forgejo or Gitea instance. Every secret in the list
// is accepted, so that a secret can be replaced without losing a delivery; with
// an empty list, or for an empty secret, nothing verifies.
func New(instance engine.Instance, secrets [][]byte) webhooks.Decoder {
	return &decoder{instance: instance, secrets: secrets}
}

// Verify implements webhooks.Decoder. Without a secret of its own a hook sends
// an empty signature, which signs nothing (forge-facts part 3).
func (d *decoder) Verify(h http.Header, body []byte) error {
	if err := decode.CheckRoute(h, engine.Forgejo); err != nil {
		return err
	}
	given, err := decode.HexSignature(h, familyOf(h)+"Signature", "")
	if err != nil {
		return err
	}
	return decode.Match(d.secrets, given, body)
}

// Decode implements webhooks.Decoder.
func (d *decoder) Decode(h http.Header, body []byte) (webhooks.Delivery, error) {
	return Decode(d.instance, h, body)
}
