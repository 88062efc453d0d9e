package github

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/chant-bot/chant/webhooks"
)

// signatureHeader is the only signature taken. X-Hub-Signature, SHA-1, is sent
// beside it and never a substitute (forge-facts 1.1).
const signatureHeader = "X-Hub-Signature-256"

// verify compares the signature with the one each secret makes, every one of
// them whichever matches, so that time tells nothing about the list.
func verify(secrets [][]byte, h http.Header, body []byte) error {
	values := h.Values(signatureHeader)
	if len(values) != 1 {
		return fmt.Errorf("%w: %d %s headers, want one", webhooks.ErrUnsigned, len(values), signatureHeader)
	}
	digits, found := strings.CutPrefix(values[0], "sha256=")
	given, err := hex.DecodeString(digits)
	if !found || err != nil || len(given) != sha256.Size {
		return fmt.Errorf("%w: %s is not sha256= and 64 hex digits", webhooks.ErrUnsigned, signatureHeader)
	}
	tried, ok := 0, false
	for _, secret := range secrets {
		if len(secret) == 0 {
			continue
		}
		tried++
		mac := hmac.New(sha256.New, secret)
		mac.Write(body)
		ok = hmac.Equal(mac.Sum(nil), given) || ok
	}
	switch {
	case tried == 0:
		return fmt.Errorf("%w: no webhook secret is configured", webhooks.ErrUnsigned)
	case !ok:
		return webhooks.ErrSignature
	}
	return nil
}
