package live

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/run"
)

// screen is a terminal as far as a table uses one.
type screen struct{ lines []string }

var moves = regexp.MustCompile(`^\x1b\[(\d+)A\r\x1b\[J`)

func (s *screen) Write(p []byte) (int, error) {
	text := string(p)
	if m := moves.FindStringSubmatch(text); m != nil {
		up, _ := strconv.Atoi(m[1])
		s.lines, text = s.lines[:len(s.lines)-up], text[len(m[0]):]
	}
	s.lines = append(s.lines, strings.Split(strings.TrimSuffix(text, "\n"), "\n")...)
	return len(p), nil
}

// aRun is a run of waves of that many members each.
func aRun(t *testing.T, waves ...int) *run.State {
	t.Helper()
	c := run.Config{Commit: "c1", DependsOn: map[string][]string{}}
	for w, members := range waves {
		var names []string
		for i := range members {
			name := fmt.Sprintf("m%d-%03d", w+1, i)
			names = append(names, name)
			c.Units = append(c.Units, run.Unit{Member: name, Component: name, Phase: "deploy", Step: "terraform-apply"})
			if w > 0 {
				c.DependsOn[name] = []string{"m1-000"}
			}
		}
		c.Waves = append(c.Waves, names)
	}
	s, err := run.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestATableStandsBelowWhatIsSaid(t *testing.T) {
	t.Parallel()
	var seen screen
	now := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	table := newTable(&seen, func() (int, int) { return 80, 24 }, func() time.Time { return now })
	s := aRun(t, 1, 2)
	table.Show(run.Passes{s})
	do(t, s.Start("m1-000"))
	table.Show(run.Passes{s})
	now = now.Add(75 * time.Second)
	_, _ = fmt.Fprintln(table, "a warning")
	do(t, s.Settle("m1-000", run.Outcome{Error: "conflict"}))
	table.Show(run.Passes{s})
	want := []string{
		"a warning",
		"wave 1 of 2: 1 of 1 settled",
		"  m1-000  failed  1:15",
		"wave 2 of 2: 2 of 2 settled",
		"  m2-000  blocked by m1-000, not run",
		"  m2-001  blocked by m1-000, not run",
	}
	if diff := cmp.Diff(want, seen.lines); diff != "" {
		t.Error(diff)
	}
}

// However many members there are, the table fits the terminal and counts each.
func TestATableFitsTheTerminal(t *testing.T) {
	t.Parallel()
	var seen screen
	table := newTable(&seen, func() (int, int) { return 30, 12 }, time.Now)
	s := aRun(t, 150, 50)
	for i := range 100 {
		name := fmt.Sprintf("m1-%03d", i)
		do(t, s.Start(name))
		if i < 97 {
			do(t, s.Settle(name, run.Outcome{}))
		}
	}
	table.Show(run.Passes{s})
	if len(seen.lines) > 10 {
		t.Errorf("%d lines", len(seen.lines))
	}
	for _, name := range []string{"m1-097", "m1-098", "m1-099"} {
		if !strings.Contains(strings.Join(seen.lines, "\n"), name+"  applies") {
			t.Errorf("%s runs and is not shown", name)
		}
	}
	for _, line := range seen.lines {
		if len([]rune(line)) > 29 {
			t.Errorf("too wide: %q", line)
		}
	}
	shown, counted := 0, 0
	for _, line := range table.lines(10) {
		if strings.HasPrefix(line, "  m") {
			shown++
		}
		if rest, found := strings.CutPrefix(line, "  and "); found {
			for part := range strings.SplitSeq(rest, ", ") {
				n, err := strconv.Atoi(strings.Fields(part)[0])
				do(t, err)
				counted += n
			}
		}
	}
	if shown+counted != 200 {
		t.Errorf("%d shown and %d counted of 200", shown, counted)
	}
}

func TestThereIsNoTableWhereNothingCanRedraw(t *testing.T) {
	t.Parallel()
	file, err := os.CreateTemp(t.TempDir(), "out")
	do(t, err)
	t.Cleanup(func() { _ = file.Close() })
	if On(new(bytes.Buffer), "xterm", time.Now) != nil || On(file, "xterm", time.Now) != nil {
		t.Error("a table in what is no terminal")
	}
}
