package tables

// BatchRow is the batch as a whole: one row.
type BatchRow struct {
	Batch
	Name       string `parquet:"name,plain"`                     // of the dated folder
	Started    *int64 `parquet:"started,timestamp(millisecond)"` // UTC
	Frozen     *int64 `parquet:"frozen,timestamp(millisecond)"`
	Planned    int64  `parquet:"planned"` // = reused + done + failed + skipped + not_started
	Reused     int64  `parquet:"reused"`
	Done       int64  `parquet:"done"`
	Failed     int64  `parquet:"failed"`
	Skipped    int64  `parquet:"skipped"`
	NotStarted int64  `parquet:"not_started"`
	Tasks      int64  `parquet:"tasks"`
	Repeats    int64  `parquet:"repeats"` // planned of each cell
	Charges
	DecisionSHA256 string `parquet:"decision_sha256,plain"`
	Decision
	Compare         *string  `parquet:"compare,dict"`          // all or reference
	Scope           *string  `parquet:"scope,dict"`            // population or list
	By              *string  `parquet:"by,dict"`               // family; null = not asked for
	ByReason        *string  `parquet:"by_reason,dict"`        // why nothing was decided by family although it was asked for
	Reference       *string  `parquet:"reference,dict"`        // variant; null = none
	Earlier         *string  `parquet:"earlier_batches,plain"` // run ids of earlier looks, comma between
	Level           *float64 `parquet:"level"`                 // two-sided, shared by pairs_compared
	Compared        *int64   `parquet:"pairs_compared"`
	Best            *string  `parquet:"best,dict"`          // that may be called best; null = none
	MedianMDE       *float64 `parquet:"median_mde"`         // of the pairs: difference that would have shown with a chance of 80 %
	Spread          *string  `parquet:"spread,dict"`        // room, ceiling, floor or not computable
	Informative     *int64   `parquet:"informative_tasks"`  // on which not every valid score is equal
	Saturated       *bool    `parquet:"saturated"`          // less than a fifth of the tasks are informative
	ShockVar        *float64 `parquet:"run_shock_variance"` // of a run's mean, beyond rerun noise
	ShockNoise      *float64 `parquet:"run_rerun_variance"` // of a run's mean, by rerun noise alone
	ShockPhi        *float64 `parquet:"run_phi"`            // chi-squared of the shocks (F8)
	ShockDF         *float64 `parquet:"run_phi_df"`         // its degrees of freedom
	ShockP          *float64 `parquet:"run_p"`              // of it; null = nothing varies
	Unstable        *bool    `parquet:"unstable_runs"`      // whole runs differ by more than rerun noise
	VarVariant      *float64 `parquet:"variance_variants"`  // balanced panels alone
	VarTask         *float64 `parquet:"variance_tasks"`     // as above
	VarBoth         *float64 `parquet:"variance_variant_task"`
	VarRerun        *float64 `parquet:"variance_rerun"`   // part of it that is rerun noise
	Reliability     *float64 `parquet:"generalisability"` // share of the spread of variants' means that is real
	Agreement       *float64 `parquet:"agreement_alpha"`  // Krippendorff, interval scale; null = undefined
	AgreementLow    *float64 `parquet:"agreement_alpha_low"`
	AgreementHigh   *float64 `parquet:"agreement_alpha_high"`
	AgreementRaw    *float64 `parquet:"agreement_raw"`       // share of pairs of votes that are equal
	AgreementVotes  *float64 `parquet:"agreement_mean_vote"` // mean vote, 0 to 1
	AgreementUnits  *int64   `parquet:"agreement_outcomes"`  // with two votes or more
	Findings        int64    `parquet:"flags"`
	Flagged         int64    `parquet:"flagged_outcomes"`       // of counted evaluations
	KeptLeft        *int64   `parquet:"kept_outcomes_left_out"` // null = nothing is withdrawn
	KeptTurned      *int64   `parquet:"kept_pairs_turned"`      // pairs with another verdict or winner
	SelectionLeft   *int64   `parquet:"selection_outcomes_left_out"`
	SelectionTurned *int64   `parquet:"selection_pairs_turned"`
	FlaggedLeft     *int64   `parquet:"flagged_outcomes_left_out"`
	FlaggedTurned   *int64   `parquet:"flagged_pairs_turned"`
	Untimed         *int64   `parquet:"evaluations_untimed"` // counted evaluations without a believable start
}

