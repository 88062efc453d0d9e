package terraform

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/project"
)

// jsonModuleCalls finds what the rule of components §4.3 misses.
var jsonModuleCalls = scan{isJSONConfig, regexp.MustCompile(`"source"\s*:\s*"(\.{1,2}(?:/[^"]*)?)"`)}

// references finds mentions of files outside a file's own directory, such as
// file("../policy.json") or a script's ". ../../lib/common.sh", and what follows
// each: a name ends where text can't be part of one.
var references = regexp.MustCompile(`((?:\.\./)+[\w.@+/-]*)([^\s"'();,<>|&\]}]?)`)

// escapes are ways to write the characters of a "../" in configuration.
var escapes = strings.NewReplacer(
	`\u002e`, ".", `\u002E`, ".", `\U0000002e`, ".", `\U0000002E`, ".", `\u002f`, "/", `\u002F`, "/", `\U0000002f`, "/", `\U0000002F`, "/", `\/`, "/",
)

func isJSONConfig(name string) bool {
	return strings.HasSuffix(name, ".tf.json") || strings.HasSuffix(name, ".tofu.json")
}

// SourcePaths lists the paths whose git objects make a member's source
// (pr-loop §5.11), relative to the checkout, sorted, existing ones only: the
// watched paths and the lock file, and, since here a path too many costs an
// approval while one too few could hide a change, module calls in JSON, the
// targets of links, and what any of their files mentions by "../" paths, scripts
// and variable values like configuration, and so on from there. given are further
// texts that the root is given, its variables. A root that builds a path in a way
// the text does not show is not seen through.
func SourcePaths(projectDir string, root project.Root, checkout fs.FS, given ...string) ([]string, error) {
	start := path.Join(projectDir, root.Dir)
	dirs, err := moduleDirs(checkout, start, moduleCalls, jsonModuleCalls)
	if err != nil {
		return nil, fmt.Errorf("reading the modules of root %s: %w", root.Name, err)
	}
	s := sources{checkout: checkout, start: start, kept: map[string]bool{}, read: map[string]bool{}}
	s.due = append(append(dirs, varFiles(projectDir, root)...), path.Join(start, lockFileName))
	for _, text := range given {
		s.mentions(start, path.Join(start, "given"), text)
	}
	for len(s.due) > 0 {
		p := s.due[0]
		s.due = s.due[1:]
		if s.kept[p] || !exists(checkout, p) {
			continue
		}
		s.kept[p] = true
		if err := s.follow(p); err != nil {
			return nil, fmt.Errorf("reading root %s: %w", root.Name, err)
		}
	}
	return slices.Sorted(maps.Keys(s.kept)), nil
}

// sources are a member's source paths while they are looked for.
type sources struct {
	checkout fs.FS
	start    string   // the root's directory, in which the tool and its scripts run
	due      []string // found and not looked at yet
	kept     map[string]bool
	read     map[string]bool // files
}

// follow finds what the files at or below a path lead to.
func (s *sources) follow(p string) error {
	return fs.WalkDir(s.checkout, p, func(at string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == dataDir || e.Name() == ".git"):
			return fs.SkipDir
		case e.Type()&fs.ModeSymlink != 0:
			target, err := fs.ReadLink(s.checkout, at)
			s.due = append(s.due, path.Join(path.Dir(at), target))
			return err
		case !e.Type().IsRegular() || s.read[at]:
			return nil
		}
		s.read[at] = true
		text, err := fs.ReadFile(s.checkout, at)
		if err != nil {
			return err
		}
		s.mentions(p, at, string(text))
		if at == p {
			return s.siblings(at, string(text))
		}
		return nil
	})
}

// mentions notes what the text of a file below p names by "../" paths: relative to
// the file, to the module it is in, or to the root.
func (s *sources) mentions(p, at, text string) {
	config := isConfig(at) || isJSONConfig(at)
	if config {
		text = escapes.Replace(text)
	}
	for _, m := range references.FindAllStringSubmatch(text, -1) {
		var found, above []string
		for _, from := range []string{path.Dir(at), p, s.start} {
			candidate := path.Join(from, m[1])
			if exists(s.checkout, candidate) {
				found = append(found, candidate)
			}
			above = append(above, path.Dir(candidate))
		}
		// A name cut off at an expression is somewhere in its directory.
		if len(found) == 0 && (config || m[2] != "") {
			found = above
		}
		s.due = append(s.due, found...)
	}
}

// siblings notes the files beside one that was itself named, a script for one,
// which its text names.
func (s *sources) siblings(at, text string) error {
	dir := path.Dir(at)
	entries, err := fs.ReadDir(s.checkout, dir)
	for _, e := range entries {
		if !e.IsDir() && strings.Contains(text, e.Name()) {
			s.due = append(s.due, path.Join(dir, e.Name()))
		}
	}
	return err
}

func exists(checkout fs.FS, p string) bool {
	if !fs.ValidPath(p) {
		return false
	}
	_, err := fs.Lstat(checkout, p)
	return err == nil
}
