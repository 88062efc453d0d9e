package gitlab

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/internal/decode"
)

// tolerance is how far the time of a signature may be from ours, either way, as
// Standard Webhooks recommends. Inside it the delivery's id keeps a replay out.
const tolerance = 5 * time.Minute

// keySize is what follows whsec_, in bytes.
const keySize = 32

// signingKey is the key of a signing token; signing is false for a secret token.
func signingKey(secret []byte) (key []byte, signing bool, err error) {
	text, signing := bytes.CutPrefix(secret, []byte("whsec_"))
	if !signing {
		return nil, false, nil
	}
	key, err = base64.StdEncoding.DecodeString(string(text))
	if err != nil || len(key) != keySize {
		return nil, true, fmt.Errorf("after whsec_ there must be %d bytes in base64", keySize)
	}
	return key, true, nil
}

func secretError(i int, err error) error {
	return fmt.Errorf("webhook secret %d of GitLab: %w; copy the signing token anew", i+1, err)
}

// verifyToken compares digests, which are of one length whatever the tokens are.
func verifyToken(tokens [][]byte, h http.Header) error {
	token, err := decode.One(h, "X-Gitlab-Token")
	if err != nil {
		return err
	}
	given := sha256.Sum256([]byte(token))
	return decode.AnySecret(tokens, func(secret []byte) bool {
		want := sha256.Sum256(secret)
		return subtle.ConstantTimeCompare(want[:], given[:]) == 1
	})
}

// verifySignature is that of Standard Webhooks. The token that may come beside
// it is no substitute (forge-facts 2.1).
func verifySignature(keys [][]byte, now time.Time, h http.Header, body []byte) error {
	id, err := decode.One(h, "Webhook-Id")
	if err != nil {
		return err
	}
	stamp, err := decode.One(h, "Webhook-Timestamp")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: webhook-timestamp is no number of seconds", webhooks.ErrUnsigned)
	}
	if off := now.Sub(time.Unix(seconds, 0)).Abs(); off > tolerance {
		return fmt.Errorf("%w: its time is %s from ours, %s are allowed; compare the clocks", webhooks.ErrSignature, off.Round(time.Second), tolerance)
	}
	signatures, err := decode.One(h, "Webhook-Signature")
	if err != nil {
		return err
	}
	err = fmt.Errorf("%w: no v1 signature in webhook-signature", webhooks.ErrUnsigned)
	for signature := range strings.FieldsSeq(signatures) {
		text, ok := strings.CutPrefix(signature, "v1,")
		given, bad := base64.StdEncoding.DecodeString(text)
		if !ok || bad != nil || len(given) != sha256.Size {
			continue
		}
		if err = decode.Match(keys, given, []byte(id), []byte("."), []byte(stamp), []byte("."), body); err == nil {
			return nil
		}
	}
	return err
}
