package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/drivers/terraform/testprovider"
	"github.com/chant-bot/chant/engine/project"
)

// serverArg makes the test program a server that applies and waits to be
// killed.
const serverArg = "__test-server"

func TestMain(m *testing.M) {
	exec.SupervisorMain(os.Args)
	if len(os.Args) == 3 && os.Args[1] == serverArg {
		if err := actAsServer(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == groupServerArg {
		if err := actAsGroupServer(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if err := mirror.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// mirror holds the test provider.
var mirror testprovider.Mirror

// mirrored makes it a driver's only source of providers.
func mirrored(t *testing.T) func(*Config) {
	t.Helper()
	dir := mustMirror(t)
	return func(c *Config) { c.Mirror = dir }
}

func mustMirror(t *testing.T) string {
	t.Helper()
	dir, err := mirror.Dir(context.Background()) // it is everybody's, beyond one test
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// saved is what a server stores of a plan before it applies it.
type saved struct {
	Wall, State string
	Target      engine.Target
	File, Hash  string
}

func (s saved) planned() engine.Planned {
	return engine.Planned{Target: s.Target, File: s.File, Hash: s.Hash}
}

func actAsServer(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var s saved
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	ctx := context.Background()
	wall, err := exec.DetectWall(ctx, s.Wall)
	if err != nil {
		return err
	}
	binary, err := tool()
	if err != nil {
		return err
	}
	d, err := New(Config{Binary: binary, StateDir: s.State, Scope: "repo prod", Wall: wall, Writable: []string{s.State}})
	if err != nil {
		return err
	}
	_, err = d.Apply(ctx, s.planned(), nil)
	return err
}

// tool is the path of what TEST_PLANNER names, or else of the terraform, or the tofu, that
// is there.
func tool() (string, error) {
	if name := os.Getenv("TEST_PLANNER"); name != "" {
		return osexec.LookPath(name)
	}
	for _, name := range []string{"terraform", "tofu"} {
		if path, err := osexec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("neither terraform nor tofu is on PATH; install one of them to run this test")
}

// toolVersion asks the tool itself.
func toolVersion(t *testing.T) (binary, version string) {
	t.Helper()
	binary, err := tool()
	if err != nil {
		t.Fatal(err)
	}
	ask := osexec.Command(binary, "version", "-json")
	ask.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()} // as the driver asks, without a machine's own configuration
	out, err := ask.Output()
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal(out, &said); err != nil || said.Version == "" {
		t.Fatalf("the version is %q: %v", out, err)
	}
	return binary, said.Version
}

// site is a checkout with one root, and the places around it.
type site struct {
	t        testing.TB
	checkout string
	state    string // a writable directory for local backends, and pipes
	target   engine.Target
	lines    *lines
}

// lines collects what a sink was given.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

// backend is the top of most roots: the state's path is given at init.
const backend = "terraform {\n  backend \"local\" {}\n}\n"

// newSite writes the files of a checkout; the root is roots/net.
func newSite(t testing.TB, files map[string]string) *site {
	t.Helper()
	if _, err := os.Stat("/usr/bin/bwrap"); err != nil {
		t.Fatal("bubblewrap is missing: apt-get install bubblewrap")
	}
	s := &site{t: t, checkout: shortDir(t), state: shortDir(t), lines: &lines{}}
	if err := os.Chmod(s.state, 0o777); err != nil {
		t.Fatal(err)
	}
	s.write(s.checkout, files)
	s.target = engine.Target{
		Member: "net",
		Root: project.Root{
			Name: "net", Dir: "roots/net", File: "chant.config.json", Line: 3,
			BackendConfig: map[string]string{"path": filepath.Join(s.state, "net.tfstate")},
		},
		ProjectDir: s.checkout, Worktree: s.checkout, RunDir: shortDir(t),
	}
	return s
}

// shortDir is a temporary directory other users can pass through.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "chant-test-") //nolint:usetesting // its parents are closed to others
	if err == nil {
		err = os.Chmod(dir, 0o711)
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (s *site) write(dir string, files map[string]string) {
	s.t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *site) driver(change ...func(*Config)) *Driver {
	s.t.Helper()
	wall, err := exec.DetectWall(s.t.Context(), exec.WallAuto)
	if err != nil {
		s.t.Fatal(err)
	}
	binary, err := tool()
	if err != nil {
		s.t.Fatal(err)
	}
	cfg := Config{
		Binary: binary, StateDir: s.state, Scope: "repo prod", Wall: wall,
		Limits: exec.DefaultLimits(), Writable: []string{s.state},
	}
	for _, f := range change {
		f(&cfg)
	}
	d, err := New(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *site) plan(d *Driver) engine.Planned {
	s.t.Helper()
	p, err := d.Plan(context.Background(), s.target, s.lines.add)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// replan plans in a run directory of its own.
func (s *site) replan(d *Driver) engine.Planned {
	s.t.Helper()
	s.target.RunDir = shortDir(s.t)
	return s.plan(d)
}

func (s *site) apply(d *Driver, p engine.Planned) engine.Outcome {
	s.t.Helper()
	out, err := d.Apply(context.Background(), p, s.lines.add)
	if err != nil {
		s.t.Fatal(err)
	}
	if out.Error != "" {
		s.t.Fatal(out.Error)
	}
	return out
}

func (s *site) fifo(name string) string {
	s.t.Helper()
	path := filepath.Join(s.state, name)
	if err := errors.Join(syscall.Mkfifo(path, 0o666), os.Chmod(path, 0o666)); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// entries are the plan's "action address" pairs, sorted.
func entries(p engine.Planned) []string {
	var all []string
	for _, e := range p.Part.Entries {
		all = append(all, string(e.Action)+" "+e.Address)
	}
	slices.Sort(all)
	return all
}

func text(v digest.Value) string {
	b, err := v.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// filesIn lists the regular files below a directory.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// shownOutputs are the planned root outputs of a saved plan, as JSON.
func shownOutputs(d *Driver, p engine.Planned) (map[string]string, error) {
	w, err := d.open(context.Background(), p.Target)
	if err != nil {
		return nil, err
	}
	defer w.close()
	v, err := w.document(context.Background(), call{args: []string{"show", "-json", p.File}, reads: []string{p.File}, json: true})
	if err != nil {
		return nil, err
	}
	outputs := map[string]string{}
	for _, name := range v.Get("output_changes").Keys() {
		outputs[name] = text(v.Get("output_changes").Get(name).Get("after"))
	}
	return outputs, nil
}
