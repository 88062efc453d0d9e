package mutants

// gates break how an approval is looked up (pr-loop §3.4).
var gates = []mutant{
	{
		name: "an approval of the same stamp as a revocation is taken for older", file: "engine/gate/evaluate.go",
		old: "return ok && !t.Before(since)", new: "return ok && t.After(since)", killers: "./engine/gate",
	},
	{
		name: "the order in the file is dropped", file: "engine/gate/evaluate.go",
		old: "for i := len(lines) - 1; i > standing; i-- {", new: "for i := len(lines) - 1; i >= 0; i-- {", killers: "./engine/gate",
	},
	{
		name: "the stamps are dropped", file: "engine/gate/evaluate.go",
		old: "!q.concerns(*r) || !stampedSince(*r, since)", new: "!q.concerns(*r) || false && since.IsZero()", killers: "./engine/gate",
	},
	{
		name: "the env of an approval is dropped", file: "engine/gate/evaluate.go",
		old: `return r.Environment == q.Env || r.Environment == "" && q.OnlyEnv`, new: "return true", killers: "./engine/gate",
	},
	{
		name: "an approval without an env counts in every env", file: "engine/gate/evaluate.go",
		old: `|| r.Environment == "" && q.OnlyEnv`, new: `|| r.Environment == ""`, killers: "./engine/gate",
	},
	{
		name: "a revocation without an env voids nothing", file: "engine/gate/evaluate.go",
		old: `r.Environment != "" && r.Environment != env {`, new: "r.Environment != env {", killers: "./engine/gate",
	},
	{
		name: "an agent approves", file: "engine/gate/evaluate.go",
		old: "case r.ByAgent():", new: "case r.ByAgent() && false:", killers: "./engine/gate",
	},
	{
		name: "a setting that is not enforced is passed over", file: "engine/gate/evaluate.go",
		old: "case same && len(d.Unenforced) == 0 && d.Record == nil:", new: "case same && d.Record == nil:", killers: "./engine/gate",
	},
	{
		name: "a digest left out opens the gate", file: "engine/gate/evaluate.go",
		old: "same := q.AnyPlan && q.Digest.IsZero() ||", new: "same := q.Digest.IsZero() ||", killers: "./engine/gate",
	},
	{
		name: "a rule for a gate leaves its rounds open", file: "engine/project/names.go",
		old: "(?:round|wave)", new: "(?:wave)", killers: "./engine/project ./app/usecase", run: "TestIdentity",
	},
	{
		name: "a rule for a gate leaves its waves open", file: "engine/project/names.go",
		old: "(?:round|wave)", new: "(?:round)", killers: "./engine/project ./app/usecase", run: "TestIdentity",
	},
	{
		name: "a rule for the gate of a component leaves its rounds open", file: "app/usecase/deploygate.go",
		old: "p.Refuse = p.Env.Unenforced(d.in.Binds, name)", new: "p.Refuse = nil", killers: "./app/usecase", run: "TestIdentity",
	},
	{
		name: "a round or a wave is approved by hand under a rule that nobody checked", file: "app/usecase/handapprove.go",
		old: "Unenforced(in.Declaration, a.Gate); len(names) > 0 {", new: "Unenforced(in.Declaration, a.Gate); len(names) > 0 && e.Gate == a.Gate {", killers: "./app/usecase", run: "TestIdentity",
	},
}

