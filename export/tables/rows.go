package tables

// Every table has one struct. A pointer is a column that may be null; null means
// unknown or missing, never 0. Times are milliseconds since 1970 in UTC.
//
// The tag dict marks text that repeats, plain text that does not.

// Batch stands in front of every table.
type Batch struct {
	Batch     string `parquet:"batch,dict"` // run id of the parent run
	Benchmark string `parquet:"benchmark,dict"`
	Version   string `parquet:"version,dict"`
}

// Variant stands in every table that knows one.
type Variant struct {
	Agent   string `parquet:"agent,dict"`
	Model   string `parquet:"model,dict"`
	Variant string `parquet:"variant,dict"` // agent+model
	Cell    string `parquet:"cell,dict"`    // first 16 hex digits; the whole digest is in cells
}

// Run stands in every table that knows an evaluation.
type Run struct {
	RunID   string `parquet:"run_id,dict"`
	Slot    int64  `parquet:"slot"` // 1..k; 0 = none
	Counted bool   `parquet:"counted"`
	Reused  bool   `parquet:"reused"`
}

// Tokens by kind, as reported. Input excludes cached input.
type Tokens struct {
	Input      *int64 `parquet:"tokens_input"`
	CacheRead  *int64 `parquet:"tokens_cache_read"`
	CacheWrite *int64 `parquet:"tokens_cache_write"`
	Output     *int64 `parquet:"tokens_output"`
}

// CellRow is one planned repeat of a cell: the counts of a batch add up over
// this table.
type CellRow struct {
	Batch
	Variant
	Slot            int64   `parquet:"slot"`         // 1..k
	State           string  `parquet:"state,dict"`   // reused, done, failed, skipped or not_started
	Reason          *string `parquet:"reason,dict"`  // why failed, skipped or not started
	RunID           *string `parquet:"run_id,plain"` // that counts, or the last that failed
	AgentVersion    *string `parquet:"agent_version,dict"`
	Route           string  `parquet:"route,dict"`
	CellSHA256      string  `parquet:"cell_sha256,dict"`
	AgentSHA256     string  `parquet:"agent_sha256,dict"`
	ModelSHA256     string  `parquet:"model_sha256,dict"`
	BrainSHA256     string  `parquet:"brain_sha256,dict"`
	ExecutionSHA256 string  `parquet:"execution_sha256,dict"`
	ScoringSHA256   string  `parquet:"scoring_sha256,dict"`
	RecipeSHA256    string  `parquet:"recipe_sha256,dict"`
}

// EvaluationRow is one MLflow run, counted or not.
type EvaluationRow struct {
	Batch
	Variant
	Run
	Evaluation   string   `parquet:"evaluation,plain"` // UUID
	RunName      *string  `parquet:"run_name,plain"`
	ParentRunID  *string  `parquet:"parent_run_id,dict"` // of the batch that ran it
	State        string   `parquet:"state,dict"`         // complete, partial, incomplete, interrupted or superseded
	Reason       *string  `parquet:"reason,plain"`       // why it does not count
	Foreign      bool     `parquet:"foreign"`            // not logged by benchbatch
	Role         *string  `parquet:"role,dict"`          // "selection" where it served to choose a setting
	User         *string  `parquet:"user,dict"`
	Started      *int64   `parquet:"started,timestamp(millisecond)"`
	Ended        *int64   `parquet:"ended,timestamp(millisecond)"`
	WallS        *float64 `parquet:"wall_s"`            // null: see time_note
	TimeNote     *string  `parquet:"time_note,dict"`    // "no end", "no believable start" or "… end", "end before start"
	AgeS         *float64 `parquet:"age_s"`             // from its start to that of the batch; null = not reused
	Tasks        int64    `parquet:"tasks"`             // of the panel
	Score        *float64 `parquet:"score"`             // mean over the tasks that have one
	ScoreKept    *float64 `parquet:"score_kept"`        // the same without withdrawn tasks
	PassFraction *float64 `parquet:"pass_fraction"`     // of the outcomes that pass or don't
	Coverage     *float64 `parquet:"coverage"`          // share of the panel that has a score
	Scored       int64    `parquet:"n_scored"`          // outcomes by state; with n_absent they add up to tasks
	Agents       int64    `parquet:"n_agent"`           // the agent failed: score 0
	Timeouts     int64    `parquet:"n_timeout"`         //
	Providers    int64    `parquet:"n_provider"`        //
	Tools        int64    `parquet:"n_tool"`            //
	Harnesses    int64    `parquet:"n_harness"`         //
	JudgeFails   int64    `parquet:"n_judge"`           //
	Budgets      int64    `parquet:"n_budget"`          //
	NotRun       int64    `parquet:"n_not_run"`         //
	Absent       int64    `parquet:"n_absent"`          // no line in outcomes.jsonl
	CostUSD      *float64 `parquet:"cost_usd"`          // all attempts, as reported; of the known ones
	CostUnknown  int64    `parquet:"cost_unknown"`      // attempts whose cost is unknown
	Repriced     *float64 `parquet:"cost_repriced_usd"` // from tokens and the frozen prices
	RepricedUnk  int64    `parquet:"cost_repriced_unknown"`
	JudgeCostUSD *float64 `parquet:"judge_cost_usd"`
	JudgeKnown   int64    `parquet:"judge_cost_known"`   // votes of known cost, of all attempts
	JudgeUnknown int64    `parquet:"judge_cost_unknown"` // votes of models whose cost is unknown
	Artifacts    string   `parquet:"artifacts,dict"`     // complete, outcomes, none or missing
	HasAttempts  bool     `parquet:"has_attempts"`       // false: attempts has no rows, costs are those of the outcomes
	Unreadable   *string  `parquet:"unreadable,plain"`   // why the outcomes of a run that does not count are left out
	Outcomes     *string  `parquet:"outcomes_sha256,plain"`
	Attempts     *string  `parquet:"attempts_sha256,plain"`
	Bundle       *string  `parquet:"bundle_sha256,plain"`
	BundleBytes  *int64   `parquet:"bundle_bytes"`
}

