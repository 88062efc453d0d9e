package sealed

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chant-bot/chant/engine/drivers/exec"
)

// MakeKey is the line of a shell that makes a key in the file chant.key.
const MakeKey = "(umask 077; openssl rand -hex 32 > chant.key)"

// Key seals and opens files. Printing it in any way shows nothing of it.
type Key struct{ secret *[sha256.Size]byte }

// IsZero tells that there is no key.
func (k Key) IsZero() bool { return k.secret == nil }

func (k Key) String() string { return "[key]" }

// GoString keeps %#v from showing the fields.
func (k Key) GoString() string { return k.String() }

// MarshalText shows what String shows.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

var errNoKey = errors.New("there is no key")

// derive makes one secret a use, so that what the file shows of one says nothing
// about the other.
func (k Key) derive(use string) ([]byte, error) {
	if k.secret == nil {
		return nil, errNoKey
	}
	return hkdf.Expand(sha256.New, k.secret[:], "chant sealed "+use, sha256.Size)
}

// id names the key in a file, so that a wrong key is told from a changed file.
func (k Key) id() string {
	name, err := k.derive("name")
	if err != nil {
		return ""
	}
	return hex.EncodeToString(name[:8])
}

// ParseKey reads a key: 64 hexadecimal digits, with or without a line end. An
// error never quotes it.
func ParseKey(text []byte) (Key, error) {
	digits := bytes.TrimSpace(text)
	var secret [sha256.Size]byte
	if len(digits) != hex.EncodedLen(len(secret)) {
		return Key{}, fmt.Errorf("want a key of 64 hexadecimal digits, got %d characters; make one with: %s", len(digits), MakeKey)
	}
	if _, err := hex.Decode(secret[:], digits); err != nil {
		return Key{}, fmt.Errorf("want a key of 64 hexadecimal digits, got others among them; make one with: %s", MakeKey)
	}
	return Key{secret: &secret}, nil
}

// Source is where a key comes from.
type Source struct {
	// Ref is file:PATH, env:NAME or command:LINE, of which the last is a line for
	// a shell that prints the key. A key itself is none: whoever lists processes
	// would read it.
	Ref     string
	Dir     string   // relative paths are below it, and a command runs in it
	Environ []string // KEY=VALUE: what env: reads from and a command gets
}

// commandTime bounds a command that prints a key.
const commandTime = time.Minute

// Key reads the key. Errors name where it was looked for.
func (s Source) Key(ctx context.Context) (Key, error) {
	kind, rest, _ := strings.Cut(s.Ref, ":")
	var text []byte
	var err error
	switch {
	case rest == "":
		err = errors.New("want file:PATH, env:NAME or command:LINE")
	case kind == "file":
		text, err = s.file(rest)
	case kind == "env":
		text, err = s.variable(rest)
	case kind == "command":
		text, err = s.command(ctx, rest)
	default:
		err = errors.New("want file:PATH, env:NAME or command:LINE")
	}
	if err != nil {
		return Key{}, err
	}
	key, err := ParseKey(text)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", s.name(kind, rest), err)
	}
	return key, nil
}

// name is the reference as an error shows it: a command may hold a secret.
func (s Source) name(kind, rest string) string {
	if kind == "command" {
		return "the output of the key's command"
	}
	return kind + ":" + rest
}

func (s Source) file(path string) ([]byte, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("file:%s: there is no such file; make a key with: %s", path, MakeKey)
	}
	return text, err
}

func (s Source) variable(name string) ([]byte, error) {
	for _, pair := range s.Environ {
		if k, v, ok := strings.Cut(pair, "="); ok && k == name && v != "" {
			return []byte(v), nil
		}
	}
	return nil, fmt.Errorf("the environment variable %s is not set; make a key with: %s", name, MakeKey)
}

func (s Source) command(ctx context.Context, line string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	res, err := exec.Run(ctx, exec.Cmd{Args: []string{"sh", "-c", line}, Dir: s.Dir, Env: s.Environ, MaxOutput: 1 << 10})
	if err == nil && res.ExitCode != 0 {
		// What it printed may be a key or a token, so it is not quoted.
		err = fmt.Errorf("exit code %d", res.ExitCode)
	}
	if err != nil {
		return nil, fmt.Errorf("the key's command: %w", err)
	}
	return res.Stdout, nil
}
