-- What each judge said of each variant, on the scale from 0 to 1.
SELECT judge, kind, variant, count(score) AS votes, count(*) - count(score) AS without_score, round(avg(score), 4) AS mean
FROM 'tables/judges.parquet'
WHERE counted
GROUP BY judge, kind, variant
ORDER BY judge, kind, variant;
