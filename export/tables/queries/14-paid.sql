-- What was paid today, what had been paid for what was reused, and what judges cost. With unknown costs a sum is a lower bound.
SELECT variant, evaluations_ran AS ran, evaluations_reused AS reused, paid_usd, paid_unknown, paid_repriced_usd, reused_usd, reused_unknown,
       paid_judges_usd, failed_attempts, failed_attempts_usd
FROM 'tables/variants.parquet'
ORDER BY variant;
