package soundness_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/forges/forgetest"
)

// stage is where in the loop a fault happens.
type stage int

const (
	planning stage = iota
	approving
	merging
	greening
)

// fault is one externally visible point of soundness ("Fault points").
type fault struct {
	name  string
	stage stage
	// request and command are alternatives: where the fault happens.
	request func(*world) func(request) bool
	when    when
	command string // of terraform
	place   string
	// late: what was under way when the server was killed is carried out all the
	// same, once the next server runs.
	late bool
	// lost: the server lives on and only the answer is lost.
	lost bool
}

// faults are in the order in which the loop comes to them.
var faults = []fault{
	{name: "after the delivery was acknowledged", stage: planning, request: api("GET", "/pulls/1$", ""), when: before},
	{name: "while the pull request is planned", stage: planning, command: "plan", place: "start"},
	{name: "after the plan was made and before it is stored", stage: planning, command: "show", place: "end"},
	{name: "before the note is posted", stage: planning, request: api("POST", "/issues/1/comments$", "chant-pr:prod"), when: before},
	{name: "after the note was posted", stage: planning, request: api("POST", "/issues/1/comments$", "chant-pr:prod"), when: after},
	{name: "the answer to the note is lost", stage: planning, request: api("POST", "/issues/1/comments$", "chant-pr:prod"), when: after, lost: true},
	{name: "before the plan's status is set", stage: planning, request: api("POST", "/statuses/", "planned: "), when: before},
	{name: "after the plan's status was set", stage: planning, request: api("POST", "/statuses/", "planned: "), when: after},
	{name: "the answer to the plan's status is lost", stage: planning, request: api("POST", "/statuses/", "planned: "), when: after, lost: true},

	{name: "before the comment is read", stage: approving, request: api("GET", "/issues/comments/", ""), when: before},
	{name: "before the approval is pushed", stage: approving, request: pushed(ledgerRef), when: before},
	{name: "the approval's push ends after the restart", stage: approving, request: pushed(ledgerRef), when: before, late: true},
	{name: "after the approval was pushed", stage: approving, request: pushed(ledgerRef), when: after},
	{name: "the answer to the approval's push is lost", stage: approving, request: pushed(ledgerRef), when: after, lost: true},
	{name: "after the approval's reaction", stage: approving, request: api("POST", "/reactions$", "+1"), when: after},
	{name: "after the note says who approved", stage: approving, request: api("PATCH", "/issues/comments/", "Approved by"), when: after},

	{name: "before the merge record is pushed", stage: merging, request: pushed(ledgerRef), when: before},
	{name: "the merge record's push ends after the restart", stage: merging, request: pushed(ledgerRef), when: before, late: true},
	{name: "after the merge record was pushed", stage: merging, request: pushed(ledgerRef), when: after},

	{name: "before the green tag is pushed", stage: greening, request: pushed("refs/tags/ci/green/"), when: before},
	{name: "after the green tag was pushed", stage: greening, request: pushed("refs/tags/ci/green/"), when: after},
	{name: "before the lease is pushed", stage: greening, request: pushed(leaseRefs), when: before},
	{name: "the lease's push ends after the restart", stage: greening, request: pushed(leaseRefs), when: before, late: true},
	{name: "after the lease was pushed", stage: greening, request: pushed(leaseRefs), when: after},
	{name: "before the base of the apply is pushed", stage: greening, request: base, when: before},
	{name: "after the base of the apply was pushed", stage: greening, request: base, when: after},
	{name: "while the green commit is planned", stage: greening, command: "plan", place: "start"},
	{name: "before the attempt is pushed", stage: greening, request: attempt, when: before},
	{name: "after the attempt was pushed", stage: greening, request: attempt, when: after},
	{name: "before terraform applies", stage: greening, command: "apply", place: "start"},
	{name: "terraform applies on while the next server starts", stage: greening, command: "apply", place: "start", late: true},
	{name: "after terraform applied", stage: greening, command: "apply", place: "end"},
	{name: "while the outputs of what was applied are read", stage: greening, command: "output", place: "start"},
	{name: "before the apply record is pushed", stage: greening, request: applyRecord, when: before},
	{name: "the apply record's push ends after the restart", stage: greening, request: applyRecord, when: before, late: true},
	{name: "after the apply record was pushed", stage: greening, request: applyRecord, when: after},
	{name: "before the lease is released", stage: greening, request: released, when: before},
	{name: "after the lease was released", stage: greening, request: released, when: after},
	{name: "after the note says applied", stage: greening, request: api("PATCH", "/issues/comments/", "applied"), when: after},
	{name: "after the apply's status was set", stage: greening, request: api("POST", "/statuses/", "applied: "), when: after},
}

const leaseRefs = "refs/chant/lease/"

func api(method, path, body string) func(*world) func(request) bool {
	return func(*world) func(request) bool { return call(method, path, body) }
}

func pushed(prefix string) func(*world) func(request) bool {
	return func(*world) func(request) bool { return push(prefix) }
}

// base, attempt and applyRecord are the pushes of an apply, told apart by what is
// there already and by what terraform did in between.
func base(w *world) func(request) bool {
	return func(r request) bool { return push(ledgerRef)(r) && !w.hasBase() }
}

func attempt(w *world) func(request) bool {
	return func(r request) bool { return push(ledgerRef)(r) && w.hasBase() && w.tool.runs("apply") == 0 }
}

func (w *world) hasBase() bool { return len(w.onLedger(record.BasePath("", "prod"))) > 0 }

func applyRecord(w *world) func(request) bool {
	return func(r request) bool { return push(ledgerRef)(r) && w.tool.runs("apply") > 0 }
}

