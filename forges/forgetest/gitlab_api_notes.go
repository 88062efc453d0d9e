package forgetest

import (
	"cmp"
	"crypto/sha1" // as GitLab names discussions
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

func (d gitlab) noteRoutes() []route {
	const (
		notes  = "/merge_requests/{number}/notes"
		thread = "/discussions"
		commit = "/repository/commits/{sha}"
	)
	return []route{
		{method: "GET", path: notes, repo: true, handle: d.listNotes},
		{method: "POST", path: notes, repo: true, handle: d.postNote},
		{method: "GET", path: notes + "/{note}", repo: true, handle: d.getNote},
		{method: "PUT", path: notes + "/{note}", repo: true, handle: d.putNote},
		{method: "GET", path: notes + "/{note}/award_emoji", repo: true, handle: d.listEmoji},
		{method: "POST", path: notes + "/{note}/award_emoji", repo: true, handle: d.postEmoji},
		{method: "GET", path: "/merge_requests/{number}" + thread, repo: true, handle: d.listDiscussions},
		{method: "POST", path: "/merge_requests/{number}" + thread + "/{discussion}/notes", repo: true, handle: d.replyNote},
		{method: "GET", path: commit + thread, repo: true, handle: d.commitDiscussions},
		{method: "POST", path: commit + thread + "/{discussion}/notes", repo: true, handle: d.replyOnCommit},
	}
}

// notesOf lists what people wrote on a merge request, inline too.
func (d gitlab) notesOf(p *Pull) []*comment {
	on := func(c *comment) bool { return c.pull == p }
	all := append(p.Repo.commentsOf(IssueComment, on), p.Repo.commentsOf(ReviewComment, on)...)
	slices.SortFunc(all, func(a, b *comment) int { return cmp.Compare(a.id, b.id) })
	return all
}

// listNotes has a note of GitLab's own in front: it holds words of a person, and
// is no comment of theirs.
func (d gitlab) listNotes(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	all := []object{d.systemNote(p)}
	for _, n := range d.notesOf(p) {
		all = append(all, d.renderNote(n))
	}
	if c.r.URL.Query().Get("sort") != "asc" {
		slices.Reverse(all)
	}
	return 200, pageOf(c, all), nil
}

func (d gitlab) systemNote(p *Pull) object {
	body := "changed title from **Draft** to **chant help**"
	o := d.renderNote(&comment{id: p.id, kind: IssueComment, repo: p.Repo, pull: p, author: p.author, body: body, created: p.created, updated: p.created})
	o["system"] = true
	return o
}

// renderNote: the time of update moves with every activity, a reaction too.
func (d gitlab) renderNote(n *comment) object {
	const precise = "2006-01-02T15:04:05.000Z"
	updated := n.updated
	if n.edited || len(n.reactions) > 0 {
		updated = updated.Add(time.Millisecond)
	}
	o := object{
		"id": n.id, "type": nil, "body": n.body, "attachment": nil, "author": d.renderUser(n.author), "system": false,
		"created_at": n.created.Format(precise), "updated_at": updated.Format(precise), "project_id": n.repo.ID,
		"resolvable": n.kind == ReviewComment, "internal": false, "confidential": false,
	}
	switch {
	case n.kind == ReviewComment:
		o["type"] = "DiffNote"
		o["position"] = object{
			"base_sha": n.pull.base.sha, "start_sha": n.pull.base.sha, "head_sha": n.sha, "position_type": "text",
			"new_path": n.path, "new_line": n.line, "old_path": n.path,
		}
	case n.inReply != 0:
		o["type"] = "DiscussionNote"
	}
	if n.pull == nil {
		o["noteable_type"], o["noteable_id"], o["commit_id"] = "Commit", nil, n.sha //nolint:misspell // GitLab's spelling
		return o
	}
	o["noteable_type"], o["noteable_id"], o["noteable_iid"] = "MergeRequest", n.pull.id, n.pull.Number //nolint:misspell // GitLab's spelling
	return o
}

// note finds a note of the merge request in the path.
func (c *call) note() (*comment, *APIError) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	found := c.repo.comments[c.id("note")]
	if found == nil || found.pull != p {
		return nil, notFoundAs("Note")
	}
	return found, nil
}

func (d gitlab) getNote(c *call) (int, any, *APIError) {
	if p, err := c.pull(); err == nil && p.id == c.id("note") {
		return 200, d.systemNote(p), nil
	}
	n, err := c.note()
	if err != nil {
		return 0, nil, err
	}
	return 200, d.renderNote(n), nil
}

func (d gitlab) postNote(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	return d.addNote(c, &comment{kind: IssueComment, repo: c.repo, pull: p})
}

