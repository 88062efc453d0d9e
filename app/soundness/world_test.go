package soundness_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app/demo"
	"github.com/chant-bot/chant/forges/forgetest"
)

// project is what the repository of a world declares.
type project struct {
	// envs is x-bot.envs; nil is one env, prod, that applies on merge.
	envs []object
	// more is added to the declaration's top level.
	more  object
	roots []root
	// groups lets what reads another be planned with it; most tests are of what has
	// to happen where it is not.
	groups bool
}

type object = map[string]any

// root is one terraform root and its component.
type root struct {
	name, tf string
	vars     object   // of the step
	after    []string // components it depends on
	backend  string   // path of its state, or its address over http; "" is the world's own
}

// plain is a root that keeps one value and needs nothing.
func plain(value string) string {
	return `terraform {
  backend "local" {}
}
resource "terraform_data" "service" {
  input = "` + value + `"
}
output "value" { value = terraform_data.service.output }
`
}

// settings are what a world's server is configured with beside the usual.
type settings struct {
	isolation string
	sweep     string
	more      string // lines of YAML
	env       []string
}

// world is a demo world of a project of its own, with the server a process
// apart and everything between it and the forge in the test's hands.
type world struct {
	*demo.World

	t        testing.TB
	ctx      context.Context
	proxy    *proxy
	tool     *tool
	server   *server
	settings settings
	config   string
	listen   string // of the server
	source   string // URL of the database where replicas share one
	// disturb is called whenever the test looks at the forge again.
	disturb func()
}

// patience is generous: machines that run tests are slow and shared. A mutant, which may
// have a test fail by waiting, gives less.
var patience = flag.Duration("patience", 10*time.Minute, "how long a test may take")

func newWorld(t testing.TB, p project, s settings) *world {
	t.Helper()
	terraform, err := osexec.LookPath("terraform")
	if err != nil {
		terraform, err = osexec.LookPath("tofu")
	}
	if err != nil {
		t.Fatal("neither terraform nor tofu is on PATH; install one of them to run this test")
	}
	ctx, cancel := context.WithTimeout(t.Context(), *patience)
	t.Cleanup(cancel)
	dir := t.TempDir()
	w := &world{t: t, ctx: ctx, settings: s, World: &demo.World{Dir: dir, State: filepath.Join(dir, "state"), Secret: "webhook-secret"}}
	if err := os.MkdirAll(w.State, 0o700); err != nil {
		t.Fatal(err)
	}
	w.tool = newTool(t, dir, terraform)
	w.Terraform = w.tool.path
	if w.Forge, err = forgetest.NewGitHub(forgetest.Options{Dir: filepath.Join(dir, "forge")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Forge.Close() })
	w.populate(p)
	w.proxy = newProxy(t, strings.TrimPrefix(w.Forge.URL(), "http://"))
	w.configure()
	t.Cleanup(w.end)
	return w
}

func (w *world) populate(p project) {
	w.t.Helper()
	w.Alice, w.Bob = w.Forge.User("alice"), w.Forge.User("bob")
	w.Forge.Org("acme")
	w.Repo = must(w.Forge.CreateRepo("acme", "infra"))(w.t)
	w.Repo.SetPermission(w.Alice, "admin")
	w.Repo.SetPermission(w.Bob, "write")
	// A first commit is not recorded, since there is nothing to measure it from.
	must(w.Repo.Commit("main", w.files(p), w.Alice))(w.t)
	w.App = must(w.Forge.CreateApp(forgetest.AppOptions{Slug: "chant", Owner: "acme"}))(w.t)
	must(w.App.Install("acme"))(w.t)
}

