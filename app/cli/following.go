package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/chant-bot/chant/app/live"
	"github.com/chant-bot/chant/app/reports"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// FollowOptions say how an apply is followed while it goes on.
type FollowOptions struct {
	ProgressJSON bool   `name:"progress-json" help:"Print the progress events to standard error, one JSON object a line, instead of lines for people."`
	ReportURL    string `name:"report-url" placeholder:"URL" help:"Post the progress there as it happens, such as to /api/v1/reports of a chant server, with the token CHANT_REPORT_TOKEN. A failed post is a warning."`
}

// following tells the events of an apply or a deployment. It keeps nothing: a command line that
// dies is run again, and a fresh plan then decides (soundness I6).
type following struct {
	host   *Host
	asJSON bool
	posts  *posts // nil for none
	body   reports.Body
	passes int         // events of the applies before this one, when it plans again
	table  *live.Table // nil where standard error is no terminal
}

// Save implements usecase.Journal: it tells what happened since.
func (f *following) Save(_ context.Context, a *usecase.Apply) error {
	passes := a.Passes()
	if len(passes) == 0 {
		return nil
	}
	events, told := passes.Events(a.Report.Status != report.Planned), f.body.Events[f.passes:]
	if len(events) < len(told) || len(told) > 0 && events[0].Type != told[0].Type {
		f.passes, told = len(f.body.Events), nil
	}
	if f.table != nil {
		f.table.Show(passes)
	}
	f.body.Run.Op, f.body.Run.Commit = a.Op, a.State.Commit
	for _, e := range events[len(told):] {
		f.say(e)
	}
	f.add(events[len(told):]...)
	return nil
}

// deployed takes an event of a deployment, which prints lines of its own.
func (f *following) deployed(e run.Event) {
	if f.asJSON {
		f.host.event(e)
	}
	f.add(e)
}

// add reports all so far where something settled (pr-loop §7.3).
func (f *following) add(news ...run.Event) {
	f.body.Events = append(f.body.Events, news...)
	if f.posts != nil && slices.ContainsFunc(news, settles) {
		f.posts.put(f.body)
	}
}

func settles(e run.Event) bool {
	return e.Type == "component-done" || e.Type == "wave-done" || e.Type == "run-done"
}

// say prints one event: a JSON line, or a line where a wave starts or a component
// settles (pr-loop §7.3).
func (f *following) say(e run.Event) {
	switch {
	case f.asJSON:
		f.host.event(e)
	case f.table != nil: // shows it
	case e.Type == "wave-start":
		f.host.progress(fmt.Sprintf("wave %d starts", e.Wave))
	case e.Type == "component-done" && e.BlockedBy != "":
		f.host.progress(fmt.Sprintf("%s: blocked by %s, not run", e.Component, e.BlockedBy))
	case e.Type == "component-done":
		f.host.progress(fmt.Sprintf("%s: %s", e.Component, e.Status))
	}
}

// event prints an event as a line of JSON.
func (h *Host) event(e run.Event) {
	if text, err := json.Marshal(e); err == nil {
		_, _ = fmt.Fprintf(h.Stderr, "%s\n", text)
	}
}

// close ends the table, if there is one.
func (f *following) close() {
	if f.table != nil {
		f.table.End()
	}
}

// end posts the report and waits a bounded time for it.
func (f *following) end(r report.Report) {
	if f.posts == nil {
		return
	}
	if f.body.Run.Commit == "" { // nothing was to be applied, so nothing was saved
		f.body.Run.Op, f.body.Run.Commit = r.Op, r.Head
	}
	f.body.Report = &r
	f.posts.put(f.body)
	f.wait()
}

// wait ends the posts, and waits a bounded time for the last.
func (f *following) wait() {
	if f.posts != nil {
		close(f.posts.due)
		<-f.posts.done
	}
}

// followApply has an apply go on from its resume record, keep there how far it comes, and
// be followed, until that is closed. of is what the record is of.
func (h *Host) followApply(ctx context.Context, c *checkout, in *usecase.ApplyInput, o FollowOptions, r ResumeOptions, of string) (*following, error) {
	kept, err := h.keepRecord(ctx, r, of)
	if err != nil {
		return nil, err
	}
	f := h.follow(ctx, o, reports.Run{Repo: c.name(), Env: in.Env, Stage: string(report.Apply)})
	if !o.ProgressJSON {
		f.table = live.On(h.Stderr, h.env("TERM"), h.Now)
	}
	if f.table != nil {
		h.Stderr = f.table // what is said meanwhile stands above it
	}
	kept.next, in.Journal, in.Resume = f, kept, kept.record
	if o.ProgressJSON {
		in.Progress = nil
	}
	return f, nil
}

// follow starts to follow what applies, until that is ended.
func (h *Host) follow(ctx context.Context, o FollowOptions, b reports.Run) *following {
	b.ID = uuid.NewString()
	f := &following{host: h, asJSON: o.ProgressJSON, body: reports.Body{Schema: 1, Run: b, Events: []run.Event{}}}
	if o.ReportURL != "" {
		f.posts = &posts{host: h, url: o.ReportURL, wait: postTime, due: make(chan reports.Body, 1), done: make(chan struct{})}
		go f.posts.run(context.WithoutCancel(ctx))
	}
	return f
}

// postTime is how long one post may take, and with it the end of a command.
const postTime = 5 * time.Second

// posts sends what is due last, so that no apply waits for a server.
type posts struct {
	host *Host
	url  string
	wait time.Duration
	due  chan reports.Body // one: a later one replaces it
	done chan struct{}
}

// put is called by one goroutine at a time.
func (p *posts) put(b reports.Body) {
	b.Events = slices.Clone(b.Events)
	select {
	case <-p.due:
	default:
	}
	p.due <- b
}

func (p *posts) run(ctx context.Context) {
	defer close(p.done)
	for b := range p.due {
		if err := p.post(ctx, b); err != nil {
			p.host.warnf("the progress could not be reported: %v", err)
		}
	}
}

func (p *posts) post(ctx context.Context, b reports.Body) error {
	ctx, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token := p.host.env("CHANT_REPORT_TOKEN"); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= http.StatusMultipleChoices {
		why, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return fmt.Errorf("status %d: %s", resp.StatusCode, why)
	}
	return nil
}
