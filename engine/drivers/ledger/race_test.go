package ledger

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

func TestARejectedPushIsDecidedAgainOnWhatStandsThen(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	l := server(t, remote)
	other := server(t, remote)
	add(t, l, "1")
	raced := false
	l.fault = func(point string) {
		if point == "push" && !raced {
			raced = true
			add(t, other, "theirs")
		}
	}
	var seen []string
	w, err := l.Update(t.Context(), "x", func(s *Snapshot) ([]File, error) {
		content, _, err := s.Read(gateFile)
		seen = append(seen, string(content))
		return []File{{Path: gateFile, Content: []byte("ours"), Append: true}}, err
	})
	if err != nil || !w.Pushed {
		t.Fatalf("written %+v, %v", w, err)
	}
	if diff := cmp.Diff([]string{"1", "1\ntheirs"}, seen); diff != "" {
		t.Error(diff)
	}
	if got := onRemote(t, remote); got != "1\ntheirs\nours" {
		t.Errorf("remote holds %q", got)
	}
}

func TestARefusalAfterALostRaceIsTheOneThatCounts(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	l, other := server(t, remote), server(t, remote)
	raced := false
	l.fault = func(point string) {
		if point == "push" && !raced {
			raced = true
			add(t, other, "revoked")
		}
	}
	refused := errors.New("it was revoked")
	_, err := l.Update(t.Context(), "x", func(s *Snapshot) ([]File, error) {
		content, _, err := s.Read(gateFile)
		if strings.Contains(string(content), "revoked") {
			return nil, refused
		}
		return []File{{Path: gateFile, Content: []byte("approved"), Append: true}}, err
	})
	wantErr(t, err, refused)
	if got := onRemote(t, remote); got != "revoked" {
		t.Errorf("remote holds %q", got)
	}
}

func TestAWriterThatAlwaysLosesGivesUp(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	l := server(t, remote)
	n := 0
	l.fault = func(point string) {
		if point == "push" {
			n++
			foreign(t, remote, "prod/x.jsonl", fmt.Sprint(n))
		}
	}
	_, err := l.Update(t.Context(), "x", line("1"))
	wantErr(t, err, ErrContended)
	if n != maxAttempts {
		t.Errorf("%d attempts, want %d", n, maxAttempts)
	}
}

// A crash at any point leaves a ledger that the next start reads without doubt,
// and where deciding again writes the line once.
func TestACrashAtAnyPointLeavesNothingDiverged(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"push", "pushed", "moved"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			remote := gittest.Bare(t)
			l := server(t, remote)
			add(t, l, "1")
			stopped := make(chan struct{})
			l.fault = func(p string) {
				if p == point {
					close(stopped)
					select {} // the process does nothing more
				}
			}
			go func() { _, _ = l.Update(t.Context(), "x", line("2")) }()
			<-stopped
			restarted, err := git.Open(t.Context(), l.clone.Dir(), remote, git.Auth{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(restarted.Close)
			next := Open(restarted, clock)
			add(t, next, "2")
			add(t, next, "3")
			if got := onRemote(t, remote); got != "1\n2\n3" {
				t.Errorf("remote holds %q", got)
			}
			if local, seen := refOf(t, next, localRef), refOf(t, next, seenRef); local != seen || local != gittest.Run(t, remote, "rev-parse", localRef) {
				t.Errorf("local %s, seen %s: not the remote's tip", local, seen)
			}
		})
	}
}

func TestAPushWhoseAnswerWasLostIsFound(t *testing.T) {
	t.Parallel()
	for kind, open := range map[string]func(testing.TB, string) *Ledger{"server": server, "checkout": checkout} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			remote := gittest.Bare(t)
			web := gittest.Serve(t, remote)
			l := open(t, web.URL)
			add(t, l, "1")
			l.fault = func(point string) {
				if point == "push" {
					web.MuteNextPush()
				}
			}
			if w := add(t, l, "2"); !w.Pushed || w.Warning != "" {
				t.Errorf("written %+v, want pushed", w)
			}
			if got := onRemote(t, remote); got != "1\n2" {
				t.Errorf("remote holds %q", got)
			}
		})
	}
}

func TestAPartitionBetweenFetchAndPush(t *testing.T) {
	t.Parallel()
	t.Run("leaves a local fact in a checkout", func(t *testing.T) {
		t.Parallel()
		remote := gittest.Bare(t)
		web := gittest.Serve(t, remote)
		l := checkout(t, web.URL)
		l.fault = func(point string) { web.SetDown(point == "push") }
		if w := add(t, l, "1"); w.Pushed || w.Warning == "" {
			t.Errorf("written %+v, want a local fact with a warning", w)
		}
		web.SetDown(false)
		l.fault = func(string) {}
		add(t, l, "2")
		if got := onRemote(t, remote); got != "1\n2" {
			t.Errorf("remote holds %q", got)
		}
	})
	t.Run("is unknown in a clone of ours, and nothing is here", func(t *testing.T) {
		t.Parallel()
		remote := gittest.Bare(t)
		web := gittest.Serve(t, remote)
		l := server(t, web.URL)
		l.fault = func(point string) { web.SetDown(point == "push") }
		_, err := l.Update(t.Context(), "x", line("1"))
		wantErr(t, err, git.ErrUnreachable)
		if local := refOf(t, l, localRef); local != "" {
			t.Errorf("local branch is at %s", local)
		}
	})
}

