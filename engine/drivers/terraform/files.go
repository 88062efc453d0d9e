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
// run may still hold the original open.
func copyHashed(dst string, src io.Reader, mode os.FileMode) (string, error) {
	tmp, err := os.CreateTemp(filepath.Dir(dst), ".copy-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(tmp, h), io.LimitReader(src, maxPlanFile+1))
	if err == nil && n > maxPlanFile {
		err = fmt.Errorf("the saved plan is above its bound of %d bytes", int64(maxPlanFile))
	}
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), dst)
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// sameHash compares in constant time.
func sameHash(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// takeFile moves a file of a hostile directory to a private path.
func takeFile(dir, name, dst string) (hash string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	f, err := openRegular(root, name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	if hash, err = copyHashed(dst, f, 0o400); err != nil {
		return "", err
	}
	return hash, root.Remove(name)
}
