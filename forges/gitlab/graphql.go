package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	gogitlab "gitlab.com/gitlab-org/api/client-go"
)

// graphql asks what REST does not tell. The client's own call would leave out
// the path of an instance that does not stand at its host's root.
func graphql[T any](ctx context.Context, c *Conn, what, query string, variables map[string]any) (T, error) {
	var none T
	var answer struct {
		Data   T `json:"data"`
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	body := gogitlab.GraphQLQuery{Query: query, Variables: variables}
	req, err := c.client.NewRequestToURL(http.MethodPost, c.root.JoinPath("api/graphql"), body, []gogitlab.RequestOptionFunc{with(ctx)})
	if err != nil {
		return none, fmt.Errorf("%s: %w", what, err)
	}
	if _, err := c.client.Do(req, &answer); err != nil {
		return none, typed(what, needsRead, err)
	}
	if len(answer.Errors) > 0 {
		return none, fmt.Errorf("%s: %s", what, answer.Errors[0].Message)
	}
	return answer.Data, nil
}

// maxNotes keeps a query below GitLab's bound on its complexity, 250.
const maxNotes = 50

// editedNotes tells which notes were edited. REST does not: its time of update
// moves with a reaction too, our own among them. A note that cannot be read is
// an error: who asks must not count what may have been changed.
func (c *Conn) editedNotes(ctx context.Context, ids []int64) (map[int64]bool, error) {
	const what = "reading when comments were edited"
	var query strings.Builder
	query.WriteString("query {")
	for _, id := range ids {
		fmt.Fprintf(&query, " n%d: note(id: \"gid://gitlab/Note/%d\") { lastEditedAt }", id, id)
	}
	query.WriteString(" }")
	notes, err := graphql[map[string]*struct {
		LastEditedAt *string `json:"lastEditedAt"`
	}](ctx, c, what, query.String(), nil)
	if err != nil {
		return nil, err
	}
	edited := map[int64]bool{}
	for _, id := range ids {
		note := notes[fmt.Sprintf("n%d", id)]
		if note == nil {
			return nil, fmt.Errorf("%s: GitLab does not show note %d", what, id)
		}
		edited[id] = note.LastEditedAt != nil
	}
	return edited, nil
}

const authorsQuery = `query($id: MergeRequestID!, $after: String) { mergeRequest(id: $id) {
  commits(first: 100, after: $after) { nodes { sha author { username } } pageInfo { hasNextPage endCursor } } } }`

type authorsPage struct {
	MergeRequest *struct {
		Commits struct {
			Nodes []struct {
				SHA    string `json:"sha"`
				Author *struct {
					Username string `json:"username"`
				} `json:"author"`
			} `json:"nodes"`
			PageInfo gogitlab.PageInfo `json:"pageInfo"`
		} `json:"commits"`
	} `json:"mergeRequest"`
}

// commitAuthors are the accounts behind the commits of a merge request, by sha;
// a commit whose author has none is left out. REST gives e-mails alone. The id
// is the merge request's own, not its number in the project.
func (c *Conn) commitAuthors(ctx context.Context, what string, id int64) (map[string]string, error) {
	authors, after := map[string]string{}, ""
	for range maxPages {
		variables := map[string]any{"id": fmt.Sprintf("gid://gitlab/MergeRequest/%d", id)}
		if after != "" {
			variables["after"] = after
		}
		page, err := graphql[authorsPage](ctx, c, what, authorsQuery, variables)
		if err != nil {
			return nil, err
		}
		if page.MergeRequest == nil {
			return nil, errors.New(what + ": GitLab does not show the merge request")
		}
		commits := page.MergeRequest.Commits
		for _, n := range commits.Nodes {
			if n.Author != nil && n.Author.Username != "" {
				authors[n.SHA] = n.Author.Username
			}
		}
		if !commits.PageInfo.HasNextPage {
			return authors, nil
		}
		if commits.PageInfo.EndCursor == after {
			return nil, errors.New(what + ": a page is followed by itself")
		}
		after = commits.PageInfo.EndCursor
	}
	return nil, fmt.Errorf("%s: more than %d pages", what, maxPages)
}
