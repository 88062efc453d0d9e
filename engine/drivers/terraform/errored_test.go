package terraform

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/project"
)

// stateServer is a backend of the kind http that takes no state while it is broken.
type stateServer struct {
	mu     sync.Mutex
	state  []byte
	broken bool
}

func (s *stateServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	switch {
	case r.Method == http.MethodPost && s.broken:
		w.WriteHeader(http.StatusForbidden)
	case r.Method == http.MethodPost:
		s.state = body
	case s.state == nil:
		w.WriteHeader(http.StatusNotFound)
	default:
		_, _ = w.Write(s.state)
	}
}

func (s *stateServer) set(broken bool, state []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken, s.state = broken, state
}

// known is what everybody knows of kept states.
type known struct {
	kept, stored []string // ids, each once
	files        []string
	void         string // id
	fails        error
}

func (k *known) Keep(_ context.Context, s engine.KeptState) error {
	if !slices.Contains(k.kept, s.ID) {
		k.kept = append(k.kept, s.ID)
	}
	k.files = append(k.files, s.File)
	return k.fails
}

func (k *known) Void(_ context.Context, id string) (bool, error) { return k.void == id, nil }

func (k *known) Stored(_ context.Context, id string) error {
	k.stored = append(k.stored, id)
	return k.fails
}

// soundness I12: what an apply made whose state its backend does not take is known to one
// file in the checkout, which goes with it. Planned without it, it would be made again, on
// this machine or another.
func TestAStateThatItsBackendDoesNotTakeIsKept(t *testing.T) {
	t.Parallel()
	for name, recovered := range map[string]bool{"seen to end": false, "by a server that was killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := &stateServer{}
			server := httptest.NewServer(backend)
			t.Cleanup(server.Close)
			s := newSite(t, map[string]string{
				"roots/net/main.tf":        strings.Replace(netRoot, `"local"`, `"http"`, 1),
				"roots/net/" + erroredFile: "somebody committed this",
			})
			s.target.Root.BackendConfig = map[string]string{"address": server.URL}
			all := &known{}
			s.target.Keeper = all
			d := s.driver()
			p := s.plan(d)
			backend.set(true, nil)
			out, err := d.Apply(t.Context(), p, s.lines.add)
			if err != nil {
				t.Fatal(err)
			}
			if recovered { // as the next server finds it, in another checkout
				if err := os.RemoveAll(d.keptDir()); err != nil {
					t.Fatal(err)
				}
				p.Target.Worktree = shortDir(t)
				p.Target.ProjectDir = p.Target.Worktree
				s.write(p.Target.Worktree, map[string]string{"roots/net/main.tf": "", "roots/net/" + erroredFile: "somebody committed this"})
				if out, _, err = d.Recover(context.Background(), p); err != nil {
					t.Fatal(err)
				}
			}
			kept := filesIn(t, d.keptDir())
			if len(kept) != 1 || !strings.Contains(out.Error, kept[0]) || out.Fault != nil {
				t.Fatalf("kept are %v, and the outcome is %q, %v", kept, out.Error, out.Fault)
			}
			if len(all.kept) != 1 || all.files[0] == "" || !strings.Contains(out.Error, "chant unlock "+all.kept[0]) {
				t.Fatalf("others know of %v, and people are told %q", all.kept, out.Error)
			}
			here, err := d.Keeps(all.kept[0])
			if other, _ := d.Keeps("0123456789ab"); !here || other || err != nil {
				t.Errorf("it is here: %v, another one: %v, %v", here, other, err)
			}
			again := s.target
			again.RunDir = shortDir(t)
			if _, err := d.Plan(t.Context(), again, nil); err == nil || !strings.Contains(err.Error(), kept[0]) {
				t.Errorf("it was planned without what it made: %v", err)
			}
			renamed := again
			renamed.Member, renamed.Root.Name, renamed.RunDir = "network", "network", shortDir(t)
			if _, err := d.Plan(t.Context(), renamed, nil); err == nil || !strings.Contains(err.Error(), kept[0]) {
				t.Errorf("by another name it was planned without what it made: %v", err)
			}
			if len(all.kept) != 1 {
				t.Errorf("others know of %v", all.kept)
			}
			state, err := os.ReadFile(kept[0])
			if err != nil {
				t.Fatal(err)
			}
			lineage := textIn(s.decode(string(state)), "lineage")
			backend.set(false, []byte(strings.Replace(string(state), lineage, "another", 1))) // as a person pushes a first state
			if p := s.replan(d); !p.NoChanges || len(filesIn(t, d.keptDir())) > 0 {
				t.Errorf("after it was pushed there is %v to do, and kept is %v", entries(p), filesIn(t, d.keptDir()))
			}
			if left := filesIn(t, d.begunDir()); len(left) > 0 {
				t.Errorf("an apply that was seen to end is still noted: %v", left)
			}
			if diff := cmp.Diff(all.kept, all.stored); diff != "" {
				t.Errorf("what others know to be stored (-want +got):\n%s", diff)
			}
		})
	}
}

