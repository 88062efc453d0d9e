package forgetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// git runs one git command in a repository of the fake, apart from the
// machine's own configuration.
func (f *Forge) git(ctx context.Context, dir string, stdin io.Reader, args ...string) (string, error) {
	return f.gitEnv(ctx, dir, stdin, nil, args...)
}

func (f *Forge) gitEnv(ctx context.Context, dir string, stdin io.Reader, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stdin = dir, stdin
	cmd.Env = append(f.gitBaseEnv(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

func (f *Forge) gitBaseEnv() []string {
	return []string{
		"HOME=" + filepath.Join(f.dir, "home"), "LANG=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
	}
}

func (f *Forge) initBare(ctx context.Context, dir string) error {
	if _, err := f.git(ctx, f.dir, nil, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", dir); err != nil {
		return err
	}
	settings := []string{
		"http.receivepack=true", "receive.hideRefs=refs/pull", "receive.hideRefs=refs/merge-requests", "uploadpack.allowAnySHA1InWant=true",
		"gc.auto=0", "receive.autogc=false", "core.fsync=none",
	}
	var config strings.Builder
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		section, name, _ := strings.Cut(key, ".")
		fmt.Fprintf(&config, "[%s]\n\t%s = %s\n", section, name, value)
	}
	return appendFile(filepath.Join(dir, "config"), config.String())
}

// edit is one commit to make.
type edit struct {
	branch            string
	files             map[string]string
	deleted           []string
	author, committer Person
	message           string
}

// commit writes one commit on a branch, which is made when new, and returns
// its sha.
func (r *Repo) commit(ctx context.Context, e edit, at time.Time) (string, error) {
	target := "refs/heads/" + e.branch
	var in bytes.Buffer
	stamp := fmt.Sprintf("%d +0000", at.Unix())
	fmt.Fprintf(&in, "commit %s\nauthor %s <%s> %s\n", target, e.author.Name, e.author.Email, stamp)
	fmt.Fprintf(&in, "committer %s <%s> %s\ndata %d\n%s\n", e.committer.Name, e.committer.Email, stamp, len(e.message), e.message)
	if _, ok := r.refs[target]; ok {
		fmt.Fprintf(&in, "from %s^0\n", target)
	} else if tip, ok := r.refs["refs/heads/"+r.defaultBranch]; ok {
		fmt.Fprintf(&in, "from %s\n", tip.object)
	}
	for _, path := range e.deleted {
		fmt.Fprintf(&in, "D %s\n", path)
	}
	for _, path := range sortedKeys(e.files) {
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", path, len(e.files[path]), e.files[path])
	}
	if _, err := r.f.git(ctx, r.dir, &in, "fast-import", "--quiet", "--date-format=raw"); err != nil {
		return "", fmt.Errorf("committing to %s: %w", e.branch, err)
	}
	return r.resolve(ctx, target)
}

// resolve returns the full object id a revision names.
func (r *Repo) resolve(ctx context.Context, rev string) (string, error) {
	out, err := r.f.git(ctx, r.dir, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", rev)
	return strings.TrimSpace(out), err
}

// hasCommit says whether the repository or its pull requests hold a commit.
func (r *Repo) hasCommit(ctx context.Context, sha string) bool {
	if !fullSHA(sha) {
		return false
	}
	if _, known := r.known.Load(sha); known {
		return true
	}
	commits, err := r.readCommits(ctx, []string{sha})
	return err == nil && len(commits) == 1 && commits[0].sha == sha
}

func (r *Repo) hasObject(ctx context.Context, sha string) bool {
	if !fullSHA(sha) {
		return false
	}
	_, err := r.f.git(ctx, r.dir, nil, "cat-file", "-e", sha)
	return err == nil
}

func (r *Repo) isAncestor(ctx context.Context, old, tip string) bool {
	_, err := r.f.git(ctx, r.dir, nil, "merge-base", "--is-ancestor", old, tip)
	return err == nil
}

// revList lists commits oldest first.
func (r *Repo) revList(ctx context.Context, args ...string) ([]string, error) {
	span := strings.Join(args, " ")
	if known, ok := r.spans.Load(span); ok {
		return slices.Clone(known.([]string)), nil
	}
	out, err := r.f.git(ctx, r.dir, nil, append([]string{"rev-list", "--topo-order", "--reverse"}, args...)...)
	shas := strings.Fields(out)
	if from, to, ok := strings.Cut(span, ".."); ok && err == nil && fullSHA(from) && fullSHA(to) {
		r.spans.Store(span, slices.Clone(shas)) // between two commits nothing ever changes
	}
	return shas, err
}

// commitInfo is a commit as the API shows it.
type commitInfo struct {
	sha, tree         string
	parents           []string
	author, committer Person
	authored, at      string
	message           string
}

// readCommits reads commits, in the order asked, in one git process unless all
// were read before: commits never change, and a forge is quick to show one.
func (r *Repo) readCommits(ctx context.Context, shas []string) ([]commitInfo, error) {
	var commits []commitInfo
	for _, sha := range shas {
		if known, ok := r.known.Load(sha); ok {
			commits = append(commits, known.(commitInfo))
		}
	}
	if len(commits) == len(shas) {
		return commits, nil
	}
	commits, err := r.logCommits(ctx, shas)
	for _, c := range commits {
		r.known.Store(c.sha, c)
	}
	return commits, err
}

func (r *Repo) logCommits(ctx context.Context, shas []string) ([]commitInfo, error) {
	const format = "%H%x1f%T%x1f%P%x1f%an%x1f%ae%x1f%aI%x1f%cn%x1f%ce%x1f%cI%x1f%B%x1e"
	args := []string{"log", "--no-walk=unsorted", "--stdin", "--format=" + format}
	out, err := r.f.git(ctx, r.dir, strings.NewReader(strings.Join(shas, "\n")+"\n"), args...)
	if err != nil {
		return nil, fmt.Errorf("reading commits: %w", err)
	}
	var commits []commitInfo
	for record := range strings.SplitSeq(out, "\x1e") {
		p := strings.Split(strings.TrimPrefix(record, "\n"), "\x1f")
		if len(p) != 10 {
			continue
		}
		commits = append(commits, commitInfo{
			sha: p[0], tree: p[1], parents: strings.Fields(p[2]),
			author: Person{p[3], p[4]}, authored: p[5], committer: Person{p[6], p[7]}, at: p[8],
			message: strings.TrimRight(p[9], "\n"),
		})
	}
	return commits, nil
}

// mergeTree merges two commits and returns the tree, or ok false on conflict.
func (r *Repo) mergeTree(ctx context.Context, ours, theirs string) (tree string, ok bool, err error) {
	out, err := r.f.git(ctx, r.dir, nil, "merge-tree", "--write-tree", ours, theirs)
	first, _, _ := strings.Cut(out, "\n")
	if err == nil {
		return first, true, nil
	}
	if fullSHA(first) { // exit 1 with a tree: conflicts
		return "", false, nil
	}
	return "", false, err
}

// commitTree writes a commit object.
func (r *Repo) commitTree(ctx context.Context, tree string, parents []string, author, committer Person, at time.Time, message string) (string, error) {
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	stamp := fmt.Sprintf("%d +0000", at.Unix())
	env := []string{
		"GIT_AUTHOR_NAME=" + author.Name, "GIT_AUTHOR_EMAIL=" + author.Email, "GIT_AUTHOR_DATE=" + stamp,
		"GIT_COMMITTER_NAME=" + committer.Name, "GIT_COMMITTER_EMAIL=" + committer.Email, "GIT_COMMITTER_DATE=" + stamp,
	}
	out, err := r.f.gitEnv(ctx, r.dir, strings.NewReader(message), env, args...)
	return strings.TrimSpace(out), err
}

func (r *Repo) updateRef(ctx context.Context, name, sha string) error {
	_, err := r.f.git(ctx, r.dir, nil, "update-ref", name, sha)
	return err
}

func fullSHA(s string) bool {
	return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == ""
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
