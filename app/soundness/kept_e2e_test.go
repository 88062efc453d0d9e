//go:build e2e

package soundness_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// backend is one of the kind http that takes no state while it refuses.
type backend struct {
	mu      sync.Mutex
	state   []byte
	refuses bool
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case r.Method == http.MethodPost && b.refuses:
		w.WriteHeader(http.StatusForbidden)
	case r.Method == http.MethodPost:
		b.state = body
	case b.state == nil:
		w.WriteHeader(http.StatusNotFound)
	default:
		_, _ = w.Write(b.state)
	}
}

func (b *backend) set(refuses bool, state []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuses, b.state = refuses, state
}

// The backend of a root takes no state after its apply, and the machine that has it in a file
// is replaced by another one: that applies nothing of the root under the approval that still
// stands, says where the state is, and goes on when it was pushed and an administrator says
// so (soundness I12).
func TestAStateThatOnlyAnotherMachineHasIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	states := &backend{}
	server := httptest.NewServer(states)
	t.Cleanup(server.Close)
	overHTTP := func(value string) string { return strings.Replace(plain(value), `"local"`, `"http"`, 1) }
	w := newWorld(t, project{roots: []root{{name: "app", tf: overHTTP("one"), backend: server.URL}}}, settings{})
	w.start()
	pr := w.propose("two", map[string]string{"roots/app/main.tf": overHTTP("two")})
	w.approved(pr)
	states.set(true, nil)
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "failure", "app")
	kept := must(filepath.Glob(filepath.Join(w.Dir, "server", "locks", "kept", "*")))(t)
	open := w.openGroups().Open
	if len(kept) != 1 || len(open) != 1 || !open[0].Kept || open[0].Journal != kept[0] || open[0].Commit != merge {
		t.Fatalf("kept are %v, and the ledger says %+v\n%s", kept, open, w.shown())
	}
	w.awaitNote(pr, "chant unlock "+open[0].ID)
	made := must(os.ReadFile(kept[0]))(t)

	states.set(false, nil)
	w.machine("-first", "-second")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "failure", "a state is in no backend")
	w.awaitNote(pr, "root app is neither planned nor applied in prod")
	w.awaitNote(pr, kept[0])
	must(w.Forge.As(w.Alice).Comment(pr, "chant apply"))(t)
	w.awaitStatus(pr.Head(), "chant/apply", "failure", "a state is in no backend")
	if n := w.tool.runs("apply"); n != 1 {
		t.Fatalf("terraform applied %d times, want once: what was made would be made again", n)
	}

	states.set(false, made) // as a person pushes it
	must(w.Forge.As(w.Alice).Comment(pr, "chant unlock "+open[0].ID))(t)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "")
	if n := w.tool.runs("apply"); n != 1 {
		t.Errorf("terraform applied %d times, want once", n)
	}
	if got := w.applied("prod"); got != merge {
		t.Errorf("the ledger says %q was applied, want %q", got, merge)
	}

	// The first machine has a file that is void.
	w.machine("-second", "-first")
	next := w.propose("three", map[string]string{"roots/app/main.tf": overHTTP("three")})
	w.approved(next)
	if left := must(filepath.Glob(filepath.Join(w.Dir, "server", "locks", "kept", "*")))(t); len(left) > 0 {
		t.Errorf("kept are still %v", left)
	}
}
