package project

import (
	"slices"
	"strings"
)

// closest returns the known word most like the given one, or "" when none is
// close enough to be meant. Ties go to the first in order.
func closest(word string, known []string) string {
	sorted := slices.Sorted(slices.Values(known))
	best, distance := "", max(2, len(word)/3+1)
	for _, k := range sorted {
		if strings.EqualFold(k, word) {
			return k
		}
		// A distance is at least the difference in length.
		if abs(len(k)-len(word)) >= distance {
			continue
		}
		if d := editDistance(strings.ToLower(word), strings.ToLower(k)); d < distance && d < len(k) {
			best, distance = k, d
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// editDistance is the optimal string alignment distance in bytes: insertions,
// deletions, substitutions and swaps of neighbours cost one each.
func editDistance(a, b string) int {
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
