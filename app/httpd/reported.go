package httpd

import (
	"crypto/subtle"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/chant-bot/chant/app/reports"
	"github.com/chant-bot/chant/app/web"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine/run"
	"github.com/chant-bot/chant/sql/store"
)

// takeReport is POST /api/v1/reports: it stores what a run that goes on elsewhere
// tells of itself (pr-loop, decision 10). Only pages read it.
func (s *Server) takeReport(w http.ResponseWriter, r *http.Request) {
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if subtle.ConstantTimeCompare([]byte(given), s.ReportsToken) != 1 {
		plain(w, http.StatusUnauthorized, "reports need the token of reports.token, as a bearer")
		return
	}
	body, err := reports.Parse(http.MaxBytesReader(w, r.Body, reports.MaxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		plain(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("a report may have %d bytes", reports.MaxBody))
		return
	}
	if err != nil {
		plain(w, http.StatusBadRequest, note.Plain(err.Error()))
		return
	}
	text, err := json.Marshal(body)
	if err == nil {
		err = s.Facts.DB.InTx(r.Context(), func(tx *sql.Tx) error {
			return s.Reports.Put(r.Context(), tx, store.Report{
				Repo: body.Run.Repo, RunID: body.Run.ID, Progress: body.Progress(), Body: text,
			}, s.Facts.Now())
		})
	}
	if err != nil {
		s.Log.Error("storing a report", "error", err)
		plain(w, http.StatusInternalServerError, "the report could not be stored; the log says more")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// reportedLines are the newest runs that were reported.
func (s *Server) reportedLines(r *http.Request) ([]web.RunLine, error) {
	rows, err := s.Reports.List(r.Context(), 20)
	if err != nil {
		return nil, err
	}
	var lines []web.RunLine
	for _, row := range rows {
		var b reports.Body
		if err := json.Unmarshal(row.Body, &b); err != nil {
			return nil, fmt.Errorf("report %d: %w", row.ID, err)
		}
		lines = append(lines, web.RunLine{
			URL: fmt.Sprintf("/reports/%d", row.ID), Repo: b.Run.Repo, Env: b.Run.Env, Stage: b.Run.Stage,
			Status: b.Status(), What: b.Run.Commit[:min(12, len(b.Run.Commit))], Verdict: b.Run.Op, At: row.Received,
		})
	}
	return lines, nil
}

// reported is the page of a run that went on elsewhere.
func (s *Server) reported(r *http.Request) (web.Page, error) {
	row, b, err := s.report(r)
	if err != nil {
		return nil, err
	}
	rep := b.SoFar()
	page := web.Run{
		Frame: s.frame("Reported "+b.Run.Stage+" of "+b.Run.Repo, "runs"), Repo: b.Run.Repo, Env: b.Run.Env, Stage: b.Run.Stage,
		Status: b.Status(), Verdict: b.Run.Op, Head: b.Run.Commit, Base: rep.Base, Digest: rep.Digest.String(), Message: rep.Message,
		Started: row.Received, Weight: web.WeightOf(rep.ChangeSet), Waves: web.WavesOf(rep, nil), Members: web.MembersOf(rep),
		WaveRows: web.WaveRowsOf(rep), Groups: web.GroupsOf(rep), Fallbacks: web.FallbacksOf(rep), Rounds: reportedRounds(rep),
	}
	page.Notice = "Reported from outside. This server did not run it, and decides nothing by what is said here."
	if page.Status == string(run.Running) {
		page.Refresh, page.Follow = 2, fmt.Sprintf("/reports/%d/events?after=%d", row.ID, len(b.Events))
	} else {
		page.Ended = row.Updated
	}
	for _, e := range b.Events[max(0, len(b.Events)-batch):] {
		if text := eventText(e); text != "" {
			page.Log = append(page.Log, web.LogLine{At: row.Updated, Member: e.Member, Text: text})
		}
	}
	page.LogLeftOut = max(0, len(b.Events)-batch)
	return page, nil
}

// report is the reported run that a request names.
func (s *Server) report(r *http.Request) (store.Report, reports.Body, error) {
	var b reports.Body
	id, err := pathID(r)
	if err != nil {
		return store.Report{}, b, err
	}
	row, err := s.Reports.Get(r.Context(), id)
	if err != nil {
		return store.Report{}, b, err
	}
	if err := json.Unmarshal(row.Body, &b); err != nil {
		return store.Report{}, b, fmt.Errorf("report %d: %w", id, err)
	}
	return row, b, nil
}

// ofReport is the story of a run that goes on elsewhere, as far as it was reported.
func (s *Server) ofReport(r *http.Request, after int64) (news []store.RunEvent, over bool, err error) {
	row, b, err := s.report(r)
	if err != nil {
		return nil, false, err
	}
	from := min(int(after), len(b.Events))
	for i, e := range b.Events[from:min(from+batch, len(b.Events))] {
		text, err := json.Marshal(e)
		if err != nil {
			return nil, false, fmt.Errorf("event %d of report %d: %w", from+i+1, row.ID, err)
		}
		news = append(news, store.RunEvent{Seq: int64(from + i + 1), At: row.Updated, Event: text})
	}
	return news, b.Status() != string(run.Running), nil
}
