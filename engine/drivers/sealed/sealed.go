// Package sealed keeps bytes in files that nobody reads, and nobody changes
// unseen, without a key: what an apply carries over to its next run, and the
// states that a group has under way, hold values that are secret (pr-loop §5.12,
// decision 9; soundness I14).
//
// A file is one line that names the format, the key, the size and the purpose,
// then AES-256-GCM over the content, with that line as additional data. A file of
// one purpose therefore never passes for one of another.
package sealed

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// BrokenError is a file that is there and is not what was sealed with this key for
// this purpose. Nothing of its content is known.
type BrokenError struct{ Path, Why string }

func (e *BrokenError) Error() string { return e.Path + ": " + e.Why }

// Write replaces a file whole with the sealed content, on disk before it returns:
// a crash leaves the old file or the new one. Only its owner may read it. Its
// directory is made when it is not there.
func (k Key) Write(path, purpose string, content []byte) error {
	sealed, err := k.seal(purpose, content)
	if err != nil {
		return fmt.Errorf("sealing %s: %w", path, err)
	}
	if err := replace(path, sealed); err != nil {
		return fmt.Errorf("writing what is sealed: %w", err)
	}
	return nil
}

// Read opens a file that Write made with the same key and purpose. A file that
// is not there is os.ErrNotExist; one that does not open is *BrokenError.
func (k Key) Read(path, purpose string) ([]byte, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading what is sealed: %w", err)
	}
	content, err := k.open(purpose, file)
	if err != nil {
		return nil, &BrokenError{Path: path, Why: err.Error()}
	}
	return content, nil
}

const format = "chant-sealed 1"

func (k Key) seal(purpose string, content []byte) ([]byte, error) {
	aead, err := k.aead()
	if err != nil {
		return nil, err
	}
	size := aead.Overhead() + len(content)
	head := fmt.Appendf(nil, "%s key=%s size=%d purpose=%s\n", format, k.id(), size, strconv.Quote(purpose))
	return aead.Seal(bytes.Clone(head), nil, content, head), nil //nolint:gosec // it draws the nonce itself
}

// aead draws a nonce for each seal and puts it in front.
func (k Key) aead() (cipher.AEAD, error) {
	secret, err := k.derive("seal")
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// open says what is wrong as exactly as it can be told without the right key.
func (k Key) open(purpose string, file []byte) ([]byte, error) {
	line, body, _ := bytes.Cut(file, []byte("\n"))
	h, err := parseHead(string(line))
	switch {
	case err != nil:
		return nil, err
	case h.purpose != purpose:
		return nil, fmt.Errorf("it was sealed as %q, not as %q", h.purpose, purpose)
	case h.key != k.id():
		return nil, errors.New("it was sealed with another key, or the name of the key in it was changed")
	case len(body) < h.size:
		return nil, fmt.Errorf("it was cut off: %d of %d bytes are there", len(body), h.size)
	case len(body) > h.size:
		return nil, fmt.Errorf("%d bytes were added at its end", len(body)-h.size)
	}
	aead, err := k.aead()
	if err != nil {
		return nil, err
	}
	content, err := aead.Open(nil, nil, body, file[:len(line)+1])
	if err != nil {
		return nil, errors.New("it was changed since it was sealed")
	}
	return content, nil
}

type head struct {
	key, purpose string
	size         int
}

func parseHead(line string) (head, error) {
	foreign := errors.New("it is no file that chant sealed, or its first line was changed")
	fields, ok := strings.CutPrefix(line, format+" ")
	if !ok {
		return head{}, foreign
	}
	parts := strings.SplitN(fields, " ", 3)
	if len(parts) < 3 {
		return head{}, foreign
	}
	key, okKey := strings.CutPrefix(parts[0], "key=")
	digits, okSize := strings.CutPrefix(parts[1], "size=")
	quoted, okPurpose := strings.CutPrefix(parts[2], "purpose=")
	size, errSize := strconv.Atoi(digits)
	purpose, errPurpose := strconv.Unquote(quoted)
	if !okKey || !okSize || !okPurpose || errSize != nil || errPurpose != nil {
		return head{}, foreign
	}
	return head{key: key, purpose: purpose, size: size}, nil
}

// replace writes a file beside its path and moves it there.
func replace(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(data)
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
