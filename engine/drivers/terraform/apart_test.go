package terraform

import (
	"context"
	"encoding/xml"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/project"
)

// asPull has the site's root run in a workspace of a pull request, beside itself as
// declared.
func (s *site) asPull() {
	s.target.Apart = []project.Root{s.target.Root}
	s.target.Root.Workspace = "pr-12"
}

// components decision 6: the worst a pull request's environment could do is to apply
// onto, or to destroy, the state of a declared one.
func TestAPullRequestsWorkspaceLeavesTheDeclaredStateAsItIs(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": netRoot + "output \"where\" {\n  value = terraform.workspace\n}\n"})
	declared, own := filepath.Join(shortDir(t), "prod"), filepath.Join(s.state, "ws")
	s.target.Root.BackendConfig = map[string]string{"path": filepath.Join(declared, "net.tfstate"), "workspace_dir": own}
	if err := os.Mkdir(declared, 0o777); err != nil {
		t.Fatal(err)
	}
	prod := s.driver(func(c *Config) { c.Writable = []string{declared} })
	s.apply(prod, s.plan(prod))
	before := stateText(t, filepath.Join(declared, "net.tfstate"))

	s.asPull()
	d := s.driver()
	if out, err := d.Outputs(context.Background(), s.target); err != nil || len(out) > 0 {
		t.Errorf("an environment that was never applied has outputs %v, %v", out, err)
	}
	p := s.replan(d)
	if diff := cmp.Diff([]string{"create terraform_data.net"}, entries(p)); diff != "" {
		t.Errorf("it plans onto something that is there (-want +got):\n%s", diff)
	}
	if want := "local:" + filepath.Join(own, "pr-12/pr-12"); p.State != want {
		t.Errorf("the state is at %q, want %q", p.State, want)
	}
	if out := s.apply(d, p); text(out.Outputs["where"].Value) != `"pr-12"` {
		t.Errorf("it ran in %s", text(out.Outputs["where"].Value))
	}
	s.target.Destroy = true
	end := s.replan(d)
	if diff := cmp.Diff([]string{"delete terraform_data.net"}, entries(end)); diff != "" {
		t.Errorf("the end (-want +got):\n%s", diff)
	}
	s.apply(d, end)
	if p := s.replan(d); !p.NoChanges {
		t.Errorf("something is left: %v", entries(p))
	}
	if diff := cmp.Diff(before, stateText(t, filepath.Join(declared, "net.tfstate"))); diff != "" {
		t.Errorf("the declared state changed (-before +after):\n%s", diff)
	}
}

func stateText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAStateThatIsNotProvenToBeApartIsRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		main   string
		change func(s *site)
		want   string
	}{
		"the declared workspace is the same": {change: func(s *site) { s.target.Apart[0].Workspace = "pr-12" }, want: "root net is declared with this very workspace"},
		"another root's is": {
			change: func(s *site) { s.target.Apart = append(s.target.Apart, project.Root{Name: "dns", Workspace: "pr-12"}) },
			want:   "root dns is declared with this very workspace",
		},
		"a declared state has the name in its path": {
			change: func(s *site) {
				s.target.Apart = append(s.target.Apart, project.Root{Name: "dns", BackendConfig: map[string]string{"key": "env:/pr-12/net"}})
			},
			want: `the backendConfig "key" of root dns names it`,
		},
		"a declared state is where its code may write": {
			change: func(s *site) {
				s.target.Apart = append(s.target.Apart, project.Root{Name: "dns", BackendConfig: map[string]string{"path": filepath.Join(s.state, "dns.tfstate")}})
			},
			want: "the directory in which root dns keeps its state",
		},
		"so is that of a named workspace": {
			change: func(s *site) {
				s.target.Apart = append(s.target.Apart, project.Root{Name: "dns", Workspace: "prod", BackendConfig: map[string]string{"workspace_dir": s.state}})
			},
			want: "the directory in which root dns keeps its state",
		},
		"a backend without workspaces": {
			main:   "terraform {\n  backend \"http\" {\n    address = \"http://127.0.0.1:9/state\"\n  }\n}\n",
			change: func(s *site) { s.target.Root.BackendConfig = nil },
			want:   `its backend is "http"; use s3, or local`,
		},
		"a backend not known here": {
			main:   "terraform {\n  backend \"inmem\" {}\n}\n",
			change: func(s *site) { s.target.Root.BackendConfig = nil },
			want:   `root net is not run in workspace pr-12: its backend is "inmem"; use s3, or local with a workspace_dir`,
		},
		"a backend of which only a comment tells": {
			main:   "# backend \"s3\"\nterraform {\n  backend \"local\" {}\n}\n",
			change: func(*site) {},
			want:   `its backend is "s3, local"`,
		},
		"a local backend whose directory is in the configuration alone": {
			main:   "terraform {\n  backend \"local\" {\n    workspace_dir = \"/srv\"\n  }\n}\n",
			change: func(s *site) { s.target.Root.BackendConfig = nil },
			want:   `its backend is "local"; use s3, or local with a workspace_dir in backendConfig`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.main == "" {
				tc.main = backend
			}
			s := newSite(t, map[string]string{"roots/net/main.tf": tc.main})
			s.target.Root.BackendConfig = map[string]string{"workspace_dir": filepath.Join(s.state, "ws")}
			s.asPull()
			tc.change(s)
			_, err := s.driver().Plan(context.Background(), s.target, nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if _, err := s.driver().Outputs(context.Background(), s.target); err == nil {
				t.Error("its outputs were read")
			}
		})
	}
}

