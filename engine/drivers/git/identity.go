package git

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

const (
	nameVar  = "CHANT_LIFECYCLE_COMMITTER_NAME"
	emailVar = "CHANT_LIFECYCLE_COMMITTER_EMAIL"
)

// committerVars picks the variables that name a committer.
func committerVars(environ []string) map[string]string {
	vars := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		switch name {
		case nameVar, emailVar, "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL":
			vars[name] = value
		}
	}
	return vars
}

// Committer is who our commits and tags are by: CHANT_LIFECYCLE_COMMITTER_NAME
// and _EMAIL, else the repository's configured identity, each half that is
// missing filled with chant and chant@localhost (pr-loop §1.3). Nothing is
// written to the configuration.
func (c *Clone) Committer() (Person, error) { return c.ident() }

func (c *Clone) readIdentity(ctx context.Context) (Person, error) {
	configured, err := c.config(ctx)
	if err != nil {
		return Person{}, fmt.Errorf("reading the committer's identity: %w", err)
	}
	return c.identity(configured), nil
}

func (c *Clone) identity(configured map[string]string) Person {
	named := c.process
	if c.owned { // git's own variables are the user's, not the server's
		named = map[string]string{nameVar: named[nameVar], emailVar: named[emailVar]}
	}
	return Person{
		Name: cmp.Or(named[nameVar], named["GIT_COMMITTER_NAME"],
			configured["committer.name"], configured["user.name"], "chant"),
		Email: cmp.Or(named[emailVar], named["GIT_COMMITTER_EMAIL"],
			configured["committer.email"], configured["user.email"], "chant@localhost"),
	}
}

// config reads what we use of the repository's configuration; of several values
// the last one counts.
func (c *Clone) config(ctx context.Context) (map[string]string, error) {
	res, err := c.run(ctx, call{args: []string{"config", "-z", "--get-regexp", `^((user|committer)\.(name|email)|remote\.origin\.(url|fetch))$`}})
	if err != nil {
		return nil, err
	}
	configured := map[string]string{}
	for line := range strings.SplitSeq(string(res.Stdout), "\x00") {
		key, value, _ := strings.Cut(line, "\n")
		configured[key] = strings.TrimSpace(value)
	}
	return configured, nil
}
