// Package ledger reads and writes the orphan branch chant/lifecycle (pr-loop
// §1): append-only facts, pushed with a lease before the local branch moves. It
// knows how files are added and when a branch may be trusted, and nothing of
// what a line means.
package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/chant-bot/chant/engine/drivers/git"
)

// Branch is the ledger's branch.
const Branch = "chant/lifecycle"

var errUnfinished = errors.New("ledger: not built yet")

// Ledger is the lifecycle branch of one clone.
type Ledger struct{}

// Open returns the ledger of a clone; now stamps commits.
func Open(clone *git.Clone, now func() time.Time) *Ledger { return &Ledger{} }

// Snapshot is the ledger at one tip.
type Snapshot struct{}

// Tip is the commit the snapshot reads from.
func (s *Snapshot) Tip() string { return "" }

// Read returns a file's content.
func (s *Snapshot) Read(path string) ([]byte, bool, error) { return nil, false, errUnfinished }

// List names what a directory holds.
func (s *Snapshot) List(dir string) ([]string, error) { return nil, errUnfinished }

// Snapshot fetches, then pins the tip.
func (l *Ledger) Snapshot(ctx context.Context) (*Snapshot, error) { return nil, errUnfinished }

// File is one file to write.
type File struct {
	Path    string
	Content []byte
	// Append says that Content is one line, without its line end, to add to
	// what the file holds.
	Append bool
}

// Written says what became of an Update.
type Written struct {
	Tip     string
	Pushed  bool
	Warning string
}

// Update decides on a snapshot and writes.
func (l *Ledger) Update(ctx context.Context, message string, decide func(*Snapshot) ([]File, error)) (Written, error) {
	return Written{}, errUnfinished
}

// Accept takes the remote's ledger as it stands.
func (l *Ledger) Accept(ctx context.Context) error { return errUnfinished }