// A kept state is void by somebody's word, and stays where others can't be told that it is
// stored: they would wait for it for ever.
func TestAKeptStateIsDealtWithWhereOthersKnow(t *testing.T) {
	t.Parallel()
	const id = "0123456789ab"
	for name, tt := range map[string]struct {
		state         string
		all           known
		refused       bool
		kept, stored  int
		files, asides int
	}{
		"not pushed":                   {state: `{"serial":9,"lineage":"l","outputs":{},"resources":[{}]}`, refused: true, kept: 1, files: 1},
		"nobody can be told":           {state: `{"serial":9,"lineage":"l","outputs":{},"resources":[{}]}`, all: known{fails: errors.New("no ledger")}, refused: true, kept: 1, files: 1},
		"void":                         {state: `{"serial":9,"lineage":"l","outputs":{},"resources":[{}]}`, all: known{void: id}, asides: 1},
		"stored":                       {state: `{"serial":9,"lineage":"l","outputs":{},"resources":[]}`, stored: 1},
		"stored, nobody can be told":   {state: `{"serial":9,"lineage":"l","outputs":{},"resources":[]}`, all: known{fails: errors.New("no ledger")}, refused: true, stored: 1, files: 1},
		"encrypted, others know of it": {state: `{"serial":9,"lineage":"l","encrypted_data":"Wfn0"}`, refused: true, kept: 1, files: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]string{"roots/net/main.tf": "terraform {\n  backend \"local\" {}\n}\n"})
			s.target.Vars, s.target.Keeper = nil, &tt.all
			d := s.driver()
			if _, err := d.keepState(s.target, "local:"+s.target.Root.BackendConfig["path"], id, s.decode(tt.state)); err != nil {
				t.Fatal(err)
			}
			_, err := d.Plan(t.Context(), s.target, nil)
			if (err != nil) != tt.refused {
				t.Errorf("planned: %v, want refused %v", err, tt.refused)
			}
			if tt.kept > 0 && !strings.Contains(err.Error(), "chant unlock "+id) {
				t.Errorf("people are told %v", err)
			}
			asides, err := filepath.Glob(filepath.Join(s.state, "kept-released", "*"))
			if err != nil {
				t.Fatal(err)
			}
			got := [...]int{len(tt.all.kept), len(tt.all.stored), len(filesIn(t, d.keptDir())), len(asides)}
			if want := [...]int{tt.kept, tt.stored, tt.files, tt.asides}; got != want {
				t.Errorf("kept, stored, files and put aside are %v, want %v", got, want)
			}
		})
	}
}

// A kept state is of one root: not of one in another project of the workspace that has its
// name, nor of one in another environment, whose credentials lead elsewhere. And it is
// stored where it belongs, or not at all: the code of a pull request says where it looks.
func TestAKeptStateIsOfOneRoot(t *testing.T) {
	t.Parallel()
	const none = `{"serial":9,"lineage":"l","outputs":{},"resources":[]}`
	const some = `{"serial":9,"lineage":"l","outputs":{},"resources":[{}]}`
	for name, tt := range map[string]struct {
		state, env, project, path string
		refused                   bool
	}{
		"itself":                    {state: some, refused: true},
		"in another project":        {state: some, project: "billing", path: "billing.tfstate"},
		"in another environment":    {state: some, env: "staging"},
		"its state is moved":        {state: some, path: "moved.tfstate", refused: true},
		"its code looks elsewhere":  {state: none, path: "moved.tfstate", refused: true},
		"it is moved to a project":  {state: some, project: "billing", refused: true},
		"nothing was kept but that": {state: none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const code = "terraform {\n  backend \"local\" {}\n}\n"
			s := newSite(t, map[string]string{"roots/net/main.tf": code, "billing/roots/net/main.tf": code})
			all := &known{}
			s.target.Vars, s.target.Keeper = nil, all
			place := "local:" + s.target.Root.BackendConfig["path"]
			if _, err := s.driver().keepState(s.target, place, "0123456789ab", s.decode(tt.state)); err != nil {
				t.Fatal(err)
			}
			s.target.ProjectDir = filepath.Join(s.checkout, tt.project)
			if tt.env == "" {
				tt.env = "prod"
			}
			if tt.path != "" {
				s.target.Root.BackendConfig = map[string]string{"path": filepath.Join(s.state, tt.path)}
			}
			d := s.driver(func(c *Config) { c.Scope = "repo " + tt.env })
			if _, err := d.Plan(t.Context(), s.target, nil); (err != nil) != tt.refused || (len(all.kept) > 0) != tt.refused {
				t.Errorf("planned: %v, want refused %v; others know of %v", err, tt.refused, all.kept)
			}
		})
	}
}

