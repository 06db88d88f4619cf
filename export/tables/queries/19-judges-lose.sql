-- On which judge does each variant lose most, and do judges agree? alpha is Krippendorff's, undefined where all votes are alike.
SELECT j.variant, j.judge, j.mean, j.gap AS gap_to_other_judges, j.own_family, j.own_bias, b.agreement_alpha AS alpha, b.agreement_raw, b.agreement_mean_vote
FROM 'tables/judging.parquet' j, 'tables/batch.parquet' b
WHERE j.lost_most
ORDER BY j.variant;
