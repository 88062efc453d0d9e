// Package reports is how a run that goes on elsewhere is told to a server, by
// whoever runs it with --report-url: the body of POST /api/v1/reports (pr-loop,
// decision 10). What is told is shown and decides nothing.
package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// MaxBody is how many bytes a body may have.
const MaxBody = 4 << 20

// Body tells all of a run so far.
type Body struct {
	Schema int            `json:"schema"` // 1
	Run    Run            `json:"run"`
	Events []run.Event    `json:"events"`           // all so far (pr-loop §7.3)
	Report *report.Report `json:"report,omitempty"` // once the run is over
}

// Run says which run it is.
type Run struct {
	ID     string `json:"id"` // one a repository
	Repo   string `json:"repo"`
	Env    string `json:"env"`
	Op     string `json:"op"`
	Stage  string `json:"stage"`
	Commit string `json:"commit"`
}

// Parse reads a body strictly; its errors name the field.
func Parse(r io.Reader) (Body, error) {
	var b Body
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&b); err != nil {
		return b, fmt.Errorf("the body: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return b, errors.New("the body: there is more behind its end")
	}
	if b.Schema != 1 {
		return b, fmt.Errorf("schema: %d, this server reads 1", b.Schema)
	}
	for name, field := range map[string]struct {
		value    string
		required bool
	}{
		"run.id": {b.Run.ID, true}, "run.repo": {b.Run.Repo, true}, "run.env": {b.Run.Env, true},
		"run.op": {b.Run.Op, false}, "run.stage": {b.Run.Stage, true}, "run.commit": {b.Run.Commit, false},
	} {
		if field.required && field.value == "" || len(field.value) > 200 {
			return b, fmt.Errorf("%s: want 1 to 200 bytes", name)
		}
	}
	return b, nil
}

// Progress grows with what a body tells: bodies of a run may come in any order.
func (b Body) Progress() int64 {
	n := int64(2 * len(b.Events))
	if b.Report != nil {
		n++
	}
	return n
}

// Status is a word for the run: its report's, else of its last event.
func (b Body) Status() string {
	if b.Report != nil {
		return string(b.Report.Status)
	}
	if n := len(b.Events); n > 0 && b.Events[n-1].Type == "run-done" {
		return word(b.Events[n-1].Status)
	}
	return string(run.Running)
}

// word is what a component, or a run, that ended so is called on pages.
func word(s run.EventStatus) string {
	switch s {
	case run.OK:
		return string(report.Applied)
	case run.Gated:
		return string(report.Waiting)
	}
	return string(s)
}

// SoFar is the report of a run, of its events alone while there is none.
func (b Body) SoFar() report.Report {
	if b.Report != nil {
		return *b.Report
	}
	var rep report.Report
	at := map[string]int{}
	for _, e := range b.Events {
		if e.Type == "run-start" {
			rep.Selection.Waves, rep.Members, at = e.Waves, nil, map[string]int{}
			continue
		}
		if e.Component == "" {
			continue
		}
		i, known := at[e.Component]
		if !known {
			i = len(rep.Members)
			at[e.Component] = i
			rep.Members = append(rep.Members, report.Member{Member: e.Component, Component: e.Component, Status: report.MemberStatus(run.Running)})
		}
		if e.Error != "" {
			rep.Members[i].Error = e.Error
		}
		if e.Type == "component-done" {
			rep.Members[i].Status, rep.Members[i].BlockedBy = report.MemberStatus(word(e.Status)), e.BlockedBy
			if e.BlockedBy != "" && e.Status == run.EventFailed {
				rep.Members[i].Status = report.MemberBlocked
			}
		}
	}
	return rep
}
