-- What each variant cost, as reported and repriced with the frozen prices. Costs
-- are those of all attempts; with unknown ones the sum is a lower bound.
SELECT variant, count(*) AS evaluations, round(sum(cost_usd), 4) AS cost_usd_at_least, sum(cost_unknown) AS attempts_of_unknown_cost,
       round(sum(cost_repriced_usd), 4) AS repriced_usd_at_least, sum(cost_repriced_unknown) AS attempts_not_repriced
FROM 'tables/evaluations.parquet'
WHERE counted
GROUP BY variant
ORDER BY variant;
