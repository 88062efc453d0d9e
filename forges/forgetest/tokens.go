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
	spent        int               // of the hourly budget
}

// Token gives a personal access token of a person.
func (f *Forge) Token(u *User) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := fmt.Sprintf("ghp_%d%s", u.ID, randomText(18))
	f.tokens[text] = &grant{user: u}
	return text
}

func randomText(n int) string {
	data := make([]byte, n)
	_, _ = rand.Read(data) // never fails, by its contract
	return base64.RawURLEncoding.EncodeToString(data)
}
