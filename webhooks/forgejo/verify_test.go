package forgejo_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"testing"

	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/forgejo"
)

func sign(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

func TestOnlyASignatureOfAConfiguredSecretVerifies(t *testing.T) {
	t.Parallel()
	const body = `{"ref":"refs/heads/main"}`
	gitea := func(signature string) map[string]string {
		return map[string]string{"X-Gitea-Event": "push", "X-Gitea-Signature": signature}
	}
	tests := map[string]struct {
		secrets []string
		header  map[string]string
		want    error
	}{
		"the second of two secrets":         {[]string{"new", "old"}, gitea(sign("old", body)), nil},
		"an unknown secret":                 {[]string{"new", "old"}, gitea(sign("other", body)), webhooks.ErrSignature},
		"another body":                      {[]string{"old"}, gitea(sign("old", body+" ")), webhooks.ErrSignature},
		"a hook without a secret":           {[]string{"old"}, gitea(""), webhooks.ErrUnsigned},
		"GitHub's prefix":                   {[]string{"old"}, gitea("sha256=" + sign("old", body)), webhooks.ErrUnsigned},
		"no secret is configured":           {nil, gitea(sign("", body)), webhooks.ErrUnsigned},
		"an empty secret signs nothing":     {[]string{""}, gitea(sign("", body)), webhooks.ErrUnsigned},
		"GitHub's copy of a signature only": {[]string{"old"}, map[string]string{"X-Gitea-Event": "push", "X-Hub-Signature-256": "sha256=" + sign("old", body)}, webhooks.ErrUnsigned},
		"Forgejo's own counts, not Gitea's": {[]string{"old"}, map[string]string{"X-Forgejo-Event": "push", "X-Gitea-Event": "push", "X-Forgejo-Signature": sign("other", body), "X-Gitea-Signature": sign("old", body)}, webhooks.ErrSignature},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var secrets [][]byte
			for _, s := range tt.secrets {
				secrets = append(secrets, []byte(s))
			}
			h := http.Header{}
			for k, v := range tt.header {
				h.Set(k, v)
			}
			if err := forgejo.New(instance, secrets).Verify(h, []byte(body)); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}
