package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges/forgetest"
)

// world is one case: a repository of its own on a forge that has a server.
type world struct {
	*host
	*server

	t      *testing.T
	ctx    context.Context
	relay  *relay
	repo   *forgetest.Repo
	served string // what the repository was called at first
	state  string // file of the root
	hints  int
	// alice administers and reviews; bob and carol write; mallory may read.
	alice, bob, carol, mallory *forgetest.User
}

// object is one JSON object.
type object = map[string]any

// policy is what a case's repository declares: settings of its one environment
// and of its plans.
type policy struct {
	env, plan object
	approvers []string // logins, and @org/team
	real      bool     // terraform plans
	public    bool
}

// deadline is generous: machines that run tests are slow and shared.
const deadline = 10 * time.Minute

func newWorld(t *testing.T, h *host, s *server, name string, p policy) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	w := &world{host: h, server: s, t: t, ctx: ctx, relay: s.relays[h], served: name}
	w.alice, w.bob, w.carol, w.mallory = h.forge.User("alice"), h.forge.User("bob"), h.forge.User("carol"), h.forge.User("mallory")
	owner, short, _ := strings.Cut(name, "/")
	w.repo = must(h.forge.CreateRepo(owner, short))(t)
	for u, role := range map[*forgetest.User]string{
		h.bot: "admin", w.alice: "admin", w.bob: "write", w.carol: "write", w.mallory: "read",
	} {
		if u != h.bot || h.app == nil {
			w.repo.SetPermission(u, role)
		}
	}
	w.repo.SetPublic(p.public)
	w.state = filepath.Join(s.dir, "state", fmt.Sprintf("%s-%d", strings.ReplaceAll(h.instance().Host, ":", "-"), w.repo.ID))
	if !p.real {
		if err := os.WriteFile(w.state, []byte(`"first"`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.relay.begin(w.repo.ID, must(w.repo.Commit("main", w.files(p), w.alice))(t))
	t.Cleanup(func() {
		w.relay.route(w.repo.ID, nil)
		if t.Failed() {
			t.Logf("%s\nserver log:\n%s", w.shown(), tail(w.log()))
		}
	})
	return w
}

func (w *world) files(p policy) map[string]string {
	w.t.Helper()
	text := func(o object) string { return string(must(json.MarshalIndent(o, "", "  "))(w.t)) + "\n" }
	env := merged(object{"name": "prod", "branch": "main", "applyOnMerge": true}, p.env)
	if p.approvers != nil {
		var principals []string
		for _, name := range p.approvers {
			principals = append(principals, w.instance().Principal(name))
		}
		env["approvers"] = principals
	}
	bot := object{"envs": []object{env}}
	if p.plan != nil {
		bot["plan"] = p.plan
	}
	files := map[string]string{
		"chant.workspace.json": text(object{
			"name": "one-root", "schema": 1, "minReader": "0.108.0", "x-bot": bot,
			"ci": object{"green": object{"branch": "main", "window": "24h", "phases": object{"check": []string{"test"}}, "require": []string{"check"}}},
		}),
		"chant.config.json": text(object{"lexicons": []string{"terraform"}, "terraform": object{
			"binary": "terraform", "roots": object{"app": object{"dir": "roots/app", "backendConfig": object{"path": w.state}}},
		}}),
		"app.component.json": text(object{
			"name": "app", "dependsOn": []string{},
			"deploy": []object{{"phase": "Apply", "steps": []object{{"kind": "terraform-apply", "root": "app"}}}},
		}),
	}
	files[mainTF] = root("first")
	if p.real {
		files["roots/app/"+realMarker] = ""
	}
	return files
}

const mainTF = "roots/app/main.tf"

// root is the one root, holding a value.
func root(value string) string {
	quoted, _ := json.Marshal(value) // a string always does
	return "terraform {\n  backend \"local\" {}\n}\n\nresource \"terraform_data\" \"service\" {\n  input = " + string(quoted) + "\n}\n"
}

func to(value string) map[string]string { return map[string]string{mainTF: root(value)} }

// propose opens a pull request of bob's that changes the root's value.
func (w *world) propose(value string) *forgetest.Pull {
	w.t.Helper()
	branch := "to-" + value
	must(w.repo.Commit(branch, to(value), w.bob))(w.t)
	return must(w.repo.OpenPullRequest(w.bob, branch, "main", "Change to "+value))(w.t)
}

// planned waits for the plan of a pull request's head.
func (w *world) planned(pr *forgetest.Pull) {
	w.t.Helper()
	w.status(pr.Head(), "chant/plan", "success", "1 member, 1 to change")
}

var approveLine = regexp.MustCompile(`(?m)^chant approve (\S+) (\S+) --plan (jcs1-sha256:[0-9a-f]{64})$`)

// line waits for the note to hold a line that approves at op.
func (w *world) line(pr *forgetest.Pull, op string) string {
	w.t.Helper()
	line := ""
	w.eventually("a line to approve "+op, func() bool {
		for _, m := range approveLine.FindAllStringSubmatch(w.note(pr), -1) {
			if m[1] == op {
				line = m[0]
			}
		}
		return line != ""
	})
	return line
}

func opOf(pr *forgetest.Pull) string { return fmt.Sprintf("pr-%d", pr.Number) }
func greenOp(sha string) string      { return "green-" + sha[:12] }

// says comments on a pull request.
func (w *world) says(u *forgetest.User, pr *forgetest.Pull, body string) forgetest.Comment {
	w.t.Helper()
	return must(w.forge.As(u).Comment(pr, body))(w.t)
}

// approved has alice approve the plan and waits for it to count.
func (w *world) approved(pr *forgetest.Pull) forgetest.Comment {
	w.t.Helper()
	c := w.says(w.alice, pr, w.line(pr, opOf(pr)))
	w.noted(pr, "Approved by")
	return c
}

// approvals counts the approvals on the ledger at one op.
func (w *world) approvals(op string) int {
	text, err := w.repo.ReadFile("chant/lifecycle", "_gates/"+op+".jsonl")
	if err != nil {
		return 0
	}
	return strings.Count(text, `"resolvedBy"`)
}

// merges merges a pull request and waits until that is recorded.
func (w *world) merges(pr *forgetest.Pull, method string) (sha string) {
	w.t.Helper()
	sha = must(pr.Merge(method, w.alice))(w.t)
	w.status(pr.Head(), "chant/apply", "pending", "green")
	return sha
}

// check reports what CI says of a commit under a name that is required.
func (w *world) check(sha, state, conclusion string) {
	w.t.Helper()
	must(w.repo.SetCheck(sha, "test", state, conclusion))(w.t)
	w.hint()
}

// green passes the required check.
func (w *world) green(sha string) {
	w.t.Helper()
	w.check(sha, "completed", "success")
}

// hint makes the server look at the branches again where nothing tells of what
// CI said or a reviewer took back: Forgejo 11 sends neither. What would look
// there is the sweep; a tag that somebody pushes comes sooner.
func (w *world) hint() {
	w.t.Helper()
	if w.kind != engine.Forgejo {
		return
	}
	w.hints++
	head := must(w.repo.Head("main"))(w.t)
	if err := w.repo.CreateTags(w.alice, head, fmt.Sprintf("hint-%d", w.hints)); err != nil {
		w.t.Fatal(err)
	}
}

// look makes the server look at a pull request again, where nothing tells it.
func (w *world) look(pr *forgetest.Pull) {
	if w.kind == engine.Forgejo {
		w.hints++
		pr.Edit(fmt.Sprintf("Look %d", w.hints), "", w.bob)
	}
}

// tagged tells whether a commit has a tag of a kind, "green" or "revoked".
func (w *world) tagged(kind, sha string) bool {
	tags, _ := w.repo.Tags()
	return slices.ContainsFunc(tags, func(t forgetest.Tag) bool { return t.Name == "ci/"+kind+"/"+sha && t.Commit == sha })
}

func (w *world) awaitTag(kind, sha string) {
	w.t.Helper()
	w.eventually("the tag ci/"+kind+"/"+sha, func() bool { return w.tagged(kind, sha) })
}

// applied waits until what a pull request brought is applied.
func (w *world) applied(pr *forgetest.Pull, value string) {
	w.t.Helper()
	w.status(pr.Head(), "chant/apply", "success", "applied")
	w.holds(value)
}

// holds compares what the root's state holds.
func (w *world) holds(value string) {
	w.t.Helper()
	data, held := must(os.ReadFile(w.state))(w.t), ""
	if json.Unmarshal(data, &held) != nil {
		held = written(data)
	}
	if held != value {
		w.t.Fatalf("the state holds %q, want %q", held, value)
	}
}

// written reads the value from a state of terraform's own.
func written(data []byte) string {
	var state struct {
		Resources []struct {
			Instances []struct {
				Attributes struct {
					Input struct{ Value string }
				}
			}
		}
	}
	if json.Unmarshal(data, &state) != nil || len(state.Resources) != 1 {
		return ""
	}
	return state.Resources[0].Instances[0].Attributes.Input.Value
}

// quiet waits until the forge has told all it had to tell.
func (w *world) quiet() {
	w.t.Helper()
	if err := w.forge.Quiesce(w.ctx); err != nil {
		w.t.Fatal(err)
	}
}
