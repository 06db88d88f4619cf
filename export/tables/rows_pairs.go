package tables

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
	A          string   `parquet:"a,dict"`       // variant
	B          string   `parquet:"b,dict"`       // variant
	CellA      string   `parquet:"cell_a,dict"`  // as cell
	CellB      string   `parquet:"cell_b,dict"`  // as cell
	RunsA      int64    `parquet:"runs_a"`       // counted repeats
	RunsB      int64    `parquet:"runs_b"`       // counted repeats
	Common     int64    `parquet:"tasks_common"` // with a score on both sides
	ScoreA     *float64 `parquet:"score_a"`      // over the common tasks
	ScoreB     *float64 `parquet:"score_b"`
	Difference *float64 `parquet:"difference"` // score_a - score_b
	RangeTie   *bool    `parquet:"range_tie"`  // the ranges of run means overlap; null = fewer than 2 runs on a side

	Decision
	Ruling
	KeptVerdict      *string  `parquet:"kept_verdict,dict"` // without withdrawn tasks; null = none
	KeptWinner       *string  `parquet:"kept_winner,dict"`
	KeptD            *float64 `parquet:"kept_d"`
	KeptP            *float64 `parquet:"kept_p_adjusted"`
	SelectionVerdict *string  `parquet:"selection_verdict,dict"` // without runs of selection; null = none
	SelectionWinner  *string  `parquet:"selection_winner,dict"`
	SelectionD       *float64 `parquet:"selection_d"`
	SelectionP       *float64 `parquet:"selection_p_adjusted"`
	FlaggedVerdict   *string  `parquet:"flagged_verdict,dict"` // without flagged outcomes; null = none
	FlaggedWinner    *string  `parquet:"flagged_winner,dict"`
	FlaggedD         *float64 `parquet:"flagged_d"`
	FlaggedP         *float64 `parquet:"flagged_p_adjusted"`
	Stands           *bool    `parquet:"stands"` // the verdict is the same in all of these; null = not compared
}

// Ruling is the verdict on one pair.
type Ruling struct {
	Verdict       *string  `parquet:"verdict,dict"`  // beats, ahead on this list, equal, tied, cannot tell; null = not compared, see reason
	Winner        *string  `parquet:"winner,dict"`   // of beats and ahead on this list
	Extent        *string  `parquet:"extent,dict"`   // what a claim has to add
	InsideMargin  *bool    `parquet:"inside_margin"` // the difference lies inside the margin
	Codes         *string  `parquet:"codes,dict"`    // comma between
	D             *float64 `parquet:"d"`             // a - b of the metric, over the tasks below
	Low           *float64 `parquet:"ci_low"`        // 95 %, not adjusted
	High          *float64 `parquet:"ci_high"`
	Method        *string  `parquet:"ci_method,dict"`   // how it was computed
	StandardError *float64 `parquet:"se"`               // standard error
	Freedom       *float64 `parquet:"df"`               // degrees of freedom
	VarTask       *float64 `parquet:"variance_task"`    // of the difference over tasks (F6)
	VarRerun      *float64 `parquet:"variance_rerun"`   // part of it that is rerun noise
	VarRun        *float64 `parquet:"variance_run"`     // of run shocks
	P             *float64 `parquet:"p"`                // null = refused, see codes
	PT            *float64 `parquet:"p_t"`              // of the t test
	PFlip         *float64 `parquet:"p_flip"`           // null = not asked
	PAdjusted     *float64 `parquet:"p_adjusted"`       // by Holm over all pairs
	PList         *float64 `parquet:"p_list"`           // on exactly these tasks
	PListAdjusted *float64 `parquet:"p_list_adjusted"`  // by Holm
	PEqual        *float64 `parquet:"p_equal"`          // null = no margin, or refused
	PEqualAdj     *float64 `parquet:"p_equal_adjusted"` // by Holm
	Level         *float64 `parquet:"level"`            // two-sided, shared by pairs_compared
	Compared      *int64   `parquet:"pairs_compared"`
	MDE           *float64 `parquet:"mde"` // difference that would have shown with a chance of 80 %
	Tasks         *int64   `parquet:"tasks"`
	Families      *int64   `parquet:"families"`            // among the common tasks
	Units         *int64   `parquet:"units"`               // independent ones: families or tasks
	Differing     *int64   `parquet:"units_different"`     // of them, on which the two differ
	LostA         *int64   `parquet:"tasks_lost_a"`        // tasks of a that b has no valid outcome for
	LostB         *int64   `parquet:"tasks_lost_b"`        // the other way round
	RepeatsA      *int64   `parquet:"repeats_a"`           // counted
	RepeatsB      *int64   `parquet:"repeats_b"`           // counted
	FirstVerdict  *string  `parquet:"first_verdict,dict"`  // before failures and judges were looked at
	SecondVerdict *string  `parquet:"second_verdict,dict"` // failures scored 0; null = no failures
	SecondWinner  *string  `parquet:"second_winner,dict"`
	SecondD       *float64 `parquet:"second_d"`          // difference there
	SecondP       *float64 `parquet:"second_p_adjusted"` // p_adjusted there
	RangeChance   *float64 `parquet:"range_chance"`      // how often the range tie separates equal variants
	Repair        *string  `parquet:"repair,dict"`       // the cheapest
	RepairFor     *string  `parquet:"repair_for,dict"`   // code that it repairs
	RepairTasks   *int64   `parquet:"repair_tasks"`      // that are needed; null = not by tasks
	RepairRepeats *int64   `parquet:"repair_repeats"`    // that are needed; null = not by repeats
	RepairRuns    *int64   `parquet:"repair_task_runs"`  // more runs of tasks
	RepairUSD     *float64 `parquet:"repair_cost_usd"`   // at the mean cost of a task run; null = unknown
}

