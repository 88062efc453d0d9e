package terraform

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/exec"
)

// begun notes an apply that somebody started: whoever did may be killed before they keep
// the state that it leaves, and nobody come back to its run (soundness I12).
type begun struct {
	RunDir string `json:"runDir"`
	State  string `json:"state"` // keptOf its place
}

// begunDir holds the notes.
func (d *Driver) begunDir() string { return filepath.Join(d.cfg.StateDir, "begun") }

func (d *Driver) begunFile(t engine.Target) string {
	run := sha256.Sum256([]byte(t.RunDir))
	return filepath.Join(d.begunDir(), d.keptPrefix(t)+hex.EncodeToString(run[:8])+".json")
}

// noteBegun notes the apply that is about to start.
func (w *workdir) noteBegun() error {
	if w.d.cfg.StateDir == "" {
		return nil
	}
	place, err := w.place()
	var text []byte
	if err == nil {
		text, err = json.Marshal(begun{RunDir: w.t.RunDir, State: w.d.keptOf(place)})
	}
	if err == nil {
		err = os.MkdirAll(w.d.begunDir(), 0o700)
	}
	if err == nil {
		err = writeDurably(w.d.begunFile(w.t), text)
	}
	if err != nil {
		return fmt.Errorf("noting that the apply of root %s begins: %w", w.t.Root.Name, err)
	}
	return nil
}

// seenToEnd takes the note away of an apply of which nothing is left to be kept. One that
// stays has the next plan look once more.
func (d *Driver) seenToEnd(t engine.Target) {
	if d.cfg.StateDir != "" {
		_ = os.Remove(d.begunFile(t))
	}
}

// keepLeft keeps what applies of the root left, or of what has its place, that nobody saw
// end.
func (w *workdir) keepLeft(ctx context.Context) error {
	entries, err := os.ReadDir(w.d.begunDir())
	if w.d.cfg.StateDir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var place string
	if err == nil {
		place, err = w.place()
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") { // one that a killed write left is none
			continue
		}
		if err == nil {
			err = w.keepLeftBy(ctx, filepath.Join(w.d.begunDir(), e.Name()), place)
		}
	}
	if err != nil {
		return fmt.Errorf("looking for what an earlier apply of root %s left: %w", w.t.Root.Name, err)
	}
	return nil
}

// keepLeftBy does so with one of them.
func (w *workdir) keepLeftBy(ctx context.Context, note, place string) error {
	text, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // seen to end meanwhile
	}
	var b begun
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		return err
	}
	if b.State != w.d.keptOf(place) && !strings.HasPrefix(filepath.Base(note), w.d.keptPrefix(w.t)) {
		return nil
	}
	if !isGone(b.RunDir) {
		st, err := exec.Recover(filepath.Join(b.RunDir, applyDir))
		notStarted := errors.Is(err, exec.ErrNotStarted)
		if err != nil && !notStarted {
			return err
		}
		if !notStarted && (st.State == exec.None || st.State == exec.Running) {
			return nil // it is about to start, or has its state's lock
		}
		state, ran, err := errored(b.RunDir)
		if err == nil && !state.IsAbsent() {
			_, err = w.d.keepState(w.t, ran.State, ran.keptAs(w.t.Keeper), state)
		}
		if err != nil {
			err = w.unkept(ctx, ran, err)
		}
		if err != nil {
			return err
		}
	}
	if err := os.Remove(note); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// unkept is why a root can't be planned of which a state was left that can't be kept, nil
// once somebody answers for the present one.
func (w *workdir) unkept(ctx context.Context, ran ranIn, why error) error {
	if w.t.Keeper == nil || ran.Kept == "" {
		return why
	}
	void, err := w.t.Keeper.Void(ctx, ran.Kept)
	if err == nil && void {
		return nil
	}
	if err == nil {
		err = w.t.Keeper.Keep(ctx, engine.KeptState{ID: ran.Kept, Member: w.t.Member, File: ran.file()})
	}
	told := fmt.Errorf("root %s is not planned: what an apply of it made is in no state, and the file %s of this machine that has it can't be kept. Bring what exists into the present state, and then %s", w.t.Root.Name, ran.file(), unlockWith(ran.Kept))
	return errors.Join(engine.Tell(told), why, err)
}
