package soundness_test

import (
	osexec "os/exec"
	"strings"

	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/record"
)

// git runs in the fake forge's own repository.
func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := osexec.Command("git", args...)
	cmd.Dir = w.Repo.Dir()
	cmd.Env = []string{
		"PATH=/usr/bin:/bin:/usr/local/bin", "HOME=" + w.Dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=mallory", "GIT_AUTHOR_EMAIL=mallory@users.noreply.github.com",
		"GIT_COMMITTER_NAME=mallory", "GIT_COMMITTER_EMAIL=mallory@users.noreply.github.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

const ledgerRef = "refs/heads/chant/lifecycle"

// onLedger lists the files of the ledger as the forge has it.
func (w *world) onLedger(prefix string) []string {
	w.t.Helper()
	if w.git("for-each-ref", ledgerRef) == "" {
		return nil
	}
	var out []string
	for line := range strings.Lines(w.git("ls-tree", "-r", "--name-only", ledgerRef)) {
		if path := strings.TrimSpace(line); strings.HasPrefix(path, prefix) {
			out = append(out, path)
		}
	}
	return out
}

// gateLines are the lines of an op on the ledger.
func (w *world) gateLines(op string) []gate.Record {
	w.t.Helper()
	path := "_gates/" + op + ".jsonl"
	if len(w.onLedger(path)) == 0 {
		return nil
	}
	lines, malformed := gate.ParseFile([]byte(w.git("show", ledgerRef+":"+path)))
	if malformed > 0 {
		w.t.Errorf("%s has %d malformed lines", path, malformed)
	}
	return lines
}

func (w *world) approvals(op string) (out []gate.Record) {
	w.t.Helper()
	for _, l := range w.gateLines(op) {
		if l.IsResolution() {
			out = append(out, l)
		}
	}
	return out
}

// applied is the commit the ledger says was last applied to an env, "" for none.
func (w *world) applied(env string) string {
	w.t.Helper()
	path := record.GreenApplyPath("", env)
	if len(w.onLedger(path)) == 0 {
		return ""
	}
	a, err := record.ParseApply([]byte(w.git("show", ledgerRef+":"+path)))
	if err != nil {
		w.t.Fatal(err)
	}
	return a.Commit
}
