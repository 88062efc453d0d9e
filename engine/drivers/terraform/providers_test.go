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

func TestOnlyInitsThatMayDownloadWaitForEachOther(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files  map[string]string
		cached bool
		want   bool
	}{
		"only the built-in provider": {files: map[string]string{"r/main.tf": netRoot}, want: false},
		"a provider in a module": {
			files: map[string]string{"r/main.tf": "module \"m\" {\n  source = \"./m\"\n}\n", "r/m/x.tf": "resource \"aws_vpc\" \"v\" {}\n"},
			want:  true,
		},
		"a module from elsewhere": {files: map[string]string{"r/main.tf": "module \"m\" {\n  source = \"a/b/c\"\n}\n"}, want: true},
		"required providers":      {files: map[string]string{"r/main.tf": "terraform {\n  required_providers {}\n}\n"}, want: true},
		"JSON":                    {files: map[string]string{"r/main.tf.json": "{}"}, want: true},
		"what does not parse":     {files: map[string]string{"r/main.tf": "resource {{"}, want: true},
		"a lock file, not cached": {files: map[string]string{"r/main.tf": "provider \"aws\" {}\n", "r/.terraform.lock.hcl": awsLock}, want: true},
		"a lock file, cached":     {files: map[string]string{"r/main.tf": "provider \"aws\" {}\n", "r/.terraform.lock.hcl": awsLock}, cached: true, want: false},
		"a lock file that lies":   {files: map[string]string{"r/main.tf": "provider \"aws\" {}\n", "r/.terraform.lock.hcl": "provider \"../../..\" {\n  version = \"..\"\n}\n"}, cached: true, want: true},
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
			if got, err := w.mayDownload(); err != nil || got != tc.want {
				t.Errorf("got %v, %v, want %v", got, err, tc.want)
			}
		})
	}
}

func TestOnlyDownloadedProvidersGetIntoTheCache(t *testing.T) {
	t.Parallel()
	s := &site{t: t, checkout: t.TempDir()}
	const pkg = "registry.terraform.io/hashicorp/aws/5.1.0/linux_amd64"
	s.write(s.checkout, map[string]string{
		"r[1]/.terraform/providers/" + pkg + "/provider":                      "downloaded",
		"r[1]/.terraform/providers/registry.terraform.io/a/b/1.0.0/linux_x/p": "there already",
		"elsewhere/p": "linked",
	})
	if err := os.Chmod(filepath.Join(s.checkout, "r[1]/.terraform/providers", pkg, "provider"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(s.checkout, "elsewhere"), filepath.Join(s.checkout, "r[1]/.terraform/providers", filepath.Dir(pkg), "linked")); err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	s.write(cache, map[string]string{"registry.terraform.io/a/b/1.0.0/linux_x/p": "kept"})
	w := &workdir{
		d: &Driver{cfg: Config{CacheDir: cache}},
		t: engine.Target{Worktree: s.checkout, ProjectDir: s.checkout, Root: project.Root{Name: "r", Dir: "r[1]"}},
	}
	if err := w.locate(); err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if err := w.keepProviders(); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(cache, "registry.terraform.io/a/b/1.0.0/linux_x/p")); string(data) != "kept" {
		t.Errorf("a package that was there is now %q, %v", data, err)
	}
	info, err := os.Stat(filepath.Join(cache, pkg, "provider"))
	if err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("the download was not kept as a program: %v, %v", info, err)
	}
	if files := filesIn(t, cache); len(files) != 2 {
		t.Errorf("the cache holds %v", files)
	}
}

func TestProvidersOfTheCheckoutNeverGetIntoTheCache(t *testing.T) {
	t.Parallel()
	planted := "roots/net/.terraform/providers/registry.terraform.io/hashicorp/aws/5.1.0/linux_amd64/provider"
	s := newSite(t, map[string]string{"roots/net/main.tf": netRoot, planted: "planted"})
	cache := t.TempDir()
	s.plan(s.driver(func(c *Config) { c.CacheDir = cache }))
	if files := filesIn(t, cache); len(files) != 0 {
		t.Errorf("the cache holds %v", files)
	}
}

// The wrapper refuses the cache's packages as the tool does when a lock file
// has no checksum for them.
func TestAnInitThatRefusesTheCacheDownloads(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": netRoot})
	binary, _ := toolVersion(t)
	bin := filepath.Join(shortDir(t), filepath.Base(binary))
	script := `#!/bin/sh
if test "$1" = init && grep -q filesystem_mirror "$TF_CLI_CONFIG_FILE"; then
  echo "doesn't match any of the checksums previously recorded in the dependency lock file" >&2
  exit 1
fi
exec ` + binary + ` "$@"
`
	if err := os.WriteFile(bin, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	d := s.driver(func(c *Config) {
		c.Binary, c.CacheDir, c.Writable = bin, shortDir(t), append(c.Writable, filepath.Dir(binary))
	})
	if got := entries(s.plan(d)); len(got) != 1 {
		t.Errorf("entries %v", got)
	}
}

func TestTheCLIConfigurationQuotesItsPaths(t *testing.T) {
	t.Parallel()
	got := cliConfig(Config{CacheDir: `/c/"${x}"`}, true)
	want := "disable_checkpoint = true\n" +
		"provider_installation {\n  filesystem_mirror {\n    path = \"/c/\\\"$${x}\\\"\"\n  }\n  direct {}\n}\n"
	if got != want {
		t.Errorf("got %s", got)
	}
}
