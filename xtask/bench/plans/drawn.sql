\set aid random(1, 100 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
