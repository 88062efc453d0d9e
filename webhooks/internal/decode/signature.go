package decode

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/chant-bot/chant/webhooks"
)

// HexSignature is the HMAC-SHA256 that a header field holds: prefix and 64 hex
// digits. Any other value, or not exactly one, is webhooks.ErrUnsigned.
func HexSignature(h http.Header, field, prefix string) ([]byte, error) {
	value, err := One(h, field)
	if err != nil {
		return nil, err
	}
	digits, found := strings.CutPrefix(value, prefix)
	given, err := hex.DecodeString(digits)
	if !found || err != nil || len(given) != sha256.Size {
		return nil, fmt.Errorf("%w: %s is not %s64 hex digits", webhooks.ErrUnsigned, field, prefix)
	}
	return given, nil
}

// Match proves that one of the secrets made this HMAC-SHA256 of the parts,
// written one after another. It tries every secret whichever matches, so that
// time tells nothing about the list; an empty one makes no signature.
func Match(secrets [][]byte, given []byte, parts ...[]byte) error {
	return AnySecret(secrets, func(secret []byte) bool {
		mac := hmac.New(sha256.New, secret)
		for _, part := range parts {
			mac.Write(part)
		}
		return hmac.Equal(mac.Sum(nil), given)
	})
}

// AnySecret proves that matches holds for one of the secrets, as Match does.
func AnySecret(secrets [][]byte, matches func(secret []byte) bool) error {
	tried, ok := 0, false
	for _, secret := range secrets {
		if len(secret) == 0 {
			continue
		}
		tried++
		ok = matches(secret) || ok
	}
	switch {
	case tried == 0:
		return fmt.Errorf("%w: no webhook secret is configured", webhooks.ErrUnsigned)
	case !ok:
		return webhooks.ErrSignature
	}
	return nil
}
