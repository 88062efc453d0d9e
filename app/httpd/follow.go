package httpd

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/chant-bot/chant/app/settle"
	"github.com/chant-bot/chant/sql/store"
)

// Ticks is a clock that says when followers are told what happened since, and
// how it is stopped. A browser gets one update a tick at most.
type Ticks func() (ticks <-chan time.Time, stop func())

// EverySecond is the clock of a server.
func EverySecond() (ticks <-chan time.Time, stop func()) {
	t := time.NewTicker(time.Second)
	return t.C, t.Stop
}

const (
	// quiet is after how many ticks without news a line is sent that says nothing,
	// so that no proxy takes the stream for dead.
	quiet = 15
	// batch is how many events one update holds; a run of 200 members has 1,200.
	batch = 500
	// patience is how long a browser may take to read one update.
	patience = 10 * time.Second
)

// story tells what happened in a run behind the event of a number, and whether the
// run is over: what it ended with is then among its events.
type story func(r *http.Request, after int64) (news []store.RunEvent, over bool, err error)

// follow streams the events of a run as server-sent events: each update is an
// event "progress" with the progress events of pr-loop §7.3, a JSON object a line,
// numbered by the last of them, so that a browser that comes back goes on behind
// Last-Event-ID. Once the run is over an event "end" follows; a browser that asks
// again is told 204, which tells it to stop.
func (s *Server) follow(told story) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f := &follower{server: s, story: told, after: followedTo(r), out: w, control: http.NewResponseController(w)}
		news, over, err := f.look(r)
		switch {
		case errors.Is(err, store.ErrNotFound):
			plain(w, http.StatusNotFound, "no such run")
			return
		case err != nil:
			s.Log.Error("following a run", "path", r.URL.Path, "error", err)
			plain(w, http.StatusInternalServerError, "the run cannot be read; the log says more")
			return
		case over && len(news) == 0 && r.Header.Get("Last-Event-ID") != "":
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Accel-Buffering", "no") // a proxy that collects it would show it at the end
		_ = f.control.SetReadDeadline(time.Time{})
		if f.send([]byte("retry: 2000\n\n")) != nil {
			return
		}
		f.run(r, news, over)
	}
}

// followedTo is the number of the last event that the browser has.
func followedTo(r *http.Request) int64 {
	for _, text := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")} {
		if seq, err := strconv.ParseInt(text, 10, 64); err == nil && seq >= 0 {
			return seq
		}
	}
	return 0
}

// follower is one browser that follows one run.
type follower struct {
	server  *Server
	story   story
	after   int64 // number of the last event sent
	out     http.ResponseWriter
	control *http.ResponseController
}

func (f *follower) run(r *http.Request, news []store.RunEvent, over bool) {
	ticks, stop := f.server.Ticks()
	defer stop()
	idle := 0
	for {
		idle++
		message := progress(news, f.after)
		switch {
		case over && len(news) < batch:
			_ = f.send(append(message, "event: end\ndata: over\n\n"...))
			return
		case len(message) > 0:
			idle = 0
		case idle >= quiet:
			idle, message = 0, []byte(":\n\n")
		}
		if f.send(message) != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-f.server.Closing:
			return
		case <-ticks:
		}
		var err error
		if news, over, err = f.look(r); err != nil {
			if r.Context().Err() == nil {
				f.server.Log.Error("following a run", "path", r.URL.Path, "error", err)
			}
			return
		}
	}
}

// look reads what happened since.
func (f *follower) look(r *http.Request) (news []store.RunEvent, over bool, err error) {
	news, over, err = f.story(r, f.after)
	if len(news) > 0 {
		f.after = news[len(news)-1].Seq
	}
	return news, over, err
}

// ofRun is the story of a run of this server. The run is read first: what it ended
// with is then among the events.
func (s *Server) ofRun(r *http.Request, after int64) (news []store.RunEvent, over bool, err error) {
	id, err := pathID(r)
	if err != nil {
		return nil, false, err
	}
	status, _, err := s.Facts.Runs.Status(r.Context(), id)
	if err != nil {
		return nil, false, err
	}
	news, err = s.Facts.Runs.Events(r.Context(), id, after, batch)
	return news, status != string(settle.RunRunning), err
}

// progress is one update, empty when nothing happened.
func progress(news []store.RunEvent, seq int64) []byte {
	if len(news) == 0 {
		return nil
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "id: %d\nevent: progress\n", seq)
	for _, e := range news {
		fmt.Fprintf(&b, "data: %s\n", e.Event)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func (f *follower) send(message []byte) error {
	if len(message) == 0 {
		return nil
	}
	_ = f.control.SetWriteDeadline(time.Now().Add(patience))
	if _, err := f.out.Write(message); err != nil {
		return err
	}
	return f.control.Flush()
}
