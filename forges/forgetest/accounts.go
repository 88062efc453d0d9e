package forgetest

import (
	"fmt"
	"slices"
)

// Account types, spelt as GitHub does.
const (
	typeUser = "User"
	typeBot  = "Bot"
	typeOrg  = "Organization"
)

// User is an account: a person, a bot or an organisation.
type User struct {
	ID    int64
	Login string
	Type  string // "User", "Bot" or "Organization"

	f    *Forge
	gone bool
}

// Person is who a commit names.
type Person struct{ Name, Email string }

// Person is the account as its commits name it, with the no-reply address the
// forge maps back to the account.
func (u *User) Person() Person {
	return Person{Name: u.Login, Email: fmt.Sprintf(u.f.dialect.habits().noreply, u.ID, u.Login)}
}

// AddEmail makes the forge map a commit address to this account.
func (u *User) AddEmail(address string) {
	u.f.mu.Lock()
	defer u.f.mu.Unlock()
	u.f.emails[lower(address)] = u
}

// User returns the person with this login, made when new.
func (f *Forge) User(login string) *User {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.account(login, typeUser)
}

// Bot returns a bot account that belongs to no app.
func (f *Forge) Bot(login string) *User {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.account(login, typeBot)
}

// Org returns the organisation with this login, made when new.
func (f *Forge) Org(login string) *User {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.account(login, typeOrg)
}

// RenameUser gives an account another login; its ID stays.
func (f *Forge) RenameUser(u *User, login string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.accounts, lower(u.Login))
	u.Login = login
	f.accounts[lower(login)] = u
}

// DeleteUser removes an account; what it wrote stays, with a null author.
func (f *Forge) DeleteUser(u *User) {
	f.mu.Lock()
	defer f.mu.Unlock()
	u.gone = true
	delete(f.accounts, lower(u.Login))
}

func (f *Forge) account(login, kind string) *User {
	if u := f.accounts[lower(login)]; u != nil {
		return u
	}
	u := &User{ID: f.nextID(), Login: login, Type: kind, f: f}
	f.accounts[lower(login)] = u
	f.emails[lower(u.Person().Email)] = u
	return u
}

// presser is who commits when somebody pressed a button: that person, or an
// account of the forge's own.
func (f *Forge) presser(by *User) Person {
	p := f.dialect.habits().presser
	if p == (Person{}) {
		return by.Person()
	}
	f.emails[p.Email] = f.account("web-flow", typeUser)
	return p
}

// Team is a team of an organisation.
type Team struct {
	ID        int64
	Org, Slug string

	f       *Forge
	members map[int64]string // account id to "active" or "pending"
}

// Team returns a team, made when new.
func (f *Forge) Team(org, slug string) *Team {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.account(org, typeOrg)
	if t := f.teams[lower(org, slug)]; t != nil {
		return t
	}
	t := &Team{ID: f.nextID(), Org: org, Slug: slug, f: f, members: map[int64]string{}}
	f.teams[lower(org, slug)] = t
	return t
}

// Add makes accounts members.
func (t *Team) Add(users ...*User) { t.set("active", users) }

// Invite leaves accounts with an invitation they have not accepted.
func (t *Team) Invite(users ...*User) { t.set("pending", users) }

func (t *Team) set(state string, users []*User) {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	for _, u := range users {
		t.members[u.ID] = state
	}
}

// roles are GitHub's repository roles, lowest first.
func roles() []string { return []string{"none", "read", "triage", "write", "maintain", "admin"} }

// legacyPermission is what a role is reported as.
func legacyPermission(role string) string {
	switch role {
	case "none", "admin":
		return role
	case "write", "maintain":
		return "write"
	}
	return "read" // triage, and the base of a custom role
}

// atLeast says whether a role grants what level asks.
func atLeast(role, level string) bool {
	return slices.Index(roles(), role) >= slices.Index(roles(), level)
}
