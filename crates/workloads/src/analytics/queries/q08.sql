-- A nation's share of a region's market, by year
SELECT ordered_in, round(sum(CASE WHEN supplying = 'BRAZIL' THEN volume ELSE 0 END) / sum(volume), 4) AS market_share
FROM (
  SELECT CASE WHEN o_orderdate < '1996-01-01' THEN 1995 ELSE 1996 END AS ordered_in,
         l_extendedprice * (1 - l_discount) AS volume,
         n2.n_name AS supplying
  FROM part
  JOIN lineitem ON l_partkey = p_partkey
  JOIN supplier ON s_suppkey = l_suppkey
  JOIN orders ON o_orderkey = l_orderkey
  JOIN customer ON c_custkey = o_custkey
  JOIN nation n1 ON n1.n_nationkey = c_nationkey
  JOIN region ON r_regionkey = n1.n_regionkey
  JOIN nation n2 ON n2.n_nationkey = s_nationkey
  WHERE r_name = 'AMERICA'
    AND o_orderdate BETWEEN '1995-01-01' AND '1996-12-31'
    AND p_type = 'ECONOMY ANODIZED STEEL'
) sales
GROUP BY ordered_in
ORDER BY ordered_in;
