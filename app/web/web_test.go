package web

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/comments/changes"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/report"
)

var update = flag.Bool("update", false, "rewrite golden files")

func render(t testing.TB, page Page) string {
	t.Helper()
	pages, err := New()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := pages.Render(&b, page); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	got = regexp.MustCompile(`chant\.css\?v=[0-9a-f]+`).ReplaceAllString(got, "chant.css?v=HASH")
	path := filepath.Join("testdata", name+".html")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run with -update to write it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

const full = "jcs1-sha256:9b1f04c2a7d3e5f09b1f04c2a7d3e5f09b1f04c2a7d3e5f09b1f04c2a7d3e5f0"

var at = time.Date(2026, 11, 30, 14, 2, 7, 0, time.UTC)

func str(s string) digest.Value { return digest.StringOf(s) }

func mustDigest(t testing.TB, s string) digest.Digest {
	t.Helper()
	d, err := digest.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// estate is a green apply of four members, one failed and one held.
func estate(t testing.TB) report.Report {
	t.Helper()
	d := mustDigest(t, full)
	return report.Report{
		Stage: report.Apply, Env: "prod", Op: "green-1a2b3c4d5e6f", Gate: "pr-apply", Digest: d, Status: report.Waiting,
		Selection: graph.Selection{Waves: [][]string{{"access"}, {"data", "net"}, {"app"}}},
		Members: []report.Member{
			{Member: "access", Component: "access", Status: report.MemberApplied, PlanDigest: &d, Counts: report.Counts{Update: 1, Delete: 1}},
			{Member: "app", Component: "app", Status: report.MemberHeld, PlanDigest: &d, BlockedBy: "data", UnknownInputs: []report.UnknownInput{{From: "data", Output: "endpoint"}}},
			{Member: "data", Component: "data", Status: report.MemberApplied, PlanDigest: &d, Counts: report.Counts{Update: 1, Delete: 1}},
			{Member: "net", Component: "net", Status: report.MemberFailed, PlanDigest: &d, Counts: report.Counts{Create: 1, Replace: 1}, Error: "Error: creating subnet: InvalidSubnet.Conflict\n\n  on main.tf line 3"}},
		ChangeSet: &changeset.Document{
			Members: []changeset.Member{{Member: "access", Status: changeset.Planned, PlanDigest: &d}, {Member: "app", Status: changeset.Planned, Holes: []changeset.Hole{{Address: "data.endpoint", Reason: "inputs from data; re-checked on apply"}}},
				{Member: "data", Status: changeset.Planned, PlanDigest: &d}, {Member: "net", Status: changeset.Failed, Error: "Error: x"}},
			Entries: []changeset.Entry{
				{Member: "access", Address: "aws_iam_role.legacy", Type: "aws_iam_role", Action: changeset.Delete},
				{Member: "access", Address: "aws_iam_policy.sync", Type: "aws_iam_policy", Action: changeset.Update, Attributes: []changeset.Attribute{{Path: "policy",
					Before: str(`{"Statement":[{"Action":["s3:GetObject"],"Effect":"Allow","Resource":"arn:aws:s3:::sync/*"}]}`),
					After:  str(`{"Statement":[{"Action":["s3:GetObject","s3:PutObject"],"Effect":"Allow","Resource":"arn:aws:s3:::sync/*"}]}`)}}},
				{Member: "data", Address: "aws_db_instance.reporting", Type: "aws_db_instance", Action: changeset.Delete},
				{Member: "data", Address: "aws_db_instance.main", Type: "aws_db_instance", Action: changeset.Update, Attributes: []changeset.Attribute{
					{Path: "instance_class", Before: str("db.t3.small"), After: str("db.t3.large")}, {Path: "master_password", Before: str("hunter2"), After: str("hunter3")}}},
				{Member: "net", Address: "aws_subnet.a", Type: "aws_subnet", Action: changeset.Create, Attributes: []changeset.Attribute{{Path: "arn", Unknown: true}, {Path: "cidr_block", After: str("10.0.7.0/24")}}},
				{Member: "net", Address: "aws_subnet.b", Type: "aws_subnet", Action: changeset.Replace, Attributes: []changeset.Attribute{{Path: "cidr_block", Before: str("10.0.8.0/24"), After: str("10.0.9.0/24"), ForcesReplacement: true}}},
			},
			SideEffects: []changeset.SideEffect{{Member: "data", Address: "action.aws_lambda_invoke.warm", Trigger: "aws_db_instance.main"}},
		},
		Groups:    []report.Group{{Group: "net", Wave: 2, Members: []string{"net", "data"}, Digest: d, Outcome: []report.Outcome{{Member: "net", Status: report.OutcomeFailed}, {Member: "data", Status: report.OutcomeNotStarted}}}},
		Fallbacks: []report.Fallback{{Component: "access", Kind: report.FallbackAlone, Reason: "nothing that it reads, or that reads it, can be planned together with it"}},
		RunsCode:  map[string]report.RunsCode{"access": {Provisioners: []report.Provisioner{{Address: "null_resource.sync", Type: "local-exec"}}}},
		Green: &report.Green{
			Merges: []report.Merge{{Commit: strings.Repeat("1a2b3c4d5e", 4), PR: new(14)}, {Commit: strings.Repeat("7777777777", 4), PR: new(12), Approved: &d, ApprovedBy: []string{"github:alice"}}},
			Cover:  []report.Cover{{Member: "access", Status: report.Covered, By: &report.CoverBy{PR: 12, Digest: d}}, {Member: "net", Status: report.Uncovered, Reason: "aws_subnet.b: cidr_block is 10.0.9.0/24 now"}}},
	}
}

func waitingGate() Gate {
	return Gate{Repo: "acme/infra", RepoURL: "https://forge.example/acme/infra", Env: "prod", Op: "green-1a2b3c4d5e6f", Name: "pr-apply-round-2", Digest: full, Status: "waiting",
		Missing: 1, Since: at, Weight: &Weight{Destroy: 2, Replace: 1, Create: 1, Update: 2}, RunURL: "/r/812",
		Approve: "chant approve green-1a2b3c4d5e6f pr-apply-round-2 --plan " + full}
}

func runPage(t testing.TB) Run {
	t.Helper()
	r := estate(t)
	return Run{
		Frame: Frame{Title: "Apply of prod", Section: "runs", Refresh: 5, Follow: "/runs/812/events?after=4", NotIsolated: true},
		Repo:  "acme/infra", RepoURL: "https://forge.example/acme/infra", Env: "prod", Stage: "apply", Status: "waiting", Verdict: "round 2 waits for 1 approval",
		Head: strings.Repeat("1a2b3c4d5e", 4), Base: strings.Repeat("0f9e8d7c6b", 4), Digest: full, Started: at, Ended: at.Add(83 * time.Second), PlanURL: "/r/812/plan",
		Weight: WeightOf(r.ChangeSet), Named: NamedOf(r), Waves: WavesOf(r, map[string][]string{"data": {"net", "access"}, "app": {"data", "access"}}), Members: MembersOf(r),
		Groups: GroupsOf(r), Fallbacks: FallbacksOf(r),
		Gates:      []Gate{{Op: "green-1a2b3c4d5e6f", Name: "pr-apply", Digest: full, Status: "approved", ApprovedBy: []string{"github:alice"}}},
		Asks:       []Gate{waitingGate()}, // of a plan that is the first here
		Rounds:     []Round{{Number: 2, Waits: true, Gate: waitingGate(), Reads: []Read{{Member: "app", From: "data.endpoint", Now: "db.example:5432"}}}},
		Approvals:  ApprovalsOf(r, func(pr int) string { return fmt.Sprintf("https://forge.example/acme/infra/pull/%d", pr) }),
		Log:        []LogLine{{at, "chant", "wave 1 starts: access, net"}, {at.Add(2e9), "access", "aws_iam_role.legacy: Destroying... [id=legacy]"}, {at.Add(4e9), "access", "aws_iam_role.legacy: Destruction complete after 1s"}, {at.Add(5e9), "net", "Error: creating subnet: InvalidSubnet.Conflict"}},
		LogLeftOut: 40,
	}
}

func planPage(t testing.TB, query string) Plan {
	t.Helper()
	doc := estate(t).ChangeSet
	members, found, total := PlanOf(doc, query)
	r := estate(t)
	r.Groups[0].Outcome = nil
	return Plan{Groups: GroupsOf(r), Fallbacks: FallbacksOf(r), Frame: Frame{Title: "Plan for prod", Section: "runs"}, Repo: "acme/infra", RepoURL: "https://forge.example/acme/infra", Env: "prod", RunURL: "/r/812", Digest: full,
		PR: 12, PRURL: "https://forge.example/acme/infra/pull/12", Head: strings.Repeat("1a2b3c4d5e", 4), Base: strings.Repeat("0f9e8d7c6b", 4),
		Weight: WeightOf(doc), Query: query, Found: found, Total: total, Members: members}
}

func pages(t testing.TB) map[string]Page {
	t.Helper()
	line := RunLine{URL: "/r/812", Repo: "acme/infra", Env: "prod", Stage: "apply", Status: "waiting", What: "1a2b3c4d5e6f", Verdict: "round 2 waits for 1 approval", At: at}
	return map[string]Page{
		"run":           runPage(t),
		"plan":          planPage(t, ""),
		"plan-filtered": planPage(t, "cidr"),
		"gates":         Gates{Frame: Frame{Title: "Waiting gates", Section: "gates"}, Gates: []Gate{waitingGate()}},
		"gates-none":    Gates{Frame: Frame{Title: "Waiting gates", Section: "gates"}},
		"deliveries": Deliveries{Frame: Frame{Title: "Deliveries", Section: "deliveries"}, Older: "/deliveries?before=1", Deliveries: []Delivery{
			{URL: "/deliveries/2", GUID: "72d3162e-cc78-11e3-81ab-4c9367dc0958", Forge: "github:github.com", Event: "pull_request", Action: "synchronize", Repo: "acme/infra", Status: "handled", Outcome: "ChangeUpdated #12", At: at},
			{GUID: "72d3162e-cc78-11e3-81ab-4c9367dc0959", Forge: "github:github.com", Event: "star", Action: "created", Repo: "acme/infra", Status: "ignored", Outcome: "chant does not use this event", At: at}}},
		"delivery": DeliveryPage{Frame: Frame{Title: "Delivery 2", Section: "deliveries"}, Replay: "chant replay 2", LeftOut: 12,
			Headers:  "X-GitHub-Event: pull_request\nX-Gitlab-Token: glpat-0123456789abcdefghij",
			Body:     "{\n  \"title\": \"<script>\",\n  \"hook\": {\n    \"secret\": \"hunter2\"\n  }\n}",
			Delivery: Delivery{GUID: "72d3162e-cc78-11e3-81ab-4c9367dc0958", Forge: "github:github.com", Event: "pull_request", Action: "synchronize", Repo: "acme/infra", Status: "handled", Outcome: "settles the pull request", At: at, OutcomeAt: at}},
		"audit": Audit{Frame: Frame{Title: "Audit", Section: "audit"}, Older: "/audit?before=4", Entries: []AuditEntry{
			{At: at, Actor: "github:dana", Action: "comment approve", Result: "counted", Rule: "approve", Repo: "acme/infra", Digest: full, Detail: "https://forge.example/acme/infra/pull/12#c1", Delivery: "72d3162e-cc78-11e3-81ab-4c9367dc0958"},
			{At: at, Actor: "server", Action: "apply", Result: "applied", Rule: "merges", Repo: "acme/infra", Digest: full, Detail: "1a2b3c4d to prod, run 8"}}},
		"home": Home{Frame: Frame{Title: "Repositories", Section: "home"}, Gates: []Gate{waitingGate()}, Runs: []RunLine{line},
			Repos: []Repo{{Name: "acme/infra", URL: "https://forge.example/acme/infra", Envs: []Env{{Name: "prod", Branch: "main", Applied: strings.Repeat("0f9e8d7c6b", 4), AppliedAt: at, Green: strings.Repeat("1a2b3c4d5e", 4), Status: "waiting", RunURL: "/r/812"}}},
				{Name: "acme/broken", Problem: "chant.workspace.json:7: two envs of one branch share a gate name"}, {Name: "acme/new", URL: "https://forge.example/acme/new"}}},
		"runs":    Runs{Frame: Frame{Title: "Runs", Section: "runs"}, Runs: []RunLine{line}, Older: "/runs?before=812"},
		"message": Message{Frame: Frame{Title: "Not found"}, Text: "There is no such run, or you may not read it."},
	}
}

func TestPagesLookAsRecorded(t *testing.T) {
	t.Parallel()
	for name, page := range pages(t) {
		golden(t, name, render(t, page))
	}
}

func TestPagesKeepToTheirContentSecurityPolicy(t *testing.T) {
	t.Parallel()
	for name, page := range pages(t) {
		html := render(t, page)
		html = regexp.MustCompile(`<script src="/assets/follow\.js\?v=[0-9a-f]{12}" data-events="/runs/[^"]*" defer></script>`).ReplaceAllString(html, "")
		for _, forbidden := range []string{"<script", " style=", "<style", " onclick", "javascript:", "@import", "url(", `src="http`} {
			if strings.Contains(html, forbidden) {
				t.Errorf("%s holds %s", name, forbidden)
			}
		}
	}
}

func TestForeignTextIsEscapedAndSecretsAreHidden(t *testing.T) {
	t.Parallel()
	evil := `<script>alert(1)</script>" onmouseover="x` + "\u202e" + "ghp_" + strings.Repeat("a1B2", 9)
	run := runPage(t)
	run.Repo, run.Verdict, run.Message, run.Env = evil, evil, evil, evil
	run.Members[0].Name, run.Members[0].Error, run.Members[0].Remark = evil, evil, evil
	run.Waves[0].Members[0].Name, run.Log[0].Text, run.Named[0].Name, run.Gates[0].Op = evil, evil, evil, evil
	run.Rounds[0].Reads[0].Now, run.RepoURL = evil, "javascript:alert(1)"
	run.Waves[1].Members[0].Group, run.Waves[1].Status, run.Fallbacks[0] = evil, evil, Fallback{evil, evil, evil}
	run.WaveRows = []WaveRow{{Gate: evil, Digest: evil, Status: evil, Decided: evil, Members: []End{{evil, evil}}}}
	run.Groups[0], run.Gates[0].Named = Group{Name: evil, Digest: evil, Members: []End{{evil, evil}}}, []Named{{"destroy", evil, evil, evil}}
	plan := planPage(t, evil)
	plan.Members = []PlanMember{{Name: evil, Error: evil, Holes: []Hole{{evil, evil}}, Changes: []Change{{Name: evil, Lines: []changes.Line{{Op: changes.Added, Text: evil}}}}}}
	for name, page := range map[string]Page{"run": run, "plan": plan, "gates": Gates{Gates: []Gate{{Op: evil, Approve: evil}}},
		"deliveries": Deliveries{Deliveries: []Delivery{{GUID: evil, Event: evil, Outcome: evil}}}, "message": Message{Text: evil},
		"delivery": DeliveryPage{Headers: evil, Body: evil, Delivery: Delivery{Event: evil, Action: evil, Outcome: evil, Repo: evil, Forge: evil}},
		"audit":    Audit{Entries: []AuditEntry{{Actor: evil, Action: evil, Result: evil, Rule: evil, Repo: evil, Detail: evil}}}} {
		html := render(t, page)
		if strings.Contains(html, "<script>") || strings.Contains(html, `" onmouseover="x`) || strings.Contains(html, "javascript:alert") {
			t.Errorf("%s: markup got through", name)
		}
		if name != "deliveries" && name != "plan" && strings.Contains(html, "ghp_a1B2") {
			t.Errorf("%s: a token is shown", name)
		}
		if name != "deliveries" && name != "plan" && strings.Contains(html, "\u202e") {
			t.Errorf("%s: an invisible character is sent", name)
		}
	}
	if html := render(t, planPage(t, "")); strings.Contains(html, "hunter") {
		t.Error("a value under a secret name is shown")
	}
}

func TestThePictureCountsWhatItDoesNotDraw(t *testing.T) {
	t.Parallel()
	var members []Box
	for i := range 40 {
		members = append(members, Box{Name: fmt.Sprintf("member-%d-with-a-very-long-name", i), Status: "applied"})
	}
	p := draw([]Wave{{Number: 1, Members: members}, {Number: 2, Members: []Box{{Name: "last", Needs: []string{members[0].Name, "absent"}}}}})
	if len(p.Boxes) != maxBoxes+1 || p.Boxes[maxBoxes-1].Name != "and 17 more" || len(p.Lines) != 1 {
		t.Errorf("%d boxes, the last of wave 1 reads %q, %d lines", len(p.Boxes), p.Boxes[maxBoxes-1].Name, len(p.Lines))
	}
	for i, a := range p.Boxes {
		if a.X+a.W > p.Width || a.Y+a.H > p.Height {
			t.Errorf("%s stands outside", a.Name)
		}
		for _, b := range p.Boxes[i+1:] {
			if a.X == b.X && b.Y < a.Y+a.H {
				t.Errorf("%s covers %s", a.Name, b.Name)
			}
		}
	}
}

func TestThePictureFramesEachGroupInTheOrderOfDependencies(t *testing.T) {
	t.Parallel()
	r := report.Report{
		Selection: graph.Selection{Waves: [][]string{{"app", "dns", "net", "web"}}},
		Groups:    []report.Group{{Group: "net", Members: []string{"net", "app"}}, {Group: "dns", Members: []string{"dns", "web"}}},
	}
	for _, name := range r.Selection.Waves[0] {
		r.Members = append(r.Members, report.Member{Member: name, Component: name})
	}
	p := draw(WavesOf(r, nil))
	var names []string
	for i, b := range p.Boxes {
		names = append(names, b.Name)
		f := p.Frames[i/2]
		if b.X < f.X || b.Y < f.Y || b.X+b.W > f.X+f.W || b.Y+b.H > f.Y+f.H || f.X+f.W > p.Width || f.Y+f.H > p.Height {
			t.Errorf("%s stands outside its group's frame %+v", b.Name, f)
		}
	}
	if diff := cmp.Diff([]string{"dns", "web", "net", "app"}, names); diff != "" || len(p.Frames) != 2 || p.Frames[1].Y < p.Frames[0].Y+p.Frames[0].H {
		t.Errorf("%s %+v", diff, p.Frames)
	}
}

func TestTheFilterFindsByNameTypeActionAndAttribute(t *testing.T) {
	t.Parallel()
	doc := estate(t).ChangeSet
	for query, want := range map[string]int{"": 6, "CIDR": 2, "aws_db_instance": 2, "delete": 2, "net": 2, "nothing-like-it": 0} {
		members, found, total := PlanOf(doc, query)
		if found != want || total != 6 {
			t.Errorf("%q: %d of %d, want %d", query, found, total, want)
		}
		if query != "" && want == 0 && len(members) != 0 {
			t.Errorf("%q: members without a match are shown", query)
		}
	}
}

func TestAVeryLargePlanShowsItsFirstChangesAndSaysSo(t *testing.T) {
	t.Parallel()
	doc := &changeset.Document{Members: []changeset.Member{{Member: "m"}}}
	for i := range 1500 {
		doc.Entries = append(doc.Entries, changeset.Entry{Member: "m", Address: fmt.Sprint("a.", i), Action: changeset.Create})
	}
	members, found, total := PlanOf(doc, "")
	page := Plan{Members: members, Found: found, Total: total}
	if page.Shown() != maxChanges || found != 1500 {
		t.Errorf("%d shown of %d", page.Shown(), found)
	}
	if !strings.Contains(render(t, page), "The first 1000 of 1500 changes are shown.") {
		t.Error("the page does not say so")
	}
}

func TestTheStylesheetIsServedAndKept(t *testing.T) {
	t.Parallel()
	href := regexp.MustCompile(`href="(/assets/[^"]+)"`).FindStringSubmatch(render(t, Message{}))
	if href == nil {
		t.Fatal("the page names no stylesheet")
	}
	w := httptest.NewRecorder()
	Assets().ServeHTTP(w, httptest.NewRequest(http.MethodGet, href[1], nil))
	if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Content-Type"), "text/css") || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