// AttemptRow is one try of one task. The accepted one is also in outcomes.
type AttemptRow struct {
	Batch
	Variant
	Run
	Task     string `parquet:"task,dict"`
	Attempt  *int64 `parquet:"attempt"` // 1..
	Accepted bool   `parquet:"accepted"`
	Result
}

// OutcomeRow is the result of one task in one evaluation.
type OutcomeRow struct {
	Batch
	Variant
	Run
	Task      string  `parquet:"task,dict"`
	Family    *string `parquet:"family,dict"`
	Anchor    bool    `parquet:"anchor"`
	Withdrawn bool    `parquet:"withdrawn"` // found wrong after it was measured
	Attempt   *int64  `parquet:"attempt"`   // the accepted one, 1..
	Result
}

// Result is what attempts and outcomes have in common.
type Result struct {
	State          string   `parquet:"state,dict"` // scored, agent, timeout; the others say why score is null
	Score          *float64 `parquet:"score"`      // [0,1]
	Passed         *bool    `parquet:"passed"`     // under the batch's decision
	CostUSD        *float64 `parquet:"cost_usd"`   // as the runner reported
	Repriced       *float64 `parquet:"cost_repriced_usd"`
	RepricedReason *string  `parquet:"cost_repriced_reason,dict"` // why it is null
	Tokens
	DurationS      *float64 `parquet:"duration_s"` // waiting included
	WaitS          *float64 `parquet:"wait_s"`
	ToolCalls      *int64   `parquet:"tool_calls"`
	ToolErrors     *int64   `parquet:"tool_errors"`
	ServedModel    *string  `parquet:"served_model,dict"`
	ServedProvider *string  `parquet:"served_provider,dict"`
	Flags          int64    `parquet:"flags"`            // findings of audits
	FlagsJSON      *string  `parquet:"flags_json,plain"` // [{"audit":…,"evidence":…}], without evidence where raw is withheld; null = none
	ErrorClass     *string  `parquet:"error_class,dict"`
	ErrorMessage   *string  `parquet:"error_message,plain"`
	Output         *string  `parquet:"output,plain"`     // path in the bundle
	Transcript     *string  `parquet:"transcript,plain"` // path in the bundle
	Repaired       bool     `parquet:"repaired"`         // text was not valid UTF-8
}

// JudgeRow is one judge's vote on one outcome.
type JudgeRow struct {
	Batch
	Variant
	Run
	Task       string   `parquet:"task,dict"`
	Judge      string   `parquet:"judge,dict"`
	Kind       *string  `parquet:"kind,dict"` // code, model or human
	JudgeModel *string  `parquet:"judge_model,dict"`
	Score      *float64 `parquet:"score"`     // mapped to [0,1]; null: see error
	RawScore   *float64 `parquet:"raw_score"` // as given, on the judge's scale
	ScaleMin   float64  `parquet:"scale_min"`
	ScaleMax   float64  `parquet:"scale_max"`
	Samples    int64    `parquet:"samples"`            // single votes behind the score; 0 = not told
	SampleList *string  `parquet:"samples_json,plain"` // [0.8,0.9]; null = not told
	CostUSD    *float64 `parquet:"cost_usd"`
	Rationale  *string  `parquet:"rationale,plain"`
	Error      *string  `parquet:"error,plain"`
}