// files is the project as files.
func (w *world) files(p project) map[string]string {
	w.t.Helper()
	envs := p.envs
	if envs == nil {
		envs = []object{{"name": "prod", "branch": "main", "applyOnMerge": true}}
	}
	declaration := object{
		"name": "world", "schema": 1, "minReader": "0.108.0",
		"ci":    object{"green": object{"branch": "main", "window": "24h", "phases": object{"check": []string{"test"}}, "require": []string{"check"}}},
		"x-bot": object{"envs": envs},
	}
	maps.Copy(declaration, p.more)
	roots := object{}
	files := map[string]string{}
	for _, r := range p.roots {
		backend := r.backend
		if backend == "" {
			backend = w.StateFile(r.name)
		}
		key := "path"
		if strings.HasPrefix(backend, "http://") {
			key = "address"
		}
		roots[r.name] = object{"dir": "roots/" + r.name, "backendConfig": object{key: backend}}
		step := object{"kind": "terraform-apply", "root": r.name}
		if r.vars != nil {
			step["vars"] = r.vars
		}
		files[r.name+".component.json"] = w.json(object{
			"name": r.name, "dependsOn": append([]string{}, r.after...),
			"deploy": []object{{"phase": "Apply", "steps": []object{step}}},
		})
		files["roots/"+r.name+"/main.tf"] = r.tf
	}
	files["chant.workspace.json"] = w.json(declaration)
	compose := "off"
	if p.groups {
		compose = "auto"
	}
	files["chant.config.json"] = w.json(object{"lexicons": []string{"terraform"}, "terraform": object{
		"binary": filepath.Base(w.Terraform), "compose": compose, "roots": roots,
	}})
	return files
}

func (w *world) json(v any) string {
	w.t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text) + "\n"
}

