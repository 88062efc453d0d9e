package run

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine/digest"
)

func value(t *testing.T, text string) digest.Value {
	t.Helper()
	if text == "" {
		return digest.Value{}
	}
	v, err := digest.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// pr-loop §7.5.
func TestMoved(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, planned, now string // JSON, "" for absent
		moved              bool
	}{
		{"an equal value did not move", `"10.0.0.0/16"`, `"10.0.0.0/16"`, false},
		{"another value moved", `"10.0.0.0/16"`, `"10.1.0.0/16"`, true},
		{"a value that was not known moved, whatever it is", ``, `"10.0.0.0/16"`, true},
		{"an output that is gone moved", `"10.0.0.0/16"`, ``, true},
		{"an output that never was moved", ``, ``, true},
		{"null is a value", `null`, `null`, false},
		{"an output that was null and is gone moved", `null`, ``, true},
		{"null and text differ", `null`, `"null"`, true},
		{"order of keys does not move it", `{"a":1,"b":[1,2]}`, `{"b":[1,2],"a":1}`, false},
		{"order of items does", `[1,2]`, `[2,1]`, true},
		{"numbers that share a double differ", `9007199254740993`, `9007199254740992`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, moved := PlannedRead("net", "cidr", value(t, tt.planned), false).Moved(value(t, tt.now), false)
			if moved != tt.moved {
				t.Errorf("moved %v, want %v", moved, tt.moved)
			}
			if want := orNotKnown(tt.now); tt.now == `"10.1.0.0/16"` && (r.Now != want || r.Planned != tt.planned) {
				t.Errorf("shown as %s, now %s, want %s, now %s", r.Planned, r.Now, tt.planned, want)
			}
		})
	}
}

func orNotKnown(s string) string {
	if s == "" {
		return NotKnown
	}
	return s
}

func TestSensitiveReadsAreNeverShown(t *testing.T) {
	t.Parallel()
	secret, other := value(t, `"hunter2"`), value(t, `"hunter3"`)
	planned := PlannedRead("db", "password", secret, true)
	later, moved := planned.Moved(other, false)
	turned, _ := PlannedRead("db", "password", secret, false).Moved(other, true)
	if !moved {
		t.Error("another secret moved")
	}
	for _, r := range []InputRead{planned, later, turned} {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "hunter") {
			t.Errorf("a sensitive value is shown: %s", text)
		}
	}
	unknown, _ := PlannedRead("db", "password", digest.Value{}, true).Moved(secret, true)
	if unknown.Planned != NotKnown || unknown.Now != Redacted {
		t.Errorf("planned %q, now %q", unknown.Planned, unknown.Now)
	}
}

// pr-loop §7.5: a plan made again is compared with the one before it. What either of them
// knew for a secret is shown by neither.
func TestMovedToANewerPlan(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		then, now             string // JSON, "" for not known
		secretThen, secretNow bool
		moved                 bool
		planned, shown        string
	}{
		"an equal value":           {then: `"a"`, now: `"a"`, planned: `"a"`, shown: `"a"`},
		"another value":            {then: `"a"`, now: `"b"`, moved: true, planned: `"a"`, shown: `"b"`},
		"one that is known now":    {now: `"b"`, moved: true, planned: NotKnown, shown: `"b"`},
		"one that is gone":         {then: `"a"`, moved: true, planned: `"a"`, shown: NotKnown},
		"one that never was known": {moved: true, planned: NotKnown, shown: NotKnown},
		"a secret":                 {then: `"a"`, now: `"b"`, secretThen: true, secretNow: true, moved: true, planned: Redacted, shown: Redacted},
		"one that is secret now":   {then: `"a"`, now: `"b"`, secretNow: true, moved: true, planned: Redacted, shown: Redacted},
		"one that was secret":      {then: `"a"`, now: `"b"`, secretThen: true, moved: true, planned: Redacted, shown: Redacted},
		"a secret known only now":  {now: `"b"`, secretThen: true, moved: true, planned: NotKnown, shown: Redacted},
		"a secret that is gone":    {then: `"a"`, secretNow: true, moved: true, planned: Redacted, shown: NotKnown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			then := PlannedRead("db", "password", value(t, tt.then), tt.secretThen)
			r, moved := then.MovedTo(PlannedRead("db", "password", value(t, tt.now), tt.secretNow))
			if moved != tt.moved || r.Planned != tt.planned || r.Now != tt.shown || r.Sensitive != (tt.secretThen || tt.secretNow) {
				t.Errorf("moved %v: %+v", moved, r)
			}
		})
	}
}
