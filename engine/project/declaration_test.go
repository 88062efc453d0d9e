package project

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/digest"
)

const green = `"ci":{"green":{"branch":"main","phases":{"check":["lint"]},"require":["check"]}}`

// with makes a declaration of the required fields and some more.
func with(fields ...string) string {
	return "{" + strings.Join(append([]string{`"name":"estate"`, `"schema":1`}, fields...), ",\n") + "}"
}

func bot(envs string) string { return `"x-bot":{"envs":[` + envs + `]}` }

func TestDeclarationOfTheSheetIsRead(t *testing.T) {
	t.Parallel()
	d := declare(t, `{ "name": "estate", "schema": 1, "minReader": "0.108.0",
  "members": [ {"name":"network","dir":"infra/network/","kind":"chant"}, {"name":"docs","dir":"docs","kind":"other","because":"no project"} ],
  "ci": { "green": { "branch":"main", "window":"36h",
      "phases": { "check":["lint","unit (*)"], "e2e":{"runs":["e2e"],"skipped":"pass"} },
      "require": ["check","e2e"] } },
  "identity": { "attribution": "identified", "gates": { "pr-apply": {"class":"human"}, "release": {} } },
  "security": ["review-rules"], "x-other": {"anything": [1]},
  "x-bot": {"envs":[{"name":"prod","approvers":["GitHub:Alice","github:@Org/team","github:alice"],"vars":{"zone":{"id":"z1"}}}],
            "plan":{"forks":"on-command","paths":["infra/**"]}} }`)
	want := &Declaration{Name: "estate", Schema: 1, MinReader: "0.108.0", File: "chant.workspace.json",
		Members: []WorkspaceMember{{Name: "network", Dir: "infra/network", Kind: "chant", Line: 2}, {Name: "docs", Dir: "docs", Kind: "other", Because: "no project", Line: 2}},
		Green: &Green{Branch: "main", Window: 36 * time.Hour, Require: []string{"check", "e2e"},
			Phases: map[string]Phase{"check": {Runs: []string{"lint", "unit (*)"}}, "e2e": {Runs: []string{"e2e"}, SkippedPass: true}}},
		Identity:    &Identity{Attribution: "identified", Gates: map[string]GateRule{"pr-apply": {Class: "human"}, "release": {}}},
		ReviewRules: true,
		Bot: &Bot{Tick: true, Plan: PlanPolicy{Forks: "on-command", Paths: []string{"infra/**"}}, Components: defaultComponents(),
			Envs: []Env{{Name: "prod", Branch: "main", Gate: "pr-apply", Execution: "server", MinApprovals: 1, Line: 8,
				Approvers: []string{"github:alice", "github:@org/team"},
				Vars:      map[string]digest.Value{"zone": digest.ObjectOf(map[string]digest.Value{"id": digest.StringOf("z1")})}}}}}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
}

func TestGreenWindowIsADayUnlessGiven(t *testing.T) {
	t.Parallel()
	if got := declare(t, with(green)).Green.Window; got != 24*time.Hour {
		t.Errorf("window %v, want 24h", got)
	}
}

