\set id random(1, 100000 * :scale)
SELECT c FROM sbtest1 WHERE id = :id;