// coverage breaks each clause of the coverage test (pr-loop §5.11, §6.4).
var coverage = []mutant{
	{
		name: "clause 2: a member the approved plan does not have", file: "engine/cover/member.go",
		old: `return false, "the approved plan does not have it"`, new: `return true, ""`, killers: "./engine/cover",
	},
	{
		name: "clause 3: a plan that failed", file: "engine/cover/member.go",
		old: "case now.Status != changeset.Planned:\n\t\treturn \"it failed to plan\"", new: "case false:\n\t\treturn \"\"", killers: "./engine/cover",
	},
	{
		name: "clause 3: a plan without a digest", file: "engine/cover/member.go",
		old: "case now.PlanDigest == nil || now.PlanDigest.IsZero():", new: "case now.PlanDigest == nil:", killers: "./engine/cover",
	},
	{
		name: "clause 4: a plan on provisional values", file: "engine/cover/member.go",
		old: "case now.Provisional:", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "clause 4: approved on provisional values", file: "engine/cover/member.go",
		old: "case then.Provisional:", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "clause 4: approved while an input was not known", file: "engine/cover/member.go",
		old: "for _, h := range then.Holes {\n\t\tif h.Type == changeset.InputHole {", new: "for _, h := range then.Holes {\n\t\tif false {", killers: "./engine/cover",
	},
	{
		name: "clause 4: an input is not known yet", file: "engine/cover/member.go",
		old: "for _, h := range now.Holes {\n\t\tif h.Type == changeset.InputHole {", new: "for _, h := range now.Holes {\n\t\tif false {", killers: "./engine/cover",
	},
	{
		name: "the source is dropped", file: "engine/cover/member.go",
		old: "if !sameSource(approved, fresh, member) {", new: "if false {", killers: "./engine/cover",
	},
	{
		name: "an unknown source equals another", file: "engine/cover/member.go",
		old: `return then != "" && then == now`, new: "return then == now", killers: "./engine/cover",
	},
	{
		name: "under another source a provisioner is passed over", file: "engine/cover/member.go",
		old: "case len(code.Provisioners) > 0:", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "under another source a program is passed over", file: "engine/cover/member.go",
		old: "case len(code.External) > 0:", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "under another source a late read is passed over", file: "engine/cover/member.go",
		old: "case code.HasDeferredReads:", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "under another source another provider configuration is passed over", file: "engine/cover/member.go",
		old: "case !digest.Same(then.ProviderConfig, now.ProviderConfig):", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "under another source a value known after apply is passed over", file: "engine/cover/member.go",
		old: "case a.Unknown:", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "under another source a sensitive value is passed over", file: "engine/cover/member.go",
		old: "case a.Sensitive:", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "under another source an action is passed over", file: "engine/cover/member.go",
		old: "if len(p.SideEffects) > 0 {", new: "if false {", killers: "./engine/cover",
	},
	{
		name: "numbers the digest rounds are dropped", file: "engine/cover/member.go",
		old: `if equal && reason != "" { // equal only`, new: `if false && reason != "" { // equal only`, killers: "./engine/cover",
	},
	{
		name: "clause 5: approved though it failed to plan", file: "engine/cover/member.go",
		old: "if then.Member.Status != changeset.Planned { // 5", new: "if false { // 5", killers: "./engine/cover",
	},
	{
		name: "clause 6: a new hole", file: "engine/cover/member.go",
		old: "if !known[h.Address] {", new: "if false {", killers: "./engine/cover",
	},
	{
		name: "clause 7: another address", file: "engine/cover/entry.go",
		old: "return fmt.Sprintf(\"`%s`: %s was not in the approved plan\", now.Address, now.Action)", new: "continue", killers: "./engine/cover",
	},
	{
		name: "clause 7: another action", file: "engine/cover/entry.go",
		old: "case then.Action != now.Action && !half:", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "clause 7: an import", file: "engine/cover/entry.go",
		old: "case now.Importing && !then.Importing:", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "clause 7: a harsher disruption", file: "engine/cover/entry.go",
		old: "case !half && rank(now.Disruption) > rank(then.Disruption):", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "clause 7: another region", file: "engine/cover/entry.go",
		old: `case now.Region != then.Region && now.Region != "" && then.Region != "":`, new: "case false:", killers: "./engine/cover",
	},
	{
		name: "clause 7: an attribute the approved plan did not write", file: "engine/cover/entry.go",
		old: "if half && now.Action == changeset.Create {", new: "if true {", killers: "./engine/cover",
	},
	{
		name: "clause 7: a value that was not seen", file: "engine/cover/entry.go",
		old: "case then.Sensitive:", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "clause 7: a value that is sensitive now", file: "engine/cover/entry.go",
		old: "case now.Sensitive && !then.Sensitive:", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "clause 7: known when approved, not known now", file: "engine/cover/entry.go",
		old: "case now.Unknown:", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "clause 7: another value", file: "engine/cover/entry.go",
		old: "case !equalOrNull(then.After, now.After):", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "the value before the change is dropped", file: "engine/cover/entry.go",
		old: "case compareBefore && !equalOrNull(then.Before, now.Before):", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "the id of what is changed is dropped", file: "engine/cover/entry.go",
		old: `case now.ID != then.ID && now.ID != "" && then.ID != "":`, new: "case false:", killers: "./engine/cover",
	},
	{
		name: "clause 3: another planner, or into another scope", file: "engine/cover/member.go",
		old: "case then.Planner != now.Planner || then.Lexicon != now.Lexicon || then.Scope != now.Scope:", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "clause 4: an equal digest under another source tells all", file: "engine/cover/member.go",
		old: "if !exactDigest {", new: "if false {", killers: "./engine/cover",
	},
	{
		name: "under another source what nobody looked at runs nothing", file: "engine/cover/member.go",
		old: "if !known || !knownNow {", new: "if false && !known && !knownNow {", killers: "./engine/cover",
	},
	{
		name: "under another source a provider that is configured alike points to the same", file: "engine/cover/member.go",
		old: "case !now.ProviderConfig.IsZero():", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "under another source a hole is passed over", file: "engine/cover/member.go",
		old: "case len(p.Member.Holes) > 0:", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "under another source a read left to the apply is passed over", file: "engine/cover/member.go",
		old: "if e.Action == changeset.Read {", new: "if false {", killers: "./engine/cover",
	},
	{
		name: "a hidden number among others is taken for equal", file: "engine/cover/member.go",
		old: "exact = exact && !x.Sensitive", new: "exact = !x.Sensitive", killers: "./engine/cover",
	},
	{
		name: "clause 7: another type or planner", file: "engine/cover/entry.go",
		old: "case then.Type != now.Type || then.Lexicon != now.Lexicon || then.Planner != now.Planner:", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "clause 7: another scope", file: "engine/cover/entry.go",
		old: "case now.Scope != then.Scope:", new: "case false:", killers: "./engine/cover",
	},
	{
		name: "clause 7: the delete that is left writes what nobody approved", file: "engine/cover/entry.go",
		old: "if half && now.Action == changeset.Create {", new: "if half {", killers: "./engine/cover",
	},
	{
		name: "clause 8: a new action", file: "engine/cover/member.go",
		old: "if !known[key{s.Address, s.Type, s.Trigger, s.Event}] {", new: "if false {", killers: "./engine/cover",
	},
	{
		name: "a merge that was revoked hides nothing", file: "engine/cover/cover.go",
		old: "if m.Revoked {", new: "if false {", killers: "./engine/cover",
	},
	{
		name: "the first merge that planned a member covers it", file: "engine/cover/cover.go",
		old: "if newest[name] == nil {", new: "if true {", killers: "./engine/cover",
	},
	{
		name: "a merge that cannot be read is passed over", file: "engine/cover/cover.go",
		old: "if m.Doc == nil {\n\t\t\treturn newest, m", new: "if m.Doc == nil {\n\t\t\tcontinue", killers: "./engine/cover",
	},
}

