package report

import (
	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
)

// readme says what the folder is, and how to check and query it.
func readme(f *export.Frozen, s *export.Summary) *document.Document {
	n := f.Result.Counts
	d := &document.Document{Title: f.Name(), Marks: marks(f)}
	say := func(format own, args ...any) { d.Add(&document.Paragraph{Text: say(format, args...)}) }
	section := func(title own) { d.Add(&document.Heading{Level: 2, Text: document.Say("%s", title)}) }

	say("The verdict: %s %s says what it rests on, pair by pair, with charts; %s is the same as text.", document.Strong(headline(s)),
		document.Link(document.Say("report.html"), "report.html"), document.Link(document.Say("report.md"), "report.md"))
	p := &page{f: f, s: s, v: s.Verdict}
	for _, w := range p.folderWarnings() {
		say("%s", w)
	}
	say("One frozen batch of the benchmark %s, version %s, begun %s.", f.Plan.Benchmark, f.Plan.Version, stamp(f.Result.Started))
	if f.Plan.Question != "" {
		say("The question: %s", document.Strong(document.Foreign(f.Plan.Question)))
	}
	say("%d repeats planned = %d reused + %d done + %d failed + %d skipped + %d not started.", n.Planned, n.Reused, n.Done, n.Failed, n.Skipped, n.NotStarted)

	section("Check it")
	d.Add(&document.Code{Lines: []own{"sha256sum -c --quiet SHA256SUMS      # every byte", "benchbatch verify .                  # and that every number follows from raw/"}})
	say("Neither needs a network, a server or the machine that wrote the folder.")
	say("A folder proves no more than that it agrees with itself. What ties it to MLflow is result.json, whose SHA-256 is %s: the tag benchbatch.result of the run %s holds the same, and so should whatever else published this report. benchbatch verify prints it.",
		document.Literal(document.Say("%s", own(f.ResultDigest))), f.Result.Batch)
	say("%s", secrets(s))

	section("Query it")
	d.Add(&document.Code{Lines: []own{"duckdb -f queries/01-grid.sql        # in this folder; the other files there are ready questions too"}})
	say("The tables are plain Parquet, for DuckDB, Polars, pandas and others. Null is unknown or missing, never 0. Times are in UTC.")
	d.Add(tablesHere())
	say("Most questions start with %s: evaluations that do not count are in the tables too.", document.Literal(document.Say("WHERE counted")))

	section("What else is here")
	d.Add(&document.List{Items: []document.Text{
		document.Say("report.html, report.md, charts/: the decision report, as one page that works from disk and in print, as text, and its charts"),
		document.Say("manifest.json: digests of bytes and of contents, rows, counts, and what is missing and why"),
		document.Say("spec.yaml, plan.json, result.json: the frozen question, plan and selection"),
		document.Say("raw/: the panel, and for each evaluation what was measured (outcomes.jsonl), every try (attempts.jsonl) and all that the runner left (bundle.tar.zst); feedback.jsonl where people had said something"),
	}})
	return d
}

// secrets says what the scan of the folder's text found.
func secrets(s *export.Summary) document.Text {
	n, files := 0, map[string]bool{}
	for _, h := range s.Secrets {
		n += h.Count
		files[h.File] = true
	}
	found := say("found nothing")
	if n > 0 {
		found = say("%s, listed in manifest.json: look at them before you pass this folder on", document.Strong(say("found %s in %s", many(n, "likely secret"), many(len(files), "file"))))
	}
	return say("A pattern scan of the text here (not of the bundles) for well-known shapes of keys and tokens %s. A secret of another shape is not found by it.", found)
}

func tablesHere() *document.Table {
	t := &document.Table{Columns: columns("file", "one row is")}
	for _, r := range [][2]own{
		{"cells", "a planned repeat of a cell, with its state and reason; the counts above are counts of these rows"},
		{"evaluations", "an evaluation (MLflow run), counted or not"},
		{"attempts", "one try of one task in an evaluation"},
		{"outcomes", "the result of one task in one evaluation"},
		{"judges", "the vote of one judge on one outcome"},
		{"metrics", "one figure of one evaluation, by name"},
		{"tasks", "a task of the panel"},
		{"variants", "a variant over its counted evaluations"},
		{"pairs", "two variants over the tasks that both have, with the verdict"},
		{"batch", "the batch: what it cost, what the rule was, how the whole panel behaves"},
		{"task_variants", "a variant on a task"},
		{"families", "a variant on a family of tasks"},
		{"family_pairs", "the verdict on two variants on a family; empty unless the frozen rule decides by family"},
		{"passes", "pass@k and pass^k of a variant at one k"},
		{"reliability", "the tries of a variant that ended in one state, and what they cost"},
		{"flags", "a finding of an audit"},
		{"judging", "what one judge gave one variant"},
		{"judge_pairs", "the agreement of two judges"},
		{"feedback", "what one person said of one outcome in MLflow; no part of any score"},
	} {
		t.Rows = append(t.Rows, document.Row{say("tables/%s.parquet", r[0]), say("%s", r[1])})
	}
	return t
}
