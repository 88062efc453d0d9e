package git

import (
	"bufio"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // git's object ids
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// hashFormat is the repository's object format.
type hashFormat struct {
	size int // of an id, in bytes
	new  func() hash.Hash
}

func hashNamed(name string) (hashFormat, error) {
	switch name {
	case "sha1":
		return hashFormat{size: sha1.Size, new: sha1.New}, nil
	case "sha256":
		return hashFormat{size: sha256.Size, new: sha256.New}, nil
	}
	return hashFormat{}, fmt.Errorf("object format %q is not supported", name)
}

// none is the id that stands for "no object".
func (h hashFormat) none() string { return strings.Repeat("0", 2*h.size) }

// largeTree is the size in bytes from which a tree is stored uncompressed: it is
// mostly object ids, which do not compress, and a flat directory of many files
// is rewritten with every file. Packing compresses it later.
const largeTree = 64 << 10

// writeObject stores one object as git's loose file and returns its id. The
// format is git's simplest and has never changed; hash-object, mktree and
// commit-tree would each be a process.
func (c *Clone) writeObject(kind string, data []byte) (string, error) {
	header := kind + " " + strconv.Itoa(len(data)) + "\x00"
	sum := c.hash.new()
	sum.Write([]byte(header))
	sum.Write(data)
	oid := hex.EncodeToString(sum.Sum(nil))

	path := filepath.Join(c.objects, oid[:2], oid[2:])
	if _, err := os.Stat(path); err == nil {
		return oid, nil
	}
	level := zlib.BestSpeed
	if kind == "tree" && len(data) >= largeTree {
		level = zlib.NoCompression
	}
	err := writeOnce(path, func(w io.Writer) error {
		z, err := zlib.NewWriterLevel(w, level)
		if err != nil {
			return err
		}
		_, headErr := io.WriteString(z, header)
		_, dataErr := z.Write(data)
		return errors.Join(headErr, dataErr, z.Close())
	})
	if err != nil {
		return "", fmt.Errorf("storing a %s: %w", kind, err)
	}
	return oid, nil
}

// writeOnce makes a read-only file appear whole or not at all, on disk before a
// ref can name it. A leftover of a crash has the name that git's own cleaning
// looks for.
func writeOnce(path string, content func(io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // the umask decides, as it does for git
		return err
	}
	f, err := os.CreateTemp(dir, "tmp_obj_*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 64<<10)
	if err := errors.Join(content(w), w.Flush(), f.Chmod(0o444), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// WriteBlob stores a blob and returns its object id.
func (c *Clone) WriteBlob(data []byte) (string, error) { return c.writeObject("blob", data) }

// ReadBlob reads a blob by its object id; ErrUnknownRevision when it is not
// here.
func (c *Clone) ReadBlob(ctx context.Context, oid string) ([]byte, error) {
	o, err := c.cat.contents(ctx, oid)
	if err != nil {
		return nil, err
	}
	if o.kind != "blob" {
		return nil, fmt.Errorf("object %s is a %s, not a blob", oid, o.kind)
	}
	return o.data, nil
}

// readTree reads a tree by its id; the empty id is the empty tree.
func (c *Clone) readTree(ctx context.Context, oid string) (*tree, error) {
	if oid == "" {
		return &tree{idSize: c.hash.size}, nil
	}
	if t, found := c.trees.get(oid); found {
		return t, nil
	}
	o, err := c.cat.contents(ctx, oid)
	if err != nil {
		return nil, err
	}
	if o.kind != "tree" {
		return nil, fmt.Errorf("object %s is a %s, not a tree", oid, o.kind)
	}
	t, err := parseTree(o.data, c.hash.size)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", oid, err)
	}
	c.trees.put(oid, t)
	return t, nil
}
