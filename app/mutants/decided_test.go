package mutants

// decided break who opens a round, and what a gated wave rests on (pr-loop §5.10, §7.4).
var decided = []mutant{
	{
		name: "round: who reviewed nothing opens it", file: "app/usecase/waiting.go",
		old: "rule.NeedReview = true", new: "rule.NeedReview = false", killers: "./app/soundness", run: "TestWithTheReviewRuleAnAuthorOpensNoRound",
	},
	{
		name: "wave: it applies though a merge's approval fell", file: "app/usecase/pass.go",
		old: "if !stands {", new: "if !stands && m.PR == nil {", killers: "./app/soundness", run: "TestAMainApprovalRevokedBetweenGatedWavesStopsTheLaterOnes",
	},
	{
		name: "note: it goes by what was seen before another fact came", file: "app/usecase/seen.go",
		old: "generation != given.generation+1", new: "generation == 0", killers: "./app/usecase", run: "TestASettleGoesByWhatThePlanSawUnlessAnotherFactCame",
	},
}
