package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app/cli"
	"github.com/chant-bot/chant/engine/digest"
)

// The vectors stand beside the packages they judge; here the command line is
// held to the same ones.
const (
	digestVectors    = "../../engine/digest/testdata/digest-*.json"
	changeSetVectors = "../../engine/changeset/testdata/changeset-*.json"
	terraformVectors = "../../engine/plans/terraform/testdata/terraform-*.json"
	rawPlan          = "../../engine/plans/terraform/testdata/rawplan-01-terraform-1.11.4.show.json"
)

// command runs one command line in this process.
func command(t *testing.T, stdin []byte, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), args, &cli.Host{
		Stdin: bytes.NewReader(stdin), Stdout: &out, Stderr: &errs, Dir: t.TempDir(), Version: "test", Now: time.Now,
	})
	return code, out.String(), errs.String()
}

func vectors(t *testing.T, pattern string) map[string]digest.Value {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors in %s: %v", pattern, err)
	}
	all := map[string]digest.Value{}
	for _, file := range files {
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = readValue(t, file)
	}
	return all
}

func readValue(t *testing.T, file string) digest.Value {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := digest.Decode(data)
	if err != nil {
		// The one vector that is no JSON of ours is a refusal, read as text.
		return digest.Value{}
	}
	return v
}

func textOf(t *testing.T, v digest.Value) []byte {
	t.Helper()
	text, err := v.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func decode(t *testing.T, text string) digest.Value {
	t.Helper()
	v, err := digest.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

func mustText(t *testing.T, v digest.Value) string {
	t.Helper()
	text, ok := v.Text()
	if !ok {
		t.Fatalf("no text but %s", v.Kind())
	}
	return text
}

func TestDigestPrintsThePublishedValues(t *testing.T) {
	t.Parallel()
	checked := 0
	for name, v := range vectors(t, digestVectors) {
		if v.Get("expected").IsAbsent() || v.Get("kind").IsAbsent() {
			continue // the undefined cases and the refused surrogate
		}
		code, out, errs := command(t, textOf(t, v.Get("subject")), "change-set", "digest", "--kind", mustText(t, v.Get("kind")), "-")
		if code != cli.Done {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
			continue
		}
		checked++
		if got, want := mustText(t, decode(t, out).Get("digest")), mustText(t, v.Get("expected")); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if checked < 8 {
		t.Errorf("only %d vectors were checked", checked)
	}
}

func TestDigestRefusesWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"a":1}{}`, `{"a":"\ud800"}`, `[1,`, `nope`} {
		if code, out, errs := command(t, []byte(text), "change-set", "digest", "--kind", "x", "-"); code != cli.Failed || out != "" || !strings.Contains(errs, "standard input") {
			t.Errorf("%s: exit code %d, %q, %q", text, code, out, errs)
		}
	}
}

func TestComposePrintsThePublishedDocuments(t *testing.T) {
	t.Parallel()
	for name, v := range vectors(t, changeSetVectors) {
		if v.Get("expectedDocument").IsAbsent() {
			continue
		}
		code, out, errs := command(t, textOf(t, v.Get("parts")), "change-set", "compose", "-")
		if code != cli.Done {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
			continue
		}
		got, want := decode(t, out), v.Get("expectedDocument")
		for _, key := range []string{"digest", "members", "entries", "sideEffects", "summary"} {
			if !digest.Equal(got.Get(key), want.Get(key)) {
				t.Errorf("%s: %s is not as published", name, key)
			}
		}
		if code, out, _ := command(t, []byte(out), "change-set", "verify", "-"); code != cli.Done || !strings.Contains(out, `"verified": true`) {
			t.Errorf("%s: what was composed does not verify: %s", name, out)
		}
	}
}

func TestComposeRefusesWhatThePublishedAlgorithmRefuses(t *testing.T) {
	t.Parallel()
	cases := readValue(t, "../../engine/changeset/testdata/changeset-08-refusals.json").Get("cases")
	for i := range cases.Len() {
		c := cases.At(i)
		if code, out, errs := command(t, textOf(t, c.Get("parts")), "change-set", "compose", "-"); code != cli.Failed || out != "" || errs == "" {
			t.Errorf("%s: exit code %d, %q", mustText(t, c.Get("name")), code, out)
		}
	}
	if cases.Len() == 0 {
		t.Error("no cases")
	}
}

func TestPartPrintsThePublishedParts(t *testing.T) {
	t.Parallel()
	for name, v := range vectors(t, terraformVectors) {
		args := []string{"change-set", "part", "--member", mustText(t, v.Get("input").Get("member"))}
		for key, flag := range map[string]string{"planner": "--planner", "scope": "--scope", "nativeDigest": "--native-digest"} {
			if text, ok := v.Get("input").Get(key).Text(); ok {
				args = append(args, flag, text)
			}
		}
		code, out, errs := command(t, textOf(t, v.Get("showJson")), append(args, "-")...)
		if code != cli.Done {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
			continue
		}
		got, want := decode(t, out), v.Get("expectedPart")
		if !digest.EqualAsDoubles(got.Get("entries"), want.Get("entries")) || !digest.EqualAsDoubles(got.Get("sideEffects"), want.Get("sideEffects")) {
			t.Errorf("%s: entries are not as published", name)
		}
		// terraform-06 holds a digest from before action invocations were in it.
		if !strings.HasPrefix(name, "terraform-06") && !digest.Equal(got.Get("member"), want.Get("member")) {
			t.Errorf("%s: the member is not as published:\n%s\n%s", name, textOf(t, got.Get("member")), textOf(t, want.Get("member")))
		}
	}
}

func TestPartKeepsNumbersExact(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(rawPlan)
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := command(t, raw, "change-set", "part", "--member", "envs/prod", "--scope", "prod", "-")
	if code != cli.Done {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if !strings.Contains(out, "12345678901234567890") {
		t.Error("an integer beyond doubles lost its digits on the way out")
	}
}
