// Package report is the pr-report document: what one plan or apply of a pull
// request or green commit found, decided and did, as other tools read it
// (pr-loop §5.6, decision 8). It holds the outcome table of §5.7, the exit
// codes and the sentences people read. It decides nothing about approvals and
// renders no Markdown.
package report

import (
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/graph"
)

// Schema is the $schema of every report; Contract its version.
const (
	Schema   = "https://intentius.io/chant/schemas/workspace/pr-report/v1/pr-report.schema.json"
	Contract = 1
)

// Stage says whether a report is about planning a pull request or applying.
type Stage string

// The stages.
const (
	Plan  Stage = "plan"
	Apply Stage = "apply"
)

// Status is how the run as a whole ended.
type Status string

// The statuses (pr-loop §5.6; Waiting is decision 8).
const (
	Planned    Status = "planned"
	PlanFailed Status = "plan-failed"
	Nothing    Status = "nothing"
	Applied    Status = "applied"
	Failed     Status = "failed"
	Refused    Status = "refused"
	Waiting    Status = "waiting"
)

// Refusal is why a refused run was refused; empty unless Status is Refused.
type Refusal string

// The refusals (pr-loop §5.6; NotGreen is decision 8).
const (
	NotApproved   Refusal = "not-approved"
	PlanChanged   Refusal = "plan-changed"
	NotAReviewer  Refusal = "not-a-reviewer"
	NoPullRequest Refusal = "no-pull-request"
	NotGreen      Refusal = "not-green"
)

// Report is one pr-plan.json or pr-apply.json.
type Report struct {
	Schema    string              `json:"$schema"`
	Contract  int                 `json:"contract"`
	Stage     Stage               `json:"stage"`
	PR        *int                `json:"pr"` // null on a green apply and when no pull request was found
	Env       string              `json:"env"`
	Member    string              `json:"member,omitempty"` // workspace member, "" for the root project
	Base      string              `json:"base"`             // full sha: merge base (plan) or last applied commit (green)
	Head      string              `json:"head"`             // full sha: pull request head, or the commit applied
	Op        string              `json:"op"`
	Gate      string              `json:"gate"`
	Digest    digest.Digest       `json:"digest"` // of the whole document; "" when nothing was planned
	Status    Status              `json:"status"`
	Refusal   Refusal             `json:"refusal,omitempty"`
	Message   string              `json:"message,omitempty"` // for people, see messages.go
	Approval  Approval            `json:"approval"`
	Selection graph.Selection     `json:"selection"`
	Members   []Member            `json:"members"` // sorted by member
	ChangeSet *changeset.Document `json:"changeSet"`
	Resumed   *Resumed            `json:"resumed,omitempty"`

	Green     *Green     `json:"green,omitempty"`
	Waves     []Wave     `json:"waves,omitempty"`
	Rounds    []Round    `json:"rounds,omitempty"`
	Groups    []Group    `json:"groups,omitempty"`
	Fallbacks []Fallback `json:"fallbacks,omitempty"`

	// RunsCode says per change-set member what planning or applying it executes
	// besides the providers (soundness, "The note says what runs"). Ours.
	RunsCode map[string]RunsCode `json:"runsCode,omitempty"`
}

// ApprovalStatus is what the gate said about this report's digest.
type ApprovalStatus string

// The approval states. Changed means an approval stands for another digest.
const (
	Approved ApprovalStatus = "approved"
	Changed  ApprovalStatus = "changed"
	Pending  ApprovalStatus = "pending"
)

// Approval is the gate's answer.
type Approval struct {
	Status     ApprovalStatus `json:"status"`
	ApprovedBy []string       `json:"approvedBy,omitempty"` // principals
	// Approved is the other digest: when Changed, or where the rest of an apply runs
	// under the approval of the whole.
	Approved *digest.Digest `json:"approved,omitempty"`
}

// MemberStatus is how one member ended.
type MemberStatus string

