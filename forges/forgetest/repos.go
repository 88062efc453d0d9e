package forgetest

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Repo is a repository. Its ID stays when it is renamed or transferred.
type Repo struct {
	ID int64

	f   *Forge
	dir string
	// pushing serialises what moves refs, so that the events of one push are
	// told from those of another. It is taken before Forge.mu.
	pushing sync.Mutex

	owner         *User
	name          string
	public        bool
	parent        *Repo
	defaultBranch string
	created       time.Time
	gone          bool
	access        map[int64]string // account id to role
	teamAccess    map[*Team]string
	refs          map[string]ref // as last seen, for events
	lastNumber    int
	pulls         map[int]*Pull
	comments      map[int64]*comment // every kind
	reviews       map[int64]*review
	statuses      []*status // oldest first
	checks        []*checkRun
	suites        map[string]int64 // by app slug and sha
	known         sync.Map         // sha to commitInfo
	spans         sync.Map         // "sha..sha" to the shas between
}

// CreateRepo makes an empty private repository; the owner becomes an
// organisation when new.
func (f *Forge) CreateRepo(owner, name string) (*Repo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.createRepo(f.account(owner, typeOrg), name)
}

func (f *Forge) createRepo(owner *User, name string) (*Repo, error) {
	if f.names[lower(owner.Login, name)] != nil {
		return nil, unprocessable("Repository creation failed.")
	}
	r := &Repo{
		ID: f.nextID(), f: f, owner: owner, name: name, defaultBranch: "main", created: f.now(),
		access: map[int64]string{}, teamAccess: map[*Team]string{}, refs: map[string]ref{},
		pulls: map[int]*Pull{}, comments: map[int64]*comment{}, reviews: map[int64]*review{},
		suites: map[string]int64{},
	}
	r.dir = filepath.Join(f.dir, fmt.Sprintf("%d.git", r.ID))
	if err := f.initBare(f.life, r.dir); err != nil {
		return nil, fmt.Errorf("creating %s/%s: %w", owner.Login, name, err)
	}
	f.repos[r.ID] = r
	f.claim(r)
	return r, nil
}

// claim gives the repository its name. A name that redirected stops doing so.
func (f *Forge) claim(r *Repo) {
	key := lower(r.owner.Login, r.name)
	f.names[key] = r
	delete(f.moved, key)
}

// GitURL is the clone address, without credentials.
func (r *Repo) GitURL() string {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	return r.cloneURL()
}

func (r *Repo) cloneURL() string { return r.f.URL() + "/" + r.fullName() + ".git" }

// FullName is "owner/name" now.
func (r *Repo) FullName() string {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	return r.fullName()
}

func (r *Repo) fullName() string { return r.owner.Login + "/" + r.name }

// Owner is the login of the owner now.
func (r *Repo) Owner() string {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	return r.owner.Login
}

// Name is the name now, without the owner.
func (r *Repo) Name() string {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	return r.name
}

// SetPublic makes everybody a reader.
func (r *Repo) SetPublic(public bool) {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	r.public = public
}

// SetPermission gives a person a role: none, read, triage, write, maintain,
// admin, or the name of a custom role (reported as read).
func (r *Repo) SetPermission(u *User, role string) {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	r.access[u.ID] = role
}

// SetTeamPermission gives every member of a team a role.
func (r *Repo) SetTeamPermission(t *Team, role string) {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	r.teamAccess[t] = role
}

// roleOf is the highest role of an account. The owner and web-flow's like are
// not special cases anywhere else.
func (r *Repo) roleOf(u *User) string {
	if u == r.owner {
		return "admin"
	}
	role := "none"
	if r.public {
		role = "read"
	}
	raise := func(other string) {
		if other != "" && atLeast(other, role) {
			role = other
		}
	}
	raise(r.access[u.ID])
	if named := r.access[u.ID]; named != "" && role == "none" && named != "none" {
		role = named // a custom role
	}
	for team, granted := range r.teamAccess {
		if team.members[u.ID] == "active" {
			raise(granted)
		}
	}
	return role
}

// Rename renames the repository; the old name redirects until it is taken.
func (r *Repo) Rename(name string) {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	old := r.name
	r.move(r.owner, name)
	r.f.tell(event{kind: repoEvent, action: "renamed", repo: r, by: r.owner, from: map[string]string{"name": old}})
}

// Transfer gives the repository to another account. Installations of the old
// owner lose it.
func (r *Repo) Transfer(owner string) {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	old := r.owner
	r.move(r.f.account(owner, typeOrg), r.name)
	r.f.tell(event{kind: repoEvent, action: "transferred", repo: r, by: r.owner, from: map[string]string{"owner": old.Login}})
}

func (r *Repo) move(owner *User, name string) {
	key := lower(r.owner.Login, r.name)
	delete(r.f.names, key)
	r.f.moved[key] = r.ID
	r.owner, r.name = owner, name
	r.f.claim(r)
}

// Delete removes the repository. As on GitHub, no app is told.
func (r *Repo) Delete() {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	r.gone = true
	delete(r.f.names, lower(r.owner.Login, r.name))
	delete(r.f.repos, r.ID)
	for _, other := range r.f.repos {
		for _, p := range other.pulls {
			if p.head.repo == r {
				p.head.repo = nil
			}
		}
	}
	maps.DeleteFunc(r.f.moved, func(_ string, id int64) bool { return id == r.ID })
}

// Fork copies the repository into an account; its pull requests back are from
// a fork.
func (r *Repo) Fork(u *User) (*Repo, error) {
	r.pushing.Lock()
	defer r.pushing.Unlock()
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	fork, err := r.f.createRepo(u, r.name)
	if err != nil {
		return nil, err
	}
	fork.parent, fork.public = r, r.public
	_, err = r.f.git(r.f.life, fork.dir, nil, "fetch", "--quiet", r.dir, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
	if err != nil {
		return nil, fmt.Errorf("forking %s: %w", r.fullName(), err)
	}
	fork.refs, err = fork.readRefs(r.f.life)
	return fork, err
}

// Repo finds a repository by its current name.
func (f *Forge) Repo(owner, name string) (*Repo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.names[lower(owner, name)]; r != nil {
		return r, nil
	}
	return nil, notFound()
}

func (f *Forge) sortedRepos() []*Repo {
	ids := slices.Sorted(maps.Keys(f.repos))
	out := make([]*Repo, len(ids))
	for i, id := range ids {
		out[i] = f.repos[id]
	}
	return out
}
