package tables

// TaskRow is one task of the panel. Counts are over counted evaluations.
type TaskRow struct {
	Batch
	Task            string   `parquet:"task,plain"`
	Family          *string  `parquet:"family,dict"` // null = a family of its own
	Anchor          bool     `parquet:"anchor"`
	Withdrawn       bool     `parquet:"withdrawn"` // found wrong after it was measured
	WithdrawnWhy    *string  `parquet:"withdrawn_why,dict"`
	WithdrawnDate   *string  `parquet:"withdrawn_date,dict"` // YYYY-MM-DD
	Input           *string  `parquet:"input,plain"`         // JSON; null = withheld
	InputSHA256     string   `parquet:"input_sha256,plain"`
	Expected        *string  `parquet:"expected,plain"` // JSON; null = none, or withheld
	ExpectedSHA256  *string  `parquet:"expected_sha256,plain"`
	OutcomesScored  int64    `parquet:"n_with_score"`    // counted outcomes
	OutcomesMissing int64    `parquet:"n_without_score"` // counted outcomes
	Score           *float64 `parquet:"score"`           // mean over all counted outcomes
	Mean            *float64 `parquet:"mean"`            // of the metric, over variants, each weighing 1
	Informative     *bool    `parquet:"informative"`     // not every valid score is equal; null = nothing was decided
	ItemRest        *float64 `parquet:"item_rest"`       // correlation with the other tasks over variants; null = constant, or fewer than 3
	Above           *string  `parquet:"above,dict"`      // variant that stands highest above the others; null = none alone
	AboveBy         *float64 `parquet:"above_by"`        // distance to the mean of the others
	Below           *string  `parquet:"below,dict"`
	BelowBy         *float64 `parquet:"below_by"` // distance to the mean of the others
}

// TaskVariantRow is one variant on one task, over its counted evaluations.
type TaskVariantRow struct {
	Batch
	Variant
	Task      string   `parquet:"task,dict"`
	Family    *string  `parquet:"family,dict"`
	Withdrawn bool     `parquet:"withdrawn"` // found wrong after it was measured
	Runs      int64    `parquet:"runs"`      // valid
	Mean      *float64 `parquet:"mean"`      // of the metric; null = no valid run
}

