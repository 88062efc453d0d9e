//go:build e2e

package httpd

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	osexec "os/exec"
	"testing"
	"time"

	"github.com/chant-bot/chant/app/facts"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/run"
)

// A browser that has a run's page open fetches it again for each update, and once
// more at the end; then it leaves the server alone.
func TestABrowserFollowsARunToItsEnd(t *testing.T) {
	t.Parallel()
	f := newFollowed(t, [][]string{{"net"}}, nil)
	page := fmt.Sprintf("/runs/%d", f.journal.ID())
	behind, err := url.Parse(f.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(behind)
	proxy.FlushInterval = -1
	fetched, followed := make(chan bool, 20), make(chan bool, 20)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case page + "/events":
			followed <- true
		case page:
			defer func() { fetched <- true }()
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	browse(t, front.URL+page)
	await(t, "the page", fetched)
	await(t, "the stream of its events", followed)

	f.start("net")
	f.ticks <- time.Time{}
	await(t, "the page again, for what happened since", fetched)

	f.settle("net", run.Outcome{})
	f.over()
	f.ticks <- time.Time{}
	await(t, "the page again, for the last update", fetched)
	select {
	case <-fetched: // for the end, unless that came together with the update
	case <-time.After(time.Second):
	}
	select {
	case <-followed:
		t.Error("the browser asks again for the events of a run that is over")
	case <-time.After(3 * time.Second): // longer than it waits before it asks again
	}
}

// A browser that has the page of a run open which failed looks again now and then, until
// a later run took it up.
func TestABrowserLooksAgainAtARunThatWaitsForAPerson(t *testing.T) {
	t.Parallel()
	f := newFollowed(t, [][]string{{"net"}}, nil)
	f.start("net")
	f.settle("net", run.Outcome{Error: "the disk is full"})
	f.over()
	page := fmt.Sprintf("/runs/%d", f.journal.ID())
	behind, err := url.Parse(f.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy, fetched := httputil.NewSingleHostReverseProxy(behind), make(chan bool, 20)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(w, r)
		if r.URL.Path == page {
			fetched <- true
		}
	}))
	t.Cleanup(front.Close)
	browse(t, front.URL+page)
	await(t, "the page", fetched)
	await(t, "the page again", fetched)
	f.journal = facts.New(f.db, time.Now).NewJournal(engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: 7}, "prod", "")
	f.over()
	await(t, "the page once more, which leads to the later run", fetched)
	select {
	case <-fetched:
		t.Error("the browser looks again at a run that went on in another")
	case <-time.After(2 * lookAgain * time.Second):
	}
}

// browse opens a page in a browser without a window, until the test ends.
func browse(t *testing.T, url string) {
	t.Helper()
	binary, err := osexec.LookPath("chromium")
	if err != nil {
		t.Fatal("no browser to look at pages with; install it with: apt-get install chromium")
	}
	cmd := osexec.CommandContext(t.Context(), binary, "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-background-networking", "--remote-debugging-port=0", "--user-data-dir="+t.TempDir(), url)
	cmd.WaitDelay = time.Second // its children hold what it writes to
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

func await(t *testing.T, what string, happened <-chan bool) {
	t.Helper()
	select {
	case <-happened:
	case <-time.After(5 * time.Minute): // a browser starts slowly on a busy machine
		t.Fatalf("%s was never asked for", what)
	}
}
