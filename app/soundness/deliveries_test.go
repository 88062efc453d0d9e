package soundness_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/chant-bot/chant/forges/forgetest"
)

// Every webhook is lost: the sweep, which also comes when a server starts, finds
// what happened, and the loop ends the same (decision 12).
func TestTheSweepCatchesUpWhenEveryDeliveryIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRoot(), settings{})
	w.Forge.Faults.DropDeliveries("", 0)
	w.start()
	missed := func(act func()) {
		act()
		w.server.stop()
		w.start()
	}
	var pr *forgetest.Pull
	missed(func() { pr = w.propose("two", tf("app", plain("two"))) })
	line := w.line(pr, opOf(pr))
	missed(func() { must(w.Forge.As(w.Alice).Comment(pr, line))(t) })
	w.awaitNote(pr, "Approved by")
	var merge string
	missed(func() { merge = must(w.Repo.QueueGroup(w.Alice, pr))(t) })
	w.awaitStatus(merge, "chant/plan", "success", "in the merge queue")
	missed(func() { merge = must(pr.Merge("merge", w.Alice))(t) })
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "green")
	missed(func() { w.green(merge) })
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.awaitNote(pr, "applied")
	w.ended(pr, "two")
}

// Deliveries come last to first, each twice, and again under a new name: the loop
// ends as if each had come once.
func TestDeliveriesDoubledReorderedAndReplayedChangeNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRoot(), settings{})
	w.Forge.Faults.DropDeliveries("", 0)
	w.start()
	w.settledBranch()
	sent := 0
	flush := func() {
		t.Helper()
		all := w.Forge.Deliveries()
		fresh := all[sent:]
		sent = len(all)
		for _, d := range slices.Backward(fresh) {
			for range 2 {
				w.post(d.Header, d.Body, http.StatusAccepted)
			}
			again := d.Header.Clone()
			again.Set("X-Github-Delivery", "again-"+d.GUID)
			w.post(again, d.Body, http.StatusAccepted)
		}
	}
	pr := w.propose("two", tf("app", plain("two")))
	flush()
	line := w.line(pr, opOf(pr))
	must(w.Forge.As(w.Alice).Comment(pr, line))(t)
	flush()
	w.awaitNote(pr, "Approved by")
	merge := must(pr.Merge("merge", w.Alice))(t)
	flush()
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "green")
	w.green(merge)
	flush()
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	for _, d := range w.Forge.Deliveries() { // the whole history once more
		w.post(d.Header, d.Body, http.StatusAccepted)
	}
	w.settledBranch()
	w.ended(pr, "two")
}

// post sends a delivery to the server and checks the answer.
func (w *world) post(header http.Header, body []byte, want int) {
	w.t.Helper()
	req := must(http.NewRequestWithContext(w.ctx, http.MethodPost, "http://"+w.listen+"/webhooks/github", bytes.NewReader(body)))(w.t)
	req.Header = header
	resp := must(http.DefaultClient.Do(req))(w.t)
	_ = resp.Body.Close()
	if resp.StatusCode != want {
		w.t.Errorf("delivery %s (%s) was answered %d, want %d", header.Get("X-Github-Delivery"), header.Get("X-Github-Event"), resp.StatusCode, want)
	}
}

// signed is the header of a delivery under a secret.
func signed(event, guid, secret string, body []byte) http.Header {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("X-Github-Event", event)
	h.Set("X-Github-Delivery", guid)
	h.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	return h
}

// What is not signed, not meant for us or not readable is answered as such, and
// nothing of it is done.
func TestADeliveryThatIsNotOursIsAnsweredAndDoesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRoot(), settings{})
	other := must(w.Forge.CreateRepo("acme", "other"))(t)
	other.SetPermission(w.Bob, "write")
	w.Forge.Faults.DropDeliveries("", 0)
	w.start()
	w.settledBranch()
	pr := w.propose("two", tf("app", plain("two")))
	must(other.Commit("main", map[string]string{"a": "b"}, w.Bob))(t)
	ours, foreign := w.dropped("pull_request", w.Repo), w.dropped("push", other)

	stored := func() int { return w.count(`SELECT count(*) FROM deliveries`) }
	start := stored()
	w.post(signed("pull_request", "g1", "another secret", ours.Body), ours.Body, http.StatusUnauthorized)
	unsigned := ours.Header.Clone()
	unsigned.Del("X-Hub-Signature-256")
	w.post(unsigned, ours.Body, http.StatusUnauthorized)
	tampered := bytes.Replace(ours.Body, []byte(`"opened"`), []byte(`"closed"`), 1)
	w.post(ours.Header, tampered, http.StatusUnauthorized)
	if n := stored() - start; n != 0 {
		t.Errorf("%d deliveries nobody signed were stored", n)
	}

	broken := []byte(`{"action": "opened", "repository": `)
	w.post(signed("pull_request", "g2", w.Secret, broken), broken, http.StatusBadRequest)
	large := bytes.Repeat([]byte("x"), 25<<20+1)
	header := signed("push", "g3", w.Secret, large)
	header.Set("Expect", "100-continue") // so that the answer comes before the body
	w.post(header, large, http.StatusRequestEntityTooLarge)
	if n := stored() - start; n != 0 {
		t.Errorf("%d deliveries that cannot be read were stored", n)
	}

	w.post(signed("star", "g4", w.Secret, ours.Body), ours.Body, http.StatusAccepted)
	w.post(foreign.Header, foreign.Body, http.StatusAccepted)
	w.settledBranch()
	if n := w.count(`SELECT count(*) FROM plans`) + w.count(`SELECT count(*) FROM deliveries WHERE state NOT IN ('ignored')`); n != 0 {
		t.Errorf("something was done: %d", n)
	}
	w.post(ours.Header, ours.Body, http.StatusAccepted)
	w.awaitStatus(pr.Head(), "chant/plan", "success", "planned")
}

