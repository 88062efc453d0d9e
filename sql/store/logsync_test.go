package store

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// disk is a log whose syncs the test lets through one by one.
func disk(t *testing.T) (s *logSync, begun chan struct{}, end chan error) {
	t.Helper()
	s = &logSync{}
	s.ended = sync.NewCond(&s.mu)
	begun, end = make(chan struct{}), make(chan error)
	s.sync = func(*os.File) error {
		begun <- struct{}{}
		return <-end
	}
	return s, begun, end
}

func TestASyncThatBeganBeforeTheCommitDoesNotCount(t *testing.T) {
	t.Parallel()
	s, begun, end := disk(t)
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- s.wait() }()
	<-begun
	go func() { second <- s.wait() }() // its commit may be too late for the sync that runs
	end <- nil
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	<-begun // so there is another
	select {
	case <-second:
		t.Fatal("answered before its sync ended")
	default:
	}
	end <- nil
	if err := <-second; err != nil {
		t.Fatal(err)
	}
}

func TestManyCommitsShareOneSync(t *testing.T) {
	t.Parallel()
	s, begun, end := disk(t)
	answers := make(chan error, 21)
	go func() { answers <- s.wait() }()
	<-begun
	var asked sync.WaitGroup
	for range 20 {
		asked.Add(1)
		go func() {
			asked.Done()
			answers <- s.wait()
		}()
	}
	asked.Wait()
	syncs := 1
	for got := 0; got < 21; {
		select {
		case end <- nil:
		case <-begun:
			syncs++
		case err := <-answers:
			if got++; err != nil {
				t.Fatal(err)
			}
		}
	}
	// A goroutine that asked late, between two syncs, needs one more.
	if syncs > 4 {
		t.Errorf("%d syncs for 21 commits", syncs)
	}
}

func TestADiskThatFailedOnceIsNotTrustedAgain(t *testing.T) {
	t.Parallel()
	s, begun, end := disk(t)
	broken := errors.New("input/output error")
	answer := make(chan error, 1)
	go func() { answer <- s.wait() }()
	<-begun
	end <- broken
	if err := <-answer; !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	if err := s.wait(); !errors.Is(err, broken) {
		t.Errorf("afterwards: %v", err)
	}
}

func TestADeliveryIsNotAcknowledgedWhenTheDiskFails(t *testing.T) {
	t.Parallel()
	d, err := Open(t.Context(), filepath.Join(t.TempDir(), "chant.db"))
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("input/output error")
	d.log.sync = func(*os.File) error { return broken }
	b := NewInbox(d, nil)
	for range 2 { // the second is in the database by then, and still not safe
		fresh, err := b.Accept(t.Context(), Delivery{GUID: "d1", State: DeliveryIgnored})
		if fresh || !errors.Is(err, broken) {
			t.Errorf("fresh %v, %v", fresh, err)
		}
	}
	if err := errors.Join(b.Close(), d.Close()); err != nil {
		t.Error(err)
	}
}