// MetricRow is one figure of one evaluation, by name.
type MetricRow struct {
	Batch
	Variant
	Run
	Name   string   `parquet:"name,dict"`
	Value  *float64 `parquet:"value"`
	Reason *string  `parquet:"reason,dict"` // why value is null
}

// TaskRow is one task of the panel. Counts are over counted evaluations.
type TaskRow struct {
	Batch
	Task            string   `parquet:"task,plain"`
	Family          *string  `parquet:"family,dict"` // null = a family of its own
	Anchor          bool     `parquet:"anchor"`
	Withdrawn       bool     `parquet:"withdrawn"`
	WithdrawnWhy    *string  `parquet:"withdrawn_why,dict"`
	WithdrawnDate   *string  `parquet:"withdrawn_date,dict"` // YYYY-MM-DD
	Input           *string  `parquet:"input,plain"`         // JSON; null = withheld
	InputSHA256     string   `parquet:"input_sha256,plain"`
	Expected        *string  `parquet:"expected,plain"` // JSON; null = none, or withheld
	ExpectedSHA256  *string  `parquet:"expected_sha256,plain"`
	OutcomesScored  int64    `parquet:"n_with_score"`
	OutcomesMissing int64    `parquet:"n_without_score"`
	Score           *float64 `parquet:"score"` // mean over all counted outcomes
}

