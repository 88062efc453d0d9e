package mutants

// deployed break what keeps a pull request's environment apart from a declared one
// (components decision 6), and what a release may apply (components §1.3).
var deployed = []mutant{
	{
		name: "pr-env: the state of any backend will do", file: "engine/drivers/terraform/apart.go",
		old: "	default:\n		return nil, w.notApart(", new: "	case false:\n		return nil, w.notApart(", killers: "./engine/drivers/terraform", run: "TestAState|TestAWorkspace",
	},
	{
		name: "pr-env: a key leads out of its folder", file: "engine/drivers/terraform/apart.go",
		old: "path.Join(key) == key &&", new: "path.Join(key) != \"\" &&", killers: "./engine/drivers/terraform", run: "TestAWorkspace",
	},
	{
		name: "pr-env: a declared root has the workspace", file: "engine/drivers/terraform/apart.go",
		old: "if other.Workspace == name {", new: "if false {", killers: "./engine/drivers/terraform", run: "TestAState",
	},
	{
		name: "pr-env: its code may write declared states", file: "engine/drivers/terraform/apart.go",
		old: "if isOwnPath(other.Workspace, key) && w.d.mayWrite(value) {", new: "if false && isOwnPath(other.Workspace, key) && w.d.mayWrite(value) {",
		killers: "./engine/drivers/terraform", run: "TestAState",
	},
	{
		name: "pr-env: a declared state has its name", file: "engine/drivers/terraform/apart.go",
		old: "if slices.Contains(strings.Split(filepath.ToSlash(value), \"/\"), name) {", new: "if false {", killers: "./engine/drivers/terraform", run: "TestAState",
	},
	{
		name: "pr-env: roots run in their declared workspaces", file: "app/usecase/pullenv.go",
		old: "root.Workspace = name", new: "_ = name", killers: "./cmd/chant", run: "TestScripts/pr_env$", slow: true,
	},
	{
		name: "pr-env: no credentials are none too", file: "app/usecase/pullenv.go",
		old: "if len(pairs) == 0 {", new: "if len(pairs) < 0 {", killers: "./cmd/chant", run: "TestScripts/pr_env$", slow: true,
	},
	{
		name: "pr-env: what exists is taken over", file: "app/usecase/pullenv.go",
		old: "if e.Importing {", new: "if false {", killers: "./cmd/chant", run: "TestScripts/pr_env$", slow: true,
	},
	{
		name: "pr-env: two roots share a state", file: "app/usecase/sharedstates.go",
		old: "case other == \"\":", new: "case other == \"\" || d.own != nil:", killers: "./cmd/chant", run: "TestScripts/pr_env$", slow: true,
	},
	{
		name: "pr-env: what others need is destroyed", file: "app/usecase/pullenvend.go",
		old: "if needed(left, dependsOn, name) {", new: "if needed(nil, dependsOn, name) {", killers: "./cmd/chant", run: "TestScripts/pr_env$", slow: true,
	},
	{
		name: "promote: another commit than the one checked out", file: "app/usecase/promote.go",
		old: "case t.Commit != in.Head:", new: "case false:", killers: "./cmd/chant", run: "TestScripts/promote$", slow: true,
	},
	{
		name: "promote: a commit that is not green", file: "app/usecase/promote.go",
		old: "case t.Refusal != \"\":", new: "case false:", killers: "./cmd/chant", run: "TestScripts/promote$", slow: true,
	},
	{
		name: "promote: a gate that is shut", file: "app/usecase/promotegates.go",
		old: "case !answer.Approved:", new: "case false:", killers: "./cmd/chant", run: "TestScripts/promote$", slow: true,
	},
	{
		name: "promote: an earlier approval covers anything", file: "app/usecase/promotegates.go",
		old: "if ok, _ := cover.PlanCoveredBy(side, *q.side, m); !ok {", new: "if ok, _ := cover.PlanCoveredBy(side, *q.side, m); !ok && false {",
		killers: "./cmd/chant", run: "TestScripts/promote$", slow: true,
	},
	{
		name: "promote: what was held back needs no round", file: "app/usecase/promoterounds.go",
		old: "case held && !a.isOpened(m.Member) && len(a.roundGate(m.Member)) > 0:", new: "case false && held:", killers: "./cmd/chant", run: "TestScripts/promote$", slow: true,
	},
	{
		name: "promote: a part of a release is a release", file: "app/usecase/promotegates.go",
		old: "open = open && ok", new: "_ = ok", killers: "./cmd/chant", run: "TestScripts/promote_gates$",
	},
	{
		name: "a component's gate is asked once for all its steps", file: "app/usecase/deploycomponent.go",
		old: "if len(r.done) > 0 {", new: "if false {", killers: "./cmd/chant", run: "TestScripts/fan_out_gates$", slow: true,
	},
	{
		name: "a group of a pull request's environment is ended in the states of the declared one", file: "app/usecase/deployment.go",
		old: "ends.from = d.mergedAt", new: "_ = d.mergedAt", killers: "./app/usecase", run: "TestAGroupOfAPullRequestsEnvironment",
	},
	{
		name: "a group of a pull request's environment is applied before the ledger knows of it", file: "app/usecase/rolloutgroups.go",
		old: "if err := d.own.before(ctx, d, m); err != nil {", new: "if err := ctx.Err(); err != nil && m != nil {", killers: "./cmd/chant", run: "TestScripts/pr_env$", slow: true,
	},
}
