package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/sql/queue"
	"github.com/chant-bot/chant/sql/store"
)

// Migrate brings the schema of a database up to date, as a server does when it
// starts.
func Migrate(ctx context.Context, source string) error {
	d, err := store.Open(ctx, source)
	if err != nil {
		return err
	}
	return d.Close()
}

// MoveDatabase copies everything in an SQLite database into an empty PostgreSQL
// database, and leaves the old one as it is. No server may use either; it returns
// how much was copied, and *store.OccupiedError for a target with something in it.
func MoveDatabase(ctx context.Context, path, url string) (_ []store.Table, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("opening the database to move: %w", err)
	}
	unlock, err := lockBeside(ctx, path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	from, err := store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := store.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return store.Move(ctx, from, to, queue.Move(from))
}

// lockBeside keeps a server away whose state directory a database is in.
func lockBeside(ctx context.Context, path string) (unlock func(), err error) {
	name := filepath.Join(filepath.Dir(path), serverLock)
	if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
		return func() {}, nil // no state directory
	}
	ctx, cancel := context.WithTimeout(ctx, handover)
	defer cancel()
	lock, err := exec.LockFile(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("a server uses %s, stop it first: %w", path, err)
	}
	return lock.Unlock, nil
}
