package forgejo

import (
	"strconv"
	"strings"

	"code.gitea.io/sdk/gitea"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/forges"
)

// What is read here differs between Forgejo and Gitea, or between their
// versions. Nothing asks which of them answers: each reading takes what either
// may say, and takes what neither says today for the harmless thing.
//
//   - Accounts below zero are the server's own: a ghost where an account was
//     deleted, and the one that CI reports as ("forgejo-actions",
//     "gitea-actions").
//   - Gitea names a pull request that was pushed to refs/for only by a head
//     without a label; Forgejo has a field for it beside, which the client
//     library does not know.
//   - Gitea has learnt the states "warning" and "skipped" over time, and both
//     servers take any text for a state (test-peers, fact 7).
//   - Actions link their jobs by a path without a host on some versions.
//   - A former name redirects by 301, or by 307 on older versions; writes
//     follow neither, for they ask for the name first.

// ghost stands for every deleted account.
const ghost = -1

// actor of an account; a deleted one becomes the zero Actor. Neither server
// marks bots, so only the server's own accounts are told.
func actor(u *gitea.User) engine.Actor {
	if u == nil || u.ID == ghost || u.ID == 0 {
		return engine.Actor{}
	}
	return engine.Actor{ID: u.ID, Login: u.UserName, Bot: u.ID < 0}
}

// foreign says whether the code of a head may come from somebody without write
// access: from a fork, from one that was deleted, or pushed to refs/for, which
// needs no more than reading.
func foreign(base, head *gitea.PRBranchInfo) bool {
	return head == nil || head.Repository == nil || head.Repository.ID != base.Repository.ID || head.Name == ""
}

// checkRun reads a commit status as CI's word. Only "success" and "skipped" are
// taken as such; any other end is a failure under its own name.
func checkRun(s *gitea.Status, link string) green.CheckRun {
	run := green.CheckRun{
		ID: s.ID, Name: s.Context, Status: "completed", Conclusion: string(s.State), URL: link,
		Source: strconv.FormatInt(actor(s.Creator).ID, 10),
	}
	if s.State == gitea.StatusPending {
		run.Status, run.Conclusion = "in_progress", ""
	}
	return run
}

// absolute completes a link that is only a path.
func (c *Conn) absolute(link string) string {
	if strings.HasPrefix(link, "/") && !strings.HasPrefix(link, "//") {
		return c.root.Scheme + "://" + c.root.Host + link
	}
	return link
}

// reviewState reads a verdict. A dismissed one keeps its state and is marked
// beside it; a request for a review is in the same list and is none.
func reviewState(r *gitea.PullReview) (state forges.ReviewState, ok bool) {
	switch {
	case r.Dismissed:
		return forges.Dismissed, true
	case r.State == gitea.ReviewStateApproved:
		return forges.Approved, true
	case r.State == gitea.ReviewStateRequestChanges:
		return forges.ChangesRequested, true
	case r.State == gitea.ReviewStateComment:
		return forges.Commented, true
	}
	return "", false
}