// The member statuses of pr-loop §5.6.
const (
	MemberPlanned    MemberStatus = "planned"
	MemberPlanFailed MemberStatus = "plan-failed"
	MemberApplied    MemberStatus = "applied"
	MemberFailed     MemberStatus = "failed"
	MemberBlocked    MemberStatus = "blocked"
	MemberHeld       MemberStatus = "held"
)

// Member is one change-set member of the run.
type Member struct {
	Member        string         `json:"member"`
	Component     string         `json:"component"`
	PlanDigest    *digest.Digest `json:"planDigest"` // null when it did not plan
	Status        MemberStatus   `json:"status"`
	Counts        Counts         `json:"counts"`
	UnknownInputs []UnknownInput `json:"unknownInputs,omitempty"` // counts print as "?" when any
	Error         string         `json:"error,omitempty"`
	// BlockedBy is the component whose failure or wait holds this one back. Ours.
	BlockedBy string `json:"blockedBy,omitempty"`
	// Moved: the step found that its target changed since the plan and applied
	// nothing; such a failure exits 3 (pr-loop §5.7). Ours.
	Moved bool `json:"moved,omitempty"`
}

// Counts are entries by action; a replacement counts once, under Replace.
type Counts struct {
	Create  int `json:"create"`
	Update  int `json:"update"`
	Replace int `json:"replace"`
	Delete  int `json:"delete"`
}

// UnknownInput is a read whose value was not known when the member was planned.
type UnknownInput struct {
	From   string `json:"from"` // component
	Output string `json:"output"`
}

// Resumed lists the components an earlier attempt already applied.
type Resumed struct {
	Applied []string `json:"applied"`
}

// Green is what a green apply carries (decision 8).
type Green struct {
	Commit  string  `json:"commit"`
	Base    string  `json:"base"`
	Merges  []Merge `json:"merges"` // newest first
	Cover   []Cover `json:"cover"`  // sorted by member
	Approve string  `json:"approve,omitempty"`
}

// Merge is one first-parent commit of the applied range.
type Merge struct {
	Commit     string         `json:"commit"`
	PR         *int           `json:"pr"`       // null when no pull request merged it
	Approved   *digest.Digest `json:"approved"` // null when no approval stands for it
	ApprovedBy []string       `json:"approvedBy,omitempty"`
}

// CoverStatus says whether a member may apply without an approval of its own.
type CoverStatus string

// The cover states of decision 8.
const (
	Covered    CoverStatus = "covered"
	Uncovered  CoverStatus = "uncovered"
	NothingDue CoverStatus = "nothing"
)

// Cover is one member's coverage.
type Cover struct {
	Member string      `json:"member"`
	Status CoverStatus `json:"status"`
	By     *CoverBy    `json:"by,omitempty"`
	Reason string      `json:"reason,omitempty"` // why not, for people
}

// CoverBy names the approval that covers a member.
type CoverBy struct {
	PR     int           `json:"pr"`
	Digest digest.Digest `json:"digest"`
}

// WaveStatus is how a wave or round stands.
type WaveStatus string

// The wave states of decision 8. A round uses the same words. One that is covered goes on
// at once, so "covered" is never how it stands: its Via says it.
const (
	WaveApplied    WaveStatus = "applied"
	WaveWaiting    WaveStatus = "waiting"
	WaveFailed     WaveStatus = "failed"
	WaveBlocked    WaveStatus = "blocked"
	WaveNotStarted WaveStatus = "not-started"
)

// Via says under what a wave applied.
type Via string

// The ways a wave, or a whole apply, is allowed.
const (
	ViaMerges   Via = "merges"
	ViaGate     Via = "gate"
	ViaCoverage Via = "coverage"
)