func TestDeclarationProblemsNameFieldAndFix(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"not an object":                    {`[]`, []string{"must be an object, not a list"}},
		"name missing":                     {`{"schema":1}`, []string{"name: is required"}},
		"name pattern":                     {`{"name":"Estate","schema":1}`, []string{"name:", `"Estate"`, "lower-case"}},
		"name empty":                       {`{"name":"","schema":1}`, []string{"name: must not be empty"}},
		"schema missing":                   {`{"name":"a"}`, []string{"schema: is required", "write 1"}},
		"schema kind":                      {`{"name":"a","schema":"1"}`, []string{"schema: must be a number, not a string"}},
		"schema fraction":                  {`{"name":"a","schema":1.5}`, []string{"whole number"}},
		"schema newer":                     {`{"name":"a","schema":2}`, []string{"schema:", "upgrade chant"}},
		"unknown field suggests":           {with(`"securty":[]`), []string{"chant.workspace.json:3: securty: unknown field", `did you mean "security"?`}},
		"unknown field lists":              {with(`"zzz":1`), []string{"zzz: unknown field", "known here:", "identity"}},
		"x-bot misspelt":                   {with(`"x-bto":{}`), []string{"x-bto:", "x-bot"}},
		"x-bot in capitals":                {with(`"x-Bot":{}`), []string{"x-Bot:", "x-bot"}},
		"minReader pattern":                {with(`"minReader":"1"`), []string{"minReader:", "0.108.0"}},
		"member name twice":                {with(`"members":[{"name":"a","dir":"a","kind":"chant"},{"name":"a","dir":"b","kind":"chant"}]`), []string{"members[1].name", "members[0]", "unique"}},
		"group named like a member":        {with(`"members":[{"name":"a","dir":"a","kind":"chant"}],"groups":[{"name":"a"}]`), []string{"groups[0].name", "members[0]"}},
		"member dir twice":                 {with(`"members":[{"name":"a","dir":"x","kind":"chant"},{"name":"b","dir":"./x/","kind":"chant"}]`), []string{"members[1].dir", `member "a"`}},
		"member in a member":               {with(`"members":[{"name":"a","dir":"x","kind":"chant"},{"name":"b","dir":"x/y","kind":"chant"}]`), []string{"members[1].dir", "never nest"}},
		"member around a member":           {with(`"members":[{"name":"b","dir":"x/y","kind":"chant"},{"name":"a","dir":"x","kind":"chant"}]`), []string{"members[1].dir", "never nest"}},
		"member outside":                   {with(`"members":[{"name":"a","dir":"../x","kind":"chant"}]`), []string{"members[0].dir", "stay inside"}},
		"member absolute":                  {with(`"members":[{"name":"a","dir":"/x","kind":"chant"}]`), []string{"members[0].dir", "relative"}},
		"member backslash":                 {with(`"members":[{"name":"a","dir":"x\\y","kind":"chant"}]`), []string{"members[0].dir", "with /"}},
		"member kind missing":              {with(`"members":[{"name":"a","dir":"x"}]`), []string{"members[0].kind: is required"}},
		"member of kind other says why":    {with(`"members":[{"name":"a","dir":"x","kind":"other"}]`), []string{"members[0].because"}},
		"member unknown field":             {with(`"members":[{"name":"a","dri":"x","dir":"x","kind":"chant"}]`), []string{"members[0].dri", `"dir"`}},
		"branch missing":                   {with(`"ci":{"green":{"phases":{"c":["l"]},"require":["c"]}}`), []string{"ci.green.branch: is required"}},
		"branch with a space":              {with(`"ci":{"green":{"branch":"a b","phases":{"c":["l"]},"require":["c"]}}`), []string{"ci.green.branch", "whitespace"}},
		"branch as a ref":                  {with(`"ci":{"green":{"branch":"refs/heads/main","phases":{"c":["l"]},"require":["c"]}}`), []string{"ci.green.branch", "short name"}},
		"branch as an option":              {with(`"ci":{"green":{"branch":"-f","phases":{"c":["l"]},"require":["c"]}}`), []string{"ci.green.branch", "git does not"}},
		"window pattern":                   {with(`"ci":{"green":{"branch":"m","window":"1h30m","phases":{"c":["l"]},"require":["c"]}}`), []string{"ci.green.window", "24h"}},
		"phases missing":                   {with(`"ci":{"green":{"branch":"m","require":["c"]}}`), []string{"ci.green.phases: is required"}},
		"phases empty":                     {with(`"ci":{"green":{"branch":"m","phases":{},"require":["c"]}}`), []string{"ci.green.phases", "at least one"}},
		"phase name":                       {with(`"ci":{"green":{"branch":"m","phases":{"c d":["l"]},"require":["c d"]}}`), []string{"ci.green.phases.c d", "not allowed"}},
		"phase of the wrong kind":          {with(`"ci":{"green":{"branch":"m","phases":{"c":"l"},"require":["c"]}}`), []string{"ci.green.phases.c:", "a list of check-run names"}},
		"phase without runs":               {with(`"ci":{"green":{"branch":"m","phases":{"c":{"skipped":"pass"}},"require":["c"]}}`), []string{"ci.green.phases.c.runs: is required"}},
		"phase with no runs":               {with(`"ci":{"green":{"branch":"m","phases":{"c":[]},"require":["c"]}}`), []string{"ci.green.phases.c.runs", "at least one"}},
		"run without a name":               {with(`"ci":{"green":{"branch":"m","phases":{"c":[""]},"require":["c"]}}`), []string{"ci.green.phases.c.runs[0]"}},
		"skipped value":                    {with(`"ci":{"green":{"branch":"m","phases":{"c":{"runs":["l"],"skipped":"pas"}},"require":["c"]}}`), []string{"phases.c.skipped", `did you mean "pass"?`}},
		"require missing":                  {with(`"ci":{"green":{"branch":"m","phases":{"c":["l"]}}}`), []string{"ci.green.require: is required"}},
		"require empty":                    {with(`"ci":{"green":{"branch":"m","phases":{"c":["l"]},"require":[]}}`), []string{"ci.green.require", "at least one"}},
		"require of an unknown phase":      {with(`"ci":{"green":{"branch":"m","phases":{"check":["l"]},"require":["chekc"]}}`), []string{"ci.green.require[0]", `did you mean "check"?`}},
		"require twice":                    {with(`"ci":{"green":{"branch":"m","phases":{"c":["l"]},"require":["c","c"]}}`), []string{"ci.green.require[1]", "twice"}},
		"ci unknown field":                 {with(`"ci":{"gren":{}}`), []string{"ci.gren", `"green"`}},
		"identity without minReader":       {with(`"identity":{}`), []string{"identity:", `"0.102.0"`}},
		"identity under an old reader":     {with(`"minReader":"0.101.9","identity":{}`), []string{"identity:", `"0.102.0"`}},
		"identity unknown field":           {with(`"minReader":"0.102.0","identity":{"gate":{}}`), []string{"identity.gate", `"gates"`}},
		"attribution value":                {with(`"minReader":"0.102.0","identity":{"attribution":"all"}`), []string{"identity.attribution", "any, identified"}},
		"gate rule unknown field":          {with(`"minReader":"0.102.0","identity":{"gates":{"g":{"clas":"human"}}}`), []string{"identity.gates.g.clas", `"class"`}},
		"gate rule gate name":              {with(`"minReader":"0.102.0","identity":{"gates":{"a b":{}}}`), []string{"identity.gates.a b"}},
		"security value":                   {with(`"security":["review-rule"]`), []string{"security[0]", `"review-rules"`}},
		"security kind":                    {with(`"security":"review-rules"`), []string{"security: must be a list, not a string"}},
		"x-bot unknown field":              {with(`"x-bot":{"env":[]}`), []string{"x-bot.env", `"envs"`}},
		"x-bot extension":                  {with(`"x-bot":{"x-more":1}`), []string{"x-bot.x-more", "unknown field"}},
		"x-bot tick kind":                  {with(`"x-bot":{"tick":"yes"}`), []string{"x-bot.tick: must be a boolean"}},
		"x-bot null":                       {with(`"x-bot":null`), []string{"x-bot: must be an object, not null"}},
		"plan forks":                       {with(`"x-bot":{"plan":{"forks":"always"}}`), []string{"x-bot.plan.forks", "never, on-command"}},
		"plan path glob":                   {with(`"x-bot":{"plan":{"paths":["/infra/**"]}}`), []string{"x-bot.plan.paths[0]"}},
		"components empty":                 {with(`"x-bot":{"components":[]}`), []string{"x-bot.components", "at least one"}},
		"components glob":                  {with(`"x-bot":{"components":["a**/x.json"]}`), []string{"x-bot.components[0]", "stands alone"}},
		"env unknown field":                {with(bot(`{"name":"p","aplyOnMerge":true}`)), []string{"x-bot.envs[0].aplyOnMerge", `"applyOnMerge"`}},
		"env name missing":                 {with(bot(`{}`)), []string{"x-bot.envs[0].name: is required"}},
		"env name pattern":                 {with(bot(`{"name":"../x"}`)), []string{"x-bot.envs[0].name"}},
		"env name of a pull request":       {with(bot(`{"name":"pr-12"}`)), []string{"x-bot.envs[0].name", "own environment"}},
		"env name twice":                   {with(bot(`{"name":"p","branch":"a"},{"name":"p","branch":"b"}`)), []string{"x-bot.envs[1].name", "twice"}},
		"two envs with one gate":           {with(bot(`{"name":"p","branch":"a"},{"name":"q","branch":"a"}`)), []string{"x-bot.envs[1].gate", `"p" and "q"`, `"pr-apply-q"`}},
		"any branch and one with one gate": {with(bot(`{"name":"p"},{"name":"q","branch":"a"}`)), []string{"x-bot.envs[1].gate"}},
		"two envs with one wave gate":      {with(bot(`{"name":"p","gate":"a","waveGate":"w"},{"name":"q","gate":"b","waveGate":"w"}`)), []string{"x-bot.envs[1].waveGate"}},
		"green branch by default clashes":  {with(green, bot(`{"name":"p"},{"name":"q","branch":"main"}`)), []string{"x-bot.envs[1].gate"}},
		"gate pattern":                     {with(bot(`{"name":"p","gate":"pr apply"}`)), []string{"x-bot.envs[0].gate"}},
		"apply on merge without ci.green":  {with(bot(`{"name":"p","applyOnMerge":true}`)), []string{"x-bot.envs[0].applyOnMerge", "ci.green"}},
		"apply on merge of another branch": {with(green, bot(`{"name":"p","branch":"dev","applyOnMerge":true}`)), []string{"x-bot.envs[0].applyOnMerge", `"dev"`, `"main"`}},
		"execution value":                  {with(bot(`{"name":"p","execution":"sever"}`)), []string{"x-bot.envs[0].execution", `"server"`}},
		"approvers empty":                  {with(bot(`{"name":"p","approvers":[]}`)), []string{"x-bot.envs[0].approvers"}},
		"approver without a forge":         {with(bot(`{"name":"p","approvers":["alice"]}`)), []string{"x-bot.envs[0].approvers[0]", "github:alice"}},
		"approver without a host":          {with(bot(`{"name":"p","approvers":["forgejo:alice"]}`)), []string{"approvers[0]", "forgejo@<host>"}},
		"approver on a host without dot":   {with(bot(`{"name":"p","approvers":["forgejo@code:alice"]}`)), []string{"approvers[0]", "dot"}},
		"approver of an unknown forge":     {with(bot(`{"name":"p","approvers":["bitbucket:alice"]}`)), []string{"approvers[0]"}},
		"team without an org":              {with(bot(`{"name":"p","approvers":["github:@team"]}`)), []string{"approvers[0]", "@org/team"}},
		"min approvals":                    {with(bot(`{"name":"p","minApprovals":0}`)), []string{"minApprovals", "at least 1"}},
		"var called name":                  {with(bot(`{"name":"p","vars":{"name":"x"}}`)), []string{"vars.name", "$env.name"}},
		"var pattern":                      {with(bot(`{"name":"p","vars":{"a.b":"x"}}`)), []string{"vars.a.b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := ParseDeclaration(node(t, "chant.workspace.json", c.text))
			if d != nil {
				t.Error("a refused declaration was returned")
			}
			wantProblem(t, err, c.want...)
		})
	}
}

