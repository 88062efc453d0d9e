package web

import (
	"time"

	"github.com/chant-bot/chant/comments/changes"
)

// Frame is what every page has around it.
type Frame struct {
	Title   string
	Section string // home, runs, gates, deliveries or audit: marked in the navigation
	// Refresh reloads the page every so many seconds while something runs, where
	// there is no script; 0 never.
	Refresh     int
	Follow      string // address of the events that a script follows; "" for none
	Every       int    // seconds after which a script looks again where nothing is followed; 0 never
	Notice      string // one sentence above the page
	NotIsolated bool   // plans run without a wall around them
}

// Message is a page of a few words: an error, or nothing found.
type Message struct {
	Frame
	Text string
}

// Home is the first page.
type Home struct {
	Frame
	Repos []Repo
	Gates []Gate
	Runs  []RunLine
}

// Repo is one repository and how its environments stand.
type Repo struct {
	Name, URL string
	Envs      []Env
	Problem   string // declaration invalid, ledger diverged: what an operator must see
}

// Env is one environment of a repository.
type Env struct {
	Name, Branch string
	Applied      string // commit last applied; "" for none
	AppliedAt    time.Time
	Green        string // newest green commit
	Status       string // of the newest run
	RunURL       string
}

// Runs lists runs, newest first.
type Runs struct {
	Frame
	Runs  []RunLine
	Older string // address of the next page; "" at the end
	// Reported are runs that went on elsewhere.
	Reported []RunLine
}

// RunLine is one run in a list.
type RunLine struct {
	URL, Repo, Env, Member string
	Stage, Status          string
	What                   string // "#12" or a short commit
	Verdict                string
	At                     time.Time
}

// Run is one plan or apply, from its start on.
type Run struct {
	Frame
	Repo, RepoURL  string
	Env, Member    string
	Stage, Status  string
	Verdict        string // the note's heading without its first words
	Head, Base     string
	Digest         string
	Started, Ended time.Time // Ended zero while it runs
	PlanURL        string
	Message        string
	LaterURL       string // of the newest run of the environment, where that is another
	Weight         Weight
	Named          []Named // destroys, replacements, forgets and what runs code
	Waves          []Wave
	WaveRows       []WaveRow // of an apply that gates its waves
	Groups         []Group
	Fallbacks      []Fallback
	Members        []Member
	Asks           []Gate // what the run waits at
	Gates          []Gate // what it applied under
	Held           []Read // what held members read, where no round asks for them yet
	Rounds         []Round
	Approvals      []Approval
	Log            []LogLine
	LogLeftOut     int // lines before the first shown
}

// AsksLater tells that the run waits with another plan than its first.
func (r Run) AsksLater() bool { return len(r.Asks) > 0 && r.Asks[0].Digest != r.Digest }

// Weight is what a plan does, counted.
type Weight struct{ Destroy, Replace, Forget, Create, Update, Import int }

// Named is one thing shown by name.
type Named struct{ What, Name, Member, Extra string }

// Wave is a column of the picture. Members of one group stand beside each other.
type Wave struct {
	Number  int
	Status  string // of its gate; "" where waves have none
	Members []Box
}

// Box is one member in the picture. Needs names members of earlier waves.
type Box struct {
	Name, Status string
	BlockedBy    string // why it did not run; "" for nothing
	Needs        []string
	Group        string // applied as one with the others of it; "" for by itself
}

// WaveRow is how one gated wave was decided and how its members ended.
type WaveRow struct {
	Number          int
	Gate, Digest    string
	Status, Decided string
	Members         []End
}

// Group is several members planned and applied as one.
type Group struct {
	Name    string
	Wave    int
	Digest  string
	Members []End
}

// End is how a member stands; Status "" says nothing yet.
type End struct{ Name, Status string }

// Fallback is why a component was planned by itself.
type Fallback struct{ Component, Kind, Reason string }

// Member is one row of the members' table.
type Member struct {
	Wave                            int
	Name, Component, Status, Remark string
	Unknown                         bool // counts print as "?"
	Create, Update, Replace, Delete int
	Error                           string
}

