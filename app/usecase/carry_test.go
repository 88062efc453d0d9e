package usecase

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

func TestALeaseIsRenewedForAsLongAsWhatItGuardsTakes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer func(n int) error
		want   int // renewals in three lease times
	}{
		"three each lease time":             {func(int) error { return nil }, 9},
		"a failed one is tried again soon":  {func(n int) error { return map[int]error{2: errors.New("502"), 3: errors.New("502")}[n] }, 10},
		"a lost lease is not asked for any": {func(n int) error { return map[int]error{3: lease.ErrLost}[n] }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				renewals := 0
				stop := keepRenewed(t.Context(), func(context.Context) error {
					renewals++
					return tt.answer(renewals)
				}, leaseTTL/3)
				time.Sleep(3*leaseTTL + time.Second)
				stop()
				if renewals != tt.want {
					t.Errorf("renewed %d times, want %d", renewals, tt.want)
				}
			})
		})
	}
}

func line(commits ...string) []git.Commit {
	out := make([]git.Commit, len(commits))
	for i, c := range commits {
		out[i].SHA = c
		if i+1 < len(commits) {
			out[i].Parent = commits[i+1]
		}
	}
	return out
}

func TestAnApplyIsMeasuredFromWhereItsEnvWasFirstMeasured(t *testing.T) {
	t.Parallel()
	branch := line("g3", "g2", "m", "g1", "old", "root") // newest first
	counting := green.Counting{Green: map[string]bool{"g1": true, "g2": true, "g3": true}}
	for name, tt := range map[string]struct {
		commit, given string
		attempt       string
		applied       string
		first         string
		want          string
	}{
		"nothing known: the green commit before":              {commit: "g2", want: "g1"},
		"nothing known and none before: the parent":           {commit: "g1", want: "old"},
		"what was applied goes before everything":             {commit: "g3", applied: "g2", first: "old", given: "root", want: "g2"},
		"a commit that waited stays part of the change":       {commit: "g2", first: "old", want: "old"},
		"so it does when the caller names a later base":       {commit: "g2", first: "old", given: "m", want: "old"},
		"a caller may look further back":                      {commit: "g2", first: "old", given: "root", want: "root"},
		"a tried commit's base counts":                        {commit: "g3", attempt: "old", want: "old"},
		"a base that is not below the commit counts for none": {commit: "g1", first: "g2", want: "old"},
		"nor does one that left the branch":                   {commit: "g2", first: "gone", want: "g1"},
		"a given base off the branch is taken as given":       {commit: "g2", given: "elsewhere", want: "elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var attempt *record.Attempt
			var applied *record.Apply
			var first *record.Base
			if tt.attempt != "" {
				attempt = &record.Attempt{Base: tt.attempt}
			}
			if tt.applied != "" {
				applied = &record.Apply{Commit: tt.applied}
			}
			if tt.first != "" {
				first = &record.Base{Commit: tt.first}
			}
			if got := baseOf(tt.commit, tt.given, branch, attempt, applied, first, counting); got != tt.want {
				t.Errorf("measured from %s, want %s", got, tt.want)
			}
		})
	}
}

// kept is an apply of two members, one after the other, with their plans saved.
func kept(t *testing.T) *Apply {
	t.Helper()
	dir := t.TempDir()
	set := &PlanSet{Document: &changeset.Document{}, Members: map[string]*PlannedMember{}, DependsOn: map[string][]string{"app": {"net"}}}
	for _, name := range []string{"net", "app"} {
		file := filepath.Join(dir, "members", safeName(name), "plan.tfplan")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		set.Members[name] = &PlannedMember{Component: name, Planned: engine.Planned{File: file}}
		set.Units = append(set.Units, run.Unit{Member: name, Component: name})
	}
	a := &Apply{Dir: dir, Pass: Pass{Set: set}}
	a.Report.Status = report.Planned
	set.Selection.Waves = [][]string{{"net"}, {"app"}}
	var err error
	if a.State, err = a.machine(set, digest.Digest{}); err != nil {
		t.Fatal(err)
	}
	return a
}

func move(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type noKeeping struct{}

func (noKeeping) Save(context.Context, *Apply) error { return nil }

func TestAStepWhoseFilesAreGoneIsNotTakenForOneThatNeverStarted(t *testing.T) {
	t.Parallel()
	a := kept(t)
	move(t, a.State.Start("net"))
	if a.plansGone() {
		t.Fatal("the plans are there")
	}
	move(t, os.RemoveAll(a.Dir))
	if !a.plansGone() {
		t.Fatal("the plans are gone, and nobody sees it")
	}
	ex := newExecution(&Stage{}, ApplyInput{Journal: noKeeping{}}, a, nil, nil)
	move(t, ex.recoverStep(t.Context(), "net"))
	a.State.Halt("superseded")
	a.conclude()
	if got := a.State.Members["net"].Status; got != run.Unknown {
		t.Errorf("net is %s, want unknown", got)
	}
	if a.Report.Status != report.Failed || !a.Fresh {
		t.Errorf("the run ended %s, fresh %v; want failed, and a fresh apply", a.Report.Status, a.Fresh)
	}
}

func TestAnAbandonedApplyIsOverAndAFreshOneDecides(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before func(t *testing.T, s *run.State)
		status report.Status
		net    run.Status
	}{
		"nothing started": {func(*testing.T, *run.State) {}, report.Waiting, run.Pending},
		"one may be running": {func(t *testing.T, s *run.State) {
			t.Helper()
			move(t, s.Start("net"))
		}, report.Failed, run.Unknown},
		"all ended and nothing was recorded": {func(t *testing.T, s *run.State) {
			t.Helper()
			for _, member := range s.Order {
				move(t, s.Start(member))
				move(t, s.Settle(member, run.Outcome{}))
			}
		}, report.Applied, run.Applied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := kept(t)
			tt.before(t, &a.State)
			a.Abandon("the disk is full")
			if a.Report.Status != tt.status || a.State.Members["net"].Status != tt.net || !a.Fresh {
				t.Errorf("ended %s, net %s, fresh %v", a.Report.Status, a.State.Members["net"].Status, a.Fresh)
			}
			if !strings.Contains(a.Report.Message, "the disk is full") {
				t.Errorf("the message is %q", a.Report.Message)
			}
		})
	}
}

func TestAnApplyThatIsTakenOverEachTimeEndsTheFreshApplies(t *testing.T) {
	t.Parallel()
	var before *Apply
	for n := 1; ; n++ {
		if n > 10 {
			t.Fatal("it never ends")
		}
		a := kept(t)
		a.follow(before)
		a.State.Halt("superseded: another run took over")
		a.conclude()
		if before = a; a.Fresh {
			continue
		}
		if n != 3 || a.Report.Status != report.Waiting || !strings.Contains(a.Report.Message, "another run took over") {
			t.Errorf("after %d applies of 2 members: %s, %q", n, a.Report.Status, a.Report.Message)
		}
		break
	}
	again := kept(t)
	again.follow(before)
	if again.Again != 0 {
		t.Error("an apply a person asked for goes on counting")
	}
}
