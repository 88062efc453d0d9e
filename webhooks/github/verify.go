package github

import (
	"net/http"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks/internal/decode"
)

// verify compares the one signature that is taken with what each secret makes.
// X-Hub-Signature, SHA-1, is sent beside it and never a substitute (forge-facts
// 1.1).
func verify(secrets [][]byte, h http.Header, body []byte) error {
	if err := decode.CheckRoute(h, engine.GitHub); err != nil {
		return err
	}
	given, err := decode.HexSignature(h, "X-Hub-Signature-256", "sha256=")
	if err != nil {
		return err
	}
	return decode.Match(secrets, given, body)
}