// Where the state can't even be kept, as on a disk that is full, nobody plans the root before
// somebody answers for the present one.
func TestAStateThatCantBeKeptIsKnownToOthers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		way     string // what is in the way of the directory of kept states
		errored map[string]string
		printed bool
	}{
		"no file can be made":       {way: "kept", errored: map[string]string{"roots/net/" + erroredFile: `{"serial":1,"lineage":"l","resources":[]}`}},
		"half of it was written":    {way: "other", errored: map[string]string{"roots/net/" + erroredFile: `{"serial":`}},
		"the tool wrote it nowhere": {way: "other", printed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]string{"roots/net/main.tf": netRoot})
			all, d := &known{}, s.driver()
			s.target.Keeper = all
			s.write(s.target.RunDir, map[string]string{ranFile: `{"worktree":"` + s.checkout + `","dir":"roots/net","state":"there","kept":"0123456789ab"}`})
			s.write(s.checkout, tt.errored)
			s.write(d.cfg.StateDir, map[string]string{tt.way: "in the way"})
			var out engine.Outcome
			d.keepErrored(t.Context(), s.target, tt.printed, &out)
			want := filepath.Join(s.checkout, "roots/net", erroredFile)
			if out.Fault == nil || !slices.Equal(all.kept, []string{"0123456789ab"}) || !slices.Equal(all.files, []string{want}) || !strings.Contains(out.Error, "chant unlock 0123456789ab") {
				t.Errorf("%+v, others know of %v in %v", out, all.kept, all.files)
			}
		})
	}
}

// What an apply prints since it can write it nowhere is no state any more. On its machine,
// too, the root is planned again only once somebody answers for the present state.
func TestWhatAnApplyCouldWriteNowhereIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	backend := &stateServer{}
	server := httptest.NewServer(backend)
	t.Cleanup(server.Close)
	root := strings.Replace(failing("mkdir "+erroredFile), `"local"`, `"http"`, 1)
	s := newSite(t, map[string]string{"roots/net/main.tf": root})
	s.target.Root.BackendConfig = map[string]string{"address": server.URL}
	s.target.Vars = map[string]digest.Value{"net": digest.StringOf("x"), "names": s.decode(`["a"]`)}
	all := &known{}
	s.target.Keeper = all
	d := s.driver()
	p := s.plan(d)
	backend.set(true, nil)
	out, err := d.Apply(t.Context(), p, s.lines.add)
	if err != nil {
		t.Fatal(err)
	}
	if len(all.kept) != 1 || !strings.Contains(out.Error, stateLeftOut) || !strings.Contains(out.Error, "chant unlock "+all.kept[0]) {
		t.Fatalf("others know of %v, and people are told %q, %v", all.kept, out.Error, out.Fault)
	}
	backend.set(false, nil)
	again := s.target
	again.RunDir = shortDir(t)
	if _, err := d.Plan(t.Context(), again, nil); err == nil || !strings.Contains(err.Error(), "chant unlock "+all.kept[0]) || len(all.kept) != 1 {
		t.Errorf("it was planned: %v; others know of %v", err, all.kept)
	}
	all.void = all.kept[0]
	again.RunDir = shortDir(t)
	if _, err := d.Plan(t.Context(), again, nil); err != nil {
		t.Errorf("somebody answers for the present state: %v", err)
	}
}

