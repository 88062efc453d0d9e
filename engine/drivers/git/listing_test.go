package git

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

const mainSpec = "+refs/heads/main:refs/remotes/origin/main"

// served is a clone of a remote over smart HTTP; fetch fetches main and tells
// how many requests git itself made for it.
func served(t *testing.T) (c *Clone, remote string, fetch func() int) {
	t.Helper()
	remote = gittest.Bare(t)
	write(t, remote, "main", "a", "1")
	server := gittest.Serve(t, remote)
	c = openClone(t, server.URL)
	return c, remote, func() int {
		t.Helper()
		before := server.Requests("info/refs") // every command of git starts with one
		if err := c.Fetch(t.Context(), mainSpec); err != nil {
			t.Fatal(err)
		}
		return server.Requests("info/refs") - before
	}
}

func origin(t *testing.T, c *Clone) string {
	t.Helper()
	return must[string](t)(c.Ref(t.Context(), "refs/remotes/origin/main"))
}

func TestNothingIsFetchedWhileTheRemoteListsTheSameRefs(t *testing.T) {
	t.Parallel()
	c, remote, fetch := served(t)
	fetch()
	fetch()
	if n := fetch(); n != 0 {
		t.Errorf("%d commands talked to a remote that had not moved", n)
	}
	moved := write(t, remote, "main", "a", "2")
	if n := fetch(); n != 1 || origin(t, c) != moved {
		t.Errorf("after a push by others %d commands, at %s; want 1, at %s", n, origin(t, c), moved)
	}
	write(t, remote, "main-2", "a", "3")
	if n := fetch(); n != 0 {
		t.Errorf("%d commands after another branch moved", n)
	}
}

// What a push of ours made to be forgotten is no reason to fetch: the refs here say
// what the remote had.
func TestNothingIsFetchedWhereTheRefsHereAreThoseListed(t *testing.T) {
	t.Parallel()
	c, remote, fetch := served(t)
	tags := func() {
		t.Helper()
		if err := c.Fetch(t.Context(), mainSpec, ciTagRefspec); err != nil {
			t.Fatal(err)
		}
	}
	gittest.Run(t, remote, "tag", "-m", "deep", "ci/green/deep", "main")
	tags()
	for name, change := range map[string]func(){
		"nothing":   func() {},
		"a tag":     func() { gittest.Run(t, remote, "tag", "ci/flat", "main") },
		"a removal": func() { gittest.Run(t, remote, "tag", "-d", "ci/green/deep") },
	} {
		change()
		c.listed.forget()
		before := c.listed.moves
		tags()
		want := gittest.Run(t, remote, "for-each-ref", "--format=%(objectname) %(refname)", "refs/tags/ci/")
		if got := gittest.Run(t, c.Dir(), "for-each-ref", "--format=%(objectname) %(refname)", "refs/tags/ci/"); got != want {
			t.Errorf("after %s: %q, want %q", name, got, want)
		}
		if c.listed.moves != before {
			t.Errorf("after %s it was forgotten again", name)
		}
	}
	c.listed.forget()
	if n := fetch(); n != 0 {
		t.Errorf("%d commands talked to a remote whose refs were here", n)
	}
}

// The head of a pull request is the tip of its branch: whichever is fetched first,
// the other needs no command that talks to the remote.
func TestWhatAnotherRefHoldsIsNotFetchedOnceMore(t *testing.T) {
	t.Parallel()
	const topicSpec = "+refs/heads/topic:refs/remotes/origin/topic"
	for name, headFirst := range map[string]bool{"the head first": true, "the branch first": false} {
		c, remote, _ := served(t)
		server := gittest.Serve(t, remote)
		if err := c.MoveRemote(t.Context(), server.URL); err != nil {
			t.Fatal(err)
		}
		if err := c.Fetch(t.Context(), mainSpec); err != nil {
			t.Fatal(err)
		}
		head := write(t, remote, "topic", "a", "2")
		gittest.Run(t, remote, "update-ref", "refs/pull/1/head", head)
		fetches := []func() error{
			func() error { return c.FetchCommit(t.Context(), head, "refs/pull/1/head", "refs/chant/pull/1") },
			func() error { return c.Fetch(t.Context(), mainSpec, topicSpec) },
		}
		if !headFirst {
			slices.Reverse(fetches)
		}
		before := server.Requests("info/refs")
		for _, fetch := range fetches {
			if err := fetch(); err != nil {
				t.Fatal(err)
			}
		}
		if n := server.Requests("info/refs") - before; n != 1 {
			t.Errorf("%s: %d commands, want one", name, n)
		}
		if got := must[string](t)(c.Ref(t.Context(), "refs/remotes/origin/topic")); got != head {
			t.Errorf("%s: the branch is at %q, want %s", name, got, head)
		}
	}
}

