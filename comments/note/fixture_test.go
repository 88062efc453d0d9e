package note

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/report"
)

var update = flag.Bool("update", false, "rewrite golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".md")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
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

func digestOf(t testing.TB, hex string) digest.Digest {
	t.Helper()
	d, err := digest.Parse("jcs1-sha256:" + strings.Repeat(hex, 64/len(hex)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func str(s string) digest.Value { return digest.StringOf(s) }

// estate is the pull request of four members most cases start from.
func estate(t testing.TB) Input {
	t.Helper()
	planned := func(component string, hex string, c report.Counts) report.Member {
		return report.Member{Member: component, Component: component, PlanDigest: new(digestOf(t, hex)), Status: report.MemberPlanned, Counts: c}
	}
	app := planned("app", "d4", report.Counts{})
	app.UnknownInputs = []report.UnknownInput{{From: "data", Output: "endpoint"}}
	doc := &changeset.Document{
		Members: []changeset.Member{
			{Member: "access", Status: changeset.Planned},
			{Member: "app", Status: changeset.Planned, Holes: []changeset.Hole{{Address: "data.endpoint", Type: "input", Reason: "inputs from data; re-checked on apply"}}},
			{Member: "data", Status: changeset.Planned, Holes: []changeset.Hole{{Address: "aws_db_instance.new[*]", Type: "aws_db_instance", Reason: "instance_count_unknown"}}},
			{Member: "net", Status: changeset.Planned},
		},
		Entries: []changeset.Entry{
			{Member: "access", Address: "aws_iam_role.legacy", Action: changeset.Delete},
			{Member: "access", Address: "aws_iam_policy.sync", Action: changeset.Update, Attributes: []changeset.Attribute{
				{Path: "policy", Before: str(`{"Statement":[{"Action":["s3:GetObject"],"Effect":"Allow","Resource":"arn:aws:s3:::sync/*"}],"Version":"2012-10-17"}`),
					After: str(`{"Statement":[{"Action":["s3:GetObject","s3:PutObject"],"Effect":"Allow","Resource":"arn:aws:s3:::sync/*"}],"Version":"2012-10-17"}`)}}},
			{Member: "data", Address: "aws_db_instance.reporting", Action: changeset.Delete},
			{Member: "data", Address: "aws_db_instance.main", Action: changeset.Update, Attributes: []changeset.Attribute{
				{Path: "instance_class", Before: str("db.t3.small"), After: str("db.t3.large")},
				{Path: "master_password", Before: str("hunter2"), After: str("hunter3")},
				{Path: "certificate", Sensitive: true}}},
			{Member: "net", Address: "aws_subnet.a", Action: changeset.Create, Attributes: []changeset.Attribute{
				{Path: "arn", Unknown: true}, {Path: "cidr_block", After: str("10.0.7.0/24")}}},
			{Member: "net", Address: "aws_subnet.b", Action: changeset.Replace, Attributes: []changeset.Attribute{
				{Path: "cidr_block", Before: str("10.0.8.0/24"), After: str("10.0.9.0/24"), ForcesReplacement: true}}},
			{Member: "net", Address: "aws_route.default", Action: changeset.NoOp},
			{Member: "net", Address: "aws_eip.old", Action: changeset.Forget},
		},
	}
	return Input{
		Marker: "<!-- chant-pr:prod -->", At: time.Date(2026, 11, 30, 14, 2, 0, 0, time.UTC), RunURL: "https://chant.example/r/812",
		BaseBranch: "main", BaseTip: strings.Repeat("a07b33c91f", 4), ApplyOnMerge: true,
		Ask: Ask{Approvers: []string{"org/platform"}, Excluded: []string{"dana", "lee"}},
		Report: report.Report{
			Stage: report.Plan, PR: new(12), Env: "prod", Head: strings.Repeat("4e1c9a0b7d", 4), Base: strings.Repeat("00b33c91f5", 4),
			Op: "pr-12", Gate: "pr-apply", Digest: digestOf(t, "9b1f04c2a7d3e5f0"), Status: report.Planned,
			Approval: report.Approval{Status: report.Pending},
			Selection: graph.Selection{Changed: []string{"access", "net"}, Dependents: []string{"app", "data"},
				Waves: [][]string{{"access"}, {"data", "net"}, {"app"}}},
			Members: []report.Member{
				planned("access", "a1", report.Counts{Update: 1, Delete: 1}), app,
				planned("data", "d3", report.Counts{Update: 1, Delete: 1}), planned("net", "b2", report.Counts{Create: 1, Replace: 1})},
			ChangeSet: doc,
			Groups:    []report.Group{{Group: "net", Wave: 2, Capability: "terraform-apply", Members: []string{"net", "data"}, Digest: digestOf(t, "e5")}},
			RunsCode:  map[string]report.RunsCode{"access": {Provisioners: []report.Provisioner{{Address: "null_resource.sync", Type: "local-exec"}}}},
		},
	}
}

// greenApply is the estate after its merge, at the green commit's gate.
func greenApply(t testing.TB) Input {
	t.Helper()
	in := estate(t)
	in.Ask.Excluded, in.Then = nil, "Once approved, it applies by itself."
	r := &in.Report
	r.Stage, r.Status, r.Refusal = report.Apply, report.Refused, report.NotApproved
	r.PR, r.Op = nil, "green-1a2b3c4d5e6f"
	r.Head, r.Base = strings.Repeat("1a2b3c4d5e", 4), strings.Repeat("0f9e8d7c6b", 4)
	r.Green = &report.Green{Commit: r.Head, Base: r.Base,
		Merges: []report.Merge{
			{Commit: r.Head, PR: new(14)},
			{Commit: strings.Repeat("c0ffee0000", 4)},
			{Commit: strings.Repeat("7777777777", 4), PR: new(12), Approved: new(digestOf(t, "9b1f04c2a7d3e5f0")), ApprovedBy: []string{"github:alice"}}},
		Cover: []report.Cover{
			{Member: "access", Status: report.Covered, By: &report.CoverBy{PR: 12, Digest: digestOf(t, "9b1f04c2a7d3e5f0")}},
			{Member: "app", Status: report.Uncovered, Reason: "app waits for an input and needs its own approval"},
			{Member: "data", Status: report.NothingDue},
			{Member: "net", Status: report.Uncovered, Reason: "aws_subnet.b: cidr_block is 10.0.9.0/24 now, 10.0.8.0/24 was approved"}}}
	return in
}
