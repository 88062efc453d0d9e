// Package chant_test holds what is true of the project as a whole. The rooms and
// the directions between them are docs/ARCHITECTURE.md's; this is their proof.
package chant_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/chant-bot/chant"

// goPackage is what `go list -json` says of a package.
type goPackage struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// packages lists every package of the module, whether or not it compiles.
func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports", "./...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("reading the output of go list: %v", err)
		}
		all = append(all, p)
	}
}

// room is a folder with a place in the order of imports.
type room string

// The five in the middle never import one another.
const (
	cmdRoom      room = "cmd"
	appRoom      room = "app"
	webhooksRoom room = "webhooks"
	forgesRoom   room = "forges"
	commentsRoom room = "comments"
	sqlRoom      room = "sql"
	driversRoom  room = "engine/drivers"
	engineRoom   room = "engine"
	examplesRoom room = "examples" // data, embedded
)

// mayImport says which other rooms a room may import. A room always may import
// itself.
var mayImport = map[room][]room{
	cmdRoom:      {appRoom, webhooksRoom, forgesRoom, commentsRoom, sqlRoom, driversRoom, engineRoom, examplesRoom},
	appRoom:      {webhooksRoom, forgesRoom, commentsRoom, sqlRoom, driversRoom, engineRoom, examplesRoom},
	webhooksRoom: {engineRoom},
	forgesRoom:   {engineRoom},
	commentsRoom: {engineRoom},
	sqlRoom:      {engineRoom},
	driversRoom:  {engineRoom},
	engineRoom:   {},
	examplesRoom: {},
}

// roomOf finds the room of an import path of this module.
func roomOf(path string) (room, error) {
	rel := strings.TrimPrefix(path, module+"/")
	if rel == string(driversRoom) || strings.HasPrefix(rel, string(driversRoom)+"/") {
		return driversRoom, nil
	}
	top, _, _ := strings.Cut(rel, "/")
	if _, ok := mayImport[room(top)]; !ok {
		return "", fmt.Errorf("%s is in no room that docs/ARCHITECTURE.md knows", path)
	}
	return room(top), nil
}

func ours(path string) bool { return strings.HasPrefix(path, module+"/") }

func TestImportsGoOneWay(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if !ours(p.ImportPath) {
			continue // this package
		}
		from, err := roomOf(p.ImportPath)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if !ours(path) {
				continue
			}
			to, err := roomOf(path)
			if err != nil {
				t.Error(err)
				continue
			}
			if from != to && !slices.Contains(mayImport[from], to) {
				t.Errorf("%s imports %s: %s may import %v only", p.ImportPath, path, from, mayImport[from])
			}
		}
	}
}

// impure are packages of the standard library that reach outside a function's
// arguments.
var impure = []string{
	"os", "net", "net/http", "io/fs", "io/ioutil", "path/filepath", "syscall", "unsafe", "plugin",
	"database/sql", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "runtime", "embed", "flag", "testing",
}

// fromOutside are functions of `time` that read or wait for the clock.
var fromOutside = []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep"}

func TestEngineDecidesFromItsArgumentsAlone(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if from, err := roomOf(p.ImportPath); err != nil || from != engineRoom {
			continue
		}
		for _, path := range p.Imports {
			standard := !strings.Contains(strings.Split(path, "/")[0], ".")
			below := func(parent string) bool { return path == parent || strings.HasPrefix(path, parent+"/") }
			switch {
			case slices.Contains(impure, path), below("os"), below("net/http"):
				t.Errorf("%s imports %s: engine does no I/O and draws no random numbers", p.ImportPath, path)
			case !standard && !ours(path) && !below("golang.org/x/text"):
				t.Errorf("%s imports %s: engine knows the standard library and golang.org/x/text only", p.ImportPath, path)
			case path == module+"/engine":
				t.Errorf("%s imports the root of engine, which may import it", p.ImportPath)
			}
		}
		for _, file := range p.GoFiles {
			for _, call := range clockReads(t, filepath.Join(p.Dir, file)) {
				t.Errorf("%s: engine takes times as arguments", call)
			}
		}
	}
}

// clockReads lists where a file uses a function of `time` that reads the clock.
func clockReads(t *testing.T, path string) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(fromOutside, s.Sel.Name) {
			found = append(found, fmt.Sprintf("%s uses time.%s", files.Position(s.Pos()), s.Sel.Name))
		}
		return true
	})
	return found
}

