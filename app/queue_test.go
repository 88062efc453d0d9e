package app_test

import "testing"

// A merge queue waits for the required statuses of a commit of its own, and gives
// up after a while (forge-facts 1.15).
func TestAMergeQueueIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.serve()
	defer stop()
	pr := w.propose("wider", "app", "listens in", "serves")
	w.awaitStatus(pr.Head(), "chant/plan", "success", "1 member, 1 to change")
	head, err := w.Repo.QueueGroup(w.Bob, pr)
	if err != nil {
		t.Fatal(err)
	}
	w.awaitStatus(head, "chant/plan", "success", "in the merge queue")
	if s := w.Repo.Status(head, "chant/apply"); s.State != "" {
		t.Errorf("chant/apply is %q on a commit that was not merged", s.State)
	}
}
