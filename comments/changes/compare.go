package changes

import (
	"fmt"
	"slices"
)

const (
	context  = 2         // unchanged lines kept on each side of a change
	maxTable = 1_000_000 // cells of the comparison; beyond it both sides are shown whole
)

// Compare is the line difference of two texts: every changed line, with a little
// of what stands around it.
func Compare(before, after []string) []Line {
	head := 0
	for head < len(before) && head < len(after) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < len(before)-head && tail < len(after)-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	var lines []Line
	for _, l := range before[:head] {
		lines = append(lines, Line{Same, l})
	}
	lines = append(lines, middle(before[head:len(before)-tail], after[head:len(after)-tail])...)
	for _, l := range before[len(before)-tail:] {
		lines = append(lines, Line{Same, l})
	}
	return bound(fold(lines))
}

// middle compares by longest common subsequence.
func middle(a, b []string) []Line {
	var lines []Line
	if len(a)*len(b) > maxTable {
		for _, l := range a {
			lines = append(lines, Line{Removed, l})
		}
		for _, l := range b {
			lines = append(lines, Line{Added, l})
		}
		return lines
	}
	common := make([][]int32, len(a)+1) // of a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i := range slices.Backward(a) {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, Line{Same, a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, Line{Removed, a[i]})
			i++
		default:
			lines = append(lines, Line{Added, b[j]})
			j++
		}
	}
	return lines
}

// fold replaces long stretches without change by their number of lines.
func fold(lines []Line) []Line {
	keep := make([]bool, len(lines))
	for i, l := range lines {
		if l.Op == Same {
			continue
		}
		for j := max(0, i-context); j <= min(len(lines)-1, i+context); j++ {
			keep[j] = true
		}
	}
	var out []Line
	for i := 0; i < len(lines); i++ {
		start := i
		for i < len(lines) && !keep[i] {
			i++
		}
		if skipped := i - start; skipped > 1 {
			out = append(out, Line{Same, fmt.Sprintf("… %d unchanged lines", skipped)})
		} else if skipped == 1 {
			out = append(out, lines[start])
		}
		if i < len(lines) {
			out = append(out, lines[i])
		}
	}
	return out
}

func bound(lines []Line) []Line {
	if len(lines) <= maxLines {
		return lines
	}
	rest := len(lines) - maxLines
	return append(lines[:maxLines:maxLines], Line{Hidden, fmt.Sprintf("… %d more lines", rest)})
}
