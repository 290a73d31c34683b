-- One point select, then one update of the same row, each committed on its own. The update adds 1, so that the sum
-- over the table is the number of transactions that the server has seen.
\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;
