SELECT abalance FROM pgbench_accounts WHERE aid = :scale;