func TestWaitingUpdatesAreWrittenTogether(t *testing.T) {
	t.Parallel()
	const writers = 50
	remote := gittest.Bare(t)
	web := gittest.Serve(t, remote)
	l := server(t, web.URL)
	add(t, l, "0")
	pushes := web.Requests("service=git-receive-pack")
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			// Every second one refuses to write what another wrote already.
			w, err := l.Update(t.Context(), "Gate resolution record", line(fmt.Sprint(i/2)))
			if err != nil || !w.Pushed {
				t.Errorf("writer %d: %+v, %v", i, w, err)
			}
		})
	}
	all.Wait()
	lines := strings.Split(onRemote(t, remote), "\n")
	slices.Sort(lines)
	var want []string
	for i := range writers / 2 {
		want = append(want, fmt.Sprint(i))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	if n := web.Requests("service=git-receive-pack") - pushes; n > 5 {
		t.Errorf("%d pushes for %d waiting updates", n, writers)
	}
}

// One member's impossible write fails nobody else's.
func TestAnImpossibleWriteInAGroupFailsAlone(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	l := server(t, remote)
	add(t, l, "1")
	var all sync.WaitGroup
	var failed sync.Map
	for i := range 10 {
		all.Go(func() {
			path := gateFile
			if i == 5 {
				path = gateFile + "/below-a-file"
			}
			if _, err := l.Update(t.Context(), "x", lineTo(path, fmt.Sprint("w", i))); err != nil {
				failed.Store(i, err)
			}
		})
	}
	all.Wait()
	failed.Range(func(i, err any) bool {
		if i != 5 {
			t.Errorf("writer %v failed: %v", i, err)
		}
		return true
	})
	if _, found := failed.Load(5); !found {
		t.Error("a file was written below a file")
	}
	if got := len(strings.Split(onRemote(t, remote), "\n")); got != 10 {
		t.Errorf("%d lines, want 10", got)
	}
}

// crowd is writers in several clones reaching for several files at once.
type crowd struct {
	clones, perClone int
	paths            []string
}

func crowds() *rapid.Generator[crowd] {
	path := rapid.SampledFrom([]string{gateFile, "_gates/green-0123456789ab.jsonl", "_members/a/_gates/pr-1-a.jsonl"})
	return rapid.Custom(func(t *rapid.T) crowd {
		return crowd{
			clones: rapid.IntRange(1, 3).Draw(t, "clones"), perClone: rapid.IntRange(1, 8).Draw(t, "writers per clone"),
			paths: rapid.SliceOfN(path, 1, 3).Draw(t, "paths"),
		}
	})
}

// The ledger only grows (soundness I9): whatever writers in several clones do,
// over any number of files, the lines are exactly those whose Update succeeded
// and every tip descends from the one before.
func TestLinesAreTheSuccessfulAppends(t *testing.T) {
	t.Parallel()
	for seed := range 12 { // each one costs seconds of real git; rapid.Check would make a hundred
		c := crowds().Example(seed)
		t.Run(fmt.Sprintf("%d clones, %d writers, %d files", c.clones, c.perClone, len(c.paths)), func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

func (c crowd) run(t *testing.T) {
	t.Helper()
	remote := gittest.Bare(t)
	root := foreign(t, remote, "prod/releases.jsonl", "{}")
	var mu sync.Mutex
	want := map[string][]string{}
	var all sync.WaitGroup
	for n := range c.clones {
		l := server(t, remote)
		for w := range c.perClone {
			all.Go(func() {
				path, text := c.paths[(n+w)%len(c.paths)], fmt.Sprintf("%d-%d", n, w)
				written, err := l.Update(t.Context(), "x", lineTo(path, text))
				if err != nil || !written.Pushed {
					t.Errorf("writer %s: %+v, %v", text, written, err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				want[path] = append(want[path], text)
			})
		}
	}
	all.Wait()
	for path := range maps.Keys(want) {
		got := strings.Split(gittest.Run(t, remote, "show", localRef+":"+path), "\n")
		slices.Sort(got)
		slices.Sort(want[path])
		if diff := cmp.Diff(want[path], got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	if merges := gittest.Run(t, remote, "rev-list", "--merges", localRef); merges != "" {
		t.Errorf("the branch is no line: %s", merges)
	}
	gittest.Run(t, remote, "merge-base", "--is-ancestor", root, localRef)
}
