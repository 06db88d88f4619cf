-- Planned repeats by state and reason. The counts add up to all planned repeats.
SELECT state, coalesce(reason, '') AS reason, count(*) AS repeats
FROM 'tables/cells.parquet'
GROUP BY ALL
ORDER BY state, repeats DESC, reason;
