package facts_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/app/facts"
	"github.com/chant-bot/chant/app/settle"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

var repo = engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: 42}

func clock() time.Time { return time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC) }

// reportOf is a report of a stage in prod.
func reportOf(t *testing.T, stage report.Stage, status report.Status) report.Report {
	t.Helper()
	r, err := report.New(stage, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Status, r.Env, r.Head, r.Base = status, "prod", "0123456789012345678901234567890123456789", "9876543210987654321098765432109876543210"
	r.Op, r.Gate = "green-012345678901", "pr-apply"
	return r
}

// An apply is found by every merge it carries, and the newest that carries one is
// (pr-loop §6.4).
func TestTheApplyThatCarriesAMergeIsFoundByIt(t *testing.T) {
	t.Parallel()
	f := facts.New(sqltest.Open(t), clock)
	keep := func(status report.Status, merges ...string) {
		t.Helper()
		r := reportOf(t, report.Apply, status)
		r.Green = &report.Green{Commit: r.Head, Base: r.Base}
		for _, m := range merges {
			r.Green.Merges = append(r.Green.Merges, report.Merge{Commit: m})
		}
		j := f.NewJournal(repo, "prod", "")
		if err := f.DB.InTx(t.Context(), func(tx *sql.Tx) error { return j.SaveTx(t.Context(), tx, &usecase.Apply{Report: r}) }); err != nil {
			t.Fatal(err)
		}
	}
	keep(report.Failed, "m1")
	keep(report.Planned, "m2", "m1")
	keep(report.Nothing)
	for _, merge := range []string{"m1", "m2"} {
		run, found, err := f.RunCarrying(t.Context(), repo, "prod", "", merge)
		if err != nil || !found || run.Apply.Report.Status != report.Planned || run.Status != settle.RunRunning {
			t.Errorf("%s: %+v, found %v, %v", merge, run, found, err)
		}
	}
	for what, ask := range map[string][3]string{"another env": {"staging", "", "m1"}, "another project": {"prod", "net", "m1"}, "another merge": {"prod", "", "m3"}} {
		if run, found, err := f.RunCarrying(t.Context(), repo, ask[0], ask[1], ask[2]); err != nil || found {
			t.Errorf("%s: found %v, %v: %+v", what, found, err, run)
		}
	}
}

// A list shows of a run what its page says, also of one that an earlier version kept,
// which says nothing of itself beside its state.
func TestAListShowsOfARunWhatItsPageSays(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	f := facts.New(db, clock)
	waiting := reportOf(t, report.Apply, report.Refused)
	waiting.Refusal = report.NotApproved
	round := reportOf(t, report.Apply, report.Waiting)
	round.Rounds = []report.Round{{Round: 2, Status: report.WaveWaiting}}
	var want []facts.RunSummary
	for _, r := range []report.Report{reportOf(t, report.Apply, report.Planned), reportOf(t, report.Apply, report.Applied), waiting, round} {
		a := &usecase.Apply{Branch: "main", Report: r}
		if err := f.DB.InTx(t.Context(), func(tx *sql.Tx) error { return f.NewJournal(repo, "prod", "").SaveTx(t.Context(), tx, a) }); err != nil {
			t.Fatal(err)
		}
		k, _, err := f.NewestRun(t.Context(), repo, "prod", "")
		if err != nil {
			t.Fatal(err)
		}
		want = append([]facts.RunSummary{facts.Summary(k)}, want...)
	}
	if want[3].Status != "running" || want[2].Status != "applied" || want[2].Waits || want[1].Status != "waiting" || !want[1].Waits || !want[0].Waits || want[0].Branch != "main" {
		t.Errorf("summed up as %+v", want)
	}
	for version, next := range []string{"", `summary = '{"status":"running"}' WHERE status != 'running'`, `summary = ''`} { // by this version, saved by an earlier one, kept by that
		if next != "" {
			if _, err := db.Write.ExecContext(t.Context(), "UPDATE runs SET "+next); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := f.ListRuns(t.Context(), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got []facts.RunSummary
		for _, row := range rows {
			got = append(got, row.RunSummary)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d (-want +got):\n%s", version, diff)
		}
	}
}

// A server that stood still while another carried its apply on writes nothing over.
func TestAnApplyThatAnotherServerCarriedOnIsNotWrittenOver(t *testing.T) {
	t.Parallel()
	f := facts.New(sqltest.Open(t), clock)
	apply := &usecase.Apply{Report: reportOf(t, report.Apply, report.Planned)}
	newest := func() settle.KeptRun {
		t.Helper()
		k, found, err := f.NewestRun(t.Context(), repo, "prod", "")
		if err != nil || !found {
			t.Fatal(found, err)
		}
		return k
	}
	still := f.NewJournal(repo, "prod", "")
	if err := errors.Join(still.Save(t.Context(), apply), still.Save(t.Context(), apply)); err != nil {
		t.Fatal(err)
	}
	other := f.Reopen(repo, newest())
	apply.Tries = 7
	if err := other.Save(t.Context(), apply); err != nil {
		t.Fatal(err)
	}
	if err := still.Save(t.Context(), &usecase.Apply{Report: apply.Report}); !errors.Is(err, store.ErrOvertaken) {
		t.Errorf("it was saved: %v", err)
	}
	if k := newest(); k.Apply.Tries != 7 {
		t.Errorf("it was written over: %+v", k.Apply)
	}
	// One whose save did not come through is as it was before it.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := other.Save(gone, apply); err == nil {
		t.Error("saved although it was called off")
	}
	if err := other.Save(t.Context(), apply); err != nil {
		t.Error(err)
	}
}

// What was planned is read back as it was shown, each plan by what asks for it.
func TestAPlanIsReadBackAsItWasShown(t *testing.T) {
	t.Parallel()
	f := facts.New(sqltest.Open(t), clock)
	save := func(head, tip string, plans ...usecase.PullPlan) {
		t.Helper()
		err := f.SavePlans(t.Context(), repo, 7, head, "main", tip, plans, usecase.Trust{Changed: true}, func(*sql.Tx) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	plan := func(env, member, hex string) usecase.PullPlan {
		r := reportOf(t, report.Plan, report.Planned)
		var err error
		if r.Digest, err = digest.Parse("jcs1-sha256:" + hex + "00112233445566778899aabbccddeeff00112233445566778899aabbccddee"); err != nil {
			t.Fatal(err)
		}
		r.Env, r.Member = env, member
		return usecase.PullPlan{Policy: usecase.Policy{Env: project.Env{Name: env}}, Member: member, Report: r, Tree: "tree of " + hex}
	}
	save("h1", "b1", plan("prod", "", "aa"))
	save("h2", "b1", plan("prod", "", "bb"), plan("staging", "", "bb"))
	save("h2", "b2", plan("prod", "", "cc"))

	kept, err := f.Planned(t.Context(), repo, 7, "h2", "main")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range kept {
		got = append(got, k.Env+" "+k.Tree+" at "+k.BaseTip)
		if !k.TrustChanged || k.Head != "h2" || k.Report.Status != report.Planned {
			t.Errorf("%+v", k)
		}
	}
	if diff := cmp.Diff([]string{"staging tree of bb at b1", "prod tree of cc at b2"}, got); diff != "" {
		t.Errorf("plans of h2 (-want +got):\n%s", diff)
	}
	earlier, err := f.Earlier(t.Context(), repo, 7, "prod", "", kept[1].Report.Digest)
	if err != nil || len(earlier) != 2 || earlier[0].Tree != "tree of bb" || earlier[1].Head != "h1" {
		t.Errorf("earlier plans: %+v, %v", earlier, err)
	}
	if p, found, err := f.PullPlan(t.Context(), repo, 7, "h9", "prod", ""); err != nil || found {
		t.Errorf("a head that was not planned: %+v, %v, %v", p, found, err)
	}
}
