package webhooks_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/github"
)

const secret = "s3cret"

var instance = engine.Instance{Kind: engine.GitHub, Host: "github.com"}

// inbox remembers GUIDs as a store would.
type inbox struct {
	mu   sync.Mutex
	got  []webhooks.Delivery
	fail error
}

func (b *inbox) Accept(_ context.Context, d webhooks.Delivery) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return false, b.fail
	}
	for _, known := range b.got {
		if known.Instance == d.Instance && known.GUID == d.GUID {
			return false, nil
		}
	}
	d.Body = bytes.Clone(d.Body) // the receiver takes its buffer back
	b.got = append(b.got, d)
	return true, nil
}

func push(repo string) string {
	owner, name, _ := strings.Cut(repo, "/")
	return `{"ref":"refs/heads/main","before":"b","after":"a","repository":{"id":42,"name":"` + name + `","owner":{"login":"` + owner + `"}},"sender":{"id":7,"login":"octocat","type":"User"},"installation":{"id":9}}`
}

func request(event, guid, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/webhooks/github", strings.NewReader(body))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	r.Header.Set("X-GitHub-Event", event)
	r.Header.Set("X-GitHub-Delivery", guid)
	r.Header.Set("Content-Type", "application/json")
	return r
}

func receiver(b webhooks.Inbox) http.Handler {
	allowed := func(r engine.Repo) bool { return r.FullName() == "acme/infra" }
	now := func() time.Time { return time.Unix(1_800_000_000, 0) }
	return webhooks.Receiver(github.New(instance, [][]byte{[]byte(secret)}), b, allowed, now, slog.New(slog.DiscardHandler))
}

func send(t *testing.T, h http.Handler, r *http.Request) (int, webhooks.Answer) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var a webhooks.Answer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("answer %q: %v", w.Body, err)
	}
	return w.Code, a
}

func TestADeliveryIsStoredAsItCame(t *testing.T) {
	t.Parallel()
	b := &inbox{}
	body := push("acme/infra")
	if code, a := send(t, receiver(b), request("push", "d1", body)); code != 202 || a.Outcome != "queued" {
		t.Fatalf("answered %d %+v", code, a)
	}
	repo := engine.Repo{Instance: instance, ID: 42, Owner: "acme", Name: "infra"}
	want := []webhooks.Delivery{{
		Instance: instance, GUID: "d1", Event: "push", Installation: 9, Repo: repo,
		Sender:     engine.Actor{ID: 7, Login: "octocat"},
		Header:     map[string]string{"Content-Type": "application/json", "X-Github-Event": "push", "X-Github-Delivery": "d1"},
		Body:       []byte(body),
		ReceivedAt: time.Unix(1_800_000_000, 0),
		Decoded:    engine.BranchPushed{Repo: repo, Branch: "main", Before: "b", After: "a"},
	}}
	if diff := cmp.Diff(want, b.got); diff != "" {
		t.Error(diff)
	}
}

// The-PR-Agent/pr-agent#3373.
func TestTheSameDeliveryTwiceIsAcceptedOnce(t *testing.T) {
	t.Parallel()
	b := &inbox{}
	h := receiver(b)
	var outcomes []string
	for range 2 {
		code, a := send(t, h, request("push", "d1", push("acme/infra")))
		if code != 202 {
			t.Fatalf("answered %d", code)
		}
		outcomes = append(outcomes, a.Outcome)
	}
	if diff := cmp.Diff([]string{"queued", "duplicate"}, outcomes); diff != "" || len(b.got) != 1 {
		t.Errorf("%s; stored %d", diff, len(b.got))
	}
}

func TestTheLogSaysOnceWhyADeliveryWasRefused(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	h := webhooks.Receiver(github.New(instance, [][]byte{[]byte(secret)}), &inbox{}, func(engine.Repo) bool { return true }, time.Now,
		slog.New(slog.NewTextHandler(&log, nil)))
	code, a := send(t, h, request("push", "d1", "{nothing"))
	if code != 400 || strings.Count(log.String(), a.Reason) != 1 || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("answered %d %+v, logged\n%s", code, a, log.String())
	}
}

