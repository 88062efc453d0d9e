package terraform

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/google/uuid"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/drivers/sealed"
	"github.com/chant-bot/chant/engine/plans/terraform/states"
)

// journaled is what has to be known to give every member of a group its state,
// from before the apply until the last one has it (soundness I12).
type journaled struct {
	Group   string            `json:"group"`
	RunDir  string            `json:"runDir"` // in which the joined state is during the apply
	Memo    []byte            `json:"memo"`   // the caller's
	Members []journaledMember `json:"members"`
	// Joined is the joined state once the apply ended, absent before.
	Joined digest.Value `json:"joined,omitzero"`
	// Ended says how the apply ended, with Joined.
	Ended ended `json:"ended"`
	// Unstarted: nothing was applied yet. Given: every member has its state. Kept: every
	// member has it but those of which it is in a file. With either nothing but that is
	// left to do, and the states are left out.
	Unstarted bool `json:"unstarted,omitempty"`
	Given     bool `json:"given,omitempty"`
	Kept      bool `json:"kept,omitempty"`
}

type journaledMember struct {
	Member    string       `json:"member"`
	ID        string       `json:"id"`
	State     digest.Value `json:"state,omitzero"` // as it was pulled
	Lineage   string       `json:"lineage"`        // of a first state
	Providers []string     `json:"providers"`
}

// ended is the end of an apply. Seen is false when nobody observed it.
type ended struct {
	Seen     bool   `json:"seen"`
	ExitCode int    `json:"exitCode"`
	Said     string `json:"said"` // of a failure, for people
}

func (j journaled) joinable() []states.Member {
	all := make([]states.Member, len(j.Members))
	for i, m := range j.Members {
		all[i] = states.Member{ID: m.ID, State: m.State, Lineage: m.Lineage, Providers: m.Providers}
	}
	return all
}

func newLineage() string { return uuid.NewString() }

// journalPurpose keeps a journal apart from other sealed files.
const journalPurpose = "terraform group"

// journal is the sealed file of one group's apply.
type journal struct {
	key  sealed.Key
	path string
}

// journal is where that of a group's run is. Groups with one run directory are
// one. Its name begins with its scope's, so that it can be told without the key.
func (g *Grouper) journal(t engine.GroupTarget) journal {
	name := sha256.Sum256([]byte(t.RunDir))
	return journal{g.key, filepath.Join(g.journals(), g.scope()+hex.EncodeToString(name[:16]))}
}

func (g *Grouper) journals() string { return journalsIn(g.d.cfg.StateDir) }

func journalsIn(stateDir string) string { return filepath.Join(stateDir, "groups") }

func (g *Grouper) scope() string {
	name := sha256.Sum256([]byte(g.d.cfg.Scope))
	return hex.EncodeToString(name[:8]) + "-"
}

// Unended implements engine.Grouper.
func (g *Grouper) Unended() ([]engine.UnendedGroup, error) {
	return unended(g.journals(), g.scope(), g.key)
}

// Unended are those of every scope that have their journals in a state directory.
func Unended(stateDir string, key sealed.Key) ([]engine.UnendedGroup, error) {
	return unended(journalsIn(stateDir), "", key)
}

func unended(dir, scope string, key sealed.Key) ([]engine.UnendedGroup, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("looking for journals of groups: %w", err)
	}
	var out []engine.UnendedGroup
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), scope) || strings.HasPrefix(e.Name(), ".") { // one that a killed write left is none
			continue
		}
		path := filepath.Join(dir, e.Name())
		one := engine.UnendedGroup{Journal: path}
		content, begun, err := journal{key, path}.read()
		if one.Memo, one.Err = content.Memo, err; begun || err != nil {
			out = append(out, one)
		}
	}
	return out, nil
}

// released is where the journals are that somebody's word made void.
func (g *Grouper) released() string { return filepath.Join(g.d.cfg.StateDir, "groups-released") }

// Forget implements engine.Grouper.
func (g *Grouper) Forget(u engine.UnendedGroup) error {
	err := os.MkdirAll(g.released(), 0o700)
	if err == nil {
		err = os.Rename(u.Journal, filepath.Join(g.released(), filepath.Base(u.Journal)))
	}
	if err != nil {
		return fmt.Errorf("putting the journal of a group aside: %w", err)
	}
	return nil
}

// begin writes it for the first time. Without it nothing may be applied, and people are
// told what is wrong with the place where it has to be.
func (j journal) begin(content journaled) error {
	err := j.write(content)
	if no, ok := errors.AsType[syscall.Errno](err); ok {
		return engine.Tell(fmt.Errorf("nothing was applied: the journal of the group %s can't be written to the state directory of the machine that applies (%w); mend that and apply again", content.Group, no))
	}
	return err
}

func (j journal) write(content journaled) error {
	text, err := json.Marshal(content)
	if err == nil {
		err = j.key.Write(j.path, journalPurpose, text)
	}
	if err != nil {
		return fmt.Errorf("writing the journal of the group %s: %w", content.Group, err)
	}
	return nil
}

// read reads it; begun is false when there is none.
func (j journal) read() (content journaled, begun bool, err error) {
	text, err := j.key.Read(j.path, journalPurpose)
	if errors.Is(err, fs.ErrNotExist) {
		return journaled{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	if err != nil {
		return journaled{}, false, fmt.Errorf("reading the journal of a group: %w", err)
	}
	return content, true, nil
}

// UnsettledIn tells that any of the groups in a directory of runs is unsettled.
func UnsettledIn(dir string) bool {
	runs, _ := os.ReadDir(dir) // what can't be read can't be removed either
	return slices.ContainsFunc(runs, func(e fs.DirEntry) bool { return unsettled(filepath.Join(dir, e.Name())) })
}

// unsettled tells that an apply of a group began in a run directory, and that its
// members do not all have their states: the joined state may be nowhere else.
func unsettled(runDir string) bool {
	st, err := exec.Recover(filepath.Join(runDir, applyDir))
	begun := st.State != exec.None
	if err != nil { // of any other there is no telling
		begun = !errors.Is(err, exec.ErrNotStarted)
	}
	return begun && isGone(filepath.Join(runDir, outcomeFile))
}

func (j journal) remove() error {
	if err := os.Remove(j.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the journal of a group: %w", err)
	}
	return nil
}
