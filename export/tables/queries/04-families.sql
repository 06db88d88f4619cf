-- Mean score of each variant in each family of tasks: mean over runs, then over tasks.
WITH tasks AS (
    SELECT variant, coalesce(family, task) AS family, task, avg(score) AS score
    FROM 'tables/outcomes.parquet'
    WHERE counted AND NOT withdrawn AND score IS NOT NULL
    GROUP BY ALL
)
SELECT family, variant, count(*) AS tasks, round(avg(score), 4) AS score
FROM tasks
GROUP BY family, variant
ORDER BY family, variant;