// dropped is the last delivery of an event of a repository.
func (w *world) dropped(event string, repo *forgetest.Repo) forgetest.Delivery {
	w.t.Helper()
	var last forgetest.Delivery
	for _, d := range w.Forge.Deliveries() {
		if d.Event == event && d.Repository == repo.ID {
			last = d
		}
	}
	if last.GUID == "" {
		w.t.Fatalf("no %s of %s", event, repo.FullName())
	}
	return last
}

// The forge limits, fails and loses its own answers: each job comes back for what
// it did not get done and says nothing twice.
func TestAFaultyForgeDelaysAndDoublesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRoot(), settings{})
	w.start()
	w.settledBranch()
	f := w.Forge.Faults
	f.SecondaryLimit(forgetest.Match{Method: "POST", Path: "/statuses/"}, 403, "1", 1)
	f.Fail(forgetest.Match{Method: "POST", Path: "/statuses/"}, 502, 1)
	f.LoseAnswer(forgetest.Match{Method: "POST", Path: "/statuses/"}, 1)
	f.SecondaryLimit(forgetest.Match{Method: "POST", Path: "/comments"}, 429, "1", 1)
	f.LoseAnswer(forgetest.Match{Method: "POST", Path: "/comments"}, 1)
	f.PrimaryLimit(forgetest.Match{Method: "PATCH", Path: "/comments/"}, 403, w.Forge.Now().Add(time.Second), 1)
	f.LoseAnswer(forgetest.Match{Method: "PATCH", Path: "/comments/"}, 1)
	f.SecondaryLimit(forgetest.Match{Method: "GET", Path: "/check-runs"}, 403, "1", 1)
	f.Fail(forgetest.Match{Method: "GET", Path: "/check-runs"}, 500, 1)
	f.Fail(forgetest.Match{Method: "GET", Path: "/permission"}, 503, 1)
	f.Fail(forgetest.Match{Method: "GET", Path: "/pulls/"}, 500, 1)
	w.ended(w.crashes(nil), "two")
}

// A commit the forge forgot, or a token that may not write statuses, costs the
// statuses and nothing else (cases, atlantis 2601).
func TestStatusesThatCannotBeSetStopNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRoot(), settings{})
	w.Forge.Faults.Fail(forgetest.Match{Method: "POST", Path: "/statuses/"}, http.StatusNotFound, 0)
	w.start()
	pr := w.propose("two", tf("app", plain("two")))
	w.approved(pr)
	merge := must(pr.Merge("merge", w.Alice))(t)
	w.green(merge)
	w.awaitNote(pr, "applied")
	w.await("the apply", func() bool { return w.applied("prod") == merge })
	w.holds("app", "two")
	if n := len(w.Repo.AllStatuses(pr.Head())); n != 0 {
		t.Errorf("%d statuses", n)
	}
}

// A slow forge is waited for, and what happened meanwhile is not lost.
func TestAHeadPushedWhileTheForgeIsSlowIsPlanned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRoot(), settings{})
	w.start()
	w.settledBranch()
	slow := w.proxy.at(before, call("POST", "/issues/1/comments$", "chant-pr:prod"))
	pr := w.propose("two", tf("app", plain("two")))
	slow.wait(w.ctx, t)
	head := must(pr.Push(tf("app", plain("three")), w.Bob))(t)
	slow.on <- goOn
	w.awaitStatus(head, "chant/plan", "success", "planned")
	w.awaitNote(pr, head[:12])
	if n := len(w.Repo.Comments(pr.Number)); n != 1 {
		t.Errorf("%d comments, want the note", n)
	}
}
