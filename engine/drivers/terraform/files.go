package terraform

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// maxPlanFile bounds a saved plan in bytes.
const maxPlanFile = 1 << 30

// openRegular opens a file that code of a pull request may have put there: a
// link or a pipe is refused, and nothing blocks.
func openRegular(dir *os.Root, name string) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("the file is above its bound of %d bytes", limit)
	}
	return data, err
}

// copyHashed writes a private copy of a file and returns the SHA-256 of the
// bytes written, in hex. A copy, not a rename: a process left over from the
// run may still hold the original open. The copy is whole or absent.
func copyHashed(dir *os.Root, name string, src io.Reader, mode os.FileMode) (string, error) {
	partial := name + ".partial"
	if err := dir.RemoveAll(partial); err != nil {
		return "", err
	}
	dst, err := dir.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(dst, h), io.LimitReader(src, maxPlanFile+1))
	if err == nil && n > maxPlanFile {
		err = fmt.Errorf("the saved plan is above its bound of %d bytes", int64(maxPlanFile))
	}
	if err = errors.Join(err, dst.Sync(), dst.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), dir.Rename(partial, name)
}

// sameHash compares in constant time.
func sameHash(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// takeFile moves a file out of a directory that hostile code could write to.
func takeFile(from *os.Root, name string, to *os.Root, as string) (hash string, err error) {
	f, err := openRegular(from, name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	if hash, err = copyHashed(to, as, f, 0o400); err != nil {
		return "", err
	}
	return hash, from.Remove(name)
}

// writeDurably writes a private file whole or not at all, and survives a power
// loss.
func writeDurably(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
