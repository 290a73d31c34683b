-- The supplier with the highest revenue of a quarter
WITH revenue AS (
  SELECT l_suppkey AS supplier_no, round(sum(l_extendedprice * (1 - l_discount)), 4) AS total
  FROM lineitem
  WHERE l_shipdate >= '1996-01-01'
    AND l_shipdate < '1996-04-01'
  GROUP BY l_suppkey
)
SELECT s_suppkey, s_name, s_address, s_phone, total
FROM supplier
JOIN revenue ON supplier_no = s_suppkey
WHERE total = (SELECT max(total) FROM revenue)
ORDER BY s_suppkey;