// Gate is a gate that waits, or how it was decided.
type Gate struct {
	Repo, RepoURL, Env string
	Op, Name           string
	Digest             string
	Status             string   // waiting, approved, changed or revoked
	ApprovedBy         []string // principals
	Missing            int
	Since              time.Time
	Weight             *Weight // nil when it is not known
	Named              []Named // what its plan destroys or runs; nil where that stands elsewhere on the page
	Approve            string  // the line to copy; "" when it does not wait
	Shut               string  // why that line opens nothing; "" where it does
	RunURL             string
	PlanURL            string // "" where the page is about that plan
}

// Round is a set of members held back because what they read moved.
type Round struct {
	Number int
	Waits  bool
	Gate   Gate
	Reads  []Read
}

// Read is one upstream output as planned and as it is now, shown as given:
// sensitive values must not reach this struct.
type Read struct{ Member, From, Planned, Now string }

// Approval is one merge of an apply and what it covers.
type Approval struct {
	PR         int // 0: no pull request merged it
	PRURL      string
	Commit     string
	Digest     string // approved document; "" when none is
	ApprovedBy []string
	Covers     []string // members
}

// LogLine is one line a step wrote.
type LogLine struct {
	At           time.Time
	Member, Text string
}

// Plan is the change set of one run, in full.
type Plan struct {
	Frame
	Repo, RepoURL, Env string
	PR                 int // 0 for the plan of an apply
	PRURL              string
	Head, Base         string // commits; without Base the plan is of Head alone
	RunURL             string
	Digest             string
	Weight             Weight
	Query              string // filter over names, types and attributes
	Found              int    // changes that match
	Total              int
	Groups             []Group
	Fallbacks          []Fallback
	Members            []PlanMember
}

// Shown counts the changes on the page.
func (p Plan) Shown() int {
	n := 0
	for _, m := range p.Members {
		n += len(m.Changes)
	}
	return n
}

// Open reports whether the attributes stand open: a plan that is read in one go.
func (p Plan) Open() bool { return p.Shown() <= 60 }

// PlanMember is one member's changes.
type PlanMember struct {
	Name, Status, Error string
	Digest              string
	Holes               []Hole
	Changes             []Change
	SideEffects         []Named
}

// Hole is something the planner could not decide.
type Hole struct{ Address, Reason string }

// Change is one entry.
type Change struct {
	Action, Symbol, Name string
	Import               bool
	Lines                []changes.Line
}

// Gates lists every gate that waits, over all repositories the user may read.
type Gates struct {
	Frame
	Gates []Gate
}

// Deliveries lists webhook deliveries, newest first.
type Deliveries struct {
	Frame
	Deliveries []Delivery
	Older      string
}

// Delivery is one webhook delivery and what became of it.
type Delivery struct {
	URL                              string
	GUID, Forge, Event, Action, Repo string
	Status                           string // queued, waiting, handled, ignored or failed
	Outcome                          string // what it came to, or why it was ignored
	At, OutcomeAt                    time.Time
}

// DeliveryPage is one delivery with what the forge sent.
type DeliveryPage struct {
	Frame
	Delivery
	Headers string // a line each
	Body    string
	LeftOut int    // bytes of the body beyond those shown
	Replay  string // the command that has it worked off again; "" where it cannot be
}

// Audit lists decisions, newest first: who did what, by which rule, with which
// result.
type Audit struct {
	Frame
	Entries []AuditEntry
	Older   string
}

// AuditEntry is one decision, a refusal too.
type AuditEntry struct {
	At                          time.Time
	Actor, Action, Result, Rule string
	Repo, Digest, Detail        string
	Delivery                    string // the forge's id of what led to it, "" for none
}

func (Message) template() string      { return "message" }
func (Home) template() string         { return "home" }
func (Runs) template() string         { return "runs" }
func (Run) template() string          { return "run" }
func (Plan) template() string         { return "plan" }
func (Gates) template() string        { return "gates" }
func (Deliveries) template() string   { return "deliveries" }
func (DeliveryPage) template() string { return "delivery" }
func (Audit) template() string        { return "audit" }
