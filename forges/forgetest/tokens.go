package forgetest

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"
)

// grant is what a token may do.
type grant struct {
	user         *User // of a personal token; the bot account of an app's
	app          *App
	installation *Installation
	permissions  map[string]string // nil for a personal token
	repos        map[int64]bool    // nil means all of the installation
	expires      time.Time         // zero means never
	scopes       []string          // as the forge names them; nil means all
	spent        int               // of the hourly budget
}

// Token gives a personal access token of a person.
func (f *Forge) Token(u *User) string { return f.newGrant(&grant{user: u}) }

// ScopedToken gives a personal access token that may no more than its scopes,
// named as the forge names them, "read:issue".
func (f *Forge) ScopedToken(u *User, scopes ...string) string {
	return f.newGrant(&grant{user: u, scopes: scopes})
}

func (f *Forge) newGrant(g *grant) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := fmt.Sprintf("ghp_%d%s", g.user.ID, randomText(18))
	f.tokens[text] = g
	return text
}

func randomText(n int) string {
	data := make([]byte, n)
	_, _ = rand.Read(data) // never fails, by its contract
	return base64.RawURLEncoding.EncodeToString(data)
}
