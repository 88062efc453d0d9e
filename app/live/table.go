// Package live draws how an apply stands as a table on a terminal, in place. It
// reads the state of the run and decides nothing.
package live

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine/run"
)

// Table is drawn below whatever else is written to the terminal: what is written
// through it appears above.
type Table struct {
	out  io.Writer
	size func() (width, height int)
	now  func() time.Time

	mu      sync.Mutex
	rows    []row
	since   map[string]time.Time     // when a member was first seen running
	took    map[string]time.Duration // of those seen to end
	drawn   int                      // lines on the screen
	stop    chan struct{}
	stopped chan struct{}
}

// row is one member.
type row struct {
	member string // as the run names it
	words  string // how it stands
	wave   int
	status run.Status
}

// On starts a table on w, nil unless w is a terminal that can redraw. TERM is that
// of the environment.
func On(w io.Writer, termName string, now func() time.Time) *Table {
	f, ok := w.(*os.File)
	if !ok || termName == "" || termName == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	t := newTable(f, func() (int, int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil || width < 20 || height < 5 {
			return 80, 24
		}
		return width, height
	}, now)
	go t.tick()
	return t
}

func newTable(out io.Writer, size func() (int, int), now func() time.Time) *Table {
	return &Table{
		out: out, size: size, now: now, since: map[string]time.Time{}, took: map[string]time.Duration{},
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
}

// tick redraws while something runs, so that its time goes on.
func (t *Table) tick() {
	defer close(t.stopped)
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-t.stop:
			return
		case <-every.C:
			t.mu.Lock()
			t.redraw("")
			t.mu.Unlock()
		}
	}
}

// Show draws the state of a run from now on.
func (t *Table) Show(p run.Passes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = t.rows[:0]
	for _, m := range p.Members() {
		name := m.Member
		t.rows = append(t.rows, row{member: name, words: words(m), wave: m.Wave, status: m.Status})
		began, seen := t.since[name]
		switch {
		case m.Status == run.Pending: // of a plan made anew
			delete(t.since, name)
			delete(t.took, name)
		case m.Status == run.Running && !seen:
			t.since[name] = t.now()
		case m.Status.Final() && seen && t.took[name] == 0:
			t.took[name] = t.now().Sub(began)
		}
	}
	t.redraw("")
}

// Write puts text above the table.
func (t *Table) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.redraw(string(p))
	return len(p), nil
}

// End leaves the table as it stands; what is written afterwards stands below it.
func (t *Table) End() {
	close(t.stop)
	<-t.stopped
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows, t.drawn = nil, 0
}

// words say how a member stands.
func words(m *run.MemberState) string {
	switch m.Status {
	case run.Pending:
		return "waits"
	case run.Running:
		return "applies"
	case run.NoChanges:
		return "nothing to apply"
	case run.Blocked:
		return "blocked by " + note.Plain(m.BlockedBy) + ", not run"
	case run.Held:
		if m.BlockedBy != "" {
			return "held behind " + note.Plain(m.BlockedBy)
		}
		return "held: what it reads turned out different"
	case run.Unknown:
		return "started, its end was not seen"
	case run.Applied, run.Failed:
	}
	return string(m.Status)
}

// redraw clears what is drawn, writes text and draws the table below it.
func (t *Table) redraw(text string) {
	var b strings.Builder
	if t.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", t.drawn)
	}
	b.WriteString(text)
	width, height := t.size()
	lines := t.lines(max(3, height-2))
	for _, line := range lines {
		b.WriteString(cut(line, width-1))
		b.WriteByte('\n')
	}
	t.drawn = len(lines)
	_, _ = io.WriteString(t.out, b.String()) // a terminal that is gone ends nothing
}

// lines is the table in at most so many lines: where there is no room for every
// member, those that are under way or went wrong come first, and the rest is
// counted.
func (t *Table) lines(room int) []string {
	rows, left := t.rows, map[run.Status]int{}
	if len(t.rows) > 0 && len(t.rows)+t.rows[len(t.rows)-1].wave > room {
		rows = nil
		for _, interesting := range []bool{true, false} {
			for _, r := range t.rows {
				if urgent(r.status) != interesting {
					continue
				}
				if len(rows) < room/2 {
					rows = append(rows, r)
				} else {
					left[r.status]++
				}
			}
		}
		slices.SortStableFunc(rows, func(a, b row) int { return a.wave - b.wave })
	}
	names := 0
	for _, r := range rows {
		names = max(names, min(len([]rune(r.member)), longest))
	}
	var out []string
	wave := 0
	for _, r := range rows {
		if r.wave != wave {
			wave = r.wave
			out = append(out, t.heading(wave))
		}
		out = append(out, fmt.Sprintf("  %-*s  %s%s", names, cut(note.Plain(r.member), longest), r.words, t.time(r)))
	}
	return append(out, rest(left)...)
}

// longest is how much room the name of a member gets.
const longest = 40

func urgent(s run.Status) bool {
	return s == run.Running || s == run.Failed || s == run.Held || s == run.Unknown
}

// heading counts a wave.
func (t *Table) heading(wave int) string {
	settled, all := 0, 0
	for _, r := range t.rows {
		if r.wave == wave {
			all++
			if r.status.Final() {
				settled++
			}
		}
	}
	return fmt.Sprintf("wave %d of %d: %d of %d settled", wave, t.rows[len(t.rows)-1].wave, settled, all)
}

// time is how long a member runs or ran, where that was seen.
func (t *Table) time(r row) string {
	long, ended := t.took[r.member]
	if began, seen := t.since[r.member]; !ended && seen {
		long = t.now().Sub(began)
	}
	if long < time.Second {
		return ""
	}
	return fmt.Sprintf("  %d:%02d", int(long.Minutes()), int(long.Seconds())%60)
}

// rest counts what is not shown.
func rest(left map[run.Status]int) []string {
	var parts []string
	for _, s := range []run.Status{run.Running, run.Failed, run.Held, run.Unknown, run.Blocked, run.Pending, run.Applied, run.NoChanges} {
		if n := left[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"  and " + strings.Join(parts, ", ")}
}

// cut shortens a line to a width.
func cut(line string, width int) string {
	runes := []rune(line)
	if len(runes) <= width {
		return line
	}
	return string(runes[:width-1]) + "…"
}