func TestAnUnsignedCallerStoresNothingAndPoisonsNoGUID(t *testing.T) {
	t.Parallel()
	b := &inbox{}
	h := receiver(b)
	forged := request("push", "d1", push("acme/infra"))
	forged.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
	unsigned := request("push", "d1", push("acme/infra"))
	unsigned.Header.Del("X-Hub-Signature-256")
	for _, r := range []*http.Request{forged, unsigned} {
		if code, a := send(t, h, r); code != 401 || a.Outcome != "refused" || len(b.got) != 0 {
			t.Fatalf("answered %d %+v, stored %d", code, a, len(b.got))
		}
	}
	if code, a := send(t, h, request("push", "d1", push("acme/infra"))); code != 202 || a.Outcome != "queued" {
		t.Errorf("the real one was answered %d %+v", code, a)
	}
}

func TestWhatIsNotForUsIsRecordedWithItsReason(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		event, body, reason string
		keepsBody           bool
	}{
		"a repository off the list leaves no body": {"push", push("mallory/infra"), "repository mallory/infra is not on the list of repositories served here", false},
		"an unknown event":                         {"star", push("acme/infra"), "event star is not used", true},
		"a ping without a repository":              {"ping", `{"zen":"x","hook_id":5}`, "ping of hook 5: the webhook works", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &inbox{}
			code, a := send(t, receiver(b), request(tt.event, "d1", tt.body))
			if want := (webhooks.Answer{Outcome: "ignored", Reason: tt.reason}); code != 202 || a != want {
				t.Fatalf("answered %d %+v", code, a)
			}
			if diff := cmp.Diff(engine.Event(engine.Ignored{Reason: tt.reason}), b.got[0].Decoded); diff != "" {
				t.Error(diff)
			}
			if (b.got[0].Body != nil) != tt.keepsBody {
				t.Errorf("body of %d bytes kept", len(b.got[0].Body))
			}
		})
	}
}

func TestABodyThatIsNotJSONSaysSo(t *testing.T) {
	t.Parallel()
	b := &inbox{}
	code, a := send(t, receiver(b), request("push", "d1", `{"ref":`))
	if code != 400 || !strings.Contains(a.Reason, "not the JSON GitHub documents") || len(b.got) != 0 {
		t.Errorf("answered %d %+v, stored %d", code, a, len(b.got))
	}
}

func TestAnInboxThatFailsAsksForTheDeliveryAgain(t *testing.T) {
	t.Parallel()
	b := &inbox{fail: errors.New("disk full at /secret/path")}
	code, a := send(t, receiver(b), request("push", "d1", push("acme/infra")))
	if code != 503 || a.Outcome != "refused" || strings.Contains(a.Reason, "disk") {
		t.Errorf("answered %d %+v", code, a)
	}
}

// zeros is a body of n bytes that is made as it is read, and counts them.
type zeros struct{ n, read int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.read == z.n {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.n-z.read)
	z.read += n
	return int(n), nil
}

func TestABodyAboveTheLimitIsRefusedAndNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	for _, declared := range []bool{true, false} {
		body := &zeros{n: webhooks.MaxBody + 10<<20}
		r := httptest.NewRequest(http.MethodPost, "/webhooks/github", body)
		if r.ContentLength = -1; declared {
			r.ContentLength = body.n
		}
		b := &inbox{}
		code, a := send(t, receiver(b), r)
		if code != 413 || a.Outcome != "refused" || len(b.got) != 0 {
			t.Errorf("declared %v: answered %d %+v", declared, code, a)
		}
		if declared && body.read != 0 || body.read > webhooks.MaxBody+1<<20 {
			t.Errorf("declared %v: read %d bytes", declared, body.read)
		}
	}
}

func TestABodyOfTheLimitIsTaken(t *testing.T) {
	t.Parallel()
	text := push("acme/infra")
	body := text + string(bytes.Repeat([]byte(" "), webhooks.MaxBody-len(text)))
	b := &inbox{}
	if code, a := send(t, receiver(b), request("push", "d1", body)); code != 202 || len(b.got[0].Body) != webhooks.MaxBody {
		t.Errorf("answered %d %+v", code, a)
	}
}

func TestOnlyAPostIsADelivery(t *testing.T) {
	t.Parallel()
	r := request("push", "d1", push("acme/infra"))
	r.Method = http.MethodGet
	if code, a := send(t, receiver(&inbox{}), r); code != 405 || a.Outcome != "refused" {
		t.Errorf("answered %d %+v", code, a)
	}
}
