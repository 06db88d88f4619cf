package report

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/exporttest"
	"github.com/benchbatch/benchbatch/export/tables"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// folder writes a batch, and gives its report in both forms and its charts.
func folder(t *testing.T, s *exporttest.Synthetic, change func(*export.Options)) (md, html string, charts map[string]string) {
	t.Helper()
	o := export.Options{Out: t.TempDir(), Outputs: []export.Output{Output{}}}
	if change != nil {
		change(&o)
	}
	dir, err := export.Write(context.Background(), s.Freeze(), o)
	require.NoError(t, err)
	md, html = read(t, dir, "report.md"), read(t, dir, "report.html")
	charts = map[string]string{}
	names, err := filepath.Glob(filepath.Join(dir, "charts", "*"))
	require.NoError(t, err)
	for _, n := range names {
		charts[filepath.Base(n)] = read(t, dir, "charts/"+filepath.Base(n))
	}
	return md, html, charts
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(data)
}

func has(t *testing.T, text, want, at string) {
	t.Helper()
	assert.True(t, strings.Contains(text, want), "%s: %q is missing", at, want)
}

func hasNot(t *testing.T, text, bad, at string) {
	t.Helper()
	assert.False(t, strings.Contains(text, bad), "%s: %q is there", at, bad)
}

// Whatever a batch lacks, its page holds every planned variant and no figure that is none.
func TestOddBatches(t *testing.T) {
	lines := func(word string, n int) string { return strings.Repeat(word+" ", n) }
	voteless := exporttest.Plausible()
	for _, e := range voteless.Result.Evaluations {
		var list []outcome.Outcome
		for _, task := range voteless.Tasks {
			score := 0.5
			list = append(list, outcome.Outcome{Task: task.ID, State: outcome.Scored, Score: &score})
		}
		voteless.SetOutcomes(e.RunID, list)
	}
	three := exporttest.New(exporttest.Shape{Tasks: 12, Agents: 2, Models: 1, Repeats: 3, Judges: 3, Seed: 7})
	noVariant := exporttest.New(exporttest.Shape{Tasks: 3, Seed: 1})
	wide := exporttest.Lettered(high, low)
	wide.SetDecision(`{"metric":"passed","margin":1.5}`)
	judgeless := exporttest.Lettered(high, low)
	judgeless.SetDecision(`{"metric":"judge/tone"}`)
	for name, c := range map[string]struct {
		s    *exporttest.Synthetic
		says []string
	}{
		"no variant":            {noVariant, []string{"No variant is planned."}},
		"one variant":           {exporttest.Lettered(high), []string{"Nothing to compare"}},
		"one task":              {exporttest.Lettered("111", "000"), []string{"fewer than 10 common tasks"}},
		"all failed":            {exporttest.Lettered(lines("---", 12), lines("---", 12)), []string{"no variant has a score", "nothing; 72 failures", "0.0 % of counted"}},
		"none started":          {exporttest.Lettered(lines("...", 12), lines("...", 12)), []string{"no variant has a score"}},
		"all equal":             {exporttest.Lettered(lines("111", 12), lines("111", 12)), []string{"0 of 12 tasks tell anything apart", "solved in every run"}},
		"all zero":              {exporttest.Lettered(lines("000", 12), lines("000", 12)), []string{"failed in every run"}},
		"votes nowhere":         {voteless, []string{"No judge gave a vote that could be read: nothing is known of 3 judges."}},
		"three judges":          {three, []string{"All 3 judges on the same 66 outcomes: Fleiss' kappa of passing -0.066, raw agreement 0.545, share of passing votes 0.308."}},
		"margin beyond scale":   {wide, []string{"margin 1.5: must lie in (0, 1)"}},
		"metric never measured": {judgeless, []string{"Nothing can be told"}},
	} {
		md, html, charts := folder(t, c.s, nil)
		texts := map[string]string{name + " report.md": md, name + " report.html": html}
		for n, svg := range charts {
			texts[name+" "+n] = svg
			has(t, md, "](charts/"+n+")", name)
		}
		for at, text := range texts {
			for _, bad := range []string{"NaN", "Inf", "%!", "<nil>"} {
				hasNot(t, text, bad, at)
			}
		}
		for _, text := range c.says {
			has(t, md, text, name)
		}
		for i := range c.s.Plan.Cells {
			has(t, md, "| "+c.s.Plan.Cells[i].Variant.String()+" |", name)
		}
		has(t, md, "planned = ", name)
	}
}

