-- The share of a month's revenue that a promotion has
SELECT round(100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
             / sum(l_extendedprice * (1 - l_discount)), 4) AS promoted
FROM lineitem
JOIN part ON p_partkey = l_partkey
WHERE l_shipdate >= '1995-09-01'
  AND l_shipdate < '1995-10-01';