// FamilyRow is one variant on the tasks of one family.
type FamilyRow struct {
	Batch
	Variant
	Family      string `parquet:"family,dict"`
	FamilyTasks int64  `parquet:"family_tasks"` // tasks of the family
	Exploratory bool   `parquet:"exploratory"`  // the frozen rule does not decide by family
	Decision
	Mean          *float64 `parquet:"mean"`       // of the metric, over the family's tasks
	MeanTasks     *int64   `parquet:"mean_tasks"` // behind the mean
	StandardError *float64 `parquet:"se"`         // standard error
	Freedom       *float64 `parquet:"df"`         // degrees of freedom
	Low           *float64 `parquet:"ci_low"`
	High          *float64 `parquet:"ci_high"`
	Runs          int64    `parquet:"runs"` // valid, over the tasks
	K             *int64   `parquet:"k"`
	PassAt        *float64 `parquet:"pass_at_k"`
	PassHat       *float64 `parquet:"pass_hat_k"`
	PassTasks     *int64   `parquet:"pass_k_tasks"`
	PassExcluded  *int64   `parquet:"pass_k_excluded"`
	RankLow       *int64   `parquet:"rank_low"` // on this family; null = exploratory, or fewer than 3 repeats
	RankHigh      *int64   `parquet:"rank_high"`
	Letters       *string  `parquet:"letters,dict"`
	Best          *bool    `parquet:"best"` // may be called best
	Routing
	P              *float64 `parquet:"family_p"`            // that the family tells variants apart; exploratory
	Draws          *int64   `parquet:"family_p_draws"`      // 0 = exact
	Discrimination *string  `parquet:"discrimination,dict"` // discriminates, no discriminating power, not shown
}

// FamilyPairRow is the verdict on two variants on one family: only where the rule
// decides by family.
type FamilyPairRow struct {
	Batch
	Family string `parquet:"family,dict"`
	A      string `parquet:"a,dict"`
	B      string `parquet:"b,dict"`
	Decision
	Ruling
}
