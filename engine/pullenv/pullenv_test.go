package pullenv

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func entry(component, state, head string) Entry {
	return Entry{Component: component, Root: component, State: state, Head: head, Base: "b", Timestamp: "2026-11-30T10:00:00.000Z"}
}

func TestALineIsWhatItWasMadeOf(t *testing.T) {
	t.Parallel()
	want := []Entry{entry("net", "s1", "h1"), entry("app", "s2", "h1")}
	want[1].Ended, want[1].DependsOn = true, []string{"dns", "net"}
	if got, line := string(want[0].Line()), `{"base":"b","component":"net","head":"h1","root":"net","state":"s1","timestamp":"2026-11-30T10:00:00.000Z","version":1}`; got != line {
		t.Errorf("got  %s\nwant %s", got, line)
	}
	got, skipped := Parse([]byte(string(want[0].Line()) + "\nnot json\n\n{\"version\":2}\n" + string(want[1].Line()) + "\n" + strings.Replace(string(want[1].Line()), `"dns"`, "7", 1)))
	if diff := cmp.Diff(want, got); diff != "" || skipped != 3 {
		t.Errorf("%d skipped, entries (-want +got):\n%s", skipped, diff)
	}
}

func TestAStateStandsWithItsLatestCommitUntilItEnded(t *testing.T) {
	t.Parallel()
	ended := entry("net", "s1", "h2")
	ended.Ended = true
	for name, tc := range map[string]struct{ lines, want []Entry }{
		"none":                  {},
		"two commits":           {[]Entry{entry("net", "s1", "h1"), entry("net", "s1", "h2")}, []Entry{entry("net", "s1", "h2")}},
		"a backend that moved":  {[]Entry{entry("net", "s2", "h1"), entry("net", "s1", "h2")}, []Entry{entry("net", "s1", "h2"), entry("net", "s2", "h1")}},
		"ended":                 {[]Entry{entry("net", "s1", "h1"), ended}, nil},
		"applied once more":     {[]Entry{entry("net", "s1", "h1"), ended, entry("net", "s1", "h3")}, []Entry{entry("net", "s1", "h3")}},
		"another is left alone": {[]Entry{entry("net", "s1", "h1"), entry("app", "s3", "h1"), ended}, []Entry{entry("app", "s3", "h1")}},
	} {
		if diff := cmp.Diff(tc.want, Standing(tc.lines)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEachEndsAfterAllThatDependOnIt(t *testing.T) {
	t.Parallel()
	if _, err := LastFirst(map[string][]string{"a": {"b"}, "b": {"a"}, "c": {"a"}}); err == nil || !strings.Contains(err.Error(), "components a, b were applied") {
		t.Errorf("a circle: %v", err)
	}
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching("[a-z]{1,3}"), 0, 8, rapid.ID).Draw(t, "names")
		dependsOn := map[string][]string{}
		for i, name := range names {
			dependsOn[name] = rapid.SliceOfDistinct(rapid.SampledFrom(append([]string{"outside"}, names[:i]...)), rapid.ID).Draw(t, "of "+name)
		}
		order, err := LastFirst(dependsOn)
		if err != nil || len(order) != len(dependsOn) {
			t.Fatalf("%v, %v", order, err)
		}
		for name, deps := range dependsOn {
			for _, dep := range deps {
				if at := slices.Index(order, dep); at >= 0 && at < slices.Index(order, name) {
					t.Fatalf("%s ends before %s, which depends on it: %v", dep, name, order)
				}
			}
		}
	})
}
