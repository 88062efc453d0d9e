package webhooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/chant-bot/chant/engine"
)

// MaxBody is the largest body taken, in bytes: GitHub and GitLab send none
// above 25 MB.
const MaxBody = 25 << 20

// eagerBody is how much is allocated on the word of a Content-Length header
// alone; a larger body grows as it arrives.
const eagerBody = 1 << 20

// Answer is the JSON body of every reply.
type Answer struct {
	// Outcome is "queued", "duplicate", "ignored" or "refused".
	Outcome string `json:"outcome"`
	// Reason says why a delivery was ignored or refused.
	Reason string `json:"reason,omitempty"`
}

// Receiver serves the webhook endpoint of one forge instance.
//
// It answers 202 once the inbox holds the delivery, also for one that is
// ignored or was seen before; 401 for what is not signed, storing nothing; 413
// above MaxBody; 400 for a body that cannot be decoded and for a delivery of another
// forge, saying why; 503 when the
// inbox fails, so that the forge shows the delivery as failed and it can be sent
// again. allowed tells whether a repository is served here; a delivery of any
// other is recorded as ignored, without its body.
func Receiver(dec Decoder, inbox Inbox, allowed func(engine.Repo) bool, now func() time.Time, log *slog.Logger) http.Handler {
	r := &receiver{dec: dec, inbox: inbox, allowed: allowed, now: now}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		d, answer, err := r.receive(w, req)
		status := http.StatusAccepted
		if err != nil {
			status, answer = refusal(err)
			level := slog.LevelWarn
			if status == http.StatusServiceUnavailable {
				level = slog.LevelError
			}
			log.Log(req.Context(), level, "webhook refused", "status", status, "error", err,
				"delivery", d.GUID, "event", d.Event)
		} else {
			log.Debug("webhook", "outcome", answer.Outcome, "reason", answer.Reason,
				"delivery", d.GUID, "event", d.Event, "action", d.Action, "repository", d.Repo.FullName())
		}
		write(w, status, answer)
	})
}

type receiver struct {
	dec     Decoder
	inbox   Inbox
	allowed func(engine.Repo) bool
	now     func() time.Time
}

// fault is an error with the status it is answered with. Only its reason is
// shown to the caller; err, where there is more to say, to the log.
type fault struct {
	status int
	reason string
	err    error
}

func (f *fault) Error() string {
	if f.err == nil {
		return f.reason
	}
	return fmt.Sprintf("%s: %v", f.reason, f.err)
}
func (f *fault) Unwrap() error { return f.err }

func (r *receiver) receive(w http.ResponseWriter, req *http.Request) (Delivery, Answer, error) {
	if req.Method != http.MethodPost {
		return Delivery{}, Answer{}, &fault{http.StatusMethodNotAllowed, "deliveries are posted", errors.New(req.Method)}
	}
	buf := bodies.Get().(*bytes.Buffer) //nolint:forcetypeassert // its New makes no other
	defer release(buf)
	body, err := readBody(buf, w, req)
	if err != nil {
		return Delivery{}, Answer{}, err
	}
	if err := r.dec.Verify(req.Header, body); err != nil {
		if misrouted, ok := errors.AsType[*MisroutedError](err); ok {
			return Delivery{}, Answer{}, &fault{http.StatusBadRequest, misrouted.Error(), err}
		}
		return Delivery{}, Answer{}, &fault{http.StatusUnauthorized, "not authenticated", err}
	}
	d, err := r.dec.Decode(req.Header, body)
	if err != nil {
		return d, Answer{}, &fault{http.StatusBadRequest, err.Error(), nil}
	}
	d.Body, d.ReceivedAt = body, r.now()
	if d.Repo != (engine.Repo{}) && !r.allowed(d.Repo) {
		d.Body = nil
		d.Decoded = engine.Ignored{Reason: "repository " + d.Repo.FullName() + " is not on the list of repositories served here"}
	}
	fresh, err := r.inbox.Accept(req.Context(), d)
	if err != nil {
		return d, Answer{}, &fault{http.StatusServiceUnavailable, "the delivery could not be stored; send it again", err}
	}
	if !fresh {
		return d, Answer{Outcome: "duplicate"}, nil
	}
	if ign, ok := d.Decoded.(engine.Ignored); ok {
		return d, Answer{Outcome: "ignored", Reason: ign.Reason}, nil
	}
	return d, Answer{Outcome: "queued"}, nil
}

// bodies are the buffers bodies are read into. Nothing keeps a body beyond its
// request: what is decoded of it is copied, and so is what the inbox stores.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func release(buf *bytes.Buffer) {
	if buf.Cap() <= eagerBody {
		buf.Reset()
		bodies.Put(buf)
	}
}

// readBody reads the body into buf; what it returns is buf's.
func readBody(buf *bytes.Buffer, w http.ResponseWriter, req *http.Request) ([]byte, error) {
	tooLarge := &fault{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", MaxBody), nil}
	if req.ContentLength > MaxBody {
		return nil, tooLarge
	}
	if n := min(req.ContentLength, eagerBody); n > 0 {
		buf.Grow(int(n) + bytes.MinRead) // ReadFrom wants room to see the end
	}
	if _, err := buf.ReadFrom(http.MaxBytesReader(w, req.Body, MaxBody)); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, tooLarge
		}
		return nil, &fault{http.StatusBadRequest, "the body could not be read to its end", err}
	}
	return buf.Bytes(), nil
}

func refusal(err error) (int, Answer) {
	if f, ok := errors.AsType[*fault](err); ok {
		return f.status, Answer{Outcome: "refused", Reason: f.reason}
	}
	return http.StatusInternalServerError, Answer{Outcome: "refused", Reason: "internal error"}
}

func write(w http.ResponseWriter, status int, a Answer) {
	body, err := json.Marshal(a)
	if err != nil { // two strings always marshal; an empty body is still an answer
		body = nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
