package project

// Config is chant.config.json or .yaml; only its terraform block is ours, keys
// of other lexicons are left alone (components §4.1).
type Config struct {
	Terraform *Terraform // nil when not declared
	File      string
}

// Terraform is the terraform block.
type Terraform struct {
	Binary         string // terraform, tofu or choudoufu
	CallModuleType string // local or none
	Compose        string // auto or off
	Roots          map[string]Root
}

// Root is one terraform root. Dir is relative to the project; var files are
// relative to Dir, in order.
type Root struct {
	Name          string            `json:"name"`
	Dir           string            `json:"dir"`
	Workspace     string            `json:"workspace"`
	VarFiles      []string          `json:"varFiles"`
	BackendConfig map[string]string `json:"backendConfig"`
	Delete        string            `json:"delete"` // never, owned-only or gated; choudoufu only
	Estate        string            `json:"estate"` // choudoufu only
	File          string            `json:"file"`
	Line          int               `json:"line"`
}
