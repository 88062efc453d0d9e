package github_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"testing"

	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/github"
)

func sign(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func TestOnlyASignatureOfAConfiguredSecretVerifies(t *testing.T) {
	t.Parallel()
	const body, vector = "Hello, World!", "It's a Secret to Everybody"
	legacy := hmac.New(sha1.New, []byte("old"))
	legacy.Write([]byte(body))
	tests := map[string]struct {
		secrets []string
		header  map[string][]string
		want    error
	}{
		"GitHub's own example":                   {[]string{vector}, map[string][]string{"X-Hub-Signature-256": {"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}}, nil},
		"the first of two secrets":               {[]string{"new", "old"}, map[string][]string{"X-Hub-Signature-256": {sign("new", body)}}, nil},
		"the second of two secrets":              {[]string{"new", "old"}, map[string][]string{"X-Hub-Signature-256": {sign("old", body)}}, nil},
		"an unknown secret":                      {[]string{"new", "old"}, map[string][]string{"X-Hub-Signature-256": {sign("other", body)}}, webhooks.ErrSignature},
		"another body":                           {[]string{"old"}, map[string][]string{"X-Hub-Signature-256": {sign("old", body+" ")}}, webhooks.ErrSignature},
		"no header":                              {[]string{"old"}, nil, webhooks.ErrUnsigned},
		"SHA-1 alone is no signature":            {[]string{"old"}, map[string][]string{"X-Hub-Signature": {"sha1=" + hex.EncodeToString(legacy.Sum(nil))}}, webhooks.ErrUnsigned},
		"two headers":                            {[]string{"old"}, map[string][]string{"X-Hub-Signature-256": {sign("old", body), sign("old", body)}}, webhooks.ErrUnsigned},
		"no prefix":                              {[]string{"old"}, map[string][]string{"X-Hub-Signature-256": {sign("old", body)[7:]}}, webhooks.ErrUnsigned},
		"too short":                              {[]string{"old"}, map[string][]string{"X-Hub-Signature-256": {sign("old", body)[:20]}}, webhooks.ErrUnsigned},
		"no secret is configured":                {nil, map[string][]string{"X-Hub-Signature-256": {sign("", body)}}, webhooks.ErrUnsigned},
		"an empty secret signs nothing":          {[]string{""}, map[string][]string{"X-Hub-Signature-256": {sign("", body)}}, webhooks.ErrUnsigned},
		"an empty secret beside one signs none":  {[]string{"", "old"}, map[string][]string{"X-Hub-Signature-256": {sign("", body)}}, webhooks.ErrSignature},
		"an empty secret does not spoil another": {[]string{"", "old"}, map[string][]string{"X-Hub-Signature-256": {sign("old", body)}}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var secrets [][]byte
			for _, s := range tt.secrets {
				secrets = append(secrets, []byte(s))
			}
			err := github.New(instance, secrets).Verify(http.Header(tt.header), []byte(body))
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}
