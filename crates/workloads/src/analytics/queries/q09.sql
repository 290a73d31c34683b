-- Profit from parts of a colour, by nation and year
SELECT supplying, ordered_in, round(sum(amount), 4) AS profit
FROM (
  SELECT n_name AS supplying,
         CASE WHEN o_orderdate < '1993-01-01' THEN 1992
              WHEN o_orderdate < '1994-01-01' THEN 1993
              WHEN o_orderdate < '1995-01-01' THEN 1994
              WHEN o_orderdate < '1996-01-01' THEN 1995
              WHEN o_orderdate < '1997-01-01' THEN 1996
              WHEN o_orderdate < '1998-01-01' THEN 1997
              ELSE 1998 END AS ordered_in,
         l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
  FROM part
  JOIN lineitem ON l_partkey = p_partkey
  JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey
  JOIN supplier ON s_suppkey = l_suppkey
  JOIN orders ON o_orderkey = l_orderkey
  JOIN nation ON n_nationkey = s_nationkey
  WHERE p_name LIKE '%green%'
) profits
GROUP BY supplying, ordered_in
ORDER BY supplying, ordered_in DESC;
