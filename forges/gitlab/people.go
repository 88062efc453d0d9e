package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	gogitlab "gitlab.com/gitlab-org/api/client-go"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// actor of an account; none becomes the zero Actor. GitLab tells in no list
// whether an account is a bot: isBot does.
func actor(u *gogitlab.BasicUser) engine.Actor {
	if u == nil {
		return engine.Actor{}
	}
	return engine.Actor{ID: u.ID, Login: u.Username}
}

// Self is the account the token writes as: a bot of its own for the token of a
// project or group.
func (c *Conn) Self(ctx context.Context) (engine.Actor, error) {
	c.mu.Lock()
	known := c.self
	c.mu.Unlock()
	if known.ID != 0 {
		return known, nil
	}
	const what = "reading our own account"
	user, err := answered[*gogitlab.User](what, needsRead)(c.client.Users.CurrentUser(with(ctx)))
	if err != nil {
		return engine.Actor{}, err
	}
	if user.ID <= 0 {
		return engine.Actor{}, errors.New(what + ": the answer names none")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.self = engine.Actor{ID: user.ID, Login: user.Username, Bot: user.Bot}
	return c.self, nil
}

// isBot asks what an account is, once. One that GitLab does not show counts as a
// bot, for a bot may do less.
func (c *Conn) isBot(ctx context.Context, id int64) (bool, error) {
	c.mu.Lock()
	bot, known := c.bots[id]
	c.mu.Unlock()
	if known {
		return bot, nil
	}
	user, err := answered[*gogitlab.User](fmt.Sprintf("reading account %d", id), needsRead)(
		c.client.Users.GetUser(id, gogitlab.GetUsersOptions{}, with(ctx)))
	switch {
	case errors.Is(err, forges.ErrNotFound):
		return true, nil
	case err != nil:
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bots[id] = user.Bot
	return user.Bot, nil
}

// user finds an account by its name.
func (c *Conn) user(ctx context.Context, login string) (*gogitlab.User, error) {
	if err := checkLogin(login); err != nil {
		return nil, err
	}
	what := "finding the account " + login
	found, err := answered[[]*gogitlab.User](what, needsRead)(
		c.client.Users.ListUsers(&gogitlab.ListUsersOptions{Username: &login}, with(ctx)))
	if err != nil {
		return nil, err
	}
	for _, u := range found {
		if strings.EqualFold(u.Username, login) {
			return u, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", what, forges.ErrNotFound)
}

// seenFor is how long an account is known by its name after an answer gave both:
// about as long as one decision takes, which reads who approved and then what they
// may do.
const seenFor = 5 * time.Second

type seen struct {
	id int64
	at time.Time
}

// saw keeps an account that an answer names.
func (c *Conn) saw(u *gogitlab.BasicUser) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[strings.ToLower(u.Username)] = seen{u.ID, c.config.Now()}
}

func (c *Conn) sawJustNow(login string) (id int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.seen[strings.ToLower(login)]
	return known.id, ok && c.config.Now().Sub(known.at) < seenFor
}

// member is a membership, decoded by hand: client-go drops membership_state.
type member struct {
	AccessLevel     int               `json:"access_level"`
	State           string            `json:"state"`            // of the account
	MembershipState string            `json:"membership_state"` // newer versions
	ExpiresAt       *gogitlab.ISOTime `json:"expires_at"`
}

const active = "active"

// level is what a membership grants at a time; 0 once it ended. It ends when its
// last day begins.
func (m member) level(now time.Time) int {
	switch {
	case m.State != active, m.MembershipState != "" && m.MembershipState != active:
		return 0
	case m.ExpiresAt != nil && !now.Before(time.Time(*m.ExpiresAt)):
		return 0
	}
	return m.AccessLevel
}

// member reads a membership at a path below a project or group; the zero member
// when there is none.
func (c *Conn) member(ctx context.Context, what, path string) (member, error) {
	var m member
	req, err := c.client.NewRequest(http.MethodGet, path, nil, []gogitlab.RequestOptionFunc{with(ctx)})
	if err != nil {
		return m, fmt.Errorf("%s: %w", what, err)
	}
	_, err = c.client.Do(req, &m)
	if errors.Is(err, gogitlab.ErrNotFound) {
		return member{}, nil
	}
	if err != nil {
		return member{}, typed(what, needsRead, err)
	}
	return m, nil
}

// Permission is the highest grant of an account, through groups too. Whoever
// sees a public project without being a member of it may read.
func (c *Conn) Permission(ctx context.Context, repo engine.Repo, login string) (forges.Permission, error) {
	if id, ok := c.sawJustNow(login); ok {
		// Who turns out to be no member is looked up all the same.
		granted, _, err := c.granted(ctx, repo, login, id)
		if err != nil || granted != forges.NoAccess {
			return granted, err
		}
	}
	user, err := c.user(ctx, login)
	if err != nil {
		return forges.NoAccess, err
	}
	granted, pid, err := c.granted(ctx, repo, login, user.ID)
	if err != nil || granted != forges.NoAccess || user.State != active {
		return granted, err
	}
	found, err := c.readProject(ctx, engine.Repo{Instance: repo.Instance, ID: pid})
	if err == nil && found.Visibility == gogitlab.PublicVisibility {
		return forges.Read, nil
	}
	return forges.NoAccess, err
}

// granted is what memberships grant an account in a project.
func (c *Conn) granted(ctx context.Context, repo engine.Repo, login string, id int64) (forges.Permission, int64, error) {
	pid, err := c.project(ctx, repo)
	if err != nil {
		return forges.NoAccess, 0, err
	}
	what := fmt.Sprintf("reading what %s may do in %s", login, repo.FullName())
	m, err := c.member(ctx, what, fmt.Sprintf("projects/%d/members/all/%d", pid, id))
	return permission(m.level(c.config.Now())), pid, err
}

// permission of an access level, compared as a number for the sake of roles we
// do not know (forge-facts 2.7). A Maintainer administers the project; Minimal
// Access (5) shows nothing of it.
func permission(level int) forges.Permission {
	switch {
	case level >= int(gogitlab.MaintainerPermissions):
		return forges.Admin
	case level >= int(gogitlab.DeveloperPermissions):
		return forges.Write
	case level >= int(gogitlab.GuestPermissions):
		return forges.Read
	}
	return forges.NoAccess
}

// TeamMember tells the members of the group org/team itself. Who only inherits
// membership from a group above it was put into that one, not into the team.
// Nobody is in a group we cannot see.
func (c *Conn) TeamMember(ctx context.Context, org, team, login string) (bool, error) {
	group := org + "/" + team
	if err := errors.Join(checkPath(group), checkLogin(login)); err != nil {
		return false, err
	}
	user, err := c.user(ctx, login)
	if errors.Is(err, forges.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	m, err := c.member(ctx, fmt.Sprintf("reading whether %s is in @%s", login, group),
		fmt.Sprintf("groups/%s/members/%d", gogitlab.PathEscape(group), user.ID))
	return permission(m.level(c.config.Now())) != forges.NoAccess, err
}
