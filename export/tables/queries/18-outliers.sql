-- Tasks that tell variants apart: how they are handled in general, and which variant stands out in either direction.
SELECT task, family, mean, above, above_by, below, below_by, item_rest
FROM 'tables/tasks.parquet'
WHERE informative
ORDER BY greatest(coalesce(above_by, 0), -coalesce(below_by, 0)) DESC, task
LIMIT 50;
