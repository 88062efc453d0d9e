package terraform

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
)

// encryption is a configuration of tofu's; terraform has none.
const encryption = `key_provider "pbkdf2" "p" { passphrase = "a passphrase that is long enough" }
method "aes_gcm" "m" { keys = key_provider.pbkdf2.p }
state { method = method.aes_gcm.m }
`

// Each kind of fallback that only the driver can see, on the real tool.
func TestWhyAMemberIsPlannedOutsideItsGroup(t *testing.T) {
	t.Parallel()
	empty := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(empty.Close)
	const overHTTP = "terraform {\n  backend \"http\" {}\n}\n"
	for name, tc := range map[string]struct {
		files  map[string]string
		change func(s *site, t *engine.GroupTarget)
		want   []string // "member kind: part of the reason"
	}{
		"engine: another workspace": {
			change: func(s *site, t *engine.GroupTarget) {
				t.Members[1].Target.Root.Workspace = "prod"
				t.Members[1].Target.Root.BackendConfig = map[string]string{"workspace_dir": s.state}
				s.write(s.state, map[string]string{"prod/.keep": ""})
			},
			want: []string{`app engine: its workspace "prod" is not ""`},
		},
		"backend: its state is another's": {
			change: func(s *site, t *engine.GroupTarget) {
				t.Members[1].Target.Root.BackendConfig = map[string]string{"path": s.statePath("net")}
			},
			want: []string{"app backend: it keeps its state where net does"},
		},
		"backend: its lock is not proven to be one that can be held": {
			files: map[string]string{"roots/app/main.tf": strings.Replace(groupRoots()["roots/app/main.tf"], backend, overHTTP, 1)},
			change: func(_ *site, t *engine.GroupTarget) {
				t.Members[1].Target.Root.BackendConfig = map[string]string{"address": empty.URL + "/state"}
			},
			want: []string{`app backend: that a state of the backend "http" can be pushed`},
		},
		"config: an import block": {
			files: map[string]string{"roots/net/import.tf": "import {\n  to = terraform_data.net\n  id = \"x\"\n}\n"},
			want:  []string{"net config: import.tf has an import block"},
		},
		"config: a file of the directory the tool runs in": {
			files: map[string]string{"roots/net/f.tf": "output \"f\" {\n  value = file(\"f.tf\")\n}\n"},
			want:  []string{"net config: f.tf:2 uses file()"},
		},
		"config: path.root in a module it calls": {
			files: map[string]string{
				"roots/net/f.tf": "module \"m\" {\n  source = \"../../modules/m\"\n}\n", "modules/m/m.tf": "output \"r\" {\n  value = \"${path.root}/x\"\n}\n",
			},
			want: []string{"net config: m.tf:2 uses path.root"},
		},
		"config: path.cwd": {
			files: map[string]string{"roots/net/f.tf": "locals {\n  x = path.cwd\n}\n"},
			want:  []string{"net config: f.tf:2 uses path.cwd"},
		},
		"config: it configures providers and only comes after another": {
			files: map[string]string{"roots/app/p.tf": "provider \"terraform\" {}\n", "roots/app/main.tf": backend + "variable \"names\" { type = list(string) }\n"},
			change: func(_ *site, t *engine.GroupTarget) {
				t.Members[1].Reads, t.Members[1].After = nil, []string{"net"}
			},
			want: []string{"app config: it configures providers, and has to come after net"},
		},
		"config: an encrypted state": {
			change: func(_ *site, t *engine.GroupTarget) {
				for i := range t.Members {
					t.Members[i].Target.Credentials = []string{"TF_ENCRYPTION=" + encryption}
				}
			},
			want: []string{"app config: its state is encrypted", "net config: its state is encrypted"},
		},
		"config: two members of one directory": {
			change: func(_ *site, t *engine.GroupTarget) { t.Members[1].Target.Root.Dir = "roots/net" },
			want:   []string{"app config: another member of the group has its directory"},
		},
		"remote-state: of a member": {
			files: map[string]string{"roots/app/r.tf": "data \"terraform_remote_state\" \"net\" {\n  backend = \"local\"\n  config = {\n    path = \"/elsewhere/net.tfstate\"\n  }\n  defaults = { cidr = 1 }\n}\n"},
			want:  []string{"app remote-state: data.terraform_remote_state.net may read the state of net"},
		},
		"reads: a variable that it does not declare": {
			change: func(_ *site, t *engine.GroupTarget) { t.Members[1].Reads[0].Path = []string{"other"} },
			want:   []string{"app reads: it declares no variable other"},
		},
		"reads: a variable without a type": {
			files: map[string]string{"roots/app/main.tf": strings.Replace(groupRoots()["roots/app/main.tf"], `variable "net" { type = string }`, `variable "net" {}`, 1)},
			want:  []string{"app reads: its variable net has no type"},
		},
		"plan: one member alone fails": {
			files: map[string]string{"roots/net/bad.tf": "resource \"terraform_data\" \"x\" {\n"},
			want:  []string{"net plan: root net: "},
		},
		"reads: an output that is not declared": {
			change: func(_ *site, t *engine.GroupTarget) { t.Members[1].Reads[0].Output = "gone.id" },
			want:   []string{"app reads: net declares no output gone"},
		},
		"plan: a count that is not known": {
			files: map[string]string{"roots/app/c.tf": "resource \"terraform_data\" \"c\" {\n  count = length(var.net)\n}\n"},
			want:  []string{"app plan: ", "net plan: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, groupRoots())
			s.write(s.checkout, tc.files)
			target := s.netAndApp()
			if tc.change != nil {
				tc.change(s, &target)
			}
			p, err := s.grouper().PlanGroup(context.Background(), target, s.lines.add)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, f := range p.Fallbacks {
				got = append(got, f.Member+" "+string(f.Kind)+": "+f.Reason)
				if i < len(tc.want) && strings.HasPrefix(got[i], tc.want[i]) {
					got[i] = tc.want[i]
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || p.File != "" || len(p.Members) > 0 {
				t.Errorf("a plan %q (-want +got):\n%s", p.File, diff)
			}
		})
	}
}

// What a caller should never ask for is an error.
func TestATargetThatIsNoGroupIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, groupRoots())
	g := s.grouper()
	for want, change := range map[string]func(t *engine.GroupTarget){
		"want a word":                    func(t *engine.GroupTarget) { t.Group = "../x" },
		"no worktree in common":          func(t *engine.GroupTarget) { t.Members[1].Target.Worktree = "/elsewhere" },
		"that holds every file":          func(t *engine.GroupTarget) { t.Members[0].Target.Base = s.checkout },
		"different credentials":          func(t *engine.GroupTarget) { t.Members[1].Target.Credentials = []string{"A=b"} },
		"the member net twice":           func(t *engine.GroupTarget) { t.Members[1].Target.Member = "net" },
		"of app, which is no member":     func(t *engine.GroupTarget) { t.Members[0].Reads = []engine.GroupRead{reads("app", "apps", "cidr")} },
		"after last, which is no member": func(t *engine.GroupTarget) { t.Members[1].After = []string{"last"} },
	} {
		target := s.netAndApp()
		change(&target)
		if _, err := g.PlanGroup(context.Background(), target, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}
