-- What does a pass cost, as reported and from the frozen prices, and how long does a task take without waiting?
SELECT variant, cost_per_pass_usd, cost_per_pass_low, cost_per_pass_high, repriced_per_pass_usd, repriced_per_pass_low, repriced_per_pass_high,
       work_s, work_s_median, work_s_p90, tokens_input, tokens_cache_read, tokens_output
FROM 'tables/variants.parquet'
ORDER BY cost_per_pass_usd NULLS LAST, variant;
