-- Which tasks separate the two variants at the ends of the table? Largest differences of their means first; runs say what each rests on.
-- For two others, replace a and b.
WITH ends AS (
    SELECT first(variant ORDER BY mean DESC, variant) AS a, first(variant ORDER BY mean, variant DESC) AS b
    FROM 'tables/variants.parquet'
    WHERE mean IS NOT NULL
)
SELECT x.task, x.family, x.variant AS a, y.variant AS b, x.mean AS mean_a, y.mean AS mean_b, x.mean - y.mean AS difference, x.runs AS runs_a, y.runs AS runs_b
FROM ends
JOIN 'tables/task_variants.parquet' x ON x.variant = ends.a
JOIN 'tables/task_variants.parquet' y ON y.variant = ends.b AND y.task = x.task
WHERE x.mean <> y.mean
ORDER BY abs(x.mean - y.mean) DESC, x.task
LIMIT 50;
