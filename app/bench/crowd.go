package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	osexec "os/exec"

	"github.com/chant-bot/chant/forges/forgetest"
)

// crowd is many pull requests, each with a push whose deliveries were not
// handed over yet.
type crowd struct {
	pulls  []*forgetest.Pull
	pushes []push // one a pull request
}

// push is what a forge sends of one: the branch moved, the pull request with it.
type push struct{ branch, pull letter }

// newCrowd opens n pull requests, each over one root.
func (w *world) newCrowd(ctx context.Context, n int) (*crowd, error) {
	w.post.hold(all)
	defer w.post.hold(nil)
	c := &crowd{}
	if err := w.branches(ctx, n, "opened"); err != nil {
		return nil, err
	}
	for i := range n {
		pr, err := w.repo.OpenPullRequest(w.bob, branchName(i), "main", "Change "+branchName(i))
		if err != nil {
			return nil, err
		}
		c.pulls = append(c.pulls, pr)
	}
	if err := w.forge.Quiesce(ctx); err != nil {
		return nil, err
	}
	w.post.fetch() // nobody is told before the push
	if err := w.branches(ctx, n, "pushed"); err != nil {
		return nil, err
	}
	if err := w.forge.Quiesce(ctx); err != nil {
		return nil, err
	}
	return c, c.sort(w.post.fetch(), n)
}

func branchName(i int) string { return fmt.Sprintf("crowd-%04d", i) }

// branches adds a commit to each of n branches and lets the forge see it as one
// push.
func (w *world) branches(ctx context.Context, n int, value string) error {
	var stream bytes.Buffer
	for i := range n {
		branch := "refs/heads/" + branchName(i)
		from := "refs/heads/main^0"
		if value != "opened" {
			from = branch + "^0"
		}
		text := rootText(fmt.Sprintf("%s %d", value, i))
		fmt.Fprintf(&stream, "commit %s\ncommitter bob <bob@example.com> %d +0000\ndata %d\n%s\nfrom %s\nM 100644 inline %s\ndata %d\n%s\n",
			branch, w.forge.Now().Unix(), len(value), value, from, rootFile(rootName(i%w.roots)), len(text), text)
	}
	cmd := osexec.CommandContext(ctx, "git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = w.repo.Dir(), &stream
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("making branches: %w\n%s", err, out)
	}
	_, err := w.repo.Commit("bystander-"+value, map[string]string{"README.md": value}, w.bob)
	return err
}

// sort pairs the letters of each push.
func (c *crowd) sort(letters []letter, n int) error {
	branches, pulls := map[string]letter{}, map[int]letter{}
	for _, l := range letters {
		var body struct {
			Ref    string
			Number int
		}
		if err := json.Unmarshal(l.body, &body); err != nil {
			return err
		}
		switch l.event() {
		case "push":
			branches[body.Ref] = l
		case "pull_request":
			pulls[body.Number] = l
		}
	}
	for i, pr := range c.pulls {
		branch, found := branches["refs/heads/"+branchName(i)]
		pull, also := pulls[pr.Number]
		if !found || !also {
			return fmt.Errorf("the forge did not tell of the push to %s", branchName(i))
		}
		c.pushes = append(c.pushes, push{branch, pull})
	}
	if len(c.pushes) != n {
		return fmt.Errorf("%d of %d pushes were told", len(c.pushes), n)
	}
	return nil
}

// unplanned counts pull requests whose head has no plan on the forge.
func (c *crowd) unplanned(w *world) int {
	missing := 0
	for _, pr := range c.pulls {
		if !w.noted(pr) || w.repo.Status(pr.Head(), "chant/plan").State != "success" {
			missing++
		}
	}
	return missing
}

// twice counts what was said twice: a second note, or a status equal to the one
// before it.
func (c *crowd) twice(w *world) int {
	twice := 0
	for _, pr := range c.pulls {
		twice += max(0, len(w.repo.Comments(pr.Number))-1)
		last := map[string]string{}
		for _, s := range w.repo.AllStatuses(pr.Head()) {
			said := s.State + " " + s.Description + " " + s.TargetURL
			if last[s.Context] == said {
				twice++
			}
			last[s.Context] = said
		}
	}
	return twice
}
