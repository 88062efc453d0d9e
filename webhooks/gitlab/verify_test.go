package gitlab_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/gitlab"
)

const sent = 1_800_000_000 // Unix seconds

func at(seconds int64) func() time.Time {
	return func() time.Time { return time.Unix(seconds, 0) }
}

func secrets(of ...string) (list [][]byte) {
	for _, s := range of {
		list = append(list, []byte(s))
	}
	return list
}

func TestOnlyAConfiguredTokenVerifies(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		secrets []string
		tokens  []string
		want    error
	}{
		"the first of two":                      {[]string{"new", "old"}, []string{"new"}, nil},
		"the second of two":                     {[]string{"new", "old"}, []string{"old"}, nil},
		"an unknown one":                        {[]string{"new", "old"}, []string{"other"}, webhooks.ErrSignature},
		"a longer one":                          {[]string{"old"}, []string{"older"}, webhooks.ErrSignature},
		"a part of one":                         {[]string{"old"}, []string{"ol"}, webhooks.ErrSignature},
		"an empty one":                          {[]string{"old"}, []string{""}, webhooks.ErrSignature},
		"none":                                  {[]string{"old"}, nil, webhooks.ErrUnsigned},
		"two":                                   {[]string{"old"}, []string{"old", "old"}, webhooks.ErrUnsigned},
		"none is configured":                    {nil, []string{""}, webhooks.ErrUnsigned},
		"an empty one is configured":            {[]string{""}, []string{""}, webhooks.ErrUnsigned},
		"an empty one is configured beside one": {[]string{"", "old"}, []string{""}, webhooks.ErrSignature},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dec, err := gitlab.New(instance, secrets(tt.secrets...), at(sent))
			if err != nil {
				t.Fatal(err)
			}
			h := http.Header{"X-Gitlab-Event": {"Push Hook"}}
			for _, token := range tt.tokens {
				h.Add("X-Gitlab-Token", token)
			}
			if err := dec.Verify(h, []byte("{}")); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

// signingToken is one of 32 bytes that all are b.
func signingToken(b byte) (token string, key []byte) {
	key = []byte(strings.Repeat(string(b), 32))
	return "whsec_" + base64.StdEncoding.EncodeToString(key), key
}

func sign(key []byte, id, stamp, body string) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, stamp, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Forge-facts 2.1.
func TestWithASigningTokenOnlyItsSignatureVerifies(t *testing.T) {
	t.Parallel()
	const body = `{"object_kind":"push"}`
	token, key := signingToken('k')
	older, oldKey := signingToken('o')
	_, foreign := signingToken('x')
	stamp := fmt.Sprint(sent)
	good := sign(key, "w1", stamp, body)
	tests := map[string]struct {
		secrets    []string
		id, stamp  string
		signatures string
		now        int64
		want       error
	}{
		"its signature":                   {[]string{token}, "w1", stamp, good, sent, nil},
		"that of an older token":          {[]string{token, older}, "w1", stamp, sign(oldKey, "w1", stamp, body), sent, nil},
		"the second of two signatures":    {[]string{token}, "w1", stamp, sign(foreign, "w1", stamp, body) + " " + good, sent, nil},
		"one beside a later scheme":       {[]string{token}, "w1", stamp, "v2,AAAA " + good, sent, nil},
		"a foreign signature":             {[]string{token}, "w1", stamp, sign(foreign, "w1", stamp, body), sent, webhooks.ErrSignature},
		"of another body":                 {[]string{token}, "w1", stamp, sign(key, "w1", stamp, body+" "), sent, webhooks.ErrSignature},
		"of another id":                   {[]string{token}, "w2", stamp, good, sent, webhooks.ErrSignature},
		"of another time":                 {[]string{token}, "w1", fmt.Sprint(sent + 1), good, sent, webhooks.ErrSignature},
		"five minutes old":                {[]string{token}, "w1", stamp, good, sent + 300, nil},
		"older":                           {[]string{token}, "w1", stamp, good, sent + 301, webhooks.ErrSignature},
		"from the future":                 {[]string{token}, "w1", stamp, good, sent - 301, webhooks.ErrSignature},
		"of no time":                      {[]string{token}, "w1", "soon", sign(key, "w1", "soon", body), sent, webhooks.ErrUnsigned},
		"the time is missing":             {[]string{token}, "w1", "", good, sent, webhooks.ErrUnsigned},
		"the id is missing":               {[]string{token}, "", stamp, good, sent, webhooks.ErrUnsigned},
		"of a later scheme only":          {[]string{token}, "w1", stamp, "v2," + good[3:], sent, webhooks.ErrUnsigned},
		"too short":                       {[]string{token}, "w1", stamp, good[:20], sent, webhooks.ErrUnsigned},
		"none, and a configured token":    {[]string{token, "plain"}, "w1", stamp, "", sent, webhooks.ErrUnsigned},
		"foreign, and a configured token": {[]string{token, "plain"}, "w1", stamp, sign(foreign, "w1", stamp, body), sent, webhooks.ErrSignature},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dec, err := gitlab.New(instance, secrets(tt.secrets...), at(tt.now))
			if err != nil {
				t.Fatal(err)
			}
			h := http.Header{"X-Gitlab-Event": {"Push Hook"}, "X-Gitlab-Token": {"plain"}}
			for k, v := range map[string]string{"webhook-id": tt.id, "webhook-timestamp": tt.stamp, "webhook-signature": tt.signatures} {
				if v != "" {
					h.Set(k, v)
				}
			}
			if err := dec.Verify(h, []byte(body)); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestASigningTokenThatIsNoneIsNamedAtTheStart(t *testing.T) {
	t.Parallel()
	good, _ := signingToken('k')
	const want = "webhook secret 2 of GitLab: after whsec_ there must be 32 bytes in base64; copy the signing token anew"
	for _, bad := range []string{"whsec_", "whsec_AAAA", "whsec_not base64", good + "AAAA"} {
		if _, err := gitlab.New(instance, secrets("plain", bad), at(sent)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v", bad, err)
		}
	}
}
