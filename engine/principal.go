package engine

import "strings"

// Login is the account a principal names on this instance; ours is false for a
// principal of another instance or of none.
func (i Instance) Login(principal string) (login string, ours bool) {
	p := strings.ToLower(strings.TrimSpace(principal))
	at := strings.LastIndexByte(p, ':')
	if at < 0 || p[at+1:] == "" || strings.HasPrefix(p[at+1:], "@") {
		return "", false
	}
	login = p[at+1:]
	return login, i.Principal(login) == p
}

// Team splits an approvers entry such as "github:@org/team".
func (i Instance) Team(entry string) (org, team string, ok bool) {
	e := strings.ToLower(strings.TrimSpace(entry))
	prefix, name, found := strings.Cut(e, ":@")
	if !found || i.Principal("x") != prefix+":x" {
		return "", "", false
	}
	org, team, ok = strings.Cut(name, "/")
	return org, team, ok && org != "" && team != ""
}

// LoginOfEmail resolves the addresses a forge makes up for accounts, such as
// 49699333+alice@users.noreply.github.com. Any other address names nobody for
// sure.
func (i Instance) LoginOfEmail(email string) (login string, ok bool) {
	local, found := strings.CutSuffix(strings.ToLower(email), "@users.noreply."+i.Host)
	if !found {
		return "", false
	}
	if _, after, numbered := strings.Cut(local, "+"); numbered {
		local = after
	}
	return local, local != ""
}

// MachineEmail reports an address the forge itself commits with when somebody
// merges or edits in its pages; the person behind it is the author.
func (i Instance) MachineEmail(email string) bool {
	return strings.EqualFold(email, "noreply@"+i.Host)
}
