-- How many customers have how many orders
SELECT orders_of, count(*) AS customers
FROM (
  SELECT c_custkey, count(o_orderkey) AS orders_of
  FROM customer
  LEFT JOIN orders ON o_custkey = c_custkey AND o_comment NOT LIKE '%special%requests%'
  GROUP BY c_custkey
) counted
GROUP BY orders_of
ORDER BY customers DESC, orders_of DESC;