func released(*world) func(request) bool { return removal(leaseRefs) }

// lanes is in how many loops the faults are dealt out: several strike one loop,
// one after the other, each on the server that came after the one before.
const lanes = 4

// Whatever is killed or lost, and whenever, the loop ends as it ends without.
func TestAKilledServerEndsWhereOneThatLivedEnds(t *testing.T) {
	t.Parallel()
	for lane := range lanes {
		t.Run(fmt.Sprintf("loop %d", lane+1), func(t *testing.T) {
			t.Parallel()
			var struck []fault
			for i := lane; i < len(faults); i += lanes {
				struck = append(struck, faults[i])
			}
			w := newWorld(t, project{roots: []root{{name: "app", tf: plain("one")}}}, settings{})
			w.start()
			w.ended(w.crashes(struck), "two")
		})
	}
}

// crashes plays the loop with faults in it.
func (w *world) crashes(faults []fault) *forgetest.Pull {
	w.t.Helper()
	at := func(s stage, stimulus func()) {
		w.t.Helper()
		w.struck(slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return f.stage != s }), stimulus)
	}
	w.settledBranch() // so that the next push is the one that is meant
	var pr *forgetest.Pull
	at(planning, func() { pr = w.propose("two", tf("app", plain("two"))) })
	line := w.line(pr, opOf(pr))
	w.awaitStatus(pr.Head(), "chant/plan", "success", "planned: 1 member")
	at(approving, func() { must(w.Forge.As(w.Alice).Comment(pr, line))(w.t) })
	w.awaitNote(pr, "Approved by")
	var merge string
	at(merging, func() { merge = must(pr.Merge("merge", w.Alice))(w.t) })
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "green")
	at(greening, func() { w.green(merge) })
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.awaitNote(pr, "applied")
	return pr
}

// strike arms the fault, does what leads to it, and lets it happen. After an
// earlier fault of the same stage it is the restart that leads to it, so a fault
// leaves its server down until the next one is armed.
func (w *world) strike(f fault, stimulus func()) {
	w.t.Helper()
	w.t.Logf("fault: %s", f.name)
	if f.command != "" {
		stop := w.tool.at(w.t, f.command, f.place)
		w.resume()
		stimulus()
		stop.wait(w.ctx)
		w.server.kill()
		if f.late {
			w.start()
		}
		stop.release() // what ran when the server died lives on
		return
	}
	pt := w.proxy.at(f.when, f.request(w))
	w.resume()
	stimulus()
	pt.wait(w.ctx, w.t)
	if f.lost {
		pt.on <- drop
		return
	}
	w.server.kill()
	if f.late {
		w.start()
		pt.on <- goOn
		return
	}
	pt.on <- drop
}

// resume starts the server where a fault left it down.
func (w *world) resume() {
	w.t.Helper()
	if !w.server.running() {
		w.start()
	}
}

// ended checks everything that is to be so once one approved pull request was
// applied, however it came there.
func (w *world) ended(pr *forgetest.Pull, value string) {
	w.t.Helper()
	w.holds("app", value)
	if n := w.tool.runs("apply"); n != 1 {
		w.t.Errorf("terraform applied %d times, want once", n)
	}
	merge := pr.MergeCommit()
	if got := w.applied("prod"); got != merge {
		w.t.Errorf("the ledger says %q was applied, want %q", got, merge)
	}
	if n := len(w.approvals(opOf(pr))); n != 1 {
		w.t.Errorf("%d approvals on the ledger, want one", n)
	}
	for _, dir := range []string{"_merges/prod/", "_applies/prod/"} {
		if files := w.onLedger(dir); len(files) != 1 || !strings.Contains(files[0], merge) {
			w.t.Errorf("%s holds %v, want one record, of %s", dir, files, merge)
		}
	}
	if lines := w.gateLines("green-" + merge[:12]); len(lines) > 0 {
		w.t.Errorf("the green gate was asked: %+v", lines)
	}
	w.settledBranch()
	w.saidOnce(pr)
	w.server.stop()
	w.settled()
}

// saidOnce checks that nothing was posted twice.
func (w *world) saidOnce(pr *forgetest.Pull) {
	w.t.Helper()
	var people, notes int
	for _, c := range w.Repo.Comments(pr.Number) {
		switch {
		case c.Author == w.Alice:
			people++
		case strings.HasPrefix(c.Body, "<!-- chant-pr:prod -->"):
			notes++
		default:
			w.t.Errorf("an answer nobody asked for: %s", c.Body)
		}
	}
	if people != 1 || notes != 1 {
		w.t.Errorf("%d comments of alice and %d notes, want one each", people, notes)
	}
	w.statusesOnce(pr)
}

func (w *world) statusesOnce(pr *forgetest.Pull) {
	w.t.Helper()
	for _, sha := range []string{pr.Head(), pr.MergeCommit()} {
		last := map[string]string{}
		for _, s := range w.Repo.AllStatuses(sha) {
			said := fmt.Sprintf("%s %s %s", s.State, s.Description, s.TargetURL)
			if last[s.Context] == said {
				w.t.Errorf("%s on %s was set twice in a row: %s", s.Context, sha, said)
			}
			last[s.Context] = said
		}
	}
}

// settled checks that everything the server acknowledged has its one outcome
// (soundness I8).
func (w *world) settled() {
	w.t.Helper()
	if n := w.count(`SELECT count(*) FROM deliveries WHERE state = 'pending'`); n != 0 {
		w.t.Errorf("%d deliveries have no outcome", n)
	}
	if n := w.count(`SELECT count(*) FROM comments WHERE outcome = 'received'`); n != 0 {
		w.t.Errorf("%d comments have no outcome", n)
	}
}
