package run

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func lines(t *testing.T, events []Event) string {
	t.Helper()
	var out []string
	for _, e := range events {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return strings.Join(out, "\n")
}

// pr-loop §7.3.
func TestEventsOfAnApplyThatFailsAndHolds(t *testing.T) {
	t.Parallel()
	s := apply(t, [][]string{{"net"}, {"app", "data"}, {"edge"}, {"top"}}, map[string][]string{"app": {"net"}, "data": {"net"}, "edge": {"app"}, "top": {"data"}})
	finish(t, s, "net", Outcome{})
	if err := s.Hold("data", nil); err != nil {
		t.Fatal(err)
	}
	finish(t, s, "app", Outcome{Error: "boom"})
	const want = `{"type":"run-start","waves":[["net"],["app","data"],["edge"],["top"]]}
{"type":"wave-start","wave":1,"components":["net"]}
{"type":"component-start","wave":1,"component":"net"}
{"type":"phase-start","component":"net","phase":"Apply"}
{"type":"step","component":"net","phase":"Apply","step":"terraform-apply","member":"net","status":"running"}
{"type":"step","component":"net","phase":"Apply","step":"terraform-apply","member":"net","status":"ok"}
{"type":"phase-done","component":"net","phase":"Apply","status":"ok"}
{"type":"component-done","wave":1,"component":"net","status":"ok"}
{"type":"wave-done","wave":1,"status":"ok"}
{"type":"component-done","wave":2,"component":"data","status":"gated"}
{"type":"component-done","wave":4,"component":"top","status":"gated","blockedBy":"data"}
{"type":"wave-start","wave":2,"components":["app","data"]}
{"type":"component-start","wave":2,"component":"app"}
{"type":"phase-start","component":"app","phase":"Apply"}
{"type":"step","component":"app","phase":"Apply","step":"terraform-apply","member":"app","status":"running"}
{"type":"step","component":"app","phase":"Apply","step":"terraform-apply","member":"app","status":"failed","error":"boom"}
{"type":"phase-done","component":"app","phase":"Apply","status":"failed"}
{"type":"component-done","wave":2,"component":"app","status":"failed"}
{"type":"wave-done","wave":2,"status":"failed"}
{"type":"component-done","wave":3,"component":"edge","status":"failed","blockedBy":"app"}
{"type":"run-done","status":"failed"}`
	if diff := cmp.Diff(want, lines(t, (Passes{s}).Events(true))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(lines(t, Passes{s}.Events(true)), lines(t, (Passes{restart(t, s)}).Events(true))); diff != "" {
		t.Errorf("events after a restart (-before +after):\n%s", diff)
	}
}

func TestEventsNestStepsInPhasesInComponents(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Waves: [][]string{{"net"}}, Units: []Unit{
		{Member: "m1", Component: "net", Phase: "Base", Step: "terraform-apply"}, {Member: "m2", Component: "net", Phase: "Base", Step: "terraform-apply"},
		{Member: "m3", Component: "net", Phase: "Rest", Step: "terraform-apply"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{"m1", "m2", "m3"} {
		finish(t, &s, m, Outcome{})
	}
	var got []string
	for _, e := range (Passes{&s}).Events(true) {
		got = append(got, strings.TrimSpace(e.Type+" "+e.Phase+" "+e.Member))
	}
	want := []string{
		"run-start", "wave-start", "component-start", "phase-start Base", "step Base m1", "step Base m1", "step Base m2", "step Base m2", "phase-done Base",
		"phase-start Rest", "step Rest m3", "step Rest m3", "phase-done Rest", "component-done", "wave-done", "run-done",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestEventsWhileAnApplyRuns(t *testing.T) {
	t.Parallel()
	s := apply(t, [][]string{{"app", "net"}}, nil)
	for _, m := range []string{"app", "net"} {
		if err := s.Start(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Settle("app", Outcome{}); err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"run-start","waves":[["app","net"]]}
{"type":"wave-start","wave":1,"components":["app","net"]}
{"type":"component-start","wave":1,"component":"app"}
{"type":"phase-start","component":"app","phase":"Apply"}
{"type":"step","component":"app","phase":"Apply","step":"terraform-apply","member":"app","status":"running"}
{"type":"component-start","wave":1,"component":"net"}
{"type":"phase-start","component":"net","phase":"Apply"}
{"type":"step","component":"net","phase":"Apply","step":"terraform-apply","member":"net","status":"running"}
{"type":"step","component":"app","phase":"Apply","step":"terraform-apply","member":"app","status":"ok"}
{"type":"phase-done","component":"app","phase":"Apply","status":"ok"}
{"type":"component-done","wave":1,"component":"app","status":"ok"}`
	if diff := cmp.Diff(want, lines(t, (Passes{s}).Events(true))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestAComponentIsNotBlockedByItself(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Waves: [][]string{{"net"}}, Units: []Unit{{Member: "m1", Component: "net"}, {Member: "m2", Component: "net"}}})
	if err != nil {
		t.Fatal(err)
	}
	finish(t, &s, "m1", Outcome{Error: "boom"})
	for _, e := range (Passes{&s}).Events(true) {
		if e.Type == "component-done" && (e.BlockedBy != "" || e.Status != EventFailed) {
			t.Errorf("component-done %+v; its own step failed", e)
		}
	}
}
