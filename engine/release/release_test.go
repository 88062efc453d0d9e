package release_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/release"
)

const artifact = "sha256:1fa77cc2ae4f64b25382f00ebcf74210c66068d22785dbd5192eac122050ab1e"

func record(component, at string) release.Record {
	return release.Record{
		Component: component, Env: "prod", Digest: artifact, GitSHA: "c0ffee", RunID: "17", Timestamp: at, Actor: "github:alice",
		Origin: release.Origin{Forge: "github", Repo: "acme/estate"},
	}
}

func TestALineIsOneSortedObjectAndReadsBack(t *testing.T) {
	t.Parallel()
	r := record("web", "2026-11-30T10:00:00.000Z")
	want := `{"actor":"github:alice","component":"web","digest":"` + artifact + `","env":"prod","gitSha":"c0ffee",` +
		`"runId":"17","runOrigin":{"forge":"github","repo":"acme/estate"},"timestamp":"2026-11-30T10:00:00.000Z","version":1}`
	if diff := cmp.Diff(want, string(r.Line())); diff != "" {
		t.Error(diff)
	}
	back, skipped := release.Parse(r.Line())
	if diff := cmp.Diff([]release.Record{r}, back); diff != "" || skipped != 0 {
		t.Errorf("skipped %d: %s", skipped, diff)
	}
}

func TestALineThatLacksAFieldIsSkippedAndCounted(t *testing.T) {
	t.Parallel()
	whole := string(record("web", "2026-11-30T10:00:00.000Z").Line())
	lines := []string{whole, "", "not json", "[]", strings.Replace(whole, `"c0ffee"`, `""`, 1), strings.Replace(whole, `"17"`, `17`, 1)}
	records, skipped := release.Parse([]byte(strings.Join(lines, "\n")))
	if len(records) != 1 || skipped != 4 {
		t.Errorf("%d records, %d skipped", len(records), skipped)
	}
}

func TestTheLatestIsTheHighestTimestampAndOfEqualOnesTheLaterLine(t *testing.T) {
	t.Parallel()
	first, later := record("web", "2026-11-30T10:00:00.000Z"), record("web", "2026-11-30T11:00:00.000Z")
	again := later
	again.RunID = "18"
	got := release.Latest([]release.Record{later, again, first, record("api", "2026-11-01T00:00:00.000Z")})
	want := map[string]release.Record{"web": again, "api": record("api", "2026-11-01T00:00:00.000Z")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestARecordThatNoReaderTakesIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*release.Record){
		"no actor":     func(r *release.Record) { r.Actor = "" },
		"no commit":    func(r *release.Record) { r.GitSHA = "" },
		"short digest": func(r *release.Record) { r.Digest = "sha256:1fa7" },
	} {
		r := record("web", "2026-11-30T10:00:00.000Z")
		change(&r)
		if r.Check() == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := record("web", "2026-11-30T10:00:00.000Z").Check(); err != nil {
		t.Error(err)
	}
}

func TestAnEnvironmentKeepsItsReleasesInItsOwnFolder(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]string{
		"prod": "_members/dns/prod/releases.jsonl", "a/b": "_members/dns/a%2Fb/releases.jsonl",
		"..": "", "_gates": "", "": "",
	} {
		got, err := release.Path("_members/dns/", env)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", env, got, err)
		}
	}
}
