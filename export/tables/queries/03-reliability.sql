-- How often each variant gave no score, and why. All evaluations, counted or not.
SELECT variant, state, count(*) AS outcomes,
       round(100.0 * count(*) / sum(count(*)) OVER (PARTITION BY variant), 2) AS percent
FROM 'tables/outcomes.parquet'
GROUP BY variant, state
ORDER BY variant, outcomes DESC, state;
