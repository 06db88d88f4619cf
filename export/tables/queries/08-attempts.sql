-- What failed attempts cost: tries that ended for reasons that are not the agent's. With unknown costs the sum is a lower bound.
SELECT variant, state, attempts, accepted, cost_usd AS cost_usd_at_least, cost_unknown AS of_unknown_cost
FROM 'tables/reliability.parquet'
WHERE failure AND attempts > 0
ORDER BY variant, attempts DESC, state;
