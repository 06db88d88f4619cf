-- What people said in MLflow of each variant, beside the mean score of the same outcomes. It is no part of the verdict.
SELECT f.judge, f.kind, f.variant, count(*) AS said, count(DISTINCT f.who) AS people, round(avg(f.value_number), 4) AS mean,
  round(avg(f.value_bool::INT), 4) AS share_yes, round(avg(o.score), 4) AS score, max(f.as_of) AS as_of
FROM 'tables/feedback.parquet' f LEFT JOIN 'tables/outcomes.parquet' o USING (run_id, task)
WHERE f.counted
GROUP BY f.judge, f.kind, f.variant
ORDER BY f.judge, f.kind, f.variant;