func TestMembersInsideTheRootMemberAreFine(t *testing.T) {
	t.Parallel()
	d := declare(t, with(`"members":[{"name":"root","dir":".","kind":"chant"},{"name":"a","dir":"a","kind":"chant"},{"name":"ab","dir":"ab","kind":"chant"}]`))
	if len(d.Members) != 3 {
		t.Errorf("members %v", d.Members)
	}
}

func TestEveryProblemIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := ParseDeclaration(node(t, "chant.workspace.json", "{\n\"schema\":0,\n\"nme\":\"x\",\n\"security\":[\"x\"]}"))
	wantProblem(t, err, "nme", `"name"`)
	wantProblem(t, err, "security[0]")
	wantProblem(t, err, "schema")
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 4 || !strings.HasPrefix(lines[0], "chant.workspace.json:1:") {
		t.Errorf("want four problems in line order, got:\n%v", err)
	}
}

func TestANewerReaderIsTheOnlyProblem(t *testing.T) {
	t.Parallel()
	for version, tooOld := range map[string]bool{"0.124.0": false, "0.99.200": false, "0.124.1": true, "0.125.0": true, "1.0.0": true} {
		_, err := ParseDeclaration(node(t, "chant.workspace.json", with(`"minReader":"`+version+`"`)))
		if !tooOld {
			if err != nil {
				t.Errorf("%s: %v", version, err)
			}
			continue
		}
		_, err = ParseDeclaration(node(t, "chant.workspace.json", with(`"minReader":"`+version+`"`, `"from-the-future":1`)))
		wantProblem(t, err, "minReader", version, "upgrade chant")
		if ps, ok := errors.AsType[Problems](err); !ok || len(ps) != 1 || !ps.Has(CodeReaderTooOld) {
			t.Errorf("%s: got %v", version, err)
		}
	}
}

