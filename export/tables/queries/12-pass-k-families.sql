-- pass@k and pass^k by family, at the k that every variant has. Without decision.by: family this is exploratory.
SELECT family, variant, k, pass_at_k, pass_hat_k, pass_k_tasks AS tasks, pass_k_excluded AS excluded, exploratory
FROM 'tables/families.parquet'
WHERE k IS NOT NULL
ORDER BY family, pass_hat_k DESC NULLS LAST, variant;
