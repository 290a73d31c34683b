-- What was shipped, by its flags
SELECT l_returnflag, l_linestatus,
       sum(l_quantity) AS sum_quantity,
       round(sum(l_extendedprice), 2) AS sum_price,
       round(sum(l_extendedprice * (1 - l_discount)), 4) AS sum_discounted,
       round(sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), 4) AS sum_charged,
       round(avg(l_quantity), 2) AS mean_quantity,
       round(avg(l_extendedprice), 2) AS mean_price,
       round(avg(l_discount), 2) AS mean_discount,
       count(*) AS line_count
FROM lineitem
WHERE l_shipdate <= '1998-09-02'
GROUP BY l_returnflag, l_linestatus
ORDER BY l_returnflag, l_linestatus;
