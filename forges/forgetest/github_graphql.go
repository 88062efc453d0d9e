package forgetest

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// graphql answers the one query the fake knows: nodes(ids: $ids) with
// lastEditedAt, on anything that is a comment. What the caller does not see is
// null with an error beside it.
func (d github) graphql(c *call) (int, any, *APIError) {
	var ask struct {
		Query     string `json:"query"`
		Variables struct {
			IDs []string `json:"ids"`
		} `json:"variables"`
	}
	if err := c.decode(&ask); err != nil {
		return 0, nil, err
	}
	if !strings.Contains(ask.Query, "nodes(ids:") || !strings.Contains(ask.Query, "lastEditedAt") {
		return 200, object{"errors": []object{{"message": "the fake knows no such query"}}}, nil
	}
	if len(ask.Variables.IDs) > 100 {
		return 200, object{"errors": []object{{"type": "ARGUMENT_LIMIT", "message": "You may not provide more than 100 node ids; you provided " + strconv.Itoa(len(ask.Variables.IDs)) + "."}}}, nil
	}
	nodes, problems := []any{}, []object{}
	for i, id := range ask.Variables.IDs {
		node := d.commentNode(c, id)
		if node == nil {
			problems = append(problems, object{"type": "NOT_FOUND", "path": []any{"nodes", i}, "message": "Could not resolve to a node with the global id of '" + id + "'"})
			nodes = append(nodes, nil)
			continue
		}
		node["id"] = id
		nodes = append(nodes, node)
	}
	answer := object{"data": object{"nodes": nodes}}
	if len(problems) > 0 {
		answer["errors"] = problems
	}
	return 200, answer, nil
}

func (d github) commentNode(c *call, id string) object {
	raw, err := base64.RawURLEncoding.DecodeString(id)
	kind, number, ok := strings.Cut(string(raw), ":")
	n, perr := strconv.ParseInt(number, 10, 64)
	if err != nil || perr != nil || !ok {
		return nil
	}
	for _, r := range c.f.sortedRepos() {
		if !c.sees(r) {
			continue
		}
		if v := r.reviews[n]; v != nil && kind == "PRR" {
			return object{"lastEditedAt": editTime(v.edited, stamp(v.submitted))}
		}
		if found := r.comments[n]; found != nil && kind == string(found.kind) {
			return object{"lastEditedAt": editTime(found.edited, stamp(found.updated))}
		}
	}
	return nil
}

func editTime(edited bool, at any) any {
	if !edited {
		return nil
	}
	return at
}
