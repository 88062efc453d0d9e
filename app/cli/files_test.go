package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine/report"
)

// A job's page shows the note that the pull request shows, one a stage, beside
// what earlier steps wrote; it never decides how a stage ends.
func TestTheNoteOfAStageIsAppendedToTheJobsSummary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	summary := filepath.Join(dir, "summary.md")
	if err := os.WriteFile(summary, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := report.New(report.Plan, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Status, r.Env, r.Message = report.Nothing, "prod", "no component is changed"
	out := outcome{report: r, document: []byte("{}"), note: note.Input{Report: r, Marker: "<!-- chant-pr:prod -->"}}
	h := &Host{Dir: dir, Environ: []string{"GITHUB_STEP_SUMMARY=" + summary}}
	for range 2 {
		if err := h.write("out", out); err != nil {
			t.Fatal(err)
		}
	}
	body, err := os.ReadFile(filepath.Join(dir, "out", noteFile))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(summary)
	if want := "before\n" + strings.Repeat(string(body)+"\n", 2); err != nil || string(got) != want {
		t.Errorf("%v: the summary holds\n%s\nwant\n%s", err, got, want)
	}
	h.Environ = []string{"GITHUB_STEP_SUMMARY=" + filepath.Join(dir, "gone", "summary.md")}
	if err := h.write("out", out); err != nil {
		t.Errorf("a summary that can't be written ended the stage: %v", err)
	}
}
