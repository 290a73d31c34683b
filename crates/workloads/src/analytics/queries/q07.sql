-- What two nations ship each other, by year
SELECT supplying, buying, shipped_in, round(sum(volume), 4) AS revenue
FROM (
  SELECT n1.n_name AS supplying, n2.n_name AS buying,
         CASE WHEN l_shipdate < '1996-01-01' THEN 1995 ELSE 1996 END AS shipped_in,
         l_extendedprice * (1 - l_discount) AS volume
  FROM supplier
  JOIN lineitem ON l_suppkey = s_suppkey
  JOIN orders ON o_orderkey = l_orderkey
  JOIN customer ON c_custkey = o_custkey
  JOIN nation n1 ON n1.n_nationkey = s_nationkey
  JOIN nation n2 ON n2.n_nationkey = c_nationkey
  WHERE ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE'))
    AND l_shipdate BETWEEN '1995-01-01' AND '1996-12-31'
) shipping
GROUP BY supplying, buying, shipped_in
ORDER BY supplying, buying, shipped_in;
