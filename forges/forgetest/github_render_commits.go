package forgetest

import (
	"context"
	"fmt"
	"strings"
)

// Lists in a push are cut to these lengths.
const maxPushCommits = 2048

// userOf maps a commit address to an account, or null.
func (d github) userOf(p Person) any { return d.renderUser(d.emails[lower(p.Email)]) }

// renderCommit is a commit of the REST API; author and committer are null when
// the address maps to no account.
func (d github) renderCommit(r *Repo, c commitInfo) object {
	web := fmt.Sprintf("%s/%s/commit/%s", d.URL(), r.fullName(), c.sha)
	parents := []object{}
	for _, p := range c.parents {
		parents = append(parents, object{"sha": p, "url": d.apiURL(r, "/commits/"+p), "html_url": d.URL() + "/" + r.fullName() + "/commit/" + p})
	}
	return object{
		"sha": c.sha, "node_id": nodeID("C", int64(len(c.sha))), "url": d.apiURL(r, "/commits/"+c.sha), "html_url": web,
		"comments_url": d.apiURL(r, "/commits/"+c.sha+"/comments"), "parents": parents,
		"author": d.userOf(c.author), "committer": d.userOf(c.committer),
		"commit": object{
			"author":    object{"name": c.author.Name, "email": c.author.Email, "date": c.authored},
			"committer": object{"name": c.committer.Name, "email": c.committer.Email, "date": c.at},
			"message":   c.message, "tree": object{"sha": c.tree, "url": d.apiURL(r, "/git/trees/"+c.tree)},
			"url": d.apiURL(r, "/git/commits/"+c.sha), "comment_count": 0,
			"verification": object{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil},
		},
	}
}

func (d github) renderPush(ctx context.Context, r *Repo, by *User, c refChange) (object, error) {
	web := d.URL() + "/" + r.fullName()
	payload := object{
		"ref": c.name, "before": orZero(c.old.object), "after": orZero(c.new.object), "base_ref": nil,
		"created": c.old.object == "", "deleted": c.new.object == "", "forced": false,
		"compare": fmt.Sprintf("%s/compare/%.12s...%.12s", web, orZero(c.old.commit), orZero(c.new.commit)),
		"commits": []object{}, "head_commit": nil,
		"pusher": object{"name": by.Login, "email": by.Person().Email},
	}
	if c.new.commit == "" {
		return payload, nil
	}
	head, err := r.pushCommits(ctx, []string{c.new.commit})
	if err != nil {
		return nil, err
	}
	payload["head_commit"] = head[0]
	if isTag(c.name) {
		return payload, nil
	}
	span := []string{c.new.commit, "^" + c.old.commit}
	if c.old.commit == "" {
		span = r.newOnBranch(c)
	} else {
		payload["forced"] = !r.isAncestor(ctx, c.old.commit, c.new.commit)
	}
	shas, err := r.revList(ctx, span...)
	if err != nil {
		return nil, err
	}
	if len(shas) > maxPushCommits {
		shas = shas[len(shas)-maxPushCommits:]
	}
	payload["commits"], err = r.pushCommits(ctx, shas)
	return payload, err
}

// newOnBranch selects what a new branch brings that no other branch has.
func (r *Repo) newOnBranch(c refChange) []string {
	span := []string{c.new.commit}
	for _, name := range sortedKeys(r.refs) {
		if name != c.name && !isTag(name) {
			span = append(span, "^"+r.refs[name].commit)
		}
	}
	return span
}

func orZero(sha string) string {
	if sha == "" {
		return zeroSHA
	}
	return sha
}

// pushCommits are commits as a push event lists them, with their files.
func (r *Repo) pushCommits(ctx context.Context, shas []string) ([]object, error) {
	list := []object{}
	commits, err := r.readCommits(ctx, shas)
	if err != nil {
		return nil, err
	}
	files, err := r.changedFiles(ctx, shas)
	if err != nil {
		return nil, err
	}
	for _, c := range commits {
		o := object{
			"id": c.sha, "tree_id": c.tree, "distinct": true, "message": c.message, "timestamp": c.at,
			"url":    fmt.Sprintf("%s/%s/commit/%s", r.f.URL(), r.fullName(), c.sha),
			"author": r.pushPerson(c.author), "committer": r.pushPerson(c.committer),
			"added": []string{}, "removed": []string{}, "modified": []string{},
		}
		for kind, paths := range files[c.sha] {
			o[kind] = paths
		}
		list = append(list, o)
	}
	return list, nil
}

func (r *Repo) pushPerson(p Person) object {
	o := object{"name": p.Name, "email": p.Email}
	if u := r.f.emails[lower(p.Email)]; u != nil && !u.gone {
		o["username"] = u.Login
	}
	return o
}

// changedFiles reads the files of many commits in one git process.
func (r *Repo) changedFiles(ctx context.Context, shas []string) (map[string]map[string][]string, error) {
	if len(shas) == 0 {
		return nil, nil
	}
	in := strings.NewReader(strings.Join(shas, "\n") + "\n")
	out, err := r.f.git(ctx, r.dir, in, "diff-tree", "--stdin", "--root", "-r", "--name-status", "--no-renames")
	if err != nil {
		return nil, fmt.Errorf("reading changed files: %w", err)
	}
	kinds := map[string]string{"A": "added", "D": "removed", "M": "modified", "T": "modified"}
	files, current := map[string]map[string][]string{}, ""
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		letter, path, ok := strings.Cut(line, "\t")
		if !ok {
			current = line
			files[current] = map[string][]string{}
			continue
		}
		kind := kinds[letter]
		files[current][kind] = append(files[current][kind], path)
	}
	return files, nil
}
