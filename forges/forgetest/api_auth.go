package forgetest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v4"
)

func badCredentials(message string) *APIError {
	return &APIError{Status: http.StatusUnauthorized, Message: message}
}

// authenticate finds out who calls. An expired or unknown token is a 401; the
// app's JWT works on app routes only, a token on the others only.
func (c *call) authenticate(want audience) *APIError {
	text := c.f.dialect.token(c.r)
	if text == "" {
		return badCredentials("Requires authentication")
	}
	if want == byApp {
		app, err := c.f.verifyJWT(text)
		c.app = app
		return err
	}
	g, err := c.f.grantOf(text)
	c.grant = g
	return err
}

func (f *Forge) grantOf(text string) (*grant, *APIError) {
	g := f.tokens[text]
	switch {
	case g == nil:
		return nil, badCredentials("Bad credentials")
	case !g.expires.IsZero() && !f.now().Before(g.expires):
		return nil, badCredentials("Bad credentials")
	case g.user.gone:
		return nil, badCredentials("Bad credentials")
	case g.installation != nil && g.installation.suspended:
		return nil, &APIError{Status: http.StatusForbidden, Message: "This installation has been suspended"}
	}
	return g, nil
}

// verifyJWT checks an app's token as GitHub does: RS256 by the app's key, not
// issued in the future, ending within ten minutes.
func (f *Forge) verifyJWT(text string) (*App, *APIError) {
	var app *App
	claims := jwt.RegisteredClaims{}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"RS256"}), jwt.WithoutClaimsValidation())
	_, err := parser.ParseWithClaims(text, &claims, func(*jwt.Token) (any, error) {
		id, err := strconv.ParseInt(claims.Issuer, 10, 64)
		if err != nil {
			return nil, err
		}
		if app = f.apps[id]; app == nil {
			return nil, jwt.ErrTokenInvalidIssuer
		}
		return &app.key.PublicKey, nil
	})
	if err != nil {
		return nil, badCredentials("A JSON web token could not be decoded")
	}
	now := f.options.Now().Add(f.Faults.clockSkew())
	switch {
	case claims.IssuedAt == nil || claims.IssuedAt.After(now):
		return nil, badCredentials("'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
	case claims.ExpiresAt == nil || !claims.ExpiresAt.After(now):
		return nil, badCredentials("'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
	case claims.ExpiresAt.After(now.Add(10 * time.Minute)):
		return nil, badCredentials("'Expiration time' claim ('exp') is too far in the future")
	}
	return app, nil
}

// sees says whether the caller knows of a repository; what it does not see is
// 404, never 403.
func (c *call) sees(r *Repo) bool {
	switch {
	case r.public:
		return true
	case c.app != nil: // app routes name repositories of their own installations
		return c.app.installationOf(r) != nil
	case c.grant.installation != nil:
		return c.grant.installation.serves(r) && (c.grant.repos == nil || c.grant.repos[r.ID])
	}
	return c.repoRole(r) != "none"
}

func (c *call) repoRole(r *Repo) string { return r.roleOf(c.grant.user) }

// may says whether the caller has one permission at a level.
func (c *call) may(need string) bool {
	name, level, _ := strings.Cut(need, ":")
	if c.grant.installation != nil {
		// Reading a public repository needs no permission.
		if level == "read" && c.repo != nil && c.repo.public {
			return true
		}
		return levelRank(c.grant.permissions[name]) >= levelRank(level)
	}
	if c.repo == nil {
		return true
	}
	if level == "read" || name == "issues" || name == "pull_requests" {
		return true // whoever sees a repository may comment
	}
	return atLeast(c.repoRole(c.repo), level)
}

func levelRank(level string) int { return slices.Index([]string{"", "read", "write", "admin"}, level) }
