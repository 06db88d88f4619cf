-- Who should do which family of tasks? Places on each family, and what may replace the reference there. Empty unless the frozen rule decides by family.
SELECT family, variant, mean, rank_low, rank_high, letters, best, standing, recommended, recommended_reason
FROM 'tables/families.parquet'
WHERE NOT exploratory
ORDER BY family, rank_low NULLS LAST, mean DESC, variant;
