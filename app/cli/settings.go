package cli

import (
	"fmt"
	"runtime"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// ConfigOptions are those of `chant config print`.
type ConfigOptions struct {
	Config string            `env:"CHANT_CONFIG" placeholder:"FILE" help:"Configuration file of the server. The environment is read over it."`
	Set    map[string]string `placeholder:"KEY=VALUE" help:"One setting over file and environment, such as logLevel=debug. May be repeated."`
}

// PrintConfig prints the server's configuration in force, without its secrets.
func PrintConfig(h *Host, o ConfigOptions) error {
	c, err := h.Settings(o.Config, o.Set)
	if err != nil {
		return err
	}
	// Redacted leaves the secrets out itself; what hides secrets in foreign text
	// would take keys for values here.
	_, err = fmt.Fprint(h.Stdout, c.Redacted())
	return err
}

// Settings loads the configuration of a server, from a file if path names one.
func (h *Host) Settings(path string, set map[string]string) (*config.Config, error) {
	if path != "" {
		path = h.path(path)
	}
	return config.Load(config.Source{Path: path, Environ: h.Environ, Set: set})
}

// VersionOptions are those of `chant version`.
type VersionOptions struct {
	JSON bool `name:"json" help:"Print a JSON document."`
}

type versions struct {
	Chant     string           `json:"chant"`
	Go        string           `json:"go"`
	Platform  string           `json:"platform"`
	Contracts map[string]int   `json:"contracts"`
	Workspace workspaceVersion `json:"workspace"`
}

type workspaceVersion struct {
	Reader string `json:"reader"` // newest minReader a declaration may ask for
}

// PrintVersion prints the version, and for machines what formats it speaks.
func PrintVersion(h *Host, o VersionOptions) error {
	if !o.JSON {
		h.sayf("chant %s", h.Version)
		return nil
	}
	return h.json(versions{
		Chant: h.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Contracts: map[string]int{"change-set": changeset.Contract, "pr-report": report.Contract, "ci-last-green": 1},
		Workspace: workspaceVersion{Reader: project.Reader},
	})
}
