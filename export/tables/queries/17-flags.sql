-- What did audits find, where, and what did the flagged outcomes score?
SELECT audit, variant, task, run_id, counted, state, score, evidence, transcript
FROM 'tables/flags.parquet'
ORDER BY audit, variant, task, run_id;
