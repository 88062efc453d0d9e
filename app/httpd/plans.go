package httpd

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/app/web"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/sql/store"
)

func (s *Server) plan(r *http.Request) (web.Page, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	row, kept, err := s.Facts.Plan(r.Context(), id)
	if err != nil {
		return nil, err
	}
	repo, err := s.Repos.Get(r.Context(), row.RepoKey)
	if err != nil {
		return nil, err
	}
	page := web.Plan{
		Frame: s.frame(fmt.Sprintf("Plan of #%d", row.Number), "runs"), Repo: repo.FullName(), RepoURL: repo.HTMLURL, Env: row.Env,
		PR: row.Number, PRURL: pullURL(repo, row.Number), Head: row.Head, Base: row.BaseTip,
		Digest: kept.Report.Digest.String(), Groups: web.GroupsOf(kept.Report), Fallbacks: web.FallbacksOf(kept.Report),
	}
	if kept.Document == nil {
		return web.Message{Frame: page.Frame, Text: planProblem(kept.Report)}, nil
	}
	return filled(r, page, kept.Document), nil
}

// filled shows a document on a plan's page, as far as the query asks for it.
func filled(r *http.Request, page web.Plan, doc *changeset.Document) web.Plan {
	page.Query, page.Weight = r.URL.Query().Get("q"), web.WeightOf(doc)
	page.Members, page.Found, page.Total = web.PlanOf(doc, page.Query)
	return page
}

// passPlan is the plan of one pass of a run: 0 the main one, the others in order.
func (s *Server) passPlan(r *http.Request) (web.Page, error) {
	row, kept, repo, err := s.askedRun(r)
	if err != nil {
		return nil, err
	}
	passes := append([]*usecase.Pass{&kept.Apply.Pass}, kept.Apply.Later...)
	n, err := strconv.Atoi(chi.URLParam(r, "pass"))
	if err != nil || n < 0 || n >= len(passes) || passes[n].Set == nil {
		return nil, store.ErrNotFound
	}
	p := passes[n]
	page := web.Plan{
		Frame: s.frame(fmt.Sprintf("Plan of the apply of %s", row.Commit[:min(12, len(row.Commit))]), "runs"), Repo: repo.FullName(), RepoURL: repo.HTMLURL, Env: row.Env,
		Head:   row.Commit,
		Digest: p.State.Digest.String(), RunURL: fmt.Sprintf("/runs/%d", row.ID),
	}
	switch {
	case n == 0:
		page.Digest = kept.Apply.Report.Digest.String()
		page.Groups, page.Fallbacks = web.GroupsOf(kept.Apply.Report), web.FallbacksOf(kept.Apply.Report)
	case p.Round > 0:
		page.Title += fmt.Sprintf(", round %d", p.Round)
	case p.Wave > 0:
		page.Title += fmt.Sprintf(", wave %d", p.Wave)
	}
	return filled(r, page, p.Set.Document), nil
}

func planProblem(r report.Report) string {
	if r.Message != "" {
		return r.Message
	}
	return "Nothing was planned."
}
