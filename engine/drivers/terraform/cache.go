package terraform

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// maxProvider bounds one provider package in bytes.
const maxProvider = 4 << 30

// keepProviders copies into the cache what the init just downloaded. Init runs
// no provider and forget emptied the directory before, so the packages are what
// the tool fetched and verified; those it linked from the cache are skipped.
func (w *workdir) keepProviders() error {
	providers := path.Join(filepath.ToSlash(w.rel), dataDir, "providers")
	// host/namespace/type/version/platform
	packages, err := fs.Glob(w.tree.FS(), path.Join(escapeGlob(providers), "*/*/*/*/*"))
	if err != nil {
		return fmt.Errorf("keeping the providers of root %s: %w", w.t.Root.Name, err)
	}
	for _, pkg := range packages {
		info, err := w.tree.Lstat(pkg)
		if err == nil && info.IsDir() {
			err = w.keepPackage(pkg, filepath.Join(w.d.cfg.CacheDir, pkg[len(providers)+1:]))
		}
		if err != nil {
			return fmt.Errorf("keeping the provider %s of root %s: %w", pkg[len(providers)+1:], w.t.Root.Name, err)
		}
	}
	return nil
}

// escapeGlob makes a path match itself only.
func escapeGlob(p string) string {
	var out []byte
	for i := range len(p) {
		switch p[i] {
		case '*', '?', '[', '\\':
			out = append(out, '\\')
		}
		out = append(out, p[i])
	}
	return string(out)
}

// keepPackage makes the whole package appear at once; one that is there stays.
func (w *workdir) keepPackage(pkg, dst string) error {
	if _, err := os.Stat(dst); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil { //nolint:gosec // providers are no secret
		return err
	}
	tmp, err := os.MkdirTemp(w.d.cfg.CacheDir, ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	err = fs.WalkDir(w.tree.FS(), pkg, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(tmp, "package", p[len(pkg):])
		if e.IsDir() {
			return os.MkdirAll(to, 0o755) //nolint:gosec // as above
		}
		return w.copyProviderFile(p, to)
	})
	if err != nil {
		return err
	}
	err = os.Rename(filepath.Join(tmp, "package"), dst)
	if _, statErr := os.Stat(dst); statErr == nil {
		return nil // another init was first
	}
	return err
}

func (w *workdir) copyProviderFile(from, to string) error {
	src, err := openRegular(w.tree, from)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644|info.Mode().Perm()&0o111)
	if err != nil {
		return err
	}
	n, err := io.Copy(dst, io.LimitReader(src, maxProvider+1))
	if n > maxProvider {
		err = fmt.Errorf("the package is above its bound of %d bytes", int64(maxProvider))
	}
	return errors.Join(err, dst.Close())
}
