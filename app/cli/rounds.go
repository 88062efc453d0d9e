package cli

import (
	"fmt"
	"path/filepath"

	"github.com/chant-bot/chant/engine/report"
)

// roundDir is where the plans of a round that waits are kept, for --from.
func roundDir(output string, round int) string {
	return filepath.Join(output, fmt.Sprintf("round-%d", round))
}

// rounds prints which rounds an apply came to, and what opens the one that waits.
func (h *Host) rounds(r report.Report, dir string) {
	for _, round := range r.Rounds {
		h.sayf("round %d, %s:", round.Round, round.Status)
		for _, m := range round.Members {
			h.sayf("  %s", m.Member)
			for _, read := range m.Reads {
				h.sayf("    reads %s.%s: planned with %s, now %s", read.From, read.Output, read.Planned, read.Now)
			}
		}
		if round.Status == report.WaveWaiting {
			line := report.CommandLine(round.Op, round.Gate, round.Digest, "", false)
			h.sayf("  to approve it: %s --from %s", line, roundDir(dir, round.Round))
		}
	}
}
