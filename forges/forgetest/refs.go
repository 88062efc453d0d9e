package forgetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

const zeroSHA = "0000000000000000000000000000000000000000"

// ref is what a reference points at; commit is peeled.
type ref struct{ object, commit string }

// Tag is a tag as the repository holds it now.
type Tag struct {
	Name      string // without refs/tags/
	Object    string // what the ref names
	Commit    string // peeled
	Annotated bool
}

func (r *Repo) readRefs(ctx context.Context) (map[string]ref, error) {
	out, err := r.f.git(ctx, r.dir, nil, "for-each-ref", "--format=%(refname) %(objectname) %(*objectname)", "refs/heads", "refs/tags")
	if err != nil {
		return nil, fmt.Errorf("listing refs of %s: %w", r.fullName(), err)
	}
	refs := map[string]ref{}
	for line := range strings.Lines(out) {
		p := strings.Fields(line)
		switch len(p) {
		case 2:
			refs[p[0]] = ref{p[1], p[1]}
		case 3:
			refs[p[0]] = ref{p[1], p[2]}
		}
	}
	return refs, nil
}

// refChange is one reference that moved.
type refChange struct {
	name     string // full
	old, new ref    // zero when it did not or does not exist
}

// moved compares the references with those last seen and sends the events of
// one push by an account. The caller holds pushing and mu.
func (r *Repo) refsMoved(ctx context.Context, by *User) error {
	now, err := r.readRefs(ctx)
	if err != nil {
		return err
	}
	var changes []refChange
	for _, name := range sortedKeys(now) {
		if old := r.refs[name]; old != now[name] {
			changes = append(changes, refChange{name, old, now[name]})
		}
	}
	for _, name := range sortedKeys(r.refs) {
		if _, ok := now[name]; !ok {
			changes = append(changes, refChange{name, r.refs[name], ref{}})
		}
	}
	r.refs = now
	return r.announce(ctx, by, changes)
}

func (r *Repo) announce(ctx context.Context, by *User, changes []refChange) error {
	var errs []error
	for _, c := range changes {
		if r.f.dialect.loud(changes, c) {
			errs = append(errs, r.f.emit(ctx, event{kind: pushEvent, repo: r, by: by, ref: c}))
		}
		if !isTag(c.name) {
			errs = append(errs, r.branchMoved(ctx, by, c))
		}
	}
	return errors.Join(errs...)
}

func isTag(name string) bool { return strings.HasPrefix(name, "refs/tags/") }

// changing runs one change of references and sends its events.
func (r *Repo) changing(by *User, change func(ctx context.Context) error) error {
	r.pushing.Lock()
	defer r.pushing.Unlock()
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	ctx := r.f.life
	if err := change(ctx); err != nil {
		return err
	}
	return r.refsMoved(ctx, by)
}

// Commit writes files on a branch as an account would by pushing, and returns
// the commit. A new branch starts at the default branch.
func (r *Repo) Commit(branch string, files map[string]string, by *User) (string, error) {
	return r.CommitAs(branch, files, by, by.Person(), by.Person(), "Change "+strings.Join(sortedKeys(files), ", "))
}

// CommitAs writes a commit whose author, committer and message differ from
// the account that pushes it.
func (r *Repo) CommitAs(branch string, files map[string]string, pusher *User, author, committer Person, message string) (string, error) {
	return r.push(pusher, edit{branch: branch, files: files, author: author, committer: committer, message: message})
}

// Remove deletes files on a branch.
func (r *Repo) Remove(branch string, by *User, paths ...string) (string, error) {
	e := edit{branch: branch, deleted: paths, author: by.Person(), committer: by.Person()}
	e.message = "Remove " + strings.Join(paths, ", ")
	return r.push(by, e)
}

func (r *Repo) push(by *User, e edit) (sha string, err error) {
	err = r.changing(by, func(ctx context.Context) error {
		sha, err = r.commit(ctx, e, r.f.now())
		return err
	})
	return sha, err
}

// ForcePush points a branch at any commit.
func (r *Repo) ForcePush(branch, sha string, by *User) error {
	return r.changing(by, func(ctx context.Context) error { return r.updateRef(ctx, "refs/heads/"+branch, sha) })
}

// DeleteBranch removes a branch.
func (r *Repo) DeleteBranch(branch string, by *User) error {
	return r.changing(by, func(ctx context.Context) error {
		_, err := r.f.git(ctx, r.dir, nil, "update-ref", "-d", "refs/heads/"+branch)
		return err
	})
}

// CreateTags pushes lightweight tags at one commit in one push: GitHub and
// GitLab send no event when there are more than three.
func (r *Repo) CreateTags(by *User, sha string, names ...string) error {
	return r.changing(by, func(ctx context.Context) error {
		for _, name := range names {
			if err := r.updateRef(ctx, "refs/tags/"+name, sha); err != nil {
				return err
			}
		}
		return nil
	})
}

// CreateAnnotatedTag pushes one annotated tag.
func (r *Repo) CreateAnnotatedTag(by *User, sha, name, message string) error {
	return r.changing(by, func(ctx context.Context) error {
		p := by.Person()
		env := []string{"GIT_COMMITTER_NAME=" + p.Name, "GIT_COMMITTER_EMAIL=" + p.Email}
		_, err := r.f.gitEnv(ctx, r.dir, strings.NewReader(message), env, "tag", "-a", "-F", "-", name, sha)
		return err
	})
}

// DeleteTags removes tags in one push.
func (r *Repo) DeleteTags(by *User, names ...string) error {
	return r.changing(by, func(ctx context.Context) error {
		for _, name := range names {
			if _, err := r.f.git(ctx, r.dir, nil, "update-ref", "-d", "refs/tags/"+name); err != nil {
				return err
			}
		}
		return nil
	})
}

// Tags lists the tags by name.
func (r *Repo) Tags() ([]Tag, error) {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	refs, err := r.readRefs(r.f.life)
	if err != nil {
		return nil, err
	}
	var tags []Tag
	for _, name := range sortedKeys(refs) {
		if short, ok := strings.CutPrefix(name, "refs/tags/"); ok {
			at := refs[name]
			tags = append(tags, Tag{Name: short, Object: at.object, Commit: at.commit, Annotated: at.object != at.commit})
		}
	}
	return tags, nil
}

// Head is the tip of a branch; an error when there is none.
func (r *Repo) Head(branch string) (string, error) {
	return r.resolve(r.f.life, "refs/heads/"+branch)
}

// ReadFile reads a file at any revision.
func (r *Repo) ReadFile(rev, path string) (string, error) {
	out, err := r.f.git(r.f.life, r.dir, nil, "cat-file", "blob", rev+":"+path)
	if err != nil {
		return "", fmt.Errorf("reading %s at %s: %w", path, rev, err)
	}
	return out, nil
}

// Files lists every path at a revision.
func (r *Repo) Files(rev string) ([]string, error) {
	out, err := r.f.git(r.f.life, r.dir, nil, "ls-tree", "-r", "-z", "--name-only", rev)
	return strings.FieldsFunc(out, func(c rune) bool { return c == 0 }), err
}

// Dir is the bare repository, for assertions with git itself.
func (r *Repo) Dir() string { return r.dir }

func appendFile(path, text string) (err error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = file.WriteString(text)
	return err
}
