-- A task of the published comparison of PostgreSQL on Linux and on Windows (Guazzo, 2016): one select of a random row of
-- table_a, a pause of 50 to 249 ms with the connection kept, one update of the same row. The thread is never the tenth
-- and the value never the last, as in that client, whose random numbers leave out their upper bound. What the update
-- set is not published; this one writes the row as it is, so that every select finds one row.
\set thread random(1, 9)
\set value random(1, 99999)
\set pause random(50, 249)
SELECT thread_id, a_value FROM table_a WHERE thread_id = :thread AND a_value = :value;
\sleep :pause ms
UPDATE table_a SET a_value = a_value WHERE thread_id = :thread AND a_value = :value;
