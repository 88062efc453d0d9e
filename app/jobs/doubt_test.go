package jobs

import (
	"testing"
	"time"
)

// A planner that does not answer is asked soon, then rarely, and given up after
// doubtTime: a broken merge must not keep a worker busy.
func TestAMergeInDoubtIsTriedSoonThenRarelyAndNotForever(t *testing.T) {
	t.Parallel()
	tries, tried := 0, time.Duration(0)
	for ; tried < doubtTime; tries++ {
		wait := doubtWait(tried)
		if wait <= 0 || wait > 5*time.Minute || tried < time.Minute && wait > time.Minute {
			t.Fatalf("after %s the next try comes in %s", tried, wait)
		}
		tried += wait
	}
	if tries > 25 {
		t.Errorf("%d tries", tries)
	}
}
