package terraform_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform"
)

type vector struct {
	Input struct {
		Member, Planner, Scope, NativeDigest string
	} `json:"input"`
	DigestCaution      bool          `json:"digestCaution"`
	ShowJSON           digest.Value  `json:"showJson"`
	DigestSubject      digest.Value  `json:"digestSubject"`
	ExpectedPlanDigest digest.Digest `json:"expectedPlanDigest"`
	ExpectedPart       digest.Value  `json:"expectedPart"`
}

func (v vector) options() terraform.Options {
	return terraform.Options{Planner: v.Input.Planner, Scope: v.Input.Scope, NativeDigest: v.Input.NativeDigest}
}

func readVector(t *testing.T, file string) vector {
	t.Helper()
	var v vector
	if err := json.Unmarshal(readFile(t, file), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t *testing.T, text string) digest.Value {
	t.Helper()
	v, err := digest.Decode([]byte(text))
	if err != nil {
		t.Fatalf("Decode(%.100q): %v", text, err)
	}
	return v
}

// indented is v as JSON with sorted keys, to compare and to show.
func indented(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	text, err = json.MarshalIndent(decode(t, string(text)), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPublishedParts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/terraform-*.json")
	if err != nil || len(files) != 6 {
		t.Fatalf("found %d vectors: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			v := readVector(t, filepath.Base(file))
			part, err := terraform.Part(v.Input.Member, v.ShowJSON, v.options())
			if err != nil {
				t.Fatal(err)
			}
			if v.DigestCaution {
				// Its digest is from before action invocations were bound.
				if digest.Same(*part.Member.PlanDigest, v.ExpectedPlanDigest) {
					t.Error("the digest does not bind the action invocations")
				}
				part.Member.PlanDigest = &v.ExpectedPlanDigest
			}
			if part.Inexact != nil {
				t.Errorf("inexact numbers %v in a vector that went through doubles", part.Inexact)
			}
			if diff := cmp.Diff(indented(t, v.ExpectedPart), indented(t, part)); diff != "" {
				t.Errorf("part (-want +got):\n%s", diff)
			}
			if !digest.Same(*part.Member.PlanDigest, v.ExpectedPlanDigest) {
				t.Errorf("plan digest is %s, want %s", part.Member.PlanDigest, v.ExpectedPlanDigest)
			}
			if subject, err := digest.Of("terraform-plan", v.DigestSubject); err != nil || subject != v.ExpectedPlanDigest {
				t.Errorf("digest of the published subject is %s, %v; want %s", subject, err, v.ExpectedPlanDigest)
			}
		})
	}
}

// The untouched text of a real plan gives the same part as its copy that went
// through doubles, and besides names the numbers the copy lost.
func TestARealPlanKeepsItsExactNumbers(t *testing.T) {
	t.Parallel()
	v := readVector(t, "terraform-01-real-1.11.4.json")
	plan := decode(t, string(readFile(t, "rawplan-01-terraform-1.11.4.show.json")))
	part, err := terraform.Part(v.Input.Member, plan, v.options())
	if err != nil {
		t.Fatal(err)
	}
	const big = "12345678901234567890"
	at := func(key, path, before, after string) changeset.Inexact {
		return changeset.Inexact{
			Member: v.Input.Member, Address: `module.app.terraform_data.each["` + key + `"]`, Path: path, Before: before, After: after,
		}
	}
	want := []changeset.Inexact{
		at(`a\"b`, "input.big", "", big),
		at("eu.west", "input.big", big, big),
		at("eu.west", "output.big", big, big),
		at("Ünï", "input.big", "", big),
	}
	if diff := cmp.Diff(want, part.Inexact); diff != "" {
		t.Errorf("inexact (-want +got):\n%s", diff)
	}
	part.Inexact = nil
	var expected changeset.Part
	if err := json.Unmarshal([]byte(v.ExpectedPart.String()), &expected); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(expected, part, cmp.Transformer("doubles", asDouble)); diff != "" {
		t.Errorf("part (-want +got):\n%s", diff)
	}
}

// asDouble rounds every number in a value.
func asDouble(v digest.Value) string {
	text, err := digest.Canonical(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