// configure writes the server's configuration, with the forge behind the proxy.
func (w *world) configure() {
	w.t.Helper()
	// A port of its own at each start; what people see names another address.
	w.config = must(w.Config("127.0.0.1:0"))(w.t)
	text := string(must(os.ReadFile(w.config))(w.t))
	text = w.proxy.rewrite(text)
	text = strings.Replace(text, "externalUrl: http://127.0.0.1:0", "externalUrl: http://chant.test", 1)
	text = strings.Replace(text, "repositories: [acme/infra]", "repositories: [acme/infra]\nworkers: 2", 1)
	if w.settings.isolation != "" {
		text = strings.Replace(text, "isolation: none", "isolation: "+w.settings.isolation, 1)
	}
	if w.settings.sweep != "" {
		text = strings.Replace(text, "sweepInterval: 1h", "sweepInterval: "+w.settings.sweep, 1)
	}
	if err := os.WriteFile(w.config, []byte(text+w.settings.more), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// start runs the server, again after it was killed or stopped.
func (w *world) start() {
	w.t.Helper()
	w.server, w.listen = start(w.t, w.config, w.logPath(), w.settings.env...)
	w.App.Deliver("http://"+w.listen+"/webhooks/github", w.Secret)
}

func (w *world) logPath() string { return filepath.Join(w.Dir, "server.log") }

// end stops what runs and shows the server's log of a failed test.
func (w *world) end() {
	w.proxy.release()
	if w.server != nil && w.server.running() {
		w.server.kill()
	}
	if text, err := os.ReadFile(w.logPath()); err == nil && w.t.Failed() {
		w.t.Logf("server log:\n%s", tail(string(text)))
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// await waits until the forge shows it.
func (w *world) await(what string, done func() bool) {
	w.t.Helper()
	look := func() (bool, error) {
		if w.disturb != nil {
			w.disturb()
		}
		return done(), nil
	}
	if err := demo.Await(w.ctx, what, look); err != nil {
		w.t.Fatalf("%v\n%s", err, w.shown())
	}
}

// shown is what people see, for failures.
func (w *world) shown() string {
	var b strings.Builder
	shas := []string{must(w.Repo.Head("main"))(w.t)}
	for n := 1; n < 6; n++ {
		for _, c := range w.Repo.Comments(n) {
			fmt.Fprintf(&b, "#%d %s: %s\n", n, c.Author.Login, c.Body)
		}
	}
	for _, sha := range shas {
		fmt.Fprintf(&b, "main %s: %+v\n", sha, w.Repo.Statuses(sha))
	}
	return b.String()
}

func (w *world) awaitStatus(sha, context, state, text string) {
	w.t.Helper()
	w.await(fmt.Sprintf("%s %s %q on %s (now %+v)", context, state, text, sha, w.Repo.Status(sha, context)), func() bool {
		s := w.Repo.Status(sha, context)
		return s.State == state && strings.Contains(s.Description, text)
	})
}

// propose opens a pull request of bob's.
func (w *world) propose(branch string, files map[string]string) *forgetest.Pull {
	w.t.Helper()
	must(w.Repo.Commit(branch, files, w.Bob))(w.t)
	return must(w.Repo.OpenPullRequest(w.Bob, branch, "main", "Change "+branch))(w.t)
}

// tf is one root's file.
func tf(name, text string) map[string]string {
	return map[string]string{"roots/" + name + "/main.tf": text}
}

// note is the sticky note of a pull request in prod.
func (w *world) note(pr *forgetest.Pull) string { return w.noteOf(pr, "prod") }

func (w *world) noteOf(pr *forgetest.Pull, env string) string {
	for _, c := range w.Repo.Comments(pr.Number) {
		if strings.HasPrefix(c.Body, "<!-- chant-pr:"+env+" -->") {
			return c.Body
		}
	}
	return ""
}

func (w *world) awaitNote(pr *forgetest.Pull, text string) {
	w.t.Helper()
	w.await(fmt.Sprintf("%q in the note of #%d", text, pr.Number), func() bool { return strings.Contains(w.note(pr), text) })
}

var approveLine = regexp.MustCompile(`(?m)^chant approve (\S+) (\S+) --plan (jcs1-sha256:[0-9a-f]{64})$`)

// begin makes a commit that changes nothing the one last applied, so that what
// comes is measured from it.
func (w *world) begin() {
	w.t.Helper()
	head := must(w.Repo.Commit("main", map[string]string{"README.md": "A world.\n"}, w.Alice))(w.t)
	w.green(head)
	w.awaitStatus(head, "chant/apply", "success", "nothing to apply")
}

// line waits for the note of a pull request to hold a line that approves at op.
func (w *world) line(pr *forgetest.Pull, op string) string {
	w.t.Helper()
	return w.lineIn(pr, "prod", op)
}

func (w *world) lineIn(pr *forgetest.Pull, env, op string) string {
	w.t.Helper()
	line := ""
	w.await("a line to approve "+op, func() bool {
		for _, m := range approveLine.FindAllStringSubmatch(w.noteOf(pr, env), -1) {
			if m[1] == op {
				line = m[0]
			}
		}
		return line != ""
	})
	return line
}

func opOf(pr *forgetest.Pull) string { return fmt.Sprintf("pr-%d", pr.Number) }

// approved has alice approve a pull request's plan and waits for it to count.
func (w *world) approved(pr *forgetest.Pull) {
	w.t.Helper()
	must(w.Forge.As(w.Alice).Comment(pr, w.line(pr, opOf(pr))))(w.t)
	w.awaitNote(pr, "Approved by")
}

// merged merges and waits for the record.
func (w *world) merged(pr *forgetest.Pull, method string) string {
	w.t.Helper()
	sha := must(pr.Merge(method, w.Alice))(w.t)
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "green")
	return sha
}

// green passes the required check of a commit.
func (w *world) green(sha string) {
	w.t.Helper()
	must(w.Repo.SetCheck(sha, "test", "completed", "success"))(w.t)
}

// holds compares terraform's own state; "" is a resource that was never made.
func (w *world) holds(root, want string) {
	w.t.Helper()
	if got, _ := w.Applied(root, "service"); got != want {
		w.t.Fatalf("terraform's state of %s holds %q, want %q\n%s", root, got, want, w.shown())
	}
}