// VariantRow describes one variant over its counted evaluations. The columns
// from metric on follow from the frozen decision rule; where they are null,
// reason says why, or the page on statistics does.
type VariantRow struct {
	Batch
	Variant
	AgentVersion *string  `parquet:"agent_version,dict"`
	Route        string   `parquet:"route,dict"`
	Planned      int64    `parquet:"planned"` // = reused + done + failed + skipped + not_started
	Reused       int64    `parquet:"reused"`
	Done         int64    `parquet:"done"`
	Failed       int64    `parquet:"failed"`
	Skipped      int64    `parquet:"skipped"`
	NotStarted   int64    `parquet:"not_started"`
	Runs         int64    `parquet:"runs"`          // counted repeats with a score
	Tasks        int64    `parquet:"tasks"`         // with a score
	Score        *float64 `parquet:"score"`         // mean over tasks of the mean over runs
	ScoreKept    *float64 `parquet:"score_kept"`    // the same without withdrawn tasks
	WorstRun     *float64 `parquet:"score_worst"`   // mean of the worst run
	BestRun      *float64 `parquet:"score_best"`    // mean of the best run
	PassFraction *float64 `parquet:"pass_fraction"` // mean over tasks of the share of passes
	Coverage     *float64 `parquet:"coverage"`
	Scored       int64    `parquet:"n_scored"`
	Agents       int64    `parquet:"n_agent"`
	Timeouts     int64    `parquet:"n_timeout"`
	Providers    int64    `parquet:"n_provider"`
	Tools        int64    `parquet:"n_tool"`
	Harnesses    int64    `parquet:"n_harness"`
	JudgeFails   int64    `parquet:"n_judge"`
	Budgets      int64    `parquet:"n_budget"`
	NotRun       int64    `parquet:"n_not_run"`
	Absent       int64    `parquet:"n_absent"`
	CostUSD      *float64 `parquet:"cost_usd"` // all attempts, as reported; of the known ones
	CostUnknown  int64    `parquet:"cost_unknown"`
	Repriced     *float64 `parquet:"cost_repriced_usd"`
	RepricedUnk  int64    `parquet:"cost_repriced_unknown"`
	JudgeCostUSD *float64 `parquet:"judge_cost_usd"`
	TokensInput  *float64 `parquet:"tokens_input"` // sums of the known counts
	TokensRead   *float64 `parquet:"tokens_cache_read"`
	TokensWrite  *float64 `parquet:"tokens_cache_write"`
	TokensOutput *float64 `parquet:"tokens_output"`
	WallS        *float64 `parquet:"wall_s"`     // mean of an evaluation
	DurationS    *float64 `parquet:"duration_s"` // mean of a task
	WaitS        *float64 `parquet:"wait_s"`     // mean of a task
	Decision
	Mean          *float64 `parquet:"mean"` // of the metric, over tasks
	MeanTasks     *int64   `parquet:"mean_tasks"`
	Repeats       *int64   `parquet:"repeats"` // counted, with a valid outcome
	StandardError *float64 `parquet:"se"`
	Freedom       *float64 `parquet:"df"`
	Low           *float64 `parquet:"ci_low"` // 95 %, not adjusted
	High          *float64 `parquet:"ci_high"`
	Method        *string  `parquet:"ci_method,dict"`
	RankLow       *int64   `parquet:"rank_low"` // null: fewer than 3 repeats, or not measured
	RankHigh      *int64   `parquet:"rank_high"`
	Letters       *string  `parquet:"letters,dict"` // variants that share one are not separated
	Best          *bool    `parquet:"best"`         // may be called best
	KeptRankLow   *int64   `parquet:"kept_rank_low"`
	KeptRankHigh  *int64   `parquet:"kept_rank_high"` // without withdrawn tasks; null = none
	RerunVariance *float64 `parquet:"rerun_variance"` // of a single run of a task
	ICC           *float64 `parquet:"icc"`            // reliability of a single run
	ICCMean       *float64 `parquet:"icc_mean"`       // reliability of the mean of the runs
	FlipRate      *float64 `parquet:"flip_rate"`      // tasks that neither always pass nor always fail; grows with repeats
	SingleRuns    *float64 `parquet:"single_run_difference"`
	Unstable      *bool    `parquet:"unstable"`
	BandLow       *float64 `parquet:"failure_band_low"`  // if every failure had been a 0
	BandHigh      *float64 `parquet:"failure_band_high"` // if every failure had been a 1
	Failures      *int64   `parquet:"failures"`          // not the agent's doing
	K             *int64   `parquet:"k"`                 // of pass_at_k and pass_hat_k: the smallest number of repeats in the batch
	PassAt        *float64 `parquet:"pass_at_k"`         // at least one of k runs passes
	PassAtLow     *float64 `parquet:"pass_at_k_low"`
	PassAtHigh    *float64 `parquet:"pass_at_k_high"`
	PassHat       *float64 `parquet:"pass_hat_k"` // all of k runs pass
	PassHatLow    *float64 `parquet:"pass_hat_k_low"`
	PassHatHigh   *float64 `parquet:"pass_hat_k_high"`
	PassTasks     *int64   `parquet:"pass_k_tasks"`    // behind both
	PassExcluded  *int64   `parquet:"pass_k_excluded"` // tasks with fewer than k runs
	PassReason    *string  `parquet:"pass_k_reason,dict"`
	TaskCost      *float64 `parquet:"cost_per_task_usd"` // of a scored outcome, as reported
	TaskCostLow   *float64 `parquet:"cost_per_task_low"`
	TaskCostHigh  *float64 `parquet:"cost_per_task_high"`
	PassCost      *float64 `parquet:"cost_per_pass_usd"`
	PassCostLow   *float64 `parquet:"cost_per_pass_low"`
	PassCostHigh  *float64 `parquet:"cost_per_pass_high"` // null beside a value: unbounded
	PassCostBy    *string  `parquet:"cost_per_pass_method,dict"`
	CostKnown     *int64   `parquet:"cost_known"`    // scored outcomes of known cost, behind the above
	TaskTime      *float64 `parquet:"work_s"`        // seconds of a scored outcome, without waiting
	TaskTimeLow   *float64 `parquet:"work_s_low"`    //
	TaskTimeHigh  *float64 `parquet:"work_s_high"`   //
	Standing      *string  `parquet:"standing,dict"` // against the reference; null = none, or itself
	PNonInferior  *float64 `parquet:"p_non_inferior_adjusted"`
	PInferior     *float64 `parquet:"p_inferior_adjusted"`
	StandingLow   *float64 `parquet:"standing_low"`
	StandingHigh  *float64 `parquet:"standing_high"`
	StandingCodes *string  `parquet:"standing_codes,dict"`
	Recommended   *bool    `parquet:"recommended"`
	Advantages    *string  `parquet:"advantages,dict"` // shown to be material, comma between
	NotBecause    *string  `parquet:"recommended_reason,dict"`
}

// Decision stands in front of what the frozen rule says.
type Decision struct {
	Metric *string  `parquet:"metric,dict"` // score, passed or judge/ID
	Look   *int64   `parquet:"look"`        // 1 = the first at this question
	Alpha  *float64 `parquet:"alpha"`       // one-sided, at this look
	Margin *float64 `parquet:"margin"`      // null = none was frozen
	Reason *string  `parquet:"reason,dict"` // why nothing was decided
}

