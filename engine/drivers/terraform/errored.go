package terraform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/exec"
)

// erroredFile is where the tool writes a state that the backend did not take, in the
// directory that it runs in. What the apply made is then known to that file alone, and
// goes with the checkout unless it is taken out of it (soundness I12).
const erroredFile = "errored.tfstate"

// ranFile is where a run directory notes ranIn.
const ranFile = "ran-in.json"

// ranIn is where an apply runs, for whoever has to look for what it left there.
type ranIn struct {
	Worktree string `json:"worktree"`
	Dir      string `json:"dir"`   // relative to it
	State    string `json:"state"` // place of the root's state
	Kept     string `json:"kept"`  // id of the state, should it be kept
}

// file is where the tool leaves a state that it can't store.
func (r ranIn) file() string { return filepath.Join(r.Worktree, r.Dir, erroredFile) }

// keptAs is the id of its state, "" where nobody is told of it.
func (r ranIn) keptAs(keeper engine.Keeper) string {
	switch {
	case keeper == nil:
		return ""
	case r.Kept == "": // of a version that drew none, or not read
		return newKeptID()
	}
	return r.Kept
}

// noteWhere notes where an apply is about to run. A file that a checkout brings is in the
// tool's way, which would have no place for the state then but what it prints.
func (w *workdir) noteWhere() error {
	place, err := w.place()
	var text []byte
	if err == nil {
		text, err = json.Marshal(ranIn{Worktree: w.t.Worktree, Dir: w.rel, State: place, Kept: newKeptID()})
	}
	if err == nil {
		err = w.tree.RemoveAll(filepath.Join(w.rel, erroredFile))
	}
	if err == nil {
		err = writeDurably(filepath.Join(w.t.RunDir, ranFile), text)
	}
	if err != nil {
		return fmt.Errorf("noting where root %s is applied: %w", w.t.Root.Name, err)
	}
	return nil
}

// read reads the file, nil for none.
func (r ranIn) read() ([]byte, error) {
	tree, err := os.OpenRoot(r.Worktree)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = tree.Close() }()
	f, err := openRegular(tree, filepath.Join(r.Dir, erroredFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readAtMost(f, maxState)
}

// errored is the state that the apply of a run directory left because its backend did not
// take it, absent for none, and where that ran.
func errored(runDir string) (state digest.Value, ran ranIn, err error) {
	text, err := os.ReadFile(filepath.Join(runDir, ranFile))
	if errors.Is(err, fs.ErrNotExist) {
		return digest.Value{}, ran, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &ran)
	}
	var left []byte
	if err == nil {
		left, err = ran.read()
	}
	if err != nil {
		return digest.Value{}, ran, fmt.Errorf("looking for a state that was not stored: %w", err)
	}
	if left == nil {
		return digest.Value{}, ran, nil
	}
	if state, err = digest.Decode(left); err != nil {
		return digest.Value{}, ran, engine.Tell(fmt.Errorf("the state that was not stored, in %s of the machine that applied, can't be read: %w", ran.file(), err))
	}
	return state, ran, nil
}

// erroredOfGroup is errored, taken into the run directory: whoever opens the group once
// more makes its root anew, and would find the joined state from before the apply alone.
func erroredOfGroup(runDir string) (digest.Value, error) {
	taken := filepath.Join(runDir, erroredFile)
	text, err := os.ReadFile(taken)
	if err == nil {
		return digest.Decode(text)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return digest.Value{}, fmt.Errorf("reading a state that was not stored: %w", err)
	}
	state, _, err := errored(runDir)
	if err == nil && !state.IsAbsent() {
		err = writeDurably(taken, []byte(state.String()))
	}
	return state, err
}

// keepErrored keeps the state that a failed apply left, has every machine know of it, and
// says so in its outcome. One that can't be kept is told of too: no file keeps its member
// from being planned then.
func (d *Driver) keepErrored(ctx context.Context, t engine.Target, printed bool, out *engine.Outcome) {
	state, ran, err := errored(t.RunDir)
	if err == nil && state.IsAbsent() && printed {
		err = errPrinted
	}
	if err == nil && state.IsAbsent() || d.cfg.StateDir == "" {
		return
	}
	kept := engine.KeptState{ID: ran.keptAs(t.Keeper), Member: t.Member, File: ran.file()}
	var path string
	if err == nil {
		path, err = d.keepState(t, ran.State, kept.ID, state)
	}
	if err == nil {
		kept.File = path
		out.Error += "\nThe state that its backend did not take " + d.isKept(t.Member, path)
	} else {
		out.Error += "\nwhat it made is in no state, and what has it can't be kept"
		if t.Keeper != nil {
			out.Error += ": nothing of it is planned before the present state has it; then " + unlockWith(kept.ID)
		}
		out.Fault = errors.Join(out.Fault, err)
	}
	if t.Keeper == nil {
		return
	}
	if err := t.Keeper.Keep(context.WithoutCancel(ctx), kept); err != nil {
		out.Error += "\nOther machines can't be told of it now, and apply what it made once more: apply nothing of it elsewhere"
		out.Fault = errors.Join(out.Fault, err)
	}
}

// errPrinted is a state that was written nowhere: what is printed has no secret any more,
// and is no state that could be pushed.
var errPrinted = engine.Tell(errors.New("the tool could write the state nowhere and printed it"))

// isPrinted tells that there is a state in what the tool printed.
func isPrinted(text []byte) bool { return bytes.Contains(withoutState(text), []byte(stateLeftOut)) }

// statesBegin are the first lines of a state that terraform prints where it can write it
// nowhere: it holds every secret that the root has.
var statesBegin = [...]string{"{", `  "version": `}

// isStateLine tells that a line is a state as tofu prints it: whole in one line.
func isStateLine(line string) bool {
	return strings.HasPrefix(line, `{"`) && strings.Contains(line, `"lineage":`)
}

const stateLeftOut = "(a state is left out here)"

// withoutState is what the tool printed without a state in it.
func withoutState(text []byte) []byte {
	var out []byte
	sink := statesOut(func(line string) { out = append(append(out, line...), '\n') })
	for line := range strings.Lines(string(text)) {
		sink(strings.TrimSuffix(line, "\n"))
	}
	return out
}

// shownLines hands the lines of a tool's streams on to a sink, but no state. The two come
// in between each other, and each is looked at by itself.
func shownLines(to engine.Sink) func(stream, line string) {
	if to == nil {
		return nil
	}
	streams := map[string]engine.Sink{}
	return func(stream, line string) {
		if streams[stream] == nil {
			streams[stream] = statesOut(to)
		}
		streams[stream](line)
	}
}

// statesOut is a sink that lets lines through to another one, but no state.
func statesOut(to engine.Sink) engine.Sink {
	begun, within, goesOn := false, false, false
	return func(line string) {
		was := begun
		begun = false
		switch {
		case goesOn: // a long line comes in pieces
			goesOn = len(line) >= exec.MaxLine
			return
		case within:
			within = line != "}"
			return
		case was && strings.HasPrefix(line, statesBegin[1]):
			within = true
			to(stateLeftOut)
			return
		case was:
			to(statesBegin[0])
		}
		switch {
		case line == statesBegin[0]:
			begun = true // what it begins the next line tells
		case isStateLine(line):
			goesOn = len(line) >= exec.MaxLine
			to(stateLeftOut)
		default:
			to(line)
		}
	}
}