// fences break what keeps an older commit, or another run, from applying.
var fences = []mutant{
	{
		name: "a newer commit that was applied is dropped", file: "engine/record/fence.go",
		old: "case there < here:", new: "case false:", killers: "./engine/record",
	},
	{
		name: "a commit that is not on the branch is dropped", file: "engine/record/fence.go",
		old: "case there < 0:", new: "case false:", killers: "./engine/record",
	},
	{
		name: "another run's attempt is dropped", file: "engine/record/fence.go",
		old: "case attempt.Token != token || attempt.Commit != commit:", new: "case false:", killers: "./engine/record",
	},
	{
		name: "a tag that peels to another commit counts", file: "engine/green/tags.go",
		old: "case t.Commit == named && onLine[named]:", new: "case onLine[named]:", killers: "./engine/green",
	},
	{
		name: "a tag of a commit that is not on the branch counts", file: "engine/green/tags.go",
		old: "case t.Commit == named && onLine[named]:", new: "case t.Commit == named:", killers: "./engine/green",
	},
	{
		name: "the policy is read at the tip only", file: "app/usecase/target.go",
		old: "d = project.Stricter(base, tip)", new: "_ = project.Stricter", killers: "./app/usecase", run: "TestTheStricterOfBaseAndTipBindsAnApply",
	},
	{
		name: "the stricter of two policies does not ask for more approvals", file: "engine/project/trust.go",
		old: "e.MinApprovals = max(other.MinApprovals, e.MinApprovals)", new: "_ = other", killers: "./engine/project",
	},
	{
		name: "the policy is read at the base only", file: "app/usecase/target.go",
		old: "d = project.Stricter(base, tip)", new: "d = base", killers: "./app/usecase", run: "TestTheStricterOfBaseAndTipBindsAnApply",
	},
	{
		name: "a step whose end nobody saw starts again", file: "engine/run/step.go",
		old: "m.Status, m.Ended = Unknown, s.tick()", new: "m.Status, m.Ended = Pending, s.tick()", killers: "./engine/run",
	},
}

