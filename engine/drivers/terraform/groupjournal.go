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
	Members []journaledMember `json:"members"`
	// Joined is the joined state once the apply ended, absent before.
	Joined digest.Value `json:"joined,omitzero"`
	// Ended says how the apply ended, with Joined.
	Ended ended `json:"ended"`
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
// one.
func (g *Grouper) journal(t engine.GroupTarget) journal {
	name := sha256.Sum256([]byte(g.d.cfg.Scope + "\x00" + t.RunDir))
	return journal{g.key, filepath.Join(g.d.cfg.StateDir, "groups", hex.EncodeToString(name[:16]))}
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

// Unsettled tells that an apply of a group began in a run directory, and that its
// members do not all have their states: the joined state may be nowhere else.
func Unsettled(runDir string) bool {
	st, err := exec.Recover(filepath.Join(runDir, applyDir))
	begun := err == nil && st.State != exec.None
	return begun && isGone(filepath.Join(runDir, outcomeFile))
}

func (j journal) remove() error {
	if err := os.Remove(j.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the journal of a group: %w", err)
	}
	return nil
}
