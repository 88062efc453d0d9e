package mutants

// decided break who opens a round, and what a gated wave rests on (pr-loop §5.10, §7.4).
var decided = []mutant{
	{
		name: "round: who reviewed nothing opens it", file: "app/usecase/waiting.go",
		old: "rule.NeedReview = true", new: "rule.NeedReview = false", killers: "./app/soundness", run: "TestWithTheReviewRuleAnAuthorOpensNoRound",
	},
	{
		name: "green gate: who wrote a merge without a record opens it", file: "app/usecase/greengate.go",
		old: "if !recorded[m.Commit] {", new: "if !recorded[m.Commit] && m.PR != nil {", killers: "./app/usecase", run: "TestUnderTheReviewRuleNobodyApprovesAMergeThatIsNotRecorded",
	},
	{
		name: "record: without a forge it names no author", file: "app/usecase/record.go",
		old: "if p.ReviewRules && in.Site.Forge == nil {", new: "if p.ReviewRules && in.Site == nil {", killers: "./app/usecase", run: "TestUnderTheReviewRuleNothingIsRecordedWithoutAForge",
	},
	{
		name: "wave: it applies though a merge's approval fell", file: "app/usecase/pass.go",
		old: "if !stands {", new: "if !stands && m.PR == nil {", killers: "./app/soundness", run: "TestAMainApprovalRevokedBetweenGatedWavesStopsTheLaterOnes",
	},
	{
		name: "apply: a green tag is believed where it begins", file: "app/usecase/target.go",
		old: "t.Refusal, err = st.judgeAgain(ctx, in.Site, t.Commit, declaration)", new: "", killers: "./app/usecase", run: "TestAGreenTagIsNotBelievedOverAFailedCheck",
	},
	{
		name: "apply: a green tag is believed before a step", file: "app/usecase/carryout.go",
		old: "return ex.judgeAgain(ctx, site, a.State.Commit, declaration)", new: "_ = declaration; return \"\", nil", killers: "./app/usecase", run: "TestAGreenTagIsNotBelievedOverAFailedCheck",
	},
	{
		name: "apply: what an unfinished one changed is forgotten", file: "app/usecase/members.go",
		old: "append([]string{in.Base}, in.Tried...)", new: "[]string{in.Base}", killers: "./app/usecase", run: "TestAChangeTakenBackBeforeItsApplyFinishedIsPlanned",
	},
	{
		name: "apply: only the newest unfinished one is known", file: "engine/record/fence.go",
		old: "append(slices.Clone(attempt.Started), attempt.Commit)", new: "[]string{attempt.Commit}", killers: "./engine/record", run: "TestUnfinished",
	},
	{
		name: "note: it goes by what was seen before another fact came", file: "app/settle/seen.go",
		old: "generation != given.generation+1", new: "generation == 0", killers: "./app/settle", run: "TestASettleGoesByWhatThePlanSawUnlessAnotherFactCame",
	},
	{
		name: "a secret that is handed on is shown", file: "app/usecase/handedon.go",
		old: "|| hidden || holdsSecret(o.Value, secrets)", new: "|| hidden && secrets == nil", killers: "./app/usecase", run: "TestAnOutputThatHandsASecretOnIsOne",
	},
	{
		name: "a secret that could not be read hides nothing", file: "app/usecase/handedon.go",
		old: "|| hidden || holdsSecret", new: "|| holdsSecret", killers: "./app/usecase", run: "TestAnOutputThatHandsASecretOnIsOne",
	},
	{
		name: "a secret further up is not read", file: "app/usecase/handedon.go",
		old: "all[from], next = true, append(next, from)", new: "all[from] = true", killers: "./app/usecase", run: "TestWhatDeclaresASecretFurtherUpIsRead",
	},
	{
		name: "a plan takes the outputs for what their roots declare", file: "app/usecase/upstreams.go",
		old: "= u.shownAs(names...), u.errs()", new: "= u.values(), u.errs()", killers: "./app/soundness", run: "TestASecretThatIsHandedOnIsShownNowhere",
	},
}
