package terraform

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
)

const awsLock = `
provider "registry.terraform.io/hashicorp/aws" {
  version = "5.1.0"
  hashes  = ["h1:x"]
}
`

func TestOnlyInitsThatMayDownloadWriteToTheCache(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files  map[string]string
		cached bool
		want   cacheUse
	}{
		"only the built-in provider": {files: map[string]string{"r/main.tf": netRoot}, want: cacheNone},
		"a provider in a module": {
			files: map[string]string{"r/main.tf": "module \"m\" {\n  source = \"./m\"\n}\n", "r/m/x.tf": "resource \"aws_vpc\" \"v\" {}\n"},
			want:  cacheWrite,
		},
		"a module from elsewhere": {files: map[string]string{"r/main.tf": "module \"m\" {\n  source = \"a/b/c\"\n}\n"}, want: cacheWrite},
		"required providers":      {files: map[string]string{"r/main.tf": "terraform {\n  required_providers {}\n}\n"}, want: cacheWrite},
		"JSON":                    {files: map[string]string{"r/main.tf.json": "{}"}, want: cacheWrite},
		"what does not parse":     {files: map[string]string{"r/main.tf": "resource {{"}, want: cacheWrite},
		"a lock file, not cached": {files: map[string]string{"r/main.tf": "provider \"aws\" {}\n", "r/.terraform.lock.hcl": awsLock}, want: cacheWrite},
		"a lock file, cached":     {files: map[string]string{"r/main.tf": "provider \"aws\" {}\n", "r/.terraform.lock.hcl": awsLock}, cached: true, want: cacheRead},
		"a lock file that lies":   {files: map[string]string{"r/main.tf": "provider \"aws\" {}\n", "r/.terraform.lock.hcl": "provider \"../../..\" {\n  version = \"..\"\n}\n"}, cached: true, want: cacheWrite},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &site{t: t, checkout: t.TempDir()}
			s.write(s.checkout, tc.files)
			cache := t.TempDir()
			if tc.cached {
				pkg := filepath.Join(cache, "registry.terraform.io/hashicorp/aws/5.1.0", runtime.GOOS+"_"+runtime.GOARCH)
				if err := os.MkdirAll(pkg, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			w := &workdir{
				d: &Driver{cfg: Config{CacheDir: cache}},
				t: engine.Target{Worktree: s.checkout, ProjectDir: s.checkout, Root: project.Root{Name: "r", Dir: "r"}},
			}
			if err := w.locate(); err != nil {
				t.Fatal(err)
			}
			defer w.close()
			if got, err := w.cacheUse(); err != nil || got != tc.want {
				t.Errorf("got %d, %v, want %d", got, err, tc.want)
			}
		})
	}
}

func TestTheCLIConfigurationQuotesItsPaths(t *testing.T) {
	t.Parallel()
	got := cliConfig(Config{CacheDir: `/c/"${x}"`, Mirror: "/m"})
	want := "disable_checkpoint = true\nplugin_cache_dir = \"/c/\\\"$${x}\\\"\"\n" +
		"provider_installation {\n  filesystem_mirror {\n    path = \"/m\"\n  }\n}\n"
	if got != want {
		t.Errorf("got %s", got)
	}
}