// PairRow compares two variants. The columns from metric on follow from the
// frozen decision rule. Where compare is reference, b is the reference.
type PairRow struct {
	Batch
	A          string   `parquet:"a,dict"` // variant
	B          string   `parquet:"b,dict"` // variant
	CellA      string   `parquet:"cell_a,dict"`
	CellB      string   `parquet:"cell_b,dict"`
	RunsA      int64    `parquet:"runs_a"`
	RunsB      int64    `parquet:"runs_b"`
	Common     int64    `parquet:"tasks_common"` // with a score on both sides
	ScoreA     *float64 `parquet:"score_a"`      // over the common tasks
	ScoreB     *float64 `parquet:"score_b"`
	Difference *float64 `parquet:"difference"` // score_a - score_b
	RangeTie   *bool    `parquet:"range_tie"`  // the ranges of run means overlap; null = fewer than 2 runs on a side

	Decision
	Verdict       *string  `parquet:"verdict,dict"` // beats, ahead on this list, equal, tied, cannot tell; null = not compared, see reason
	Winner        *string  `parquet:"winner,dict"`  // of beats and ahead on this list
	Extent        *string  `parquet:"extent,dict"`  // what a claim has to add
	InsideMargin  *bool    `parquet:"inside_margin"`
	Codes         *string  `parquet:"codes,dict"` // comma between
	D             *float64 `parquet:"d"`          // a - b of the metric, over the tasks below
	Low           *float64 `parquet:"ci_low"`     // 95 %, not adjusted
	High          *float64 `parquet:"ci_high"`
	Method        *string  `parquet:"ci_method,dict"`
	StandardError *float64 `parquet:"se"`
	Freedom       *float64 `parquet:"df"`
	VarTask       *float64 `parquet:"variance_task"`
	VarRerun      *float64 `parquet:"variance_rerun"`
	VarRun        *float64 `parquet:"variance_run"`
	P             *float64 `parquet:"p"` // null = refused, see codes
	PT            *float64 `parquet:"p_t"`
	PFlip         *float64 `parquet:"p_flip"` // null = not asked
	PAdjusted     *float64 `parquet:"p_adjusted"`
	PList         *float64 `parquet:"p_list"`
	PListAdjusted *float64 `parquet:"p_list_adjusted"`
	PEqual        *float64 `parquet:"p_equal"` // null = no margin, or refused
	PEqualAdj     *float64 `parquet:"p_equal_adjusted"`
	Level         *float64 `parquet:"level"` // two-sided, shared by pairs_compared
	Compared      *int64   `parquet:"pairs_compared"`
	MDE           *float64 `parquet:"mde"` // difference that would have shown with a chance of 80 %
	Tasks         *int64   `parquet:"tasks"`
	Families      *int64   `parquet:"families"`
	Units         *int64   `parquet:"units"`
	Differing     *int64   `parquet:"units_different"`
	LostA         *int64   `parquet:"tasks_lost_a"`
	LostB         *int64   `parquet:"tasks_lost_b"`
	RepeatsA      *int64   `parquet:"repeats_a"`
	RepeatsB      *int64   `parquet:"repeats_b"`
	FirstVerdict  *string  `parquet:"first_verdict,dict"`  // before failures and judges were looked at
	SecondVerdict *string  `parquet:"second_verdict,dict"` // failures scored 0; null = no failures
	SecondWinner  *string  `parquet:"second_winner,dict"`
	SecondD       *float64 `parquet:"second_d"`
	SecondP       *float64 `parquet:"second_p_adjusted"`
	KeptVerdict   *string  `parquet:"kept_verdict,dict"` // without withdrawn tasks; null = none
	KeptWinner    *string  `parquet:"kept_winner,dict"`
	KeptD         *float64 `parquet:"kept_d"`
	KeptP         *float64 `parquet:"kept_p_adjusted"`
	RangeChance   *float64 `parquet:"range_chance"` // how often the range tie separates equal variants
	Repair        *string  `parquet:"repair,dict"`  // the cheapest
	RepairFor     *string  `parquet:"repair_for,dict"`
	RepairTasks   *int64   `parquet:"repair_tasks"`
	RepairRepeats *int64   `parquet:"repair_repeats"`
	RepairRuns    *int64   `parquet:"repair_task_runs"`
	RepairUSD     *float64 `parquet:"repair_cost_usd"`
}
