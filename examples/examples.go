// Package examples holds the example repositories, so that the demo and tests
// play with exactly the files a reader finds here.
package examples

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed all:two-roots all:composed
var files embed.FS

// Files reads one example as path to content.
func Files(name string) (map[string]string, error) {
	root, err := fs.Sub(files, name)
	if err != nil {
		return nil, fmt.Errorf("example %s: %w", name, err)
	}
	out := map[string]string{}
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, path)
		out[path] = string(data)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("example %s: %w", name, err)
	}
	return out, nil
}
