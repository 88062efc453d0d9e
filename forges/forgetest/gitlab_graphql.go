package forgetest

import (
	"fmt"
	"regexp"
	"strconv"
)

// notePattern and mergeRequestPattern find the fields the fake's GraphQL knows.
var (
	notePattern = regexp.MustCompile(`(\w+): note\(id: "gid://gitlab/Note/(\d+)"\) \{ lastEditedAt \}`)
	globalID    = regexp.MustCompile(`^gid://gitlab/MergeRequest/(\d+)$`)
)

// graphqlPage is how many items GitLab shows at most.
const graphqlPage = 100

// graphql answers the two questions REST does not: when a note was edited, and
// whose account a commit's author has. What the caller cannot see is null.
func (d gitlab) graphql(c *call) (int, any, *APIError) {
	var ask struct {
		Query     string         `json:"query"`
		Variables map[string]any `json:"variables"`
	}
	if err := c.decode(&ask); err != nil {
		return 0, nil, err
	}
	data := object{}
	for _, m := range notePattern.FindAllStringSubmatch(ask.Query, -1) {
		data[m[1]] = d.noteByID(c, m[2])
	}
	id, _ := ask.Variables["id"].(string)
	if m := globalID.FindStringSubmatch(id); m != nil {
		after, _ := ask.Variables["after"].(string)
		found, err := d.mergeRequestByID(c, m[1], after)
		if err != nil {
			return 0, nil, fault500(err)
		}
		data["mergeRequest"] = found
	}
	if len(data) == 0 {
		return 200, object{"errors": []object{{"message": "the fake does not know this query"}}}, nil
	}
	return 200, object{"data": data}, nil
}

func (d gitlab) noteByID(c *call, text string) any {
	id, _ := strconv.ParseInt(text, 10, 64) // the pattern has digits only
	for _, r := range d.sortedRepos() {
		n := r.comments[id]
		if n == nil || !c.sees(r) {
			continue
		}
		if n.edited {
			return object{"lastEditedAt": stamp(n.updated)}
		}
		return object{"lastEditedAt": nil}
	}
	return nil
}

func (d gitlab) mergeRequestByID(c *call, text, after string) (any, error) {
	id, _ := strconv.ParseInt(text, 10, 64) // the pattern has digits only
	for _, r := range d.sortedRepos() {
		for _, p := range sortedPulls(r) {
			if p.id != id || !c.sees(r) {
				continue
			}
			commits, err := d.pullCommits(c, p)
			if err != nil {
				return nil, err
			}
			return object{"commits": d.commitPage(commits, after)}, nil
		}
	}
	return nil, nil
}

func (d gitlab) commitPage(commits []commitInfo, after string) object {
	from, _ := strconv.Atoi(after) // none means from the start
	to := min(from+graphqlPage, len(commits))
	nodes := []object{}
	for _, i := range commits[min(from, to):to] {
		node := object{"sha": i.sha, "author": nil}
		if u := d.emails[lower(i.author.Email)]; u != nil && !u.gone {
			node["author"] = object{"username": u.Login}
		}
		nodes = append(nodes, node)
	}
	return object{"nodes": nodes, "pageInfo": object{"hasNextPage": to < len(commits), "endCursor": fmt.Sprint(to)}}
}
