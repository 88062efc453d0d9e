package mutants

// grouped break how a group is started, ended and carried on (pr-loop §8.2), and what
// keeps it from forming.
var grouped = []mutant{
	{
		name: "group: it starts though one of it is held", file: "engine/run/group.go",
		old: "if mate.Status == Held || mate.Status == Blocked {", new: "if mate.Status == Blocked {", killers: "./engine/run",
	},
	{
		name: "group: it starts though one of it is held, as it is played", file: "engine/run/group.go",
		old: "if mate.Status == Held || mate.Status == Blocked {", new: "if false {", killers: "./engine/model",
	},
	{
		name: "group: it starts though one of it is blocked", file: "engine/run/group.go",
		old: "if mate.Status == Held || mate.Status == Blocked {", new: "if mate.Status == Held {", killers: "./engine/run",
	},
	{
		name: "group: only one of it starts", file: "engine/run/step.go",
		old: "for _, m := range s.group(s.Members[member]) {", new: "for _, m := range []*MemberState{s.Members[member]} {", killers: "./engine/run",
	},
	{
		name: "group: what it did not reach counts as applied", file: "engine/run/step.go",
		old: "case o.NotReached:\n\t\tm.Status = Held", new: "case o.NotReached:\n\t\tm.Status = Applied", killers: "./engine/run",
	},
	{
		name: "group: taking back its start leaves the others running", file: "engine/run/step.go",
		old: "for _, mate := range s.group(m) {\n\t\tif mate.Status == Running {", new: "for _, mate := range []*MemberState{m} {\n\t\tif mate.Status == Running {",
		killers: "./engine/run",
	},
	{
		name: "group: taking back its start takes back what ended", file: "engine/run/step.go",
		old: "if mate.Status == Running {\n\t\t\tmate.Status, mate.Started = Pending, 0", new: "if true {\n\t\t\tmate.Status, mate.Started = Pending, 0", killers: "./engine/run",
	},
	{
		name: "group: any two components depend within a wave", file: "engine/run/group.go",
		old: `return len(a) == 1 && len(b) == 1 && a[0].Group != "" && a[0].Group == b[0].Group`, new: "return len(a) > 0 && len(b) > 0", killers: "./engine/run",
	},
	{
		name: "round: a value that never was known has not moved", file: "engine/run/input.go",
		old: `r.Hash == "" || r.Hash != now.Hash`, new: "r.Hash != now.Hash", killers: "./engine/run",
	},
	{
		name: "round: a value that is secret in the newer plan is shown", file: "engine/run/input.go",
		old: `if r.Sensitive && now.Hash != "" {`, new: "if false {", killers: "./engine/run",
	},
	{
		name: "round: a value that was not secret before is shown as it was", file: "engine/run/input.go",
		old: "r.Sensitive = r.Sensitive || now.Sensitive", new: "_ = now.Sensitive", killers: "./engine/run",
	},
	{
		name: "group: a wave gate leaves it whole", file: "app/usecase/apply.go",
		old: `WaveByWave: t.Policy.Env.WaveGate != "",`, new: "WaveByWave: false,", killers: "./app/soundness", run: "TestUnderAWaveGateNoGroupIsApplied",
	},
	{
		name: "group: what an apply left that nobody saw end is not given back", file: "engine/drivers/terraform/groupsplit.go",
		old:     "out, err := grp.settle(ctx, p, j, end)\n\treturn out, true, errors.Join(err, grp.release(ctx))",
		new:     "_, _ = j, end\n\tout, err := grp.noted(ctx, p)\n\treturn out, true, errors.Join(err, grp.release(ctx))",
		killers: "./engine/drivers/terraform", run: "TestAGroupsApplyThatIsKilledAtAnyStep",
	},
	{
		name: "group: nobody else is told of its apply", file: "engine/drivers/terraform/groupapply.go",
		old: "if grp.t.Begun != nil {", new: "if false {", killers: "./engine/drivers/terraform", run: "TestAGroupThatNobodyIsToldOf",
	},
	{
		name: "group: its mark is not written", file: "app/usecase/groupmarks.go",
		old: "return groups.Begin(record.OpenGroup{", new: "return groups.IsOpen(g.mark()) && groups.Begin(record.OpenGroup{",
		killers: "./app/soundness", run: "TestAGroupWhoseMachineIsGone",
	},
	{
		name: "group: its mark is not looked at", file: "app/usecase/groupends.go",
		old: `case here, run != "" && o.Run == run:`, new: `case here, o.ID != "":`, killers: "./app/soundness", run: "TestAGroupWhoseMachineIsGone",
	},
	{
		name: "kept state: its mark is not looked at", file: "app/usecase/keptmarks.go",
		old: "return e.applier.Keeps(o.ID)", new: "return true, nil", killers: "./app/usecase", run: "TestAKeptStateIsKnown",
	},
	{
		name: "kept state: nobody else is told", file: "engine/drivers/terraform/errored.go",
		old: "if t.Keeper == nil {\n\t\treturn", new: "if t.Keeper == nil || t.Keeper != nil {\n\t\treturn", killers: "./engine/drivers/terraform", run: "TestAStateThatItsBackendDoesNotTake",
	},
	{
		name: "kept state: its mark is gone though it is not stored", file: "engine/drivers/terraform/kept.go",
		old: "if !pushed || !belongs {", new: "if (!pushed || !belongs) && !known {", killers: "./engine/drivers/terraform", run: "TestAKeptStateIsDealtWith",
	},
	{
		name: "kept state: it is stored wherever the code looks", file: "engine/drivers/terraform/kept.go",
		old: "if !pushed || !belongs {", new: "if !pushed {", killers: "./engine/drivers/terraform", run: "TestAKeptStateIsOfOneRoot",
	},
	{
		name: "kept state: what a killed command left is not looked for", file: "engine/drivers/terraform/kept.go",
		old: "if err := w.keepLeft(ctx); err != nil {", new: "if false {\n\t\tvar err error", killers: "./engine/drivers/terraform", run: "TestWhatAnApplyLeftThatNobody",
	},
	{
		name: "kept state: a void one is planned without", file: "app/usecase/keptmarks.go",
		old: "return marks.WasReleased(id), err", new: "return marks.WasReleased(id) || id != \"\", err", killers: "./app/usecase", run: "TestAKeptStateIsKnown",
	},
	{
		name: "fan-out: two roots of two waves keep one state", file: "app/usecase/rollout.go",
		old: "if err := r.placeStates(ctx); err != nil {", new: "if false {\n\t\tvar err error", killers: "./cmd/chant", run: "TestScripts/fan_out$",
	},
	{
		name: "group: its mark is gone before the states are there", file: "engine/drivers/terraform/groupsplit.go",
		old: "if err == nil && !kept {", new: "if err == nil {", killers: "./engine/drivers/terraform", run: "TestAPartThatCantBePushed",
	},
	{
		name: "group: a void journal gives states", file: "app/usecase/groupends.go",
		old: "case !e.isVoid(u):", new: "case !e.isVoid(u) || u.Journal != \"\":", killers: "./app/soundness", run: "TestAGroupWhoseMachineIsGone",
	},
	{
		name: "group: one that waits for its state is planned with others", file: "app/usecase/groupplan.go",
		old: "if p.in.Open.of(m.name) != nil {", new: "if false {", killers: "./app/usecase", run: "TestAMemberThatWaitsForItsState",
	},
	{
		name: "group: its recovery is skipped", file: "app/usecase/resume.go",
		old: "if g := ex.pass.Set.groupOf(member); g != nil {", new: "if g := ex.pass.Set.groupOf(member); g != nil && g.Members == nil {",
		killers: "./app/soundness", run: "TestAGroupWhoseServerIsKilledEndsOnce",
	},
}
