-- Every variant: mean score, worst and best run, repeats, and what is missing.
-- Run it in this folder: duckdb -f queries/01-grid.sql
SELECT agent, model, runs, round(score, 4) AS score, round(score_worst, 4) AS worst_run, round(score_best, 4) AS best_run,
       round(pass_fraction, 4) AS pass_fraction, round(coverage, 4) AS coverage
FROM 'tables/variants.parquet'
ORDER BY agent, model;