const s3Root = `terraform {
  backend "s3" {
    bucket                      = "states"
    region                      = "eu-west-1"
    skip_credentials_validation = true
    skip_metadata_api_check     = true
    skip_region_validation      = true
    skip_requesting_account_id  = true
    skip_s3_checksum            = true
    use_path_style              = true
  }
}
resource "terraform_data" "net" {
  input = terraform.workspace
}
`

func TestAWorkspaceOnS3IsAnObjectOfItsOwn(t *testing.T) {
	t.Parallel()
	store := &bucket{objects: map[string]string{}}
	server := httptest.NewServer(store)
	t.Cleanup(server.Close)
	s := newSite(t, map[string]string{"roots/net/main.tf": strings.Replace(s3Root, "{\n    bucket", "{\n    endpoints = { s3 = \""+server.URL+"\" }\n    bucket", 1)})
	s.target.Credentials = []string{"AWS_ACCESS_KEY_ID=pull", "AWS_SECRET_ACCESS_KEY=of-the-pull-request"}
	s.target.Root.BackendConfig = map[string]string{"key": "prod/net.tfstate"}
	d := s.driver()
	s.apply(d, s.plan(d))
	before := store.text("prod/net.tfstate")

	s.asPull()
	p := s.replan(d)
	if p.State != "s3:states/pr-12/pr-12/prod/net.tfstate" || !slices.Contains(entries(p), "create terraform_data.net") {
		t.Errorf("it plans %v at %s", entries(p), p.State)
	}
	s.apply(d, p)
	want := []string{"pr-12/pr-12/prod/net.tfstate", "prod/net.tfstate"}
	if diff := cmp.Diff(want, store.keys()); diff != "" || store.text("prod/net.tfstate") != before {
		t.Errorf("objects (-want +got):\n%s; the declared one is now %s", diff, store.text("prod/net.tfstate"))
	}
	s.target.Root.Workspace = "pr-13" // init makes a first workspace and no second
	s.apply(d, s.replan(d))
	if diff := cmp.Diff([]string{want[0], "pr-13/pr-13/prod/net.tfstate", want[1]}, store.keys()); diff != "" || store.text("prod/net.tfstate") != before {
		t.Errorf("objects of two pull requests (-want +got):\n%s", diff)
	}
	// A key that leads out of the workspace's folder is a declared state's.
	s.target.Root.BackendConfig["key"] = "../../prod/net.tfstate"
	if _, err := d.Plan(context.Background(), s.target, nil); err == nil || !strings.Contains(err.Error(), "could lead out") {
		t.Errorf("got %v", err)
	}
	if store.text("prod/net.tfstate") != before {
		t.Error("the declared state changed")
	}
}

// bucket answers what the s3 backend asks of one bucket, by path.
type bucket struct {
	mu      sync.Mutex
	objects map[string]string
}

func (b *bucket) text(key string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.objects[key]
}

func (b *bucket) keys() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.objects))
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/states"), "/")
	text, found := b.objects[key]
	switch {
	case r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		b.objects[key] = string(body)
	case r.Method == http.MethodDelete:
		delete(b.objects, key)
	case key == "":
		b.list(w, r.URL.Query().Get("prefix"))
	case !found:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<Error><Code>NoSuchKey</Code></Error>")
	default:
		_, _ = io.WriteString(w, text)
	}
}

func (b *bucket) list(w http.ResponseWriter, prefix string) {
	type content struct{ Key string }
	var result struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []content
	}
	for _, key := range slices.Sorted(maps.Keys(b.objects)) {
		if strings.HasPrefix(key, prefix) {
			result.Contents = append(result.Contents, content{key})
		}
	}
	_ = xml.NewEncoder(w).Encode(result)
}

// Where a root's state is can be told without its plan, whatever its variables are: of a
// hole, which has no plan. A root that can't be initialised yet may be waiting for what
// makes its backend; one that is declared wrong stays so.
func TestWhereAStateIsIsToldWithoutAPlan(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": netRoot})
	d := s.driver()
	want := s.plan(d).State
	bare := s.target
	bare.Vars = nil
	if got, err := d.Place(t.Context(), bare); got != want || err != nil {
		t.Errorf("the state is at %q, %v; its plan says %q", got, err, want)
	}
	s.write(s.checkout, map[string]string{"roots/net/main.tf": strings.Replace(netRoot, `"local"`, `"pg"`, 1)})
	bare.Root.BackendConfig = map[string]string{"conn_str": "postgres://127.0.0.1:1/none?sslmode=disable"}
	if got, err := d.Place(t.Context(), bare); got != "" || err != nil {
		t.Errorf("without its backend the state is at %q, %v; want that it can't be told yet", got, err)
	}
	s.write(s.checkout, map[string]string{"roots/net/main.tf": netRoot})
	bare.Root.BackendConfig = nil
	if got, err := d.Place(t.Context(), bare); err == nil {
		t.Errorf("a state that goes with the checkout is at %q", got)
	}
}