// FlagRow is one finding of an audit.
type FlagRow struct {
	Batch
	Variant
	Run
	Task       string   `parquet:"task,dict"`
	Family     *string  `parquet:"family,dict"`
	Audit      string   `parquet:"audit,dict"`       // its name
	Evidence   *string  `parquet:"evidence,plain"`   // null = none, or withheld
	Transcript *string  `parquet:"transcript,plain"` // path in the bundle
	State      string   `parquet:"state,dict"`
	Score      *float64 `parquet:"score"`
}

// ReliabilityRow counts a variant's tries that ended in one state, over all its
// evaluations. Where one keeps no attempts, its outcomes stand for them.
type ReliabilityRow struct {
	Batch
	Variant
	State           string   `parquet:"state,dict"`
	Failure         bool     `parquet:"failure"` // not the agent's doing: never in a score
	Attempts        int64    `parquet:"attempts"`
	Accepted        int64    `parquet:"accepted"` // of them
	CostUSD         *float64 `parquet:"cost_usd"` // as reported; of the known ones
	CostUnknown     int64    `parquet:"cost_unknown"`
	Repriced        *float64 `parquet:"cost_repriced_usd"`
	RepricedUnknown int64    `parquet:"cost_repriced_unknown"` // attempts whose tokens or price are unknown
}

// PassRow is pass@k and pass^k of one variant at one k.
type PassRow struct {
	Batch
	Variant
	K           int64    `parquet:"k"`
	PassAt      *float64 `parquet:"pass_at_k"` // null = no task has k runs
	PassAtLow   *float64 `parquet:"pass_at_k_low"`
	PassAtHigh  *float64 `parquet:"pass_at_k_high"`
	PassHat     *float64 `parquet:"pass_hat_k"`
	PassHatLow  *float64 `parquet:"pass_hat_k_low"`
	PassHatHigh *float64 `parquet:"pass_hat_k_high"`
	Tasks       int64    `parquet:"tasks"`    // behind both
	Excluded    int64    `parquet:"excluded"` // tasks with fewer than k runs
}

// JudgingRow is what one judge gave one variant.
type JudgingRow struct {
	Batch
	Variant
	Judge      string   `parquet:"judge,dict"`  // its id
	Votes      int64    `parquet:"votes"`       // for all variants
	Mean       *float64 `parquet:"mean"`        // null = no vote for this one
	Gap        *float64 `parquet:"gap"`         // to the other judges on the same outcomes; null = no other
	GivesLeast bool     `parquet:"gives_least"` // of all variants, compared with the other judges
	LostMost   bool     `parquet:"lost_most"`   // of all judges, this one gives the variant least
	Own        bool     `parquet:"own_family"`  // its model is the variant's
	Bias       *float64 `parquet:"own_bias"`    // what it gives its own family beyond others; null = not computable
	BiasLow    *float64 `parquet:"own_bias_low"`
	BiasHigh   *float64 `parquet:"own_bias_high"`
	BiasP      *float64 `parquet:"own_bias_p"`       // that it is 0
	Recount    *bool    `parquet:"own_recount"`      // verdicts could be computed without it; null = of no variant's family
	Turned     *int64   `parquet:"own_pairs_turned"` // pairs whose verdict is another one without it
	Reason     *string  `parquet:"own_reason,dict"`  // what was not computable
}

// JudgePairRow is the agreement of two judges on the outcomes that both judged.
type JudgePairRow struct {
	Batch
	JudgeA     string   `parquet:"judge_a,dict"`
	JudgeB     string   `parquet:"judge_b,dict"`
	Outcomes   int64    `parquet:"outcomes"`
	Gap        float64  `parquet:"gap"`   // mean vote of a less that of b
	Kappa      *float64 `parquet:"kappa"` // Cohen, of passing votes; null = undefined, or no threshold
	Raw        *float64 `parquet:"agreement_raw"`
	Prevalence *float64 `parquet:"prevalence"` // share of passing votes
}