// A commit is asked for by its id, which costs a request less, and by the ref that
// holds it where the remote does not give it otherwise.
func TestACommitIsFetchedByItsIDOrByWhatHoldsIt(t *testing.T) {
	t.Parallel()
	for name, listed := range map[string]bool{"by its id": false, "by what holds it": true} {
		remote := gittest.Bare(t)
		base := write(t, remote, "main", "a", "1")
		server := gittest.Serve(t, remote)
		c := openClone(t, server.URL)
		if err := c.Fetch(t.Context(), mainSpec); err != nil {
			t.Fatal(err)
		}
		head := gittest.Write(t, remote, gittest.Commit{Branch: "topic", From: base, Files: files("a", "2")})
		newer := gittest.Write(t, remote, gittest.Commit{Branch: "topic", From: head, Files: files("a", "3")})
		gittest.Run(t, remote, "update-ref", "refs/pull/1/head", newer)
		want := head
		if listed { // by protocol version 0 a remote gives what it lists
			want = newer
			if err := c.setConfig(t.Context(), "protocol.version", "0"); err != nil {
				t.Fatal(err)
			}
		}
		before := server.Requests("git-upload-pack")
		if err := c.FetchCommit(t.Context(), head, "refs/pull/1/head", "refs/chant/pull/1"); err != nil {
			t.Fatal(err)
		}
		if got := must[string](t)(c.Ref(t.Context(), "refs/chant/pull/1")); got != want {
			t.Errorf("%s: at %q, want %s", name, got, want)
		}
		if _, err := c.Resolve(t.Context(), head+"^{commit}"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := server.Requests("git-upload-pack") - before; !listed && n != 2 {
			t.Errorf("%s: %d requests, want the greeting and one more", name, n)
		}
	}
}

func TestARefThatWentBackAfterAPushOfOursIsFetched(t *testing.T) {
	t.Parallel()
	c, remote, fetch := served(t)
	for range 3 {
		fetch()
	}
	old := origin(t, c)
	ours := gittest.Write(t, c.Dir(), gittest.Commit{Branch: "ours", From: old, Files: files("b", "1")})
	if err := c.PushRef(t.Context(), ours, "refs/heads/main", old); err != nil {
		t.Fatal(err)
	}
	gittest.Run(t, remote, "update-ref", "refs/heads/main", old)
	fetch()
	if got := origin(t, c); got != old {
		t.Errorf("at %s, want %s: the remote lost our push", got, old)
	}
}

func TestARefOtherRefspecsBroughtIsFetchedAgain(t *testing.T) {
	t.Parallel()
	c, remote, fetch := served(t)
	for range 3 {
		fetch()
	}
	old := origin(t, c)
	write(t, remote, "main", "a", "2")
	if err := c.Fetch(t.Context()); err != nil { // all branches, main among them
		t.Fatal(err)
	}
	gittest.Run(t, remote, "update-ref", "refs/heads/main", old)
	fetch()
	if got := origin(t, c); got != old {
		t.Errorf("at %s, want %s", got, old)
	}
}

func TestARemoteOfAnOlderProtocolIsFetchedAsEver(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	first := write(t, remote, "main", "a", "1")
	asked := 0
	server := gittest.Serve(t, remote)
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Git-Protocol") != "" && r.Method == http.MethodPost {
			asked++
			_, _ = w.Write([]byte("000eERR what?\n"))
			return
		}
		r.Header.Del("Git-Protocol")
		http.Redirect(w, r, strings.TrimSuffix(server.URL, "/")+r.URL.String(), http.StatusTemporaryRedirect)
	}))
	t.Cleanup(old.Close)
	c := must[*Clone](t)(Open(t.Context(), t.TempDir()+"/clone.git", old.URL+"/", Auth{}))
	t.Cleanup(c.Close)
	for range 4 {
		if err := c.Fetch(t.Context(), mainSpec); err != nil {
			t.Fatal(err)
		}
	}
	if got := origin(t, c); got != first || asked != 1 {
		t.Errorf("at %s after asking %d times, want %s after one", got, asked, first)
	}
}

func TestAListingIsLinesUpToAFlush(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"0000":                     {},
		"0008abcd0006e\n0000":      {"abcd", "e\n"},
		"":                         nil,
		"0008abcd":                 nil,
		"0008abcd0000x":            nil,
		"0008ab":                   nil,
		"zzzzabcd0000":             nil,
		"0001":                     nil,
		"000aERR no0000":           nil,
		"<html>not git</html>0000": nil,
	} {
		lines, whole := packets(text)
		if whole != (want != nil) || whole && !slices.Equal(lines, want) {
			t.Errorf("%q: %q, %v; want %q", text, lines, whole, want)
		}
	}
}

func TestRemoteRefsAreThoseThatPatternsName(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	one := write(t, remote, "main", "a", "1")
	for _, ref := range []string{"refs/heads/queue/main/pr-1", "refs/heads/other/queue/x", "refs/merge-requests/1/train", "refs/merge-requests/11/train"} {
		gittest.Run(t, remote, "update-ref", ref, one)
	}
	c := openClone(t, remote)
	got := must[map[string]string](t)(c.RemoteRefs(t.Context(), "refs/heads/queue/*", "refs/merge-requests/1/train", "refs/merge-requests/2/train"))
	want := map[string]string{"refs/heads/queue/main/pr-1": one, "refs/merge-requests/1/train": one}
	if !maps.Equal(want, got) {
		t.Errorf("got %v", got)
	}
	if none := must[map[string]string](t)(c.RemoteRefs(t.Context())); len(none) > 0 {
		t.Errorf("without a pattern: %v", none)
	}
}