// sdks are clients of forges: each stays in the adapter of its forge.
var sdks = map[string]string{
	"github.com/google/go-github":         "forges/github",
	"github.com/bradleyfalzon/":           "forges/github",
	"gitlab.com/gitlab-org/api/client-go": "forges/gitlab",
	"code.gitea.io/sdk":                   "forges/forgejo",
	"codeberg.org/mvdkleijn/forgejo-sdk":  "forges/forgejo",
}

func TestOnlyTheAdapterOfAForgeImportsItsClient(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			for sdk, home := range sdks {
				if strings.HasPrefix(path, sdk) && p.ImportPath != module+"/"+home {
					t.Errorf("%s imports %s: only %s may", p.ImportPath, path, home)
				}
			}
		}
	}
}

// spans finds the inline code of a Markdown text.
var spans = regexp.MustCompile("`([^`\n]+)`")

// declared matches a function written as `Name()` in the documents.
var declared = regexp.MustCompile(`^([A-Za-z]\w*)\(\)$`)

// topLevel are the beginnings of what counts as a path in the documents.
var topLevel = regexp.MustCompile(`^(?:app|cmd|comments|docs|engine|examples|forges|sql|webhooks)/[\w./*-]+$|^[\w.-]+\.(?:go|md|yml)$`)

func TestDocumentsNameWhatIsThere(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob("docs/adr/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range append(documents, "docs/ARCHITECTURE.md", "README.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		at := "" // the path named last
		for _, span := range spans.FindAllStringSubmatch(string(text), -1) {
			if topLevel.MatchString(span[1]) {
				if at = span[1]; !exists(at) {
					t.Errorf("%s names %s, which is not there", document, at)
				}
				continue
			}
			if name := declared.FindStringSubmatch(span[1]); name != nil && !declares(t, at, name[1]) {
				t.Errorf("%s says that %s declares %s", document, at, name[1])
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// declares tells whether a file, or a file directly in a folder, declares a
// function or method.
func declares(t *testing.T, path, name string) bool {
	t.Helper()
	files := []string{path}
	if !strings.HasSuffix(path, ".go") {
		var err error
		if files, err = filepath.Glob(filepath.Join(path, "*.go")); err != nil {
			t.Fatal(err)
		}
	}
	declaration := regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?` + name + `[\[(]`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && declaration.Match(text) {
			return true
		}
	}
	return false
}

// TestPackagesKeepNoState: a package-level variable is a table, a compiled
// pattern or an error, and nothing ever writes to it.
func TestPackagesKeepNoState(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		files := token.NewFileSet()
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			// The resolution of names inside one file, deprecated for what it does
			// not know of other packages, is all that is wanted here.
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		variables := packageVariables(parsed)
		for _, file := range parsed {
			ast.Inspect(file, func(n ast.Node) bool {
				for _, target := range writtenBy(n) {
					if id := rootOf(target); id != nil && variables.has(id) {
						t.Errorf("%s writes to the package-level %s", files.Position(id.Pos()), id.Name)
					}
				}
				return true
			})
		}
	}
}

// variables are those of one package, by name and by declaration.
type variables map[string]*ast.ValueSpec

func packageVariables(files []*ast.File) variables {
	found := variables{}
	for _, file := range files {
		for _, decl := range file.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for _, name := range v.Names {
						if name.Name != "_" {
							found[name.Name] = v
						}
					}
				}
			}
		}
	}
	return found
}

// has tells whether a name means the package's variable: it was resolved to its
// declaration, or to nothing in its own file.
func (v variables) has(id *ast.Ident) bool {
	spec, ok := v[id.Name]
	return ok && (id.Obj == nil || id.Obj.Decl == spec)
}

// writtenBy lists what a statement writes to or takes the address of.
func writtenBy(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return []ast.Expr{n.X}
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear" || f.Name == "copy") && len(n.Args) > 0 {
			return n.Args[:1]
		}
	}
	return nil
}

// rootOf is the variable at the start of x.f[i].g; nil when there is none.
func rootOf(x ast.Expr) *ast.Ident {
	for {
		switch e := x.(type) {
		case *ast.Ident:
			return e
		case *ast.SelectorExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.StarExpr:
			x = e.X
		case *ast.ParenExpr:
			x = e.X
		default:
			return nil
		}
	}
}
