package forgetest

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// maxSameName is how many check runs of one name a suite keeps; older ones go.
const maxSameName = 1000

// Status is a commit status as it stands.
type Status struct {
	ID                                     int64
	Context, State, Description, TargetURL string
	Creator                                *User
}

type status struct {
	Status

	sha string
	at  time.Time
}

// CheckRun is a check run as it stands.
type CheckRun struct {
	ID                       int64
	Name, Status, Conclusion string
}

type checkRun struct {
	CheckRun

	sha       string
	suite     int64
	started   time.Time
	completed time.Time
}

func (f *Forge) addStatus(r *Repo, sha string, s Status) (*status, *APIError) {
	if s.Context == "" {
		s.Context = "default"
	}
	if err := f.dialect.checkStatus(r, sha, s); err != nil {
		return nil, err
	}
	s.ID = f.nextID()
	stored := &status{Status: s, sha: sha, at: f.now()}
	r.statuses = append(r.statuses, stored)
	f.tell(event{kind: statusEvent, repo: r, by: s.Creator, status: stored})
	return stored, nil
}

func webAddress(text string) bool {
	if text == "" {
		return true
	}
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// statusesOf lists newest first, with every repetition.
func (r *Repo) statusesOf(sha string) []*status {
	var out []*status
	for _, s := range slices.Backward(r.statuses) {
		if s.sha == sha {
			out = append(out, s)
		}
	}
	return out
}

// latestStatuses keeps the newest of each context.
func (r *Repo) latestStatuses(sha string) []*status {
	seen := map[string]bool{}
	return slices.DeleteFunc(r.statusesOf(sha), func(s *status) bool {
		key := strings.ToLower(s.Context)
		was := seen[key]
		seen[key] = true
		return was
	})
}

// Statuses lists the newest status of each context of a commit, newest first.
func (r *Repo) Statuses(sha string) []Status { return r.snapshotStatuses(sha, r.latestStatuses) }

// AllStatuses lists every status of a commit, newest first, repetitions too.
func (r *Repo) AllStatuses(sha string) []Status { return r.snapshotStatuses(sha, r.statusesOf) }

func (r *Repo) snapshotStatuses(sha string, read func(string) []*status) []Status {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	var out []Status
	for _, s := range read(sha) {
		out = append(out, s.Status)
	}
	return out
}

// Status is the newest status of one context; the zero Status when none.
func (r *Repo) Status(sha, context string) Status {
	for _, s := range r.Statuses(sha) {
		if strings.EqualFold(s.Context, context) {
			return s
		}
	}
	return Status{}
}

// SetCheck reports what CI says of a commit, as CI does it on this forge: state
// is "queued", "in_progress" or "completed", conclusion as GitHub names them.
func (r *Repo) SetCheck(sha, name, state, conclusion string) (CheckRun, error) {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	run, err := r.f.dialect.report(r, sha, name, state, conclusion)
	if err != nil {
		return CheckRun{}, err
	}
	return run, nil
}

func (r *Repo) unfinished(sha, name string) *checkRun {
	for _, c := range r.checks {
		if c.sha == sha && c.Name == name && c.Status != "completed" {
			return c
		}
	}
	return nil
}

// newCheck adds a run to the suite of the commit and drops what GitHub would.
func (r *Repo) newCheck(sha, name string) *checkRun {
	if r.suites[sha] == 0 {
		r.suites[sha] = r.f.nextID()
	}
	run := &checkRun{CheckRun: CheckRun{ID: r.f.nextID(), Name: name}, sha: sha, suite: r.suites[sha], started: r.f.now()}
	r.checks = append(r.checks, run)
	same := 0
	for _, c := range slices.Backward(r.checks) {
		if c.suite == run.suite && c.Name == name {
			same++
		}
		if same > maxSameName {
			r.checks = slices.DeleteFunc(r.checks, func(x *checkRun) bool { return x == c })
			break
		}
	}
	return run
}

// checksOf lists the runs of a commit, newest first; with latest only the
// newest of each name.
func (r *Repo) checksOf(sha string, latest bool) []*checkRun {
	var out []*checkRun
	seen := map[string]bool{}
	for _, c := range slices.Backward(r.checks) {
		if c.sha != sha || latest && seen[c.Name] {
			continue
		}
		seen[c.Name] = true
		out = append(out, c)
	}
	return out
}

func (c *checkRun) htmlURL(r *Repo) string {
	return fmt.Sprintf("%s/%s/runs/%d", r.f.URL(), r.fullName(), c.ID)
}
