package terraform

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// mayDownload guesses whether an init has to download a provider that the
// cache lacks. Such inits go one after another, so that roots which need the
// same provider download it once; a wrong guess costs time only.
func (w *workdir) mayDownload() (bool, error) {
	tree := w.base.FS()
	dirs, err := moduleDirs(tree, filepath.ToSlash(w.rel), moduleCalls)
	if err != nil {
		return false, fmt.Errorf("reading the modules of root %s: %w", w.t.Root.Name, err)
	}
	builtin := true
	for _, dir := range dirs {
		builtin = builtin && onlyBuiltin(tree, dir)
	}
	if builtin {
		return false, nil
	}
	data, found, err := w.readSmall(filepath.Join(w.rel, lockFileName))
	switch {
	case err != nil:
		return false, fmt.Errorf("reading the lock file of root %s: %w", w.t.Root.Name, err)
	case found:
		return !cached(w.d.cfg.CacheDir, data), nil
	}
	packages, err := fs.Glob(os.DirFS(w.d.cfg.CacheDir), "*/*/*/*")
	return len(packages) == 0, err
}

// onlyBuiltin reports whether a module surely needs no provider but the one
// built into the tool.
func onlyBuiltin(tree fs.FS, dir string) bool {
	entries, err := fs.ReadDir(tree, dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".tf.json") || strings.HasSuffix(name, ".tofu.json") {
			return false
		}
		if !isConfig(name) {
			continue
		}
		src, err := fs.ReadFile(tree, path.Join(dir, name))
		if err != nil {
			return false
		}
		file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
		body, ok := file.Body.(*hclsyntax.Body)
		if diags.HasErrors() || !ok {
			return false
		}
		for _, b := range body.Blocks {
			if !builtinBlock(b) {
				return false
			}
		}
	}
	return true
}

func builtinBlock(b *hclsyntax.Block) bool {
	switch b.Type {
	case "variable", "output", "locals", "moved", "removed", "check":
		return true
	case "resource", "data", "ephemeral":
		return len(b.Labels) > 0 && strings.HasPrefix(b.Labels[0], "terraform_")
	case "module":
		source := b.Body.Attributes["source"]
		if source == nil {
			return false
		}
		v, diags := source.Expr.Value(nil)
		return !diags.HasErrors() && v.IsKnown() && !v.IsNull() && v.Type().FriendlyName() == "string" &&
			(strings.HasPrefix(v.AsString(), "./") || strings.HasPrefix(v.AsString(), "../"))
	case "terraform":
		for _, inner := range b.Body.Blocks {
			if inner.Type != "backend" && inner.Type != "cloud" {
				return false
			}
		}
		return true
	}
	return false
}

// cached reports whether every provider version of a lock file is in the cache
// for this platform.
func cached(cacheDir string, lockFile []byte) bool {
	file, diags := hclsyntax.ParseConfig(lockFile, lockFileName, hcl.InitialPos)
	body, ok := file.Body.(*hclsyntax.Body)
	if diags.HasErrors() || !ok {
		return false
	}
	for _, b := range body.Blocks {
		version := b.Body.Attributes["version"]
		if b.Type != "provider" || len(b.Labels) != 1 || version == nil {
			return false
		}
		v, diags := version.Expr.Value(nil)
		if diags.HasErrors() || v.IsNull() || v.Type().FriendlyName() != "string" {
			return false
		}
		rel := filepath.Join(filepath.FromSlash(b.Labels[0]), v.AsString(), runtime.GOOS+"_"+runtime.GOARCH)
		if !filepath.IsLocal(rel) {
			return false
		}
		if _, err := os.Stat(filepath.Join(cacheDir, rel)); err != nil {
			return false
		}
	}
	return true
}
