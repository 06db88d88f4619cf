-- Places that nothing rules out, groups that are not separated, and what a pass costs. No ranks below 3 repeats.
SELECT variant, rank_low, rank_high, letters, best, round(mean, 4) AS mean, round(ci_low, 4) AS low, round(ci_high, 4) AS high,
       k, round(pass_hat_k, 4) AS all_k_pass, pass_k_tasks, round(cost_per_pass_usd, 6) AS usd_a_pass, standing
FROM 'tables/variants.parquet'
ORDER BY rank_low NULLS LAST, rank_high, variant;