func TestTwoEnvsOnOneBranchWithTwoGatesAreFine(t *testing.T) {
	t.Parallel()
	d := declare(t, with(bot(`{"name":"p","branch":"a"},{"name":"q","branch":"a","gate":"pr-apply-q"},{"name":"r","branch":"b"}`)))
	if got := len(d.EnvsOf("a", "x")); got != 2 {
		t.Errorf("%d envs on branch a, want 2", got)
	}
}

func TestPrincipalsOfEveryForgeAreAccepted(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"github:alice", "gitlab:a.b-c_d", "github@git.example.com:alice", "forgejo@codeberg.org:alice", "gitea@git.example.com:8443:alice",
		"github:@org/team", "gitlab:@group/sub/team", "github:renovate[bot]", "forgejo@codeberg.org:@org/team"} {
		if next := badPrincipal(who); next != "" {
			t.Errorf("%s: %s", who, next)
		}
	}
	for _, who := range []string{"", ":", "github:", "github:a b", "github:@/x", "github@:a", "github:alice\n", "git hub:alice"} {
		if badPrincipal(who) == "" {
			t.Errorf("%q was accepted", who)
		}
	}
}

func TestPeopleOfGiteaAreNamedAsItsAdapterNamesThem(t *testing.T) {
	t.Parallel()
	d := declare(t, with(bot(`{"name":"p","branch":"a","approvers":["gitea@Git.example.com:Alice","gitea@git.example.com:@org/team","forgejo@git.example.com:alice"]}`)))
	got, want := d.EnvsOf("a", "x")[0].Approvers, []string{"forgejo@git.example.com:alice", "forgejo@git.example.com:@org/team"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzDeclarationNeverPanics(f *testing.F) {
	f.Add(with(green, bot(`{"name":"p","vars":{"a":[1]}}`)))
	f.Add(with(`"members":[{"name":"a","dir":"a","kind":"other"}]`, `"identity":{"gates":{"x":{}}}`))
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			t.Skip()
		}
		n := node(t, "f", text)
		d, err := ParseDeclaration(n)
		if (d == nil) == (err == nil) {
			t.Errorf("declaration %v and error %v", d, err)
		}
		c, err := ParseComponent(n)
		if (c == nil) == (err == nil) {
			t.Errorf("component %v and error %v", c, err)
		}
		k, err := ParseConfig(n)
		if (k == nil) == (err == nil) {
			t.Errorf("config %v and error %v", k, err)
		}
	})
}