// played are noticed by whoever plays the whole of it, whatever their own tests say.
var played = []mutant{
	{
		name: "played: the env of an approval is dropped", file: "engine/gate/evaluate.go",
		old: `return r.Environment == q.Env || r.Environment == "" && q.OnlyEnv`, new: "return true", killers: "./engine/model",
	},
	{
		name: "played: the source is dropped", file: "engine/cover/member.go",
		old: "if !sameSource(approved, fresh, member) {", new: "if false {", killers: "./engine/model",
	},
	{
		name: "played: the value before the change is dropped", file: "engine/cover/entry.go",
		old: "case compareBefore && !equalOrNull(then.Before, now.Before):", new: "case false:", killers: "./engine/model",
	},
	{
		name: "played: a newer commit that was applied is dropped", file: "engine/record/fence.go",
		old: "case there < here:", new: "case false:", killers: "./engine/model",
	},
	{
		name: "played: another run's attempt is dropped", file: "engine/record/fence.go",
		old: "case attempt.Token != token || attempt.Commit != commit:", new: "case false:", killers: "./engine/model",
	},
	{
		name: "played: the order in the file is dropped", file: "engine/gate/evaluate.go",
		old: "for i := len(lines) - 1; i > standing; i-- {", new: "for i := len(lines) - 1; i >= 0; i-- {", killers: "./engine/model",
	},
	{
		name: "played: another value", file: "engine/cover/entry.go",
		old: "case !equalOrNull(then.After, now.After):", new: "case false:", killers: "./engine/model",
	},
	{
		name: "played: a step whose end nobody saw starts again", file: "engine/run/step.go",
		old: "m.Status, m.Ended = Unknown, s.tick()", new: "m.Status, m.Ended = Pending, s.tick()", killers: "./engine/model",
	},
	{
		name: "played: a merge that was revoked hides nothing", file: "engine/cover/cover.go",
		old: "if m.Revoked {", new: "if false {", killers: "./engine/model",
	},
}

// drivers break what talks to git and to the planner.
var drivers = []mutant{
	{
		name: "the local lease is preferred", file: "engine/drivers/lease/ref.go",
		old: "counts = sideOf(key)\n", new: "counts = refOf(key)\n", killers: "./engine/drivers/lease",
	},
}
