package usecase

import (
	"fmt"
	"slices"

	"github.com/chant-bot/chant/engine/project"
)

// Unplanned says that the planner failed on a merge, and that nothing tells yet
// whether for what the merge holds or for what the planner needs, such as a
// registry or a cloud that does not answer. Recorded as a merge that does not
// plan, it would lose its approval; so it is not recorded, and nor is what came
// after it. A try that plans it ends the doubt, and so does a newer commit that
// the planner can plan the same members of: then the failure was the merge's own.
//
//nolint:errname // an outcome that callers branch on, named as one
type Unplanned struct {
	Commit  string
	Message string // for people: the member and what the planner said
}

func (u *Unplanned) Error() string {
	return fmt.Sprintf("the merge %s is not recorded: %s; record again once that can be planned, or push a commit that plans", project.Short(u.Commit), u.Message)
}

// doubts are the commits that wait to be recorded, oldest first, each with the
// members that nothing newer planned.
type doubts struct{ waiting []doubt }

type doubt struct {
	*recording

	members []string // project and member
}

// add takes the next newer commit, and gives those that can be recorded now. The
// last try doubts nothing.
func (d *doubts) add(next *recording, lastTry bool) (ready []*recording) {
	var planned, doubted []string
	for _, draft := range next.drafts {
		planned = append(planned, qualified(draft.member, draft.planned)...)
		doubted = append(doubted, qualified(draft.member, draft.doubted)...)
	}
	for i := range d.waiting {
		w := &d.waiting[i]
		w.members = slices.DeleteFunc(w.members, func(m string) bool { return slices.Contains(planned, m) })
	}
	d.waiting = append(d.waiting, doubt{recording: next, members: doubted})
	for len(d.waiting) > 0 && (lastTry || len(d.waiting[0].members) == 0) {
		ready = append(ready, d.waiting[0].recording)
		d.waiting = d.waiting[1:]
	}
	return ready
}

// unplanned is the oldest commit that waits, as an error.
func (d *doubts) unplanned() error {
	if len(d.waiting) == 0 {
		return nil
	}
	u := &Unplanned{Commit: d.waiting[0].commit.SHA}
	for _, draft := range d.waiting[0].drafts {
		if len(draft.doubted) > 0 {
			u.Message = draft.message
			break
		}
	}
	return u
}

// qualified names members of one project apart from those of another.
func qualified(project string, members []string) []string {
	out := make([]string, len(members))
	for i, m := range members {
		out[i] = project + "\x00" + m
	}
	return out
}
