//go:build e2e

package app_test

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestAReadThatFailsOnceBeforeTheFirstStepDelaysTheApplyOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.serve()()
	pr := w.propose("wider", "app", "listens in", "serves")
	w.approved(pr, "pr-1")
	w.Forge.Faults.Fail(w.onceDecided(), 502, 1)
	w.green(w.merge(pr))
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("app", "service", "serves 10.0.0.0/16")
	if left, _ := filepath.Glob(filepath.Join(w.Dir, "server", "runs", "apply-*")); len(left) > 1 {
		t.Errorf("directories of runs that are over: %v", left)
	}
}

func TestTheChangesOfACommitThatWaitsStayPartOfTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.serve()()
	first := w.propose("net", "net", "10.0.0.0/16", "10.1.0.0/16")
	w.awaitStatus(first.Head(), "chant/plan", "success", "planned")
	w.green(w.merge(first))
	w.awaitStatus(first.Head(), "chant/apply", "pending", "not covered")
	second := w.proposeFiles("quiet", map[string]string{
		"roots/app/main.tf": strings.ReplaceAll(w.main("roots/app/main.tf"), "listens in", "serves"),
	})
	w.approved(second, "pr-2")
	merge := w.merge(second)
	w.green(merge)
	w.awaitStatus(second.Head(), "chant/apply", "pending", "not covered")
	must(t)(w.Forge.As(w.Alice).Comment(second, w.approveLineOf(second, "green-"+merge[:12])))
	w.await("net's change", func() bool { got, err := w.Applied("net", "network"); return err == nil && got == "10.1.0.0/16" })
}
