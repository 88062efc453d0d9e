package project

// Workspace is everything one checkout declares.
type Workspace struct {
	Declaration *Declaration
	Projects    []Project
	// Others are directories with a chant.config file that no member names;
	// they are projects of their own and nothing in them is planned here.
	Others []string
}

// Project is the root of the workspace or one of its members.
type Project struct {
	Member     string // "" for the root
	Dir        string // relative to the workspace, "." for the root
	Config     *Config
	Components []*Component
	Roots      map[string]Root // of the config and of inline dir steps
}
