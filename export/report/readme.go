package report

import (
	"fmt"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/escape"
)

// readme says what the folder is, and how to check and query it.
func readme(f *export.Frozen, s *export.Summary) string {
	p := &page{f: f, s: s}
	n := f.Result.Counts
	p.line("# %s", escape.Markdown(f.Result.Name))
	p.line("")
	marks(p)
	p.line("The verdict: **%s** [report.md](report.md) says what it rests on, pair by pair.", Headline(s, escape.Markdown))
	p.line("")
	p.line("One frozen batch of the benchmark %s, version %s, begun %s.", escape.Markdown(f.Plan.Benchmark), escape.Markdown(f.Plan.Version), stamp(f.Result.Started))
	p.line("")
	if f.Plan.Question != "" {
		p.line("The question: **%s**", escape.Markdown(f.Plan.Question))
		p.line("")
	}
	p.line("%d repeats planned = %d reused + %d done + %d failed + %d skipped + %d not started.", n.Planned, n.Reused, n.Done, n.Failed, n.Skipped, n.NotStarted)
	p.line("")
	p.line("%s", check)
	p.line("A folder proves no more than that it agrees with itself. What ties it to MLflow is result.json, whose SHA-256 is `%s`: the tag benchbatch.result of the run %s holds the same, and so should whatever else published this report. benchbatch verify prints it.", f.ResultDigest, escape.Markdown(f.Result.Batch))
	p.line("")
	p.line("%s", secrets(s))
	p.WriteString(howTo)
	return p.String()
}

// secrets says what the scan of the folder's text found.
func secrets(s *export.Summary) string {
	n, files := 0, map[string]bool{}
	for _, h := range s.Secrets {
		n += h.Count
		files[h.File] = true
	}
	found := "found nothing"
	if n > 0 {
		found = fmt.Sprintf("**found %s in %s**, listed in manifest.json: look at them before you pass this folder on", many(n, "likely secret"), many(len(files), "file"))
	}
	return "A pattern scan of the text here (not of the bundles) for well-known shapes of keys and tokens " + found + ". A secret of another shape is not found by it."
}

const check = `## Check it

    sha256sum -c --quiet SHA256SUMS      # every byte
    benchbatch verify .                  # and that every number follows from raw/

Neither needs a network, a server or the machine that wrote the folder.
`

const howTo = `
## Query it

    duckdb -f queries/01-grid.sql        # in this folder; the other files there are ready questions too

The tables are plain Parquet, for DuckDB, Polars, pandas and others. Null is unknown or missing, never 0. Times are in UTC.

| file | one row is |
| --- | --- |
| tables/cells.parquet | a planned repeat of a cell, with its state and reason; the counts above are counts of these rows |
| tables/evaluations.parquet | an evaluation (MLflow run), counted or not |
| tables/attempts.parquet | one try of one task in an evaluation |
| tables/outcomes.parquet | the result of one task in one evaluation |
| tables/judges.parquet | the vote of one judge on one outcome |
| tables/metrics.parquet | one figure of one evaluation, by name |
| tables/tasks.parquet | a task of the panel |
| tables/variants.parquet | a variant over its counted evaluations |
| tables/pairs.parquet | two variants over the tasks that both have, with the verdict |
| tables/batch.parquet | the batch: what it cost, what the rule was, how the whole panel behaves |
| tables/task_variants.parquet | a variant on a task |
| tables/families.parquet | a variant on a family of tasks |
| tables/family_pairs.parquet | the verdict on two variants on a family; empty unless the frozen rule decides by family |
| tables/passes.parquet | pass@k and pass^k of a variant at one k |
| tables/reliability.parquet | the tries of a variant that ended in one state, and what they cost |
| tables/flags.parquet | a finding of an audit |
| tables/judging.parquet | what one judge gave one variant |
| tables/judge_pairs.parquet | the agreement of two judges |

Most questions start with ` + "`WHERE counted`" + `: evaluations that do not count are in the tables too.

## What else is here

- manifest.json: digests of bytes and of contents, rows, counts, and what is missing and why
- spec.yaml, plan.json, result.json: the frozen question, plan and selection
- raw/: the panel, and for each evaluation what was measured (outcomes.jsonl), every try (attempts.jsonl) and all that the runner left (bundle.tar.zst)
`
