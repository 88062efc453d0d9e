package gate

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/chant-bot/chant/engine/digest"
)

// DefaultTimeout is how long a pending fact says that a gate waits. Approvals do
// not expire with it (pr-loop §3.1).
const DefaultTimeout = 48 * time.Hour

// maxSkew bounds how far ahead of the writer's own clock an approval may be
// stamped (pr-loop §3.4).
const maxSkew = 5 * time.Minute

// Reasons a new approval is not written.
var (
	// ErrSkew: another writer's clock runs ahead, so the approval's stamp would
	// lie in the future. Wait until that time, or set the clocks.
	ErrSkew = errors.New("the newest line of this gate is stamped more than 5 minutes ahead of this clock")
	// ErrSameOrigin: a model may not approve, over its own channel, what was
	// driven over that channel.
	ErrSameOrigin = errors.New("the approval comes over the same channel as the run it approves")
)

// Stamp is the time of the next line of an op's file: now, or a millisecond
// after the newest line when that is later, so that order in the file and order
// in time agree. skewed: it lies more than 5 minutes ahead of now, and an
// approval must not be written; a revocation always is.
func Stamp(lines []Record, now time.Time) (stamp time.Time, skewed bool) {
	stamp = now.UTC().Truncate(time.Millisecond)
	for _, r := range lines {
		if t, ok := r.Time(); ok {
			if next := t.UTC().Add(time.Millisecond).Truncate(time.Millisecond); next.After(stamp) {
				stamp = next
			}
		}
	}
	return stamp, stamp.Sub(now) > maxSkew
}

// NewPending is the fact that a run reached the gate with q.Digest at q.Now.
// lines is the op's file. The caller adds RunID and URL when it has them.
func NewPending(q Query, lines []Record, timeout time.Duration, description string) Record {
	at, _ := Stamp(lines, q.Now)
	return Record{
		Version: 1, Kind: KindPending, Op: q.Op, Gate: q.Gate, Environment: q.Env,
		Timestamp: Timestamp(at), ExpiresAt: Timestamp(at.Add(timeout)),
		PlanDigest: q.Digest, Description: description, Origin: "cli",
	}
}

// Act is one person's approval or revocation.
type Act struct {
	Op, Gate, Env string
	By            string // principal
	Note, URL     string // URL of the comment, or absolute http(s) address given
	Origin        string // cli, forge, mcp or acp
	// At is when it was made by the forge's clock; zero where no forge says.
	At time.Time
}

// Approval is an act that approves one plan.
type Approval struct {
	Act
	Digest          digest.Digest
	Sources         string // cover.SourcesHash of the plan shown
	Agent           bool   // mcp and acp are agents whatever this says
	Roles           []string
	AllowSameOrigin bool
	RelayedBy       string
}

// NewResolution is the line that records an approval, unsealed (pr-loop §3.5).
// It is refused when the plan or the approver is not named, when the address is
// not absolute http(s), when the approval is by a model over the channel it was
// asked on, and with ErrSkew.
func NewResolution(a Approval, lines []Record, now time.Time) (Record, error) {
	if err := a.check(); err != nil {
		return Record{}, err
	}
	if a.Digest.IsZero() {
		return Record{}, errors.New("an approval names the plan it approves: add --plan and the full digest")
	}
	standing, _ := standingFact(lines, a.Op, a.Gate, a.Env)
	same := standing >= 0 && modelAuthored(a.Origin) && lines[standing].Origin == a.Origin
	if same && !a.AllowSameOrigin {
		return Record{}, fmt.Errorf("%w (%s): approve over another channel", ErrSameOrigin, a.Origin)
	}
	at, skewed := Stamp(lines, now)
	if skewed {
		return Record{}, fmt.Errorf("%w: it would be stamped %s; check the clocks, or approve again after that time", ErrSkew, Timestamp(at))
	}
	kind := "human"
	if a.Agent || modelAuthored(a.Origin) {
		kind = "agent"
	}
	return Record{
		Version: 1, Op: a.Op, Gate: a.Gate, Environment: a.Env, Timestamp: Timestamp(at),
		PlanDigest: a.Digest, ResolvedBy: a.By, Note: a.Note, URL: a.URL, Origin: a.Origin,
		Approver: &Approver{Kind: kind, Roles: a.Roles}, SameOriginOverride: same, RelayedBy: a.RelayedBy, Sources: a.Sources,
	}, nil
}

// NewRevocation is the fact that voids every earlier approval of the gate, for
// good (decision 6). It is written whatever stands, and however clocks differ.
// An empty Env voids in every environment. The standing fact's description and
// approval block are kept, since they say what the gate asks for.
func NewRevocation(a Act, lines []Record, now time.Time) (Record, error) {
	if err := a.check(); err != nil {
		return Record{}, err
	}
	at, _ := Stamp(lines, now)
	r := Record{
		Version: 1, Kind: KindPending, Op: a.Op, Gate: a.Gate, Environment: a.Env,
		Timestamp: Timestamp(at), ExpiresAt: Timestamp(at),
		RevokedBy: a.By, Note: a.Note, URL: a.URL, Origin: a.Origin,
	}
	if !a.At.IsZero() {
		r.ActedAt = Timestamp(a.At)
	}
	if i, _ := standingFact(lines, a.Op, a.Gate, a.Env); i >= 0 {
		r.PlanDigest, r.Description, r.Approval = lines[i].PlanDigest, lines[i].Description, lines[i].Approval
	}
	return r, nil
}

func (a Act) check() error {
	switch {
	case a.Op == "" || a.Gate == "":
		return errors.New("name the op and the gate")
	case strings.TrimSpace(a.By) == "":
		return errors.New("name who acts")
	case a.URL == "":
		return nil
	}
	u, err := url.Parse(a.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("the address %q is not an absolute http or https address", a.URL)
	}
	return nil
}
