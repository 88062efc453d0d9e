package github

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	gogithub "github.com/google/go-github/v62/github"

	"github.com/chant-bot/chant/forges"
)

// editsQuery asks when comments were last edited. REST says nothing of it for
// a review, and for a comment edited within the second it was made.
const editsQuery = `query($ids: [ID!]!) { nodes(ids: $ids) { id ... on Comment { lastEditedAt } } }`

// maxNodes is GraphQL's own bound on ids in one query.
const maxNodes = 100

// edited tells by node id which comments were edited. A comment that cannot be
// read is an error: who asks must not count what may have been changed.
func (c *Conn) edited(ctx context.Context, raw []rawComment) (map[string]bool, error) {
	edited := map[string]bool{}
	for chunk := range slices.Chunk(raw, maxNodes) {
		ids := make([]string, len(chunk))
		for i, r := range chunk {
			ids[i] = r.NodeID
		}
		if err := c.editedChunk(ctx, ids, edited); err != nil {
			return nil, err
		}
	}
	return edited, nil
}

func (c *Conn) editedChunk(ctx context.Context, ids []string, edited map[string]bool) error {
	const what = "reading when comments were edited"
	var answer struct {
		Data struct {
			Nodes []*struct {
				ID           string  `json:"id"`
				LastEditedAt *string `json:"lastEditedAt"`
			} `json:"nodes"`
		} `json:"data"`
		Errors []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	body := map[string]any{"query": editsQuery, "variables": map[string]any{"ids": ids}}
	resp, err := c.do(ctx, request{what, pullsRead, http.MethodPost, c.graphqlURL(), body}, &answer)
	if err != nil {
		return err
	}
	if len(answer.Errors) > 0 {
		// An exhausted budget is a 200 here.
		if answer.Errors[0].Type == "RATE_LIMITED" {
			return fmt.Errorf("%s: %w", what, c.spent(resp))
		}
		return fmt.Errorf("%s: %s", what, answer.Errors[0].Message)
	}
	known := map[string]bool{}
	for _, n := range answer.Data.Nodes {
		if n != nil {
			known[n.ID] = true
			edited[n.ID] = n.LastEditedAt != nil
		}
	}
	for _, id := range ids {
		if !known[id] {
			return fmt.Errorf("%s: GitHub does not show %s", what, id)
		}
	}
	return nil
}

// graphqlURL stands beside /api/v3 on an Enterprise server and at the root of
// api.github.com.
func (c *Conn) graphqlURL() string {
	u := *c.all.api
	u.Path = strings.TrimSuffix(u.Path, "v3/") + "graphql"
	return u.String()
}

// minPause is how long to wait at least when a spent budget names no time.
const minPause = time.Minute

// spent is the limit of an answer whose budget is used up.
func (c *Conn) spent(resp *gogithub.Response) *forges.RateLimited {
	until := resp.Rate.Reset.Time
	if earliest := c.all.config.Now().Add(minPause); until.Before(earliest) {
		until = earliest
	}
	return &forges.RateLimited{Until: until}
}
