package terraform

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// marked tells that others know of an apply.
func (s *site) marked() bool {
	_, err := os.Stat(filepath.Join(s.state, "mark"))
	return err == nil
}

// An apply that others can't be told of is not started, and leaves nothing behind.
func TestAGroupThatNobodyIsToldOfIsNotApplied(t *testing.T) {
	t.Parallel()
	s := newSite(t, groupRoots())
	g := s.grouper()
	p := s.planGroup(g, s.netAndApp())
	down, told := errors.New("the ledger is down"), 0
	p.Target.Begun = func(journal string) error {
		if _, err := os.Stat(journal); err != nil {
			t.Errorf("what ends it is to be there before: %v", err)
		}
		return down
	}
	p.Target.Settled = func() error { told++; return nil }
	if out, err := g.ApplyGroup(context.Background(), p, nil); !errors.Is(err, down) || len(out.Members) > 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	if told != 1 {
		t.Errorf("what may have arrived was taken back %d times, want once", told)
	}
	s.placed(map[string]string{"net": "", "app": ""})
	marks(s.state, &p.Target)
	if out := s.applyGroup(g, p); statuses(out) != "net applied, app applied" {
		t.Errorf("applied afterwards: %s", statuses(out))
	}
	s.placed(map[string]string{"net": "net", "app": "app"})
}

// Where others can't be told that it ended, or that it did not start, the journal stays to
// tell them later, and nothing is pushed again then.
func TestAnEndThatNobodyIsToldOfIsToldLater(t *testing.T) {
	t.Parallel()
	down := errors.New("the ledger is down")
	for name, started := range map[string]bool{"it was applied": true, "it was not started": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, groupRoots())
			g := s.grouper()
			p := s.planGroup(g, s.netAndApp())
			settled := p.Target.Settled
			p.Target.Settled = func() error { return down }
			if !started {
				p.Target.Ready = func() error { return errors.New("the lease is lost") }
			}
			out, err := g.ApplyGroup(context.Background(), p, nil)
			if started && (err != nil || statuses(out) != "net applied, app applied" || !errors.Is(out.Fault, down)) || !started && !errors.Is(err, down) {
				t.Fatalf("%s, %v, %v", statuses(out), out.Fault, err)
			}
			left, err := g.Unended()
			if err != nil || len(left) != 1 || left[0].Err != nil || !s.marked() {
				t.Fatalf("left are %+v, %v", left, err)
			}
			if err := os.RemoveAll(p.Target.RunDir); err != nil && !started { // as after any run that is over
				t.Fatal(err)
			}
			moved := strings.Replace(s.stateOr("net"), `"serial": 1`, `"serial": 7`, 1)
			if started {
				s.write(s.state, map[string]string{"net.tfstate": moved})
			}
			if _, _, err := g.RecoverGroup(context.Background(), p); !errors.Is(err, down) {
				t.Errorf("while they still can't be told: %v", err)
			}
			p.Target.Settled = settled
			if _, found, err := g.RecoverGroup(context.Background(), p); err != nil || found != started {
				t.Errorf("ended: %v, %v", found, err)
			}
			if started && s.stateOr("net") != moved {
				t.Error("a state was given back a second time")
			}
			s.noLeftovers()
		})
	}
}

// stateOr is the text of a member's state, "" where it has none.
func (s *site) stateOr(name string) string {
	text, _ := os.ReadFile(s.statePath(name)) // the apply may not have made it
	return string(text)
}

// What somebody's word made void is put aside, and ended by nobody.
func TestAJournalThatIsVoidIsPutAside(t *testing.T) {
	t.Parallel()
	s := newSite(t, groupRoots())
	g := s.grouper()
	p := s.planGroup(g, s.netAndApp())
	p.Target.Memo = []byte("memo")
	killed(t, s.groupServer(p, stepApplied, 0))
	left, err := g.Unended()
	if err != nil || len(left) != 1 {
		t.Fatalf("left are %+v, %v", left, err)
	}
	if err := g.Forget(left[0]); err != nil {
		t.Fatal(err)
	}
	if left, err := g.Unended(); err != nil || len(left) > 0 {
		t.Errorf("left are %+v, %v", left, err)
	}
	if aside := filesIn(t, filepath.Join(s.state, "groups-released")); len(aside) != 1 {
		t.Errorf("put aside are %v", aside)
	}
}
