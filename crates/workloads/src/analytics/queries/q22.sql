-- Customers with money and without orders, by their country's code
SELECT country, count(*) AS customers, round(sum(c_acctbal), 2) AS balance
FROM (
  SELECT substring(c_phone, 1, 2) AS country, c_acctbal
  FROM customer
  WHERE substring(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17')
    AND c_acctbal > (
      SELECT avg(c_acctbal)
      FROM customer
      WHERE c_acctbal > 0.00 AND substring(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17')
    )
    AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)
) without_orders
GROUP BY country
ORDER BY country;