// VariantRow describes one variant over its counted evaluations. The columns
// from metric on follow from the frozen decision rule; where they are null,
// reason says why, or the page on statistics does.
type VariantRow struct {
	Batch
	Variant
	AgentVersion  *string  `parquet:"agent_version,dict"` // as the spec says
	Route         string   `parquet:"route,dict"`         // the model as called
	Planned       int64    `parquet:"planned"`            // = reused + done + failed + skipped + not_started
	Reused        int64    `parquet:"reused"`
	Done          int64    `parquet:"done"`
	Failed        int64    `parquet:"failed"`
	Skipped       int64    `parquet:"skipped"`
	NotStarted    int64    `parquet:"not_started"`
	Runs          int64    `parquet:"runs"`          // counted repeats with a score
	Tasks         int64    `parquet:"tasks"`         // with a score
	Score         *float64 `parquet:"score"`         // mean over tasks of the mean over runs
	ScoreKept     *float64 `parquet:"score_kept"`    // the same without withdrawn tasks
	WorstRun      *float64 `parquet:"score_worst"`   // mean of the worst run
	BestRun       *float64 `parquet:"score_best"`    // mean of the best run
	PassFraction  *float64 `parquet:"pass_fraction"` // mean over tasks of the share of passes
	Coverage      *float64 `parquet:"coverage"`
	Scored        int64    `parquet:"n_scored"`
	Agents        int64    `parquet:"n_agent"`
	Timeouts      int64    `parquet:"n_timeout"`  // out of time: score 0, or missing under timeout_policy: missing
	Providers     int64    `parquet:"n_provider"` // missing, as the next four
	Tools         int64    `parquet:"n_tool"`
	Harnesses     int64    `parquet:"n_harness"`
	JudgeFails    int64    `parquet:"n_judge"`
	Budgets       int64    `parquet:"n_budget"`
	NotRun        int64    `parquet:"n_not_run"` // never started
	Absent        int64    `parquet:"n_absent"`
	CostUSD       *float64 `parquet:"cost_usd"` // all attempts, as reported; of the known ones
	CostUnknown   int64    `parquet:"cost_unknown"`
	Repriced      *float64 `parquet:"cost_repriced_usd"`
	RepricedUnk   int64    `parquet:"cost_repriced_unknown"` // attempts whose tokens or price are unknown
	JudgeCostUSD  *float64 `parquet:"judge_cost_usd"`        // of votes of known cost, of all attempts
	TokensInput   *float64 `parquet:"tokens_input"`          // sums of the known counts
	TokensRead    *float64 `parquet:"tokens_cache_read"`
	TokensWrite   *float64 `parquet:"tokens_cache_write"`
	TokensOutput  *float64 `parquet:"tokens_output"`
	InputUnknown  int64    `parquet:"tokens_input_unknown"` // attempts without a count
	ReadUnknown   int64    `parquet:"tokens_cache_read_unknown"`
	WriteUnknown  int64    `parquet:"tokens_cache_write_unknown"`
	OutputUnknown int64    `parquet:"tokens_output_unknown"`
	WallS         *float64 `parquet:"wall_s"`                               // mean of an evaluation
	DurationS     *float64 `parquet:"duration_s"`                           // mean of a task
	WaitS         *float64 `parquet:"wait_s"`                               // mean of a task
	First         *int64   `parquet:"first_started,timestamp(millisecond)"` // of its counted evaluations
	Last          *int64   `parquet:"last_started,timestamp(millisecond)"`
	Selection     int64    `parquet:"selection_runs"` // counted evaluations that served to choose the brain or a setting
	Charges
	FailedTries    int64    `parquet:"failed_attempts"`     // all evaluations; for reasons that are not the agent's
	FailedUSD      *float64 `parquet:"failed_attempts_usd"` // as reported; of the known ones
	FailedUnknown  int64    `parquet:"failed_attempts_unknown"`
	FailedRepriced *float64 `parquet:"failed_attempts_repriced_usd"`
	Decision
	Mean              *float64 `parquet:"mean"`       // of the metric, over tasks
	MeanTasks         *int64   `parquet:"mean_tasks"` // behind the mean
	Repeats           *int64   `parquet:"repeats"`    // counted, with a valid outcome
	StandardError     *float64 `parquet:"se"`         // standard error
	Freedom           *float64 `parquet:"df"`         // degrees of freedom
	Low               *float64 `parquet:"ci_low"`     // 95 %, not adjusted
	High              *float64 `parquet:"ci_high"`
	Method            *string  `parquet:"ci_method,dict"` // how it was computed
	RankLow           *int64   `parquet:"rank_low"`       // null: fewer than 3 repeats, or not measured
	RankHigh          *int64   `parquet:"rank_high"`
	Letters           *string  `parquet:"letters,dict"` // variants that share one are not separated
	Best              *bool    `parquet:"best"`         // may be called best
	KeptRankLow       *int64   `parquet:"kept_rank_low"`
	KeptRankHigh      *int64   `parquet:"kept_rank_high"`     // without withdrawn tasks; null = none
	SelectionRankLow  *int64   `parquet:"selection_rank_low"` // without runs of selection; null = none
	SelectionRankHigh *int64   `parquet:"selection_rank_high"`
	FlaggedRankLow    *int64   `parquet:"flagged_rank_low"` // without flagged outcomes; null = none
	FlaggedRankHigh   *int64   `parquet:"flagged_rank_high"`
	RerunVariance     *float64 `parquet:"rerun_variance"`        // of a single run of a task
	ICC               *float64 `parquet:"icc"`                   // reliability of a single run
	ICCMean           *float64 `parquet:"icc_mean"`              // reliability of the mean of the runs
	FlipRate          *float64 `parquet:"flip_rate"`             // tasks that neither always pass nor always fail; grows with repeats
	SingleRuns        *float64 `parquet:"single_run_difference"` // two single runs differ by less in 95 of 100 cases (F25)
	Unstable          *bool    `parquet:"unstable"`              // two single runs may differ by more than the margin (F25), or whole runs do (F8)
	BandLow           *float64 `parquet:"failure_band_low"`      // if every failure had been a 0
	BandHigh          *float64 `parquet:"failure_band_high"`     // if every failure had been a 1
	Failures          *int64   `parquet:"failures"`              // not the agent's doing
	K                 *int64   `parquet:"k"`                     // of pass_at_k and pass_hat_k: the smallest number of repeats in the batch
	PassAt            *float64 `parquet:"pass_at_k"`             // at least one of k runs passes
	PassAtLow         *float64 `parquet:"pass_at_k_low"`
	PassAtHigh        *float64 `parquet:"pass_at_k_high"`
	PassHat           *float64 `parquet:"pass_hat_k"` // all of k runs pass
	PassHatLow        *float64 `parquet:"pass_hat_k_low"`
	PassHatHigh       *float64 `parquet:"pass_hat_k_high"`
	PassTasks         *int64   `parquet:"pass_k_tasks"`       // behind both
	PassExcluded      *int64   `parquet:"pass_k_excluded"`    // tasks with fewer than k runs
	PassReason        *string  `parquet:"pass_k_reason,dict"` // why pass_at_k and pass_hat_k are null
	TaskCost          *float64 `parquet:"cost_per_task_usd"`  // of a scored outcome, as reported
	TaskCostLow       *float64 `parquet:"cost_per_task_low"`
	TaskCostHigh      *float64 `parquet:"cost_per_task_high"`
	PassCost          *float64 `parquet:"cost_per_pass_usd"`
	PassCostLow       *float64 `parquet:"cost_per_pass_low"`
	PassCostHigh      *float64 `parquet:"cost_per_pass_high"` // null beside a value: unbounded
	PassCostBy        *string  `parquet:"cost_per_pass_method,dict"`
	CostKnown         *int64   `parquet:"cost_known"`            // scored outcomes of known cost, behind the above
	RepricedTask      *float64 `parquet:"repriced_per_task_usd"` // the same from tokens and the frozen prices
	RepricedTaskLow   *float64 `parquet:"repriced_per_task_low"`
	RepricedTaskHigh  *float64 `parquet:"repriced_per_task_high"`
	RepricedPass      *float64 `parquet:"repriced_per_pass_usd"`
	RepricedPassLow   *float64 `parquet:"repriced_per_pass_low"`
	RepricedPassHigh  *float64 `parquet:"repriced_per_pass_high"`
	RepricedPassBy    *string  `parquet:"repriced_per_pass_method,dict"`
	RepricedKnown     *int64   `parquet:"repriced_known"`
	TaskTime          *float64 `parquet:"work_s"`               // seconds of a scored outcome, without waiting
	TaskTimeLow       *float64 `parquet:"work_s_low"`           //
	TaskTimeHigh      *float64 `parquet:"work_s_high"`          //
	WorkMedian        *float64 `parquet:"work_s_median"`        // interpolated
	WorkP90           *float64 `parquet:"work_s_p90"`           // 90th percentile, interpolated
	WorkKnown         *int64   `parquet:"work_known"`           // scored outcomes of known time, behind the above
	LostMost          *string  `parquet:"lost_most_judge,dict"` // whose votes for it are lowest
	LostMostMean      *float64 `parquet:"lost_most_mean"`       // mean vote of that judge
	Routing
}

