package httpd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/chant-bot/chant/app/web"
	"github.com/chant-bot/chant/sql/store"
)

func (s *Server) deliveries(r *http.Request) (web.Page, error) {
	rows, err := s.Deliveries.List(r.Context(), "", before(r), pageSize)
	if err != nil {
		return nil, err
	}
	page := web.Deliveries{Frame: s.frame("Deliveries", "deliveries")}
	for _, d := range rows {
		page.Deliveries = append(page.Deliveries, deliveryOf(d))
	}
	if len(rows) == pageSize {
		page.Older = fmt.Sprintf("/deliveries?before=%d", rows[len(rows)-1].ID)
	}
	return page, nil
}

// before is where a list goes on, 0 for its beginning.
func before(r *http.Request) int64 {
	id, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64)
	return id
}

func deliveryOf(d store.Delivery) web.Delivery {
	shown := web.Delivery{
		URL: fmt.Sprintf("/deliveries/%d", d.ID), GUID: d.GUID, Forge: d.Instance.String(), Event: d.Event, Action: d.Action,
		Status: deliveryStatus(d.State), Outcome: d.Outcome, At: d.ReceivedAt, OutcomeAt: d.OutcomeAt,
	}
	if d.Repo.ID != 0 {
		shown.Repo = d.Repo.FullName()
	}
	return shown
}

func deliveryStatus(s store.DeliveryState) string {
	switch s {
	case store.DeliveryPending:
		return "queued"
	case store.DeliveryDone:
		return "handled"
	}
	return string(s)
}

// maxBody is how much of a body a page shows, in bytes.
const maxBody = 64 << 10

// delivery shows one with the headers and the body that were kept. Its page hides
// what looks like a secret, as every page does.
func (s *Server) delivery(r *http.Request) (web.Page, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	d, err := s.Deliveries.Get(r.Context(), id)
	if err != nil {
		return nil, err
	}
	page := web.DeliveryPage{Frame: s.frame(fmt.Sprintf("Delivery %d", id), "deliveries"), Delivery: deliveryOf(d)}
	for _, name := range slices.Sorted(maps.Keys(d.Header)) {
		page.Headers += name + ": " + d.Header[name] + "\n"
	}
	page.Body, page.LeftOut = bodyText(d.Body)
	if len(d.Body) > 0 {
		page.Replay = fmt.Sprintf("chant replay %d", id)
	}
	return page, nil
}

// bodyText is a body to read, a value a line where it is JSON, and how many bytes
// are left out. It is cut at the end of a line: what hides a secret may not know
// half of one.
func bodyText(body []byte) (text string, leftOut int) {
	var lines bytes.Buffer
	if json.Indent(&lines, body, "", "  ") != nil {
		lines.Reset()
		lines.Write(body)
	}
	text = lines.String()
	if len(text) <= maxBody {
		return text, 0
	}
	text = text[:strings.LastIndexByte(text[:maxBody], '\n')+1]
	return text, lines.Len() - len(text)
}

func (s *Server) audit(r *http.Request) (web.Page, error) {
	rows, err := s.Facts.Trail.List(r.Context(), "", before(r), pageSize)
	if err != nil {
		return nil, err
	}
	page := web.Audit{Frame: s.frame("Audit", "audit")}
	for _, row := range rows {
		page.Entries = append(page.Entries, web.AuditEntry{
			At: row.At, Actor: row.Actor, Action: row.Action, Result: row.Result, Rule: row.Rule,
			Repo: s.repoName(r, row.RepoKey), Digest: row.Digest, Detail: row.Detail, Delivery: row.Delivery,
		})
	}
	if len(rows) == pageSize {
		page.Older = fmt.Sprintf("/audit?before=%d", rows[len(rows)-1].ID)
	}
	return page, nil
}
