package project

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/digest"
)

func TestWithoutBotOneEnvOnlyRecords(t *testing.T) {
	t.Parallel()
	recording := Env{Name: "live", Branch: "main", Gate: "pr-apply", Execution: "server", MinApprovals: 1}
	for name, text := range map[string]string{
		"no x-bot":         with(green),
		"x-bot, no envs":   with(green, `"x-bot":{"tick":false}`),
		"x-bot, envs: [ ]": with(green, `"x-bot":{"envs":[]}`),
	} {
		d := declare(t, text)
		if diff := cmp.Diff([]Env{recording}, d.EnvsOf("main", "live")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if got := d.EnvsOf("dev", "live"); len(got) != 0 {
			t.Errorf("%s: branch dev has envs %v", name, got)
		}
	}
	unbound := declare(t, with())
	if got := unbound.EnvsOf("anything", "live"); len(got) != 1 || got[0].Branch != "anything" {
		t.Errorf("without ci.green and a known default branch any is served; got %v", got)
	}
	unbound.DefaultBranch = "trunk"
	if got := unbound.EnvsOf("trunk", "live"); len(got) != 1 || got[0].Branch != "trunk" {
		t.Errorf("the default branch has envs %v", got)
	}
	if got := unbound.EnvsOf("anything", "live"); len(got) != 0 {
		t.Errorf("a branch that is not the default one has envs %v", got)
	}
	declared := declare(t, with(bot(`{"name":"p"}`)))
	declared.DefaultBranch = "trunk"
	if got := declared.EnvsOf("anything", "live"); len(got) != 0 {
		t.Errorf("an env that names no branch is on branch anything: %v", got)
	}
}

func TestReviewRulesRequireReviewInEveryEnv(t *testing.T) {
	t.Parallel()
	d := declare(t, with(`"security":["review-rules"]`, bot(`{"name":"p","branch":"a"}`)))
	if envs := d.EnvsOf("a", ""); !envs[0].RequireReview {
		t.Error("review rules did not reach the env")
	}
	if d.Bot.Envs[0].RequireReview {
		t.Error("the declaration itself was changed")
	}
}

func TestUnenforcedSettingsAreNamedNeverIgnored(t *testing.T) {
	t.Parallel()
	identity := func(gates string) []string {
		return []string{`"minReader":"0.108.0"`, `"identity":{"gates":` + gates + `}`}
	}
	for name, c := range map[string]struct {
		env    string
		fields []string
		want   []string
	}{
		"plain":                        {env: `{"name":"p","applyOnMerge":false,"blockMerge":true,"requireReview":true,"approvers":["github:a"]}`},
		"every one":                    {env: `{"name":"p","minApprovals":2,"waveGate":"rel","execution":"ci","approveOnReview":true}`, want: []string{"approveOnReview: true", "execution: ci", "minApprovals: 2"}},
		"identity of its gate":         {env: `{"name":"p"}`, fields: identity(`{"pr-apply":{}}`), want: []string{"identity.gates.pr-apply"}},
		"identity of a round":          {env: `{"name":"p"}`, fields: identity(`{"pr-apply-round-2":{}}`), want: []string{"identity.gates.pr-apply-round-2"}},
		"identity of its own gate":     {env: `{"name":"p","gate":"mine"}`, fields: identity(`{"mine":{"class":"human"},"pr-apply":{}}`), want: []string{"identity.gates.mine"}},
		"identity of another gate":     {env: `{"name":"p"}`, fields: identity(`{"release":{}}`)},
		"identity of a like-named one": {env: `{"name":"p"}`, fields: identity(`{"pr-apply-staging":{}}`)},
		"identity of a wave":           {env: `{"name":"p","waveGate":"rel"}`, fields: identity(`{"rel-wave-2":{}}`), want: []string{"identity.gates.rel-wave-2"}},
		"identity of a wave gate":      {env: `{"name":"p","waveGate":"rel"}`, fields: identity(`{"rel":{}}`), want: []string{"identity.gates.rel"}},
		"identity of no round":         {env: `{"name":"p"}`, fields: identity(`{"pr-apply-round-x":{},"pr-apply-wave":{}}`)},
		"attribution identified":       {env: `{"name":"p"}`, fields: []string{`"minReader":"0.108.0"`, `"identity":{"attribution":"identified"}`}, want: []string{"identity.attribution: identified"}},
		"attribution any":              {env: `{"name":"p"}`, fields: []string{`"minReader":"0.108.0"`, `"identity":{"attribution":"any"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := declare(t, with(append(c.fields, bot(c.env))...))
			if diff := cmp.Diff(c.want, d.EnvsOf("b", "")[0].Unenforced(d, d.Bot.Envs[0].Gate)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// pr-loop §3.7: a rule for a gate holds for its rounds and its waves, at whatever gate of
// the env or of a component they are asked; soundness I1.
func TestIdentityOfAGateBindsItsRoundsAndWaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules, gate string
		want        []string
	}{
		"round of the env's gate":            {`{"pr-apply":{}}`, "pr-apply-round-2", []string{"identity.gates.pr-apply"}},
		"wave of the env's gate":             {`{"rel":{}}`, "rel-wave-3", []string{"identity.gates.rel"}},
		"a wave, where the main gate has it": {`{"pr-apply":{}}`, "rel-wave-2", []string{"identity.gates.pr-apply"}},
		"the main gate, where a wave has it": {`{"rel-wave-2":{}}`, "pr-apply", []string{"identity.gates.rel-wave-2"}},
		"gate of a component":                {`{"go-live":{}}`, "go-live", []string{"identity.gates.go-live"}},
		"round at the gate of a component":   {`{"go-live":{"class":"human"}}`, "go-live-round-2", []string{"identity.gates.go-live"}},
		"wave of a fan-out":                  {`{"ship":{}}`, "ship-wave-1", []string{"identity.gates.ship"}},
		"one wave of a fan-out":              {`{"ship-wave-2":{}}`, "ship-wave-1", []string{"identity.gates.ship-wave-2"}},
		"round of a wave":                    {`{"rel":{}}`, "rel-wave-1-round-2", []string{"identity.gates.rel"}},
		"round of a gate named like a wave":  {`{"go-wave-1":{}}`, "go-wave-1-round-2", []string{"identity.gates.go-wave-1"}},
		"another component's gate":           {`{"go-live":{}}`, "seen", nil},
		"a component's, of the env's":        {`{"go-live":{}}`, "pr-apply-round-2", nil},
		"the env's, of a component's":        {`{"pr-apply":{}}`, "go-live", nil},
	} {
		d := declare(t, with(`"minReader":"0.108.0"`, `"identity":{"gates":`+c.rules+`}`, bot(`{"name":"p","waveGate":"rel"}`)))
		if diff := cmp.Diff(c.want, d.EnvsOf("b", "")[0].Unenforced(d, c.gate)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTrustChangesOnlyWithIdentitySecurityAndBot(t *testing.T) {
	t.Parallel()
	base := []string{`"minReader":"0.108.0"`, green, `"identity":{"gates":{"g":{}}}`, bot(`{"name":"p","approvers":["github:a","github:b"]},{"name":"q","branch":"x"}`)}
	for name, c := range map[string]struct {
		head []string
		want bool
	}{
		"nothing":               {base, false},
		"members and checks":    {append(slices.Clone(base), `"members":[{"name":"a","dir":"a","kind":"chant"}]`), false},
		"order and defaults":    {[]string{base[0], green, `"identity":{"attribution":"any","gates":{"g":{}}}`, `"security":[]`, bot(`{"name":"q","branch":"x","minApprovals":1},{"name":"p","branch":"main","approvers":["github:b","github:a"]}`)}, false},
		"security":              {append(slices.Clone(base), `"security":["review-rules"]`), true},
		"identity dropped":      {[]string{base[0], base[1], base[3]}, true},
		"identity class":        {[]string{base[0], base[1], `"identity":{"gates":{"g":{"class":"human"}}}`, base[3]}, true},
		"x-bot dropped":         {base[:3], true},
		"an approver more":      {[]string{base[0], base[1], base[2], bot(`{"name":"p","approvers":["github:a","github:b","github:c"]},{"name":"q","branch":"x"}`)}, true},
		"a var":                 {[]string{base[0], base[1], base[2], bot(`{"name":"p","approvers":["github:a","github:b"],"vars":{"a":1}},{"name":"q","branch":"x"}`)}, true},
		"components":            {append(slices.Clone(base[:3]), `"x-bot":{"components":["x"],"envs":[{"name":"p","approvers":["github:a","github:b"]},{"name":"q","branch":"x"}]}`), true},
		"ticks":                 {append(slices.Clone(base[:3]), `"x-bot":{"tick":false,"envs":[{"name":"p","approvers":["github:a","github:b"]},{"name":"q","branch":"x"}]}`), true},
		"branch of ci.green":    {[]string{base[0], `"ci":{"green":{"branch":"trunk","phases":{"c":["l"]},"require":["c"]}}`, base[2], base[3]}, true},
		"drafts are planned":    {append(slices.Clone(base[:3]), `"x-bot":{"plan":{"drafts":true},"envs":[{"name":"p","approvers":["github:a","github:b"]},{"name":"q","branch":"x"}]}`), true},
		"review rule of an env": {[]string{base[0], base[1], base[2], bot(`{"name":"p","requireReview":true,"approvers":["github:a","github:b"]},{"name":"q","branch":"x"}`)}, true},
	} {
		if got := TrustChanged(declare(t, with(base...)), declare(t, with(c.head...))); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if TrustChanged(nil, declare(t, with())) || !TrustChanged(nil, declare(t, with(`"security":["review-rules"]`))) {
		t.Error("a missing declaration declares nothing")
	}
}

func TestAWeakenedRuleHoldsUntilTheNextRange(t *testing.T) {
	t.Parallel()
	strict := declare(t, with(`"minReader":"0.108.0"`, green, `"security":["review-rules"]`, `"identity":{"attribution":"identified","gates":{"pr-apply":{"class":"human"}}}`,
		bot(`{"name":"p","applyOnMerge":true,"requireReview":true,"blockMerge":true,"minApprovals":2,"waveGate":"w","approvers":["github:a"]}`)))
	weak := declare(t, with(green, `"x-bot":{"tick":false,"plan":{"drafts":true,"forks":"on-command"},"envs":[{"name":"p","applyOnMerge":true,"approveOnReview":true}]}`))
	for _, got := range []*Declaration{Stricter(strict, weak), Stricter(weak, strict)} {
		e := got.Bot.Envs[0]
		if !got.ReviewRules || !e.RequireReview || !e.BlockMerge || e.MinApprovals != 2 || e.WaveGate != "w" || e.ApproveOnReview || !e.ApplyOnMerge {
			t.Errorf("a rule was weakened: %+v", e)
		}
		if !slices.Equal(e.Approvers, []string{"github:a"}) {
			t.Errorf("approvers %v", e.Approvers)
		}
		if got.Identity == nil || got.Identity.Attribution != "identified" || got.Identity.Gates["pr-apply"].Class != "human" {
			t.Errorf("identity %+v", got.Identity)
		}
		if !got.Bot.Tick || got.Bot.Plan.Drafts || got.Bot.Plan.Forks != "never" {
			t.Errorf("x-bot %+v", got.Bot)
		}
	}
}

func TestApplyOnMergeNeedsBothEndsOfTheRange(t *testing.T) {
	t.Parallel()
	on, off := declare(t, with(green, bot(`{"name":"p","applyOnMerge":true}`))), declare(t, with(green, bot(`{"name":"p"}`)))
	for name, c := range map[string]struct {
		base, tip *Declaration
		want      bool
	}{
		"both": {on, on, true}, "turned on in the range": {off, on, false}, "turned off": {on, off, false},
		"env new in the range": {declare(t, with(green, bot(`{"name":"q"}`))), on, false}, "no x-bot before": {declare(t, with(green)), on, false}, "no declaration before": {nil, on, false},
	} {
		if got := Stricter(c.base, c.tip).Bot.Envs[0].ApplyOnMerge; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if !on.Bot.Envs[0].ApplyOnMerge {
		t.Error("the declaration itself was changed")
	}
	if got := Stricter(on, declare(t, with(green))); got.Bot != nil {
		t.Errorf("an x-bot that is gone came back: %+v", got.Bot)
	}
}

func TestTwoClassesOnOneGateLetNobodyPass(t *testing.T) {
	t.Parallel()
	class := func(c string) *Declaration {
		return declare(t, with(`"minReader":"0.108.0"`, `"identity":{"gates":{"g":{"class":"`+c+`"}}}`))
	}
	if got := Stricter(class("human"), class("domain")).Identity.Gates["g"].Class; got != "domain and human" {
		t.Errorf("class %q", got)
	}
	if got := Stricter(class("human"), declare(t, with(`"minReader":"0.108.0"`, `"identity":{"gates":{"g":{}}}`))).Identity.Gates["g"].Class; got != "human" {
		t.Errorf("class %q", got)
	}
}

func TestBaseDecidesWhatIsTrusted(t *testing.T) {
	t.Parallel()
	base := declare(t, with(`"security":["review-rules"]`, bot(`{"name":"p","branch":"a"}`)))
	head := declare(t, with(green, bot(`{"name":"mine","branch":"a"}`), `"members":[{"name":"m","dir":"m","kind":"chant"}]`))
	got := Trusting(head, base)
	if !got.ReviewRules || got.Bot.Envs[0].Name != "p" || got.Green == nil || len(got.Members) != 1 {
		t.Errorf("got %+v", got)
	}
	if head.ReviewRules || head.Bot.Envs[0].Name != "mine" {
		t.Error("head itself was changed")
	}
}

// drawEnv makes an env with any mix of rules.
func drawEnv(t *rapid.T, label string) Env {
	e := Env{Name: "p", Branch: "main", Gate: "g", Execution: "server",
		ApplyOnMerge: rapid.Bool().Draw(t, label+" apply"), RequireReview: rapid.Bool().Draw(t, label+" review"),
		BlockMerge: rapid.Bool().Draw(t, label+" block"), ApproveOnReview: rapid.Bool().Draw(t, label+" on review"),
		WaveGate: rapid.SampledFrom([]string{"", "w", "v"}).Draw(t, label+" wave"), MinApprovals: rapid.IntRange(1, 3).Draw(t, label+" min"),
		Vars: map[string]digest.Value{}}
	if rapid.Bool().Draw(t, label+" listed") {
		e.Approvers = rapid.SliceOfDistinct(rapid.SampledFrom([]string{"github:a", "github:b", "github:c"}), func(s string) string { return s }).Draw(t, label+" who")
	}
	return e
}

// onEveryList tells whether a person is on each list of approvers that an env has.
func onEveryList(e Env, who string) bool {
	for _, list := range append([][]string{e.Approvers}, e.AlsoApprovers...) {
		if list != nil && !slices.Contains(list, who) {
			return false
		}
	}
	return true
}

func TestStricterIsNeverWeakerThanEither(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawEnv(t, "a"), drawEnv(t, "b")
		got := StricterEnv(a, b)
		for _, e := range []Env{a, b} {
			if got.ApplyOnMerge && !e.ApplyOnMerge || got.ApproveOnReview && !e.ApproveOnReview || !got.RequireReview && e.RequireReview ||
				!got.BlockMerge && e.BlockMerge || got.MinApprovals < e.MinApprovals || got.WaveGate == "" && e.WaveGate != "" {
				t.Fatalf("%+v is weaker than %+v", got, e)
			}
			for _, who := range []string{"github:a", "github:b", "github:c", "github:d"} {
				if onEveryList(got, who) && !onEveryList(e, who) {
					t.Fatalf("%s may approve under %+v but not under %+v", who, got, e)
				}
			}
		}
		if again := StricterEnv(a, got); !sameEnv(again, StricterEnv(a, again)) {
			t.Fatalf("not stable: %+v", again)
		}
	})
}
