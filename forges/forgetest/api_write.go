package forgetest

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// write answers with JSON.
func (c *call) write(status int, body any) {
	var data []byte
	if status != http.StatusNoContent && body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			c.f.dialect.refuse(c.w, fault500(err))
			return
		}
		c.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	c.f.mu.Lock()
	wanted := c.f.dialect.answered(c, data)
	c.f.mu.Unlock()
	if !wanted {
		c.w.Header().Del("Content-Type")
		c.w.WriteHeader(http.StatusNotModified)
		return
	}
	c.w.WriteHeader(status)
	_, _ = c.w.Write(data) // the client may be gone
}

// pageOf cuts a list to the part asked for.
func pageOf[T any](c *call, list []T) []T {
	from, to := c.f.dialect.paging(c, len(list))
	return list[from:to]
}

// eachOf renders the page of a list.
func eachOf[T any](c *call, list []T, render func(T) object) []object {
	out := []object{}
	for _, item := range pageOf(c, list) {
		out = append(out, render(item))
	}
	return out
}

// bounded reads a number of a query.
func bounded(text string, normal, most int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return normal
	}
	return min(n, most)
}