// Encrypted, it lists no resources, and neither does a root that was never applied.
func TestAKeptStateThatIsEncryptedIsNotTakenForOneWithoutResources(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": netRoot})
	d := s.driver()
	kept, err := d.keepState(s.target, "elsewhere", "", s.decode(`{"serial":2,"lineage":"l","meta":{},"encrypted_data":"Wfn0","encryption_version":"v0"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Plan(t.Context(), s.target, nil); err == nil || !strings.Contains(err.Error(), kept) || !strings.Contains(err.Error(), "remove it too when you pushed it") {
		t.Errorf("it was planned without what it made: %v", err)
	}
	if files := filesIn(t, d.keptDir()); len(files) != 1 {
		t.Errorf("kept is %v", files)
	}
}

// A backend that gives nobody its lock is held by nobody, and is freed by nobody.
func TestOnlyALockThatSomebodyHoldsIsSaidToBeHeld(t *testing.T) {
	t.Parallel()
	w := &workdir{d: &Driver{planner: "terraform"}, t: engine.Target{Root: project.Root{Name: "net"}}}
	for said, want := range map[string]bool{
		"Error: Error acquiring the state lock\n\nError message: AccessDenied: not allowed":          false,
		"Error: Error acquiring the state lock\n\nError message: locked\nLock Info:\n  ID:        1": true,
	} {
		err := w.failure(call{args: []string{"plan"}}, exec.Result{ExitCode: 1, Stderr: []byte(said)})
		if got := strings.Contains(err.Error(), "force-unlock"); got != want {
			t.Errorf("%q is told as %q", said, err)
		}
	}
}

// An apply that failed and stored its state leaves nothing, whatever the checkout holds.
func TestAFailedApplyWhoseStateIsStoredKeepsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": failing("exit 1"), "roots/net/" + erroredFile: `{"version":4}`})
	s.target.Vars = map[string]digest.Value{"net": digest.StringOf("x"), "names": s.decode(`["a"]`)}
	d := s.driver()
	out, err := d.Apply(t.Context(), s.plan(d), s.lines.add)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(d.keptDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if out.Error == "" || len(filesIn(t, d.keptDir())) > 0 {
		t.Errorf("%+v, kept is %v", out, filesIn(t, d.keptDir()))
	}
}

// killedOnceApplied is a group whose server was killed right after the apply, and where
// the tool wrote the joined state.
func killedOnceApplied(t *testing.T) (s *site, g *Grouper, p engine.PlannedGroup, joined string) {
	t.Helper()
	s = newSite(t, groupRoots())
	g = s.grouper()
	p = s.planGroup(g, s.netAndApp())
	killed(t, s.groupServer(p, stepApplied, 0))
	return s, g, p, filepath.Join(p.Target.RunDir, "state", "terraform.tfstate")
}

// The disk was full when the tool wrote the joined state: what it has of it is beside.
func TestAJoinedStateThatWasWrittenBesideItsPlaceIsGivenBack(t *testing.T) {
	t.Parallel()
	s, g, p, joined := killedOnceApplied(t)
	made, err := os.ReadFile(joined)
	if err == nil {
		err = os.WriteFile(joined, nil, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(s.checkout, composeDir, p.Target.Group, erroredFile), made, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	// The first recovery ends before anybody has its state.
	broken := filepath.Join(s.checkout, "roots/app/broken.tf")
	s.write(s.checkout, map[string]string{"roots/app/broken.tf": "{"})
	if _, found, err := g.RecoverGroup(context.Background(), p); err == nil || !found {
		t.Errorf("recovered %v, %v with a broken member", found, err)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	out, found, err := g.RecoverGroup(context.Background(), p)
	if err != nil || !found || statuses(out) != "net applied, app applied" {
		t.Fatalf("recovered %s: %+v, %v, %v", statuses(out), out, found, err)
	}
	s.placed(map[string]string{"net": "net", "app": "app"})
	if _, err := os.Stat(filepath.Join(p.Target.RunDir, erroredFile)); !os.IsNotExist(err) {
		t.Errorf("the state is left in the run directory: %v", err)
	}
}

// What the tool can write nowhere it prints, with all secrets of the root.
func TestAStateThatIsPrintedIsShownToNobody(t *testing.T) {
	t.Parallel()
	const said = "Error: x\n{\n  \"version\": 4,\n  \"outputs\": {\n    \"secret\": \"hunter2\"\n  }\n}\nError: y\n{\n  \"code\": 403\n}\n{\nend\n"
	const want = "Error: x\n" + stateLeftOut + "\nError: y\n{\n  \"code\": 403\n}\n{\nend\n"
	if got := string(withoutState([]byte(said))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// tofu prints it in one line, which comes in pieces where it is long.
func TestAStateThatIsPrintedInOneLineIsShownToNobody(t *testing.T) {
	t.Parallel()
	const begins = `{"version":4,"serial":1,"lineage":"l","outputs":{"secret":"hunter2"},`
	long := begins + strings.Repeat("x", exec.MaxLine)
	var got []string
	show := shownLines(func(line string) { got = append(got, line) })
	for _, line := range []string{"Error: x", long, strings.Repeat("hunter2", exec.MaxLine), "hunter2}", "{", begins + "}", `{"code":403}`} {
		show("stderr", line)
	}
	want := []string{"Error: x", stateLeftOut, "{", stateLeftOut, `{"code":403}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := string(withoutState([]byte("Error: x\n" + long + "hunter2}\nhow to go on\n"))); strings.Contains(text, "hunter2") || !strings.HasPrefix(text, "Error: x\n"+stateLeftOut+"\n") {
		t.Errorf("people are shown %q", text)
	}
}

// The lines of the other stream may come at any place of it.
func TestAStateThatIsPrintedIsNotShownBetweenOtherLines(t *testing.T) {
	t.Parallel()
	var got []string
	show := shownLines(func(line string) { got = append(got, line) })
	for _, line := range []string{"{", `  "version": 4,`, `  "secret": "hunter2"`, `  "more": "hunter3"`, "}", "Error: y"} {
		show("stderr", line)
		show("stdout", "}")
	}
	want := []string{"}", stateLeftOut, "}", "}", "}", "}", "Error: y", "}"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
