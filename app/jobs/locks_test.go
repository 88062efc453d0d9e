package jobs

import "testing"

func TestASecondJobOfAKeyIsPutOffAndOthersAreNot(t *testing.T) {
	t.Parallel()
	var locks keyedLocks
	unlock, ok := locks.try("apply", "repo", "prod")
	if !ok {
		t.Fatal("a free key was not given")
	}
	if _, ok := locks.try("apply", "repo", "prod"); ok {
		t.Error("a key was given twice")
	}
	if _, ok := locks.try("apply", "repo", "staging"); !ok {
		t.Error("another env was kept waiting")
	}
	unlock()
	if _, ok := locks.try("apply", "repo", "prod"); !ok {
		t.Error("a key that was given back is not free")
	}
}
