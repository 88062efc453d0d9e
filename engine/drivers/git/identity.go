package git

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
)

// Committer is who our commits and tags are by: CHANT_LIFECYCLE_COMMITTER_NAME
// and _EMAIL, else the repository's configured identity, each half that is
// missing filled with chant and chant@localhost (pr-loop §1.3). Nothing is
// written to the configuration.
func (c *Clone) Committer() (Person, error) { return c.ident() }

func (c *Clone) readIdentity(ctx context.Context) (Person, error) {
	res, err := c.run(ctx, call{args: []string{"config", "-z", "--get-regexp", `^(user|committer)\.(name|email)$`}})
	if err != nil {
		return Person{}, fmt.Errorf("reading the committer's identity: %w", err)
	}
	configured := map[string]string{} // of several values the last one counts
	for line := range strings.SplitSeq(string(res.Stdout), "\x00") {
		key, value, _ := strings.Cut(line, "\n")
		configured[key] = strings.TrimSpace(value)
	}
	var userName, userEmail string
	if !c.owned {
		userName, userEmail = os.Getenv("GIT_COMMITTER_NAME"), os.Getenv("GIT_COMMITTER_EMAIL")
	}
	return Person{
		Name: cmp.Or(os.Getenv("CHANT_LIFECYCLE_COMMITTER_NAME"), userName,
			configured["committer.name"], configured["user.name"], "chant"),
		Email: cmp.Or(os.Getenv("CHANT_LIFECYCLE_COMMITTER_EMAIL"), userEmail,
			configured["committer.email"], configured["user.email"], "chant@localhost"),
	}, nil
}