// addNote stores a note. One of nothing but quick actions is carried out and
// leaves none.
func (d gitlab) addNote(c *call, n *comment) (int, any, *APIError) {
	body, err := c.body()
	if err != nil {
		return 0, nil, err
	}
	if onlyQuickActions(body) {
		return http.StatusAccepted, object{"commands_changes": object{}, "summary": []string{"Commands applied"}}, nil
	}
	n.author, n.body = c.grant.user, body
	if err := d.addComment(n); err != nil {
		return 0, nil, err
	}
	return 201, d.renderNote(n), nil
}

func onlyQuickActions(body string) bool {
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "/") {
			return false
		}
	}
	return body != ""
}

// putNote: only who wrote a note may change it.
func (d gitlab) putNote(c *call) (int, any, *APIError) {
	n, err := c.note()
	if err != nil {
		return 0, nil, err
	}
	body, err := c.body()
	switch {
	case err != nil:
		return 0, nil, err
	case n.author != c.grant.user:
		return 0, nil, forbidden()
	}
	if err := d.editComment(n, body, c.grant.user); err != nil {
		return 0, nil, err
	}
	return 200, d.renderNote(n), nil
}

// emojiNames are GitLab's names where they differ from those of the state.
var emojiNames = map[string]string{"+1": "thumbsup", "-1": "thumbsdown", "hooray": "tada", "laugh": "laughing"}

func (d gitlab) renderEmoji(n *comment, r reaction) object {
	return object{
		"id": r.id, "name": cmp.Or(emojiNames[r.content], r.content), "user": d.renderUser(r.by),
		"created_at": stamp(r.at), "updated_at": stamp(r.at), "awardable_id": n.id, "awardable_type": "Note",
	}
}

func (d gitlab) listEmoji(c *call) (int, any, *APIError) {
	n, err := c.note()
	if err != nil {
		return 0, nil, err
	}
	return 200, eachOf(c, n.reactions, func(r reaction) object { return d.renderEmoji(n, r) }), nil
}

// postEmoji refuses one that stands already, as not found.
func (d gitlab) postEmoji(c *call) (int, any, *APIError) {
	n, err := c.note()
	if err != nil {
		return 0, nil, err
	}
	var ask struct{ Name string }
	if err := c.decode(&ask); err != nil {
		return 0, nil, err
	}
	content := ask.Name
	for ours, theirs := range emojiNames {
		if theirs == ask.Name {
			content = ours
		}
	}
	r, fresh, err := d.react(n, c.grant.user, content)
	if err != nil {
		return 0, nil, err
	}
	if !fresh {
		return 0, nil, notFoundAs("Award Emoji Name has already been taken")
	}
	return 201, d.renderEmoji(n, r), nil
}

// discussionID names the thread a note began.
func discussionID(top int64) string {
	sum := sha1.Sum(fmt.Appendf(nil, "discussion %d", top))
	return hex.EncodeToString(sum[:])
}

// discussions gathers notes into threads. Every plain note has one of its own.
func (d gitlab) discussions(notes []*comment) []object {
	threads := map[int64][]object{}
	var tops []int64
	for _, n := range notes {
		top := cmp.Or(n.inReply, n.id)
		if threads[top] == nil {
			tops = append(tops, top)
		}
		threads[top] = append(threads[top], d.renderNote(n))
	}
	all := []object{}
	for _, top := range tops {
		all = append(all, object{
			"id": discussionID(top), "individual_note": len(threads[top]) == 1 && threads[top][0]["type"] == nil, "notes": threads[top],
		})
	}
	return all
}

func (d gitlab) listDiscussions(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	return 200, pageOf(c, d.discussions(d.notesOf(p))), nil
}

func (d gitlab) commitNotes(c *call) ([]*comment, *APIError) {
	if !c.repo.hasCommit(c.r.Context(), c.params["sha"]) {
		return nil, notFoundAs("Commit")
	}
	return c.repo.commentsOf(CommitComment, func(n *comment) bool { return n.sha == c.params["sha"] }), nil
}

func (d gitlab) commitDiscussions(c *call) (int, any, *APIError) {
	notes, err := d.commitNotes(c)
	if err != nil {
		return 0, nil, err
	}
	return 200, pageOf(c, d.discussions(notes)), nil
}

func (d gitlab) replyNote(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	return d.reply(c, d.notesOf(p))
}

func (d gitlab) replyOnCommit(c *call) (int, any, *APIError) {
	notes, err := d.commitNotes(c)
	if err != nil {
		return 0, nil, err
	}
	return d.reply(c, notes)
}

// reply adds a note to the thread in the path.
func (d gitlab) reply(c *call, notes []*comment) (int, any, *APIError) {
	for _, n := range notes {
		if n.inReply == 0 && discussionID(n.id) == c.params["discussion"] {
			return d.addNote(c, &comment{
				kind: n.kind, repo: n.repo, pull: n.pull, sha: n.sha, path: n.path, line: n.line, inReply: n.id,
			})
		}
	}
	return 0, nil, notFoundAs("Discussion")
}
