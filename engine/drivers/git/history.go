package git

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Resolve names the commit a revision stands for, tags peeled.
// ErrUnknownRevision says that there is none.
func (c *Clone) Resolve(ctx context.Context, rev string) (string, error) {
	o, err := c.cat.info(ctx, rev+"^{commit}")
	switch {
	case errors.Is(err, ErrUnknownRevision):
		return "", fmt.Errorf("%w %q", ErrUnknownRevision, rev)
	case err != nil:
		return "", fmt.Errorf("resolving %q: %w", rev, err)
	}
	return o.oid, nil
}

// MergeBase finds the best common ancestor. Two commits without one are
// ErrUnknownRevision.
func (c *Clone) MergeBase(ctx context.Context, a, b string) (string, error) {
	a, b, err := c.resolveTwo(ctx, a, b)
	if err != nil {
		return "", err
	}
	if a == b || c.justBelow(ctx, a, b) {
		return a, nil
	}
	out, err := c.git(ctx, "merge-base", a, b)
	if isExit(err, 1) {
		return "", fmt.Errorf("merge base of %s and %s: %w: they share no history", a, b, ErrUnknownRevision)
	}
	if err != nil {
		return "", fmt.Errorf("merge base of %s and %s: %w", a, b, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// nearby is how many commits are read one by one before a process is asked.
const nearby = 32

// IsAncestor tells whether a is b or an ancestor of it.
func (c *Clone) IsAncestor(ctx context.Context, a, b string) (bool, error) {
	if a == b || c.justBelow(ctx, a, b) {
		return true, nil
	}
	_, err := c.git(ctx, "merge-base", "--is-ancestor", a, b)
	if isExit(err, 1) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("comparing %s and %s: %w", a, b, err)
	}
	return true, nil
}

// justBelow tells whether a, by its id, is among the nearest first parents of b.
// Branches that only grow, the ledger above all, are compared so for the cost
// of a read.
func (c *Clone) justBelow(ctx context.Context, a, b string) bool {
	for range nearby {
		commit, err := c.cat.contents(ctx, b)
		if err != nil || commit.kind != "commit" {
			return false
		}
		_, afterTree, _ := strings.Cut(string(commit.data), "\n")
		line, _, _ := strings.Cut(afterTree, "\n")
		parent, found := strings.CutPrefix(line, "parent ")
		if !found || parent == a {
			return found
		}
		b = parent
	}
	return false
}

// Walk bounds a first-parent walk. The zero value goes to the root.
type Walk struct {
	// Since keeps commits whose committer time is not before it, to the second.
	// It filters: a commit with an old time hides none below it.
	Since time.Time
	// Stop leaves out what Stop reaches. When Stop is on the line, the last
	// commit's Parent is Stop.
	Stop string
	Max  int // number of commits, 0 for no bound
}

// FirstParents walks the first-parent line of tip, newest first (pr-loop §4.3,
// §4.4).
func (c *Clone) FirstParents(ctx context.Context, tip string, w Walk) ([]Commit, error) {
	args := []string{"--first-parent"}
	if !w.Since.IsZero() {
		args = append(args, fmt.Sprintf("--since-as-filter=@%d +0000", w.Since.Unix()))
	}
	if w.Max > 0 {
		args = append(args, "--max-count="+strconv.Itoa(w.Max))
	}
	return c.log(ctx, args, w.Stop, tip)
}

// Commits lists every commit that head has and base has not, newest first: the
// commits of a pull request, for who wrote it (pr-loop §5.10).
func (c *Clone) Commits(ctx context.Context, base, head string) ([]Commit, error) {
	return c.log(ctx, nil, base, head)
}

// Commit reads one commit.
func (c *Clone) Commit(ctx context.Context, rev string) (Commit, error) {
	commits, err := c.log(ctx, []string{"--no-walk"}, "", rev)
	if err != nil {
		return Commit{}, err
	}
	if len(commits) != 1 {
		return Commit{}, fmt.Errorf("reading commit %q: %w", rev, ErrUnknownRevision)
	}
	return commits[0], nil
}

// logFields is the number of fields logFormat prints for a commit.
const logFields = 5

const logFormat = "--format=tformat:%H%x00%P%x00%T%x00%ct%x00%B"

// log lists commits reachable from tip and not from stop.
func (c *Clone) log(ctx context.Context, args []string, stop, tip string) ([]Commit, error) {
	tip, err := c.Resolve(ctx, tip)
	if err != nil {
		return nil, err
	}
	args = append([]string{"log", "-z", "--no-show-signature", "--no-mailmap", "--no-color", "--no-notes", logFormat}, args...)
	args = append(args, tip)
	if stop != "" {
		if stop, err = c.Resolve(ctx, stop); err != nil {
			return nil, err
		}
		args = append(args, "^"+stop)
	}
	out, err := c.git(ctx, append(args, "--")...)
	if err != nil {
		return nil, fmt.Errorf("reading history of %s: %w", tip, err)
	}
	return parseLog(string(out))
}

func parseLog(out string) ([]Commit, error) {
	if out == "" {
		return nil, nil
	}
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if len(fields)%logFields != 0 {
		return nil, errors.New("reading history: git log's output does not have the asked form")
	}
	commits := make([]Commit, 0, len(fields)/logFields)
	for ; len(fields) > 0; fields = fields[logFields:] {
		committed, err := strconv.ParseInt(fields[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("reading the time of commit %s: %w", fields[0], err)
		}
		commit := Commit{
			SHA: fields[0], Parents: strings.Fields(fields[1]), Tree: fields[2],
			CommitterTime: time.Unix(committed, 0).UTC(), CoAuthors: coAuthors(fields[4]),
		}
		if len(commit.Parents) > 0 {
			commit.Parent = commit.Parents[0]
		}
		commits = append(commits, commit)
	}
	return commits, nil
}

// coAuthors reads every Co-authored-by line wherever it stands in the message:
// it decides who may not approve, so a line too many is the safe side.
func coAuthors(message string) []Person {
	const trailer = "co-authored-by:"
	var people []Person
	for line := range strings.Lines(message) {
		line = strings.TrimSpace(line)
		if len(line) < len(trailer) || !strings.EqualFold(line[:len(trailer)], trailer) {
			continue
		}
		name, rest, _ := strings.Cut(line[len(trailer):], "<")
		email, _, _ := strings.Cut(rest, ">")
		people = append(people, Person{Name: strings.TrimSpace(name), Email: strings.TrimSpace(email)})
	}
	return people
}

func (c *Clone) resolveTwo(ctx context.Context, a, b string) (string, string, error) {
	x, err := c.Resolve(ctx, a)
	if err != nil {
		return "", "", err
	}
	y, err := c.Resolve(ctx, b)
	return x, y, err
}
