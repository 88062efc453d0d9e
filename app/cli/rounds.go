package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine/report"
)

// The directories that hold the plans of a round or a wave that waits, for --from.
func roundDir(output string, n int) string { return filepath.Join(output, fmt.Sprintf("round-%d", n)) }
func waveDir(output string, k int) string  { return filepath.Join(output, fmt.Sprintf("wave-%d", k)) }

// keepPass leaves the plans of the round or wave that an apply waits at; those of a
// wave also where pr-loop §5.6 has them.
func (h *Host) keepPass(output string, a *usecase.Apply) error {
	_, pass, ok := a.Waiting()
	switch {
	case !ok:
		return nil
	case pass.Round > 0:
		return h.keepWaiting(roundDir(output, pass.Round), pass.Set.Document, pass.Set.Shown())
	case pass.Wave == 0:
		return nil
	}
	if err := h.keepWaiting(waveDir(output, pass.Wave), pass.Set.Document, pass.Set.Shown()); err != nil {
		return err
	}
	name := filepath.Join(h.path(output), fmt.Sprintf("change-set-wave-%d.json", pass.Wave))
	if err := os.WriteFile(name, pass.Set.Document.JSON(), 0o644); err != nil { //nolint:gosec // an artifact
		return fmt.Errorf("writing the plan of a wave: %w", err)
	}
	return nil
}

// passes prints which rounds and waves an apply came to, and what opens the one that
// waits, unless nothing does, which the report's message says.
func (h *Host) passes(r report.Report, dir string, unenforced []string) {
	for _, round := range r.Rounds {
		h.sayf("round %d, %s:", round.Round, round.Status)
		for _, m := range round.Members {
			h.sayf("  %s", m.Member)
			for _, read := range m.Reads {
				h.sayf("    reads %s.%s: planned with %s, now %s", read.From, read.Output, read.Planned, read.Now)
			}
		}
		if round.Status == report.WaveWaiting && len(unenforced) == 0 {
			h.sayf("  to approve it: %s", changeLine(round.Op, round.Gate, round.Digest, roundDir(dir, round.Round)))
		}
	}
	for _, w := range r.Waves {
		under := ""
		if w.Via != "" {
			under = ", under the " + string(w.Via)
		}
		h.sayf("wave %d, %s%s", w.Wave, w.Status, under)
		if w.Status == report.WaveWaiting && len(unenforced) == 0 {
			h.sayf("  to approve it: %s", changeLine(w.Op, w.Gate, w.Digest, waveDir(dir, w.Wave)))
		}
	}
}

// waitingPasses are the gates of the rounds and waves that wait, unless no approval opens
// one.
func waitingPasses(r report.Report, unenforced []string) []string {
	var gates []string
	if len(unenforced) > 0 {
		return nil
	}
	for _, round := range r.Rounds {
		if round.Status == report.WaveWaiting {
			gates = append(gates, round.Op+" "+round.Gate)
		}
	}
	for _, w := range r.Waves {
		if w.Status == report.WaveWaiting {
			gates = append(gates, w.Op+" "+w.Gate)
		}
	}
	return gates
}
