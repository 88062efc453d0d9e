package forgetest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"
)

// answerTime is how long a forge waits for a receiver.
const answerTime = 10 * time.Second

// maxPayload is the largest event a forge sends; a bigger one is lost.
const maxPayload = 25 << 20

// Delivery is one attempt to deliver an event.
type Delivery struct {
	ID           int64 // of the attempt
	GUID         string
	Event        string
	Action       string
	Installation int64
	Repository   int64
	At           time.Time
	Redelivery   bool
	Header       http.Header
	Body         []byte
	// StatusCode is the receiver's answer; 0 when it could not be reached.
	StatusCode int
	// Dropped: a fault lost it.
	Dropped bool

	precise string // message.precise
	hook    *hook
}

// OK says whether the receiver took it.
func (d Delivery) OK() bool { return d.StatusCode/100 == 2 }

// hook is one webhook.
type hook struct {
	id     int64
	url    string
	secret string
	app    *App // nil: a webhook on every repository
}

// deliverer sends deliveries one after the other, in the order of the events
// unless a fault says otherwise.
type deliverer struct {
	faults *Faults
	client *http.Client
	ended  chan struct{}

	mu      sync.Mutex
	changed *sync.Cond
	queue   []*sending
	busy    bool
	closed  bool
	log     []Delivery
}

type sending struct{ Delivery }

func newDeliverer(ctx context.Context, faults *Faults) *deliverer {
	d := &deliverer{faults: faults, client: &http.Client{Timeout: answerTime}, ended: make(chan struct{})}
	d.changed = sync.NewCond(&d.mu)
	go d.run(ctx)
	return d
}

// enqueue applies the faults that lose, double or hold deliveries.
func (d *deliverer) enqueue(s *sending) {
	drop, copies, release := d.faults.delivery(s)
	d.mu.Lock()
	defer d.mu.Unlock()
	if drop {
		s.Dropped = true
		d.log = append(d.log, s.Delivery)
		return
	}
	for range copies {
		d.queue = append(d.queue, release...)
	}
	d.changed.Broadcast()
}

func (d *deliverer) run(ctx context.Context) {
	defer close(d.ended)
	for {
		s, ok := d.next()
		if !ok {
			return
		}
		s.StatusCode = d.send(ctx, s)
		d.mu.Lock()
		d.busy = false
		d.log = append(d.log, s.Delivery)
		d.changed.Broadcast()
		d.mu.Unlock()
	}
}

func (d *deliverer) next() (*sending, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.queue) == 0 && !d.closed {
		d.changed.Wait()
	}
	if d.closed {
		return nil, false
	}
	s := *d.queue[0]
	d.queue = d.queue[1:]
	d.busy = true
	return &s, true
}

func (d *deliverer) send(ctx context.Context, s *sending) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.hook.url, bytes.NewReader(s.Body))
	if err != nil {
		return 0
	}
	req.Header = s.Header.Clone()
	resp, err := d.client.Do(req)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	_ = resp.Body.Close()
	return resp.StatusCode
}

// stop ends the deliveries; the context of newDeliverer is done by then.
func (d *deliverer) stop() {
	d.mu.Lock()
	d.closed = true
	d.changed.Broadcast()
	d.mu.Unlock()
	<-d.ended
}

func (d *deliverer) quiesce(ctx context.Context) error {
	wake := context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.changed.Broadcast()
	})
	defer wake()
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.queue) > 0 || d.busy {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("waiting for %d deliveries: %w", len(d.queue), err)
		}
		d.changed.Wait()
	}
	return nil
}

func (d *deliverer) attempts() []Delivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Delivery(nil), d.log...)
}

// Deliveries lists every attempt so far, oldest first.
func (f *Forge) Deliveries() []Delivery { return f.hooks.attempts() }

// Deliver sets a webhook that every repository has, as an owner would set one
// without an app: no installation is named in what it sends.
func (f *Forge) Deliver(url, secret string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.global = f.newHook(url, secret, nil)
}

func (f *Forge) newHook(url, secret string, app *App) *hook {
	if url == "" {
		return nil
	}
	h := &hook{id: f.nextID(), url: url, secret: secret, app: app}
	f.tell(event{kind: hookEvent, hook: h})
	return h
}

// Redeliver sends an earlier delivery again under its GUID, as an operator
// does by hand; no forge does it by itself.
func (f *Forge) Redeliver(guid string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.hooks.attempts() {
		if d.GUID == guid {
			f.redeliver(d)
			return nil
		}
	}
	return notFound()
}

func (f *Forge) redeliver(d Delivery) {
	d.ID, d.At, d.Redelivery, d.StatusCode, d.Dropped = f.nextID(), f.now(), true, 0, false
	f.hooks.enqueue(&sending{d})
}

// send renders an event once for a hook. The caller holds mu.
func (f *Forge) send(h *hook, m message, in *Installation, repo *Repo) {
	payload := maps.Clone(m.payload)
	if in != nil {
		payload["installation"] = object{"id": in.ID, "node_id": nodeID("Installation", in.ID)}
	}
	body, err := json.Marshal(payload)
	if err != nil || len(body) > maxPayload {
		return // bigger events are lost without a trace
	}
	s := &sending{Delivery{
		ID: f.nextID(), GUID: newGUID(), Event: m.event, precise: m.precise, At: f.now(), Body: body, hook: h,
	}}
	s.Action, _ = payload["action"].(string)
	if in != nil {
		s.Installation = in.ID
	}
	if repo != nil {
		s.Repository = repo.ID
	}
	s.Header = f.dialect.header(s.Delivery)
	f.hooks.enqueue(s)
}

func sign(algorithm func() hash.Hash, secret string, body []byte) string {
	mac := hmac.New(algorithm, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

func newGUID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails, by its contract
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
