-- Tries that were not accepted: how many, why, and what they cost.
SELECT variant, state, count(*) AS attempts, round(sum(cost_usd), 4) AS cost_usd_at_least, count(*) - count(cost_usd) AS of_unknown_cost
FROM 'tables/attempts.parquet'
WHERE NOT accepted
GROUP BY variant, state
ORDER BY variant, attempts DESC, state;
