package sealed

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// OwnKey reads the key in a file, and makes it where there is none. Beside what it seals
// it keeps that from who has copies of it, and not from who reads the directory.
func OwnKey(path string) (Key, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = makeKeyFile(path)
	}
	if err != nil {
		return Key{}, fmt.Errorf("a key of our own: %w", err)
	}
	return ParseKey(text)
}

// makeKeyFile writes a key in one step, and takes another's who was first.
func makeKeyFile(path string) ([]byte, error) {
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
