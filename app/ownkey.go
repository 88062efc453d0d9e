package app

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chant-bot/chant/engine/drivers/sealed"
)

// ownKey reads the key that the server seals the journals of its groups with, and
// makes it at the first start. It lies in the server's own directory, as the journals
// do: it keeps states out of copies of them, not from who reads that directory.
func ownKey(path string) (sealed.Key, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = makeKey(path)
	}
	if err != nil {
		return sealed.Key{}, fmt.Errorf("the key for the journals of groups: %w", err)
	}
	return sealed.ParseKey(text)
}

// makeKey writes a key in one step, and takes another's who was first.
func makeKey(path string) ([]byte, error) {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return nil, err
	}
	text := []byte(hex.EncodeToString(secret))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".key-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	if _, err = f.Write(text); err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return os.ReadFile(path)
	} else if err != nil {
		return nil, err
	}
	return text, nil
}
