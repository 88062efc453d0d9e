package project

import (
	"time"

	"github.com/chant-bot/chant/engine/digest"
)

// Reader is the version of the workspace read contract this program implements;
// a declaration whose minReader is newer is refused (reader-too-old).
const Reader = "0.124.0"

// Declaration is chant.workspace.json or .jsonc (pr-loop §4.1, decision 3).
type Declaration struct {
	Name        string
	Schema      int
	MinReader   string
	Members     []WorkspaceMember
	Green       *Green    // ci.green; nil when not declared
	Identity    *Identity // nil when not declared
	ReviewRules bool      // security: ["review-rules"]
	Bot         *Bot      // x-bot; nil when not declared
	File        string
	// DefaultBranch is the repository's, for envs that name no branch. It is not
	// declared: who reads a declaration fills it in where it is known.
	DefaultBranch string
}

// WorkspaceMember is one member of the workspace. Dir is slash-separated,
// relative to the workspace, "." for the root member.
type WorkspaceMember struct {
	Name    string
	Dir     string
	Kind    string // chant, workspace, other, or a plugin's kind
	Because string // why a member of kind other is none of ours
	Line    int
}

// Green is ci.green: what a commit must pass (pr-loop §4.1).
type Green struct {
	Branch  string
	Window  time.Duration
	Phases  map[string]Phase
	Require []string // phase names, each declared, in order
}

// Phase is a set of check-run name patterns that pass together. A pattern
// matches the whole name; "*" is any run of characters.
type Phase struct {
	Runs        []string
	SkippedPass bool // a skipped run passes
}

// Identity is who may approve (pr-loop §3.7).
type Identity struct {
	Attribution string // "any" or "identified"
	Gates       map[string]GateRule
}

// GateRule: only sealed approvals of this class count; an empty class is any
// listed signer.
type GateRule struct{ Class string }

// Bot is x-bot (pr-loop decision 3), defaults filled.
type Bot struct {
	Envs       []Env
	Tick       bool
	Plan       PlanPolicy
	Components []string // globs relative to the workspace
}

// PlanPolicy says which pull requests are planned without being asked.
type PlanPolicy struct {
	Drafts bool
	Forks  string   // "never" or "on-command"
	Paths  []string // globs; empty means every path
}

// Env is one environment, defaults filled. Branch is empty only in a workspace
// without ci.green whose default branch is not known: then any target branch.
type Env struct {
	Name            string `json:"name"`
	Branch          string `json:"branch"`
	ApplyOnMerge    bool   `json:"applyOnMerge"`
	WaveGate        string `json:"waveGate"` // empty: waves are not gated
	Gate            string `json:"gate"`
	RequireReview   bool   `json:"requireReview"`
	Execution       string `json:"execution"` // "server" or "ci"
	BlockMerge      bool   `json:"blockMerge"`
	ApproveOnReview bool   `json:"approveOnReview"`
	// Approvers is who may approve: principals ("github:alice") and teams
	// ("github:@org/team"), lower-case. Nil is anyone with write permission.
	Approvers []string `json:"approvers"`
	// AlsoApprovers are further lists an approver must be on as well; only
	// Stricter fills it.
	AlsoApprovers [][]string              `json:"alsoApprovers"`
	MinApprovals  int                     `json:"minApprovals"`
	Vars          map[string]digest.Value `json:"vars"` // what $env.<name> reads
	Line          int                     `json:"line"`
}
