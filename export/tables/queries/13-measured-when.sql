-- Who was measured when? A variant whose days are not those of the others is compared across days; reused repeats may be old.
SELECT variant, count(*) AS evaluations, count(*) FILTER (reused) AS reused, min(utc) AS first_started, max(utc) AS last_started,
       count(DISTINCT utc::DATE) AS days
FROM (SELECT variant, reused, make_timestamp_ms(epoch_ms(started)) AS utc FROM 'tables/evaluations.parquet' WHERE counted)
GROUP BY variant
ORDER BY variant;
