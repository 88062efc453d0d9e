package mutants

// composed break what is planned together (pr-loop §8.1, §8.2), and what a preview's
// shape is held to (components §3.1).
var composed = []mutant{
	{
		name: "compose: a component with more than one step joins", file: "engine/compose/grouping.go",
		old: "if len(steps) != 1 || refused ||", new: "if len(steps) == 0 || refused ||", killers: "./engine/compose",
	},
	{
		name: "compose: what a driver refuses joins", file: "engine/compose/grouping.go",
		old: "if len(steps) != 1 || refused ||", new: "if len(steps) != 1 || refused && false ||", killers: "./engine/compose",
	},
	{
		name: "compose: a live component joins", file: "engine/compose/grouping.go",
		old: "g.in.Live[c.Name] ||", new: "", killers: "./engine/compose",
	},
	{
		name: "compose: what choudoufu applies is never live", file: "app/usecase/groups.go",
		old: "Live: p.live(),", new: "", killers: "./app/usecase", run: "TestWhoJoinsAGroupInAFanOut",
	},
	{
		name: "compose: a canary joins", file: "engine/compose/grouping.go",
		old: "slices.Contains(g.in.Canary, c.Name) ||", new: "", killers: "./engine/compose",
	},
	{
		name: "compose: what only follows connects", file: "engine/compose/grouping.go",
		old: "for _, j := range g.reads[i] {", new: "for _, j := range g.deps[i] {", killers: "./engine/compose",
	},
	{
		name: "compose: kinds are mixed", file: "engine/compose/grouping.go",
		old: "return g.kind[i] == g.kind[j] }", new: "return i >= j }", killers: "./engine/compose",
	},
	{
		name: "compose: a path through what is outside splits nothing", file: "engine/compose/grouping.go",
		old: "if g.refine() || g.dropUnknown() {", new: "if g.dropUnknown() {", killers: "./engine/compose",
	},
	{
		name: "compose: a member waits for a value from outside", file: "engine/compose/grouping.go",
		old: "if g.refine() || g.dropUnknown() {", new: "if g.refine() {", killers: "./engine/compose",
	},
	{
		name: "compose: what a plan moves is known", file: "engine/compose/moved.go",
		old: "|| movesOutput(moves[read.Component], read.Output) {", new: "{", killers: "./engine/compose",
	},
	{
		name: "compose: the outputs of a hole stand", file: "engine/compose/moved.go",
		old: "hole[read.Component] ||", new: "", killers: "./engine/compose",
	},
	{
		name: "compose: a part that moves leaves the whole", file: "engine/compose/moved.go",
		old: `strings.HasPrefix(m, read+".") ||`, new: "", killers: "./engine/compose",
	},
	{
		name: "compose: an output known after the apply does not move", file: "engine/plans/terraform/moves.go",
		old: "if stays && !hasTrue(unknown) {", new: "if stays {", killers: "./engine/plans/terraform",
	},
	{
		name: "compose: a reader keeps the plan with the value that moves", file: "app/usecase/movedplans.go",
		old: "p.makeHoles(ctx, members, moved)", new: "", killers: "./app/usecase",
	},
	{
		name: "compose: a group that reads what moves stays", file: "app/usecase/movedplans.go",
		old: "if len(in.Unknown) > known {", new: "if len(in.Unknown) > known && false {", killers: "./app/usecase",
	},
	{
		name: "compose: a wave gate leaves groups", file: "engine/compose/fallback.go",
		old: "case g.in.WaveGates:", new: "case false:", killers: "./engine/compose",
	},
	{
		name: "compose: switched off, groups form", file: "engine/compose/fallback.go",
		old: `case off != "":`, new: "case false:", killers: "./engine/compose",
	},
	{
		name: "compose: a step without its value is plain", file: "engine/compose/result.go",
		old: "of[read.Step] = g.withoutValue(steps[read.Step])", new: "_ = g.withoutValue(steps[read.Step])", killers: "./engine/compose",
	},
	{
		name: "compose: what cannot preview does", file: "engine/compose/result.go",
		old: "if g.in.Kinds[s.Kind].Previews {", new: "if true {", killers: "./engine/compose",
	},
	{
		name: "compose: a group starts before what it follows", file: "engine/compose/result.go",
		old: "if g.one(dep) != g.one(i) && !canary[dep] {", new: "if g.one(i) == i && g.one(dep) != i && !canary[dep] {", killers: "./engine/compose",
	},
	{
		name: "shape: a stand-in stays known", file: "engine/cover/shape.go",
		old: "if holds(a.After, standIns) {", new: "if false {", killers: "./engine/cover",
	},
	{
		name: "shape: what the stand-in made is kept", file: "engine/cover/shape.go",
		old: "a.After, a.Unknown = digest.Value{}, true", new: "a.Unknown = true", killers: "./engine/cover",
	},
	{
		name: "shape: an address may follow from the stand-in", file: "engine/cover/shape.go",
		old: `if at := reached(e, standIns); at != "" {`, new: `if at := reached(e, standIns); at == "?" {`, killers: "./engine/cover",
	},
	{
		name: "shape: the path of an attribute may follow from the stand-in", file: "engine/cover/shape.go",
		old: "holdsText(standIns, a.Path) || ", new: "", killers: "./engine/cover",
	},
	{
		name: "shape: a stand-in in a key stays known", file: "engine/cover/shape.go",
		old: " || holdsText(standIns, v.Keys()...)", new: "", killers: "./engine/cover",
	},
	{
		name: "shape: the planner's digest is kept", file: "engine/cover/shape.go",
		old: "s.Member.PlanDigest = &d", new: "_ = d", killers: "./engine/cover ./engine/drivers/drivertest",
	},
	{
		name: "shape: the value moved a change away", file: "engine/cover/shape.go",
		old: "if changes(e) && !planned[key{e.Address, e.Deposed}] {", new: "if false {", killers: "./engine/cover",
	},
	{
		name: "shape: the plan waits for a value itself", file: "engine/cover/shape.go",
		old: "if reason := notComparable(s.Member, plan.Member); reason != \"\" {", new: "if false {\n\t\tvar reason string", killers: "./engine/cover",
	},
	{
		name: "shape: what the plan does is not compared", file: "engine/cover/shape.go",
		old: "if reason := ofOneSource(s.Part, plan); reason != \"\" {", new: "if false {\n\t\tvar reason string", killers: "./engine/cover",
	},
	{
		name: "shape: of another member", file: "engine/cover/shape.go",
		old: "if s.Member.Member != plan.Member.Member {", new: "if false {", killers: "./engine/cover",
	},
}
