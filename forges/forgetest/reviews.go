package forgetest

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Review is a review as it stood when it was read.
type Review struct {
	ID     int64
	Repo   *Repo
	Number int
	Author *User
	State  string // upper case, as REST spells it
	Body   string
	Commit string
}

type review struct {
	id        int64
	pull      *Pull
	author    *User
	state     string // upper case, as REST spells it
	body      string
	sha       string
	submitted time.Time // zero while pending
	edited    bool
	was       string // the state before it was dismissed
}

func (v *review) snapshot() Review {
	return Review{
		ID: v.id, Repo: v.pull.Repo, Number: v.pull.Number, Author: v.author,
		State: v.state, Body: v.body, Commit: v.sha,
	}
}

func (v *review) htmlURL() string {
	return v.pull.htmlURL() + "#" + fmt.Sprintf(v.pull.f.dialect.habits().anchors[""], v.id)
}

// addReview submits a review. Event is APPROVE, REQUEST_CHANGES, COMMENT, or
// empty for a pending one, which nobody else sees.
func (f *Forge) addReview(p *Pull, by *User, event, body string) (*review, *APIError) {
	states := map[string]string{
		"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED", "": "PENDING",
	}
	state, ok := states[event]
	if !ok {
		return nil, invalid(FieldError{Resource: "PullRequestReview", Code: "invalid", Field: "event"})
	}
	if err := f.dialect.verdict(p, by, event, body); err != nil {
		return nil, err
	}
	if body != "" {
		if err := f.checkBody("PullRequestReview", body); err != nil {
			return nil, err
		}
	}
	v := &review{id: f.nextID(), pull: p, author: by, state: state, body: body, sha: p.head.sha}
	p.Repo.reviews[v.id] = v
	if state != "PENDING" {
		v.submitted = f.now()
		f.tellReview("submitted", v, by, nil)
	}
	return v, nil
}

// submitReview makes a pending review known.
func (f *Forge) submitReview(v *review, state string) {
	v.state, v.submitted, v.sha = state, f.now(), v.pull.head.sha
	f.tellReview("submitted", v, v.author, nil)
}

func (f *Forge) dismissReview(v *review, by *User) *APIError {
	if v.state != "APPROVED" && v.state != "CHANGES_REQUESTED" {
		return unprocessable("Can not dismiss a commented pull request review")
	}
	v.was, v.state = v.state, "DISMISSED"
	f.tellReview("dismissed", v, by, nil)
	return nil
}

func (f *Forge) editReview(v *review, body string, by *User) {
	from := v.body
	v.body, v.edited = body, true
	f.tellReview("edited", v, by, map[string]string{"body": from})
}

// reviewsOf lists every review of a pull request in order.
func (p *Pull) reviewsOf() []*review {
	var out []*review
	for _, id := range slices.Sorted(maps.Keys(p.Repo.reviews)) {
		if v := p.Repo.reviews[id]; v.pull == p {
			out = append(out, v)
		}
	}
	return out
}

// Reviews lists every review of a pull request, oldest first.
func (p *Pull) Reviews() []Review {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	var out []Review
	for _, v := range p.reviewsOf() {
		out = append(out, v.snapshot())
	}
	return out
}
