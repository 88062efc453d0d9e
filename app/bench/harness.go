package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// bar is one thing measured.
type bar struct {
	name, about string
	measure     func(ctx context.Context, b *bench) error
}

// bench is one run over some bars.
type bench struct {
	chant, terraform, self string // programs
	dir                    string // for files, removed at the end
	short, real            bool
	progress               io.Writer

	bar  string // being measured
	rows []row
}

// row is one line of the table.
type row struct {
	bar, figure string
	samples     []float64
	unit        string
	limit       string // "<= 0.35"; empty for a figure that is only reported
	missed      bool
}

// unit of a ratio of ours to the floor.
const ratio = "x"

// atMost adds a figure whose median may not be above a limit.
func (b *bench) atMost(figure string, samples []float64, limit float64, unit string) {
	b.add(row{figure: figure, samples: samples, unit: unit, limit: fmt.Sprintf("<= %g", limit), missed: !(median(samples) <= limit)})
}

// atLeast adds a figure whose median may not be below a limit.
func (b *bench) atLeast(figure string, samples []float64, limit float64, unit string) {
	b.add(row{figure: figure, samples: samples, unit: unit, limit: fmt.Sprintf(">= %g", limit), missed: !(median(samples) >= limit)})
}

// note adds a figure without a limit.
func (b *bench) note(figure string, samples []float64, unit string) {
	b.add(row{figure: figure, samples: samples, unit: unit})
}

func (b *bench) add(r row) {
	r.bar = b.bar
	b.rows = append(b.rows, r)
	fmt.Fprintf(b.progress, "  %s %s\n", r.figure, r.text())
}

// say reports progress.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.progress, "  "+format+"\n", args...)
}

// of chooses a size.
func (b *bench) of(full, short int) int {
	if b.short {
		return short
	}
	return full
}

// tempDir makes a directory that lasts as long as the run.
func (b *bench) tempDir(name string) (string, error) {
	dir, err := os.MkdirTemp(b.dir, name+"-")
	if err != nil {
		return "", fmt.Errorf("making a directory: %w", err)
	}
	return filepath.EvalSymlinks(dir)
}

func (r row) text() string {
	text := fmt.Sprintf("%s%s", number(median(r.samples)), r.unit)
	if r.limit != "" {
		text += " (" + r.limit + ")"
	}
	if r.missed {
		text += " MISSED"
	}
	return text
}

// number keeps three digits that count.
func number(v float64) string { return fmt.Sprintf("%.3g", v) }

// print writes the table.
func (b *bench) print(out io.Writer) {
	fmt.Fprintf(out, "%s/%s, %d processors; ratios are ours to the floor, medians over n pairs\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "bar\tfigure\tmedian\tlimit\tn\tmin\tmax\t")
	for _, r := range b.rows {
		verdict := ""
		if r.missed {
			verdict = "MISSED"
		}
		fmt.Fprintf(w, "%s\t%s\t%s%s\t%s\t%d\t%s\t%s\t%s\n", r.bar, r.figure, number(median(r.samples)), r.unit, r.limit,
			len(r.samples), number(slices.Min(r.samples)), number(slices.Max(r.samples)), verdict)
	}
	_ = w.Flush()
}

// missed names every figure beyond its limit.
func (b *bench) missed() error {
	var missed []string
	for _, r := range b.rows {
		if r.missed {
			missed = append(missed, fmt.Sprintf("%s: %s is %s%s, want %s", r.bar, r.figure, number(median(r.samples)), r.unit, r.limit))
		}
	}
	if len(missed) == 0 {
		return nil
	}
	return errors.New("missed:\n  " + strings.Join(missed, "\n  "))
}

// sample measures one thing once, in any unit.
type sample func() (float64, error)

// inTurn takes n samples of each, A B A B, so that what the machine does
// meanwhile it does to all.
func inTurn(n int, of ...sample) ([][]float64, error) {
	taken := make([][]float64, len(of))
	for range n {
		for i, take := range of {
			v, err := take()
			if err != nil {
				return nil, err
			}
			taken[i] = append(taken[i], v)
		}
	}
	return taken, nil
}

// over divides pair by pair.
func over(ours, floor []float64) []float64 {
	out := make([]float64, len(ours))
	for i := range ours {
		out[i] = ours[i] / floor[i]
	}
	return out
}

func median(samples []float64) float64 { return quantile(samples, 0.5) }

// quantile takes the nearest rank; of no samples it is NaN-free and 0.
func quantile(samples []float64, q float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 == len(sorted) {
		return sorted[low]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}
