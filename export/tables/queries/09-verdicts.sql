-- What the frozen decision rule says of each pair, with the difference and its interval (95 %, not adjusted).
SELECT a, b, coalesce(verdict, reason) AS verdict, winner, codes, round(d, 4) AS difference, round(ci_low, 4) AS low, round(ci_high, 4) AS high,
       round(p_adjusted, 6) AS p_adjusted, range_tie, repair
FROM 'tables/pairs.parquet'
ORDER BY a, b;