// Wave is one row of a gated-wave apply.
type Wave struct {
	Wave       int           `json:"wave"` // 1-based
	Op         string        `json:"op"`
	Gate       string        `json:"gate"`
	Components []string      `json:"components"`
	Digest     digest.Digest `json:"digest"`
	Status     WaveStatus    `json:"status"`
	Via        Via           `json:"via,omitempty"`
	ApprovedBy []string      `json:"approvedBy,omitempty"`
	Approve    string        `json:"approve,omitempty"` // the line to copy, while it waits
}

// Round is one more decision about members whose inputs moved (pr-loop §7.5).
type Round struct {
	Round      int           `json:"round"` // the first is 2
	Op         string        `json:"op"`
	Gate       string        `json:"gate"`
	Members    []RoundMember `json:"members"`
	Digest     digest.Digest `json:"digest"` // set digest of the members; "" until they are planned
	Status     WaveStatus    `json:"status"`
	ApprovedBy []string      `json:"approvedBy,omitempty"`
	Approve    string        `json:"approve,omitempty"`
}

// RoundMember is a held member and the reads that held it.
type RoundMember struct {
	Member string `json:"member"`
	Reads  []Read `json:"reads"`
}

// Read is one upstream output as it was planned with and as it stands now.
// Both values are shown redacted when sensitive.
type Read struct {
	From    string `json:"from"` // component
	Output  string `json:"output"`
	Planned string `json:"planned"`
	Now     string `json:"now"`
}

// Group is several components planned and applied as one.
type Group struct {
	Group      string        `json:"group"`
	Wave       int           `json:"wave"`
	Capability string        `json:"capability"`
	Members    []string      `json:"members"`
	Digest     digest.Digest `json:"digest"`
	Outcome    []Outcome     `json:"outcome,omitempty"`
}

// OutcomeStatus is how one member of a group ended.
type OutcomeStatus string

// The group outcomes of pr-loop §8.2. A partial one has some of its changes, or all of
// them and not its state; a failed one tried and has none.
const (
	OutcomeApplied    OutcomeStatus = "applied"
	OutcomePartial    OutcomeStatus = "partial"
	OutcomeFailed     OutcomeStatus = "failed"
	OutcomeNotStarted OutcomeStatus = "not-started"
	OutcomeNoChanges  OutcomeStatus = "no-changes"
)

// Outcome is one member's end inside a group.
type Outcome struct {
	Member string        `json:"member"`
	Status OutcomeStatus `json:"status"`
}

// Fallback is a component that could have grouped and did not.
type Fallback struct {
	Component string       `json:"component"`
	Kind      FallbackKind `json:"kind"`
	Reason    string       `json:"reason"`
}

// FallbackKind is why a component did not group.
type FallbackKind string

// The fallback kinds of decision 8.
const (
	FallbackWaveGate    FallbackKind = "wave-gate"
	FallbackSteps       FallbackKind = "steps"
	FallbackCapability  FallbackKind = "capability"
	FallbackAlone       FallbackKind = "alone"
	FallbackOff         FallbackKind = "off"
	FallbackLive        FallbackKind = "live"
	FallbackEngine      FallbackKind = "engine"
	FallbackBackend     FallbackKind = "backend"
	FallbackProvider    FallbackKind = "provider"
	FallbackConfig      FallbackKind = "config"
	FallbackRemoteState FallbackKind = "remote-state"
	FallbackReads       FallbackKind = "reads"
	FallbackPlan        FallbackKind = "plan"
)

// RunsCode is what planning or applying a member executes.
type RunsCode struct {
	Provisioners          []Provisioner `json:"provisioners,omitempty"`
	External              []string      `json:"external,omitempty"` // addresses of external data sources
	DeferredReads         bool          `json:"deferredReads,omitempty"`
	ProviderConfigChanged bool          `json:"providerConfigChanged,omitempty"` // against the last applied or base plan
	BackendChanged        bool          `json:"backendChanged,omitempty"`
}

// Provisioner is one provisioner block.
type Provisioner struct {
	Address string `json:"address"` // of the resource
	Type    string `json:"type"`    // local-exec, remote-exec, file
}