// Charges say what was paid today and what that which was reused had cost, judges apart.
type Charges struct {
	Ran            int64    `parquet:"evaluations_ran"`    // by this batch, those that don't count included
	ReusedRuns     int64    `parquet:"evaluations_reused"` // counted ones of other batches
	PaidUSD        *float64 `parquet:"paid_usd"`           // by this batch, as reported; of the known ones
	PaidUnknown    int64    `parquet:"paid_unknown"`       // attempts of unknown cost, and evaluations cut short whose cost nothing tells
	PaidRepriced   *float64 `parquet:"paid_repriced_usd"`
	PaidJudges     *float64 `parquet:"paid_judges_usd"` // of judges, which is no part of the figures before it
	ReusedUSD      *float64 `parquet:"reused_usd"`      // when it was measured
	ReusedUnknown  int64    `parquet:"reused_unknown"`
	ReusedRepriced *float64 `parquet:"reused_repriced_usd"`
	ReusedJudges   *float64 `parquet:"reused_judges_usd"`
}

// Routing is where a candidate stands against the reference.
type Routing struct {
	Standing       *string  `parquet:"standing,dict"`           // null = no reference, or itself
	PNonInferior   *float64 `parquet:"p_non_inferior_adjusted"` // of the claim that it is not worse by the margin; by Holm over candidates
	PInferior      *float64 `parquet:"p_inferior_adjusted"`     // of the claim that it is worse by the margin
	StandingLow    *float64 `parquet:"standing_low"`            // interval of its difference to the reference
	StandingHigh   *float64 `parquet:"standing_high"`
	StandingCodes  *string  `parquet:"standing_codes,dict"` // comma between
	CostRatio      *float64 `parquet:"cost_ratio"`          // candidate / reference, of a task run; null = not asked for, or unknown
	CostRatioLow   *float64 `parquet:"cost_ratio_low"`
	CostRatioHigh  *float64 `parquet:"cost_ratio_high"`
	TimeRatio      *float64 `parquet:"time_ratio"` // as cost_ratio, of seconds without waiting
	TimeRatioLow   *float64 `parquet:"time_ratio_low"`
	TimeRatioHigh  *float64 `parquet:"time_ratio_high"`
	RerunRatio     *float64 `parquet:"rerun_variance_ratio"` // as cost_ratio, of rerun variances
	RerunRatioLow  *float64 `parquet:"rerun_variance_ratio_low"`
	RerunRatioHigh *float64 `parquet:"rerun_variance_ratio_high"`
	Recommended    *bool    `parquet:"recommended"`             // it may replace the reference
	Advantages     *string  `parquet:"advantages,dict"`         // shown to be material, comma between
	NotBecause     *string  `parquet:"recommended_reason,dict"` // why not
}
