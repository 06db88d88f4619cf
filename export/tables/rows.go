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
	Slot    int64  `parquet:"slot"`    // 1..k; 0 = none
	Counted bool   `parquet:"counted"` // it fills a slot of the batch
	Reused  bool   `parquet:"reused"`  // it was measured before this batch
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
	Slot            int64   `parquet:"slot"`               // 1..k
	State           string  `parquet:"state,dict"`         // reused, done, failed, skipped or not_started
	Reason          *string `parquet:"reason,dict"`        // why failed, skipped or not started
	RunID           *string `parquet:"run_id,plain"`       // that counts, or the last that failed
	AgentVersion    *string `parquet:"agent_version,dict"` // as the spec says
	Route           string  `parquet:"route,dict"`         // the model as called
	CellSHA256      string  `parquet:"cell_sha256,dict"`   // digest of the cell
	AgentSHA256     string  `parquet:"agent_sha256,dict"`  // of its parts, as in docs/mlflow.md
	ModelSHA256     string  `parquet:"model_sha256,dict"`
	BrainSHA256     string  `parquet:"brain_sha256,dict"` // of an empty folder where there is none
	ExecutionSHA256 string  `parquet:"execution_sha256,dict"`
	ScoringSHA256   string  `parquet:"scoring_sha256,dict"`
	RecipeSHA256    string  `parquet:"recipe_sha256,dict"`
}

// EvaluationRow is one MLflow run, counted or not.
type EvaluationRow struct {
	Batch
	Variant
	Run
	Evaluation   string   `parquet:"evaluation,plain"`               // UUID
	RunName      *string  `parquet:"run_name,plain"`                 // as people read it in MLflow
	ParentRunID  *string  `parquet:"parent_run_id,dict"`             // of the batch that ran it
	State        string   `parquet:"state,dict"`                     // complete, partial, incomplete, interrupted or superseded
	Reason       *string  `parquet:"reason,plain"`                   // why it does not count
	Foreign      bool     `parquet:"foreign"`                        // not logged by benchbatch
	Role         *string  `parquet:"role,dict"`                      // "selection" where it served to choose a setting
	User         *string  `parquet:"user,dict"`                      // who started it, as MLflow says
	Started      *int64   `parquet:"started,timestamp(millisecond)"` // UTC
	Ended        *int64   `parquet:"ended,timestamp(millisecond)"`
	WallS        *float64 `parquet:"wall_s"`                // null: see time_note
	TimeNote     *string  `parquet:"time_note,dict"`        // "no end", "no believable start" or "… end", "end before start"
	AgeS         *float64 `parquet:"age_s"`                 // from its start to that of the batch; null = not reused
	Tasks        int64    `parquet:"tasks"`                 // of the panel
	Score        *float64 `parquet:"score"`                 // mean over the tasks that have one
	ScoreKept    *float64 `parquet:"score_kept"`            // the same without withdrawn tasks
	PassFraction *float64 `parquet:"pass_fraction"`         // of the outcomes that pass or don't
	Coverage     *float64 `parquet:"coverage"`              // share of the panel that has a score
	Scored       int64    `parquet:"n_scored"`              // outcomes by state; with n_absent they add up to tasks
	Agents       int64    `parquet:"n_agent"`               // the agent failed: score 0
	Timeouts     int64    `parquet:"n_timeout"`             // out of time: score 0, or missing under timeout_policy: missing
	Providers    int64    `parquet:"n_provider"`            // missing, as the next four
	Tools        int64    `parquet:"n_tool"`                //
	Harnesses    int64    `parquet:"n_harness"`             //
	JudgeFails   int64    `parquet:"n_judge"`               //
	Budgets      int64    `parquet:"n_budget"`              //
	NotRun       int64    `parquet:"n_not_run"`             // never started
	Absent       int64    `parquet:"n_absent"`              // no line in outcomes.jsonl
	CostUSD      *float64 `parquet:"cost_usd"`              // all attempts, as reported; of the known ones
	CostUnknown  int64    `parquet:"cost_unknown"`          // attempts whose cost is unknown; 1 where nothing tells what an evaluation cost that was cut short
	Repriced     *float64 `parquet:"cost_repriced_usd"`     // from tokens and the frozen prices
	RepricedUnk  int64    `parquet:"cost_repriced_unknown"` // attempts whose tokens or price are unknown
	JudgeCostUSD *float64 `parquet:"judge_cost_usd"`        // of votes of known cost, of all attempts
	JudgeKnown   int64    `parquet:"judge_cost_known"`      // votes of known cost, of all attempts
	JudgeUnknown int64    `parquet:"judge_cost_unknown"`    // votes of models whose cost is unknown
	Artifacts    string   `parquet:"artifacts,dict"`        // complete, outcomes, none or missing
	HasAttempts  bool     `parquet:"has_attempts"`          // false: attempts has no rows, costs are those of the outcomes
	Unreadable   *string  `parquet:"unreadable,plain"`      // why the outcomes of a run that does not count are left out
	Outcomes     *string  `parquet:"outcomes_sha256,plain"` // of the artifact; null = none
	Attempts     *string  `parquet:"attempts_sha256,plain"`
	Bundle       *string  `parquet:"bundle_sha256,plain"`
	BundleBytes  *int64   `parquet:"bundle_bytes"` // bytes
}

// AttemptRow is one try of one task. The accepted one is also in outcomes.
type AttemptRow struct {
	Batch
	Variant
	Run
	Task     string `parquet:"task,dict"`
	Attempt  *int64 `parquet:"attempt"`  // 1..
	Accepted bool   `parquet:"accepted"` // the one that outcomes has
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
	WaitS          *float64 `parquet:"wait_s"`     // seconds of it spent waiting for a limit of the provider
	ToolCalls      *int64   `parquet:"tool_calls"`
	ToolErrors     *int64   `parquet:"tool_errors"`
	ServedModel    *string  `parquet:"served_model,dict"`    // that really answered, as the runner says
	ServedProvider *string  `parquet:"served_provider,dict"` // as the runner says
	Flags          int64    `parquet:"flags"`                // findings of audits
	FlagsJSON      *string  `parquet:"flags_json,plain"`     // [{"audit":…,"evidence":…}], without evidence where raw is withheld; null = none
	ErrorClass     *string  `parquet:"error_class,dict"`     // as the runner says: see docs/runner.md
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
	Judge      string   `parquet:"judge,dict"`         // its id
	Kind       *string  `parquet:"kind,dict"`          // code, model or human
	JudgeModel *string  `parquet:"judge_model,dict"`   // of a model judge
	Score      *float64 `parquet:"score"`              // mapped to [0,1]; null: see error
	RawScore   *float64 `parquet:"raw_score"`          // as given, on the judge's scale
	ScaleMin   float64  `parquet:"scale_min"`          // lowest score of its scale
	ScaleMax   float64  `parquet:"scale_max"`          // highest
	Samples    int64    `parquet:"samples"`            // single votes behind the score; 0 = not told
	SampleList *string  `parquet:"samples_json,plain"` // [0.8,0.9]; null = not told
	CostUSD    *float64 `parquet:"cost_usd"`
	Rationale  *string  `parquet:"rationale,plain"` // in words
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