// Families have verdicts only where the frozen rule asks for them.
func TestByFamily(t *testing.T) {
	s := exporttest.Lettered(strings.Repeat(high, 3), strings.Repeat(low, 3))
	s.SetFamilies(strings.Repeat("a", 45) + strings.Repeat("b", 45))
	s.SetDecision(`{"metric":"passed","margin":0.2,"by":"family"}`)
	md, _, _ := folder(t, s, nil)
	has(t, md, "The rule, frozen before the run, decides by family", "by family")
	has(t, md, "Holm across families", "by family")
	has(t, md, "| a | 45 | agent-1+model-1 may be called best | agent-1+model-1 | not asked for |", "by family")
	has(t, md, "see the [routing table](#families)", "by family")
	hasNot(t, md, "Exploratory", "by family")

	s.SetDecision(`{"metric":"passed","margin":0.2}`)
	md, _, _ = folder(t, s, nil)
	has(t, md, "**Exploratory**: the rule does not decide by family, so nothing below is a verdict.", "exploratory")
	hasNot(t, md, "Routing table", "exploratory")
}

// What may replace the reference stands on the first screen, where it stands in every reading.
func TestRecommended(t *testing.T) {
	s := exporttest.Plausible()
	s.Result.Evaluations[0].Role = ""
	md, _, _ := folder(t, s, nil)
	has(t, md, "By the same rule **agent-1+model-2** may replace the reference agent-1+model-1", "first screen")
	has(t, md, "| non-inferior, with a material advantage in cost_usd |", "candidates")
	hasNot(t, md, "not so without", "headline")
}

// What a team would ask of a batch is answered on its page.
func TestPlausible(t *testing.T) {
	md, html, charts := folder(t, exporttest.Plausible(), nil)
	for _, text := range []string{
		"The recommendation follows the rule frozen before the run: first capability, then at least 20 % less cost, or at least 20 % less time",
		"| non-inferior, with a material advantage, but not without the runs of selection |",
		"**19 ran, 1 reused**.",
		"Value of what was reused, when it was measured: at least",
		"| without the runs of selection | 24 outcomes |",
		"| without the flagged outcomes | 1 outcome | nothing: the same verdict on every pair |",
		"| test-awareness | the transcript says “this looks like a benchmark”; transcript logs/T-0005.jsonl in the run's bundle |",
		" (selection), ",
		"judge-3 gave no vote that could be read.",
		"Agreement of all judges (Krippendorff's alpha, interval scale): **0.9",
		"| T-0008 | other | yes | mixed in all variants |",
		"[agent-2+model-2](raw/",
		"## What this does not say",
		"add tasks: 13 more (130 task runs, about ",
	} {
		has(t, md, text, "report.md")
	}
	assert.Len(t, charts, 7)
	for name, svg := range charts {
		has(t, svg, "<svg xmlns=", name)
		has(t, html, strings.TrimSpace(svg), "report.html holds "+name)
	}
}

// Where the evidence is withheld, nothing leads to it.
func TestWithheldEvidence(t *testing.T) {
	md, html, _ := folder(t, exporttest.Plausible(), func(o *export.Options) { o.Withhold = []string{"raw"} })
	hasNot(t, md, "(raw/", "report.md")
	hasNot(t, html, `href="raw/`, "report.html")
	hasNot(t, md, "looks like a benchmark", "report.md")
	has(t, md, "Withheld from this folder: raw.", "report.md")
	has(t, md, "| test-awareness | withheld |", "report.md")
}

// A report made with another rule than the frozen one says so, on every sheet of paper too.
func TestPostHocMark(t *testing.T) {
	dir, err := export.Write(context.Background(), exporttest.Plausible().Freeze(), export.Options{Out: t.TempDir(), Outputs: []export.Output{tables.Output{}, Output{}}})
	require.NoError(t, err)
	f, err := export.OpenFolder(context.Background(), dir, tables.Output{})
	require.NoError(t, err)
	require.NoError(t, f.Redecide([]byte(`{"metric":"score","margin":0.3,"reference":"agent-1+model-1"}`)))
	out := t.TempDir()
	_, _, err = f.Render(context.Background(), out, []export.Output{Output{}})
	require.NoError(t, err)
	md, html := read(t, out, "report.md"), read(t, out, "report.html")
	has(t, md, "**POST HOC**: decided by rule ", "report.md")
	has(t, md, ", chosen after the run.", "report.md")
	has(t, html, `@top-center { content: "POST HOC";`, "report.html")
	has(t, read(t, out, "README.md"), "**POST HOC**", "README.md")
}

// A batch of many variants and tasks shows the telling ones, and says where the rest is.
func TestLongTables(t *testing.T) {
	s := exporttest.New(exporttest.Shape{Agents: 6, Models: 4, Tasks: 90, Repeats: 3, Bare: true, Seed: 3})
	s.SetDecision(`{"metric":"score","margin":0.1}`)
	for i := range s.Plan.Cells[3:] {
		s.AddSlot(i+3, 4, batch.SlotNotStarted, "the ceiling was reached")
	}
	md, html, _ := folder(t, s, nil)
	has(t, md, "153 further pairs are in tables/pairs.parquet.", "pairs")
	has(t, md, "30 further tasks are in tables/tasks.parquet.", "tasks")
	has(t, md, "12 further variants are in tables/task_variants.parquet.", "variants")
	assert.Less(t, len(html), 2<<20)
}
