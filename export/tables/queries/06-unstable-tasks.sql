-- Tasks on which repeats of the same variant differ most.
SELECT variant, task, count(score) AS runs, round(avg(score), 4) AS mean, min(score) AS lowest, max(score) AS highest
FROM 'tables/outcomes.parquet'
WHERE counted AND score IS NOT NULL
GROUP BY variant, task
HAVING count(score) > 1 AND max(score) > min(score)
ORDER BY highest - lowest DESC, variant, task
LIMIT 50;
