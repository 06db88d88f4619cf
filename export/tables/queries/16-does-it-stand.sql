-- Does each verdict stand without withdrawn tasks, without runs that served to choose a setting, without flagged outcomes, and with failures scored 0?
SELECT a, b, verdict, winner, stands, first_verdict, second_verdict, kept_verdict, selection_verdict, flagged_verdict, codes
FROM 'tables/pairs.parquet'
WHERE verdict IS NOT NULL
ORDER BY a, b;
