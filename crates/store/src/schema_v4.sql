-- Version 3 to version 4: the words of the plan. A cell is a case, a trial a run, a block a round; what the plan's keys
-- say is renamed with them.
DROP VIEW results;
DROP VIEW journal;
DROP INDEX trials_one_measured;
DROP INDEX trials_of_cell;
DROP INDEX series_once;
DROP INDEX marks_of_trial;
ALTER TABLE cells RENAME TO cases;
ALTER TABLE trials RENAME TO runs;
ALTER TABLE runs RENAME COLUMN block TO round;
ALTER TABLE runs RENAME COLUMN cell TO case_id;
ALTER TABLE measurements RENAME COLUMN trial TO run_id;
ALTER TABLE series RENAME COLUMN trial TO run_id;
ALTER TABLE marks RENAME COLUMN trial TO run_id;
CREATE UNIQUE INDEX runs_one_measured ON runs (round, case_id) WHERE state = 'measured';
CREATE INDEX runs_of_case ON runs (case_id);
CREATE UNIQUE INDEX series_once ON series (run_id, host, kind, coalesce(interval, -1));
CREATE INDEX marks_of_run ON marks (run_id);
-- A quotation mark inside a value is escaped, so these are keys.
UPDATE experiment SET plan_json = replace(plan_json, '"blocks":', '"rounds":');
UPDATE experiment SET plan_json = replace(plan_json, '"runs":', '"executions":')
WHERE EXISTS (SELECT 1 FROM cases WHERE workload = 'spatial');
UPDATE cases SET point_json = replace(point_json, '"runs":', '"executions":') WHERE workload = 'spatial';
UPDATE facts SET value = 'rounds' WHERE name = 'imported.repetitions' AND value = 'blocks';
UPDATE facts SET name = 'checkpoint_before_run' WHERE name = 'checkpoint_before_trial';

-- For people at the sqlite3 shell: what was measured.
CREATE VIEW results AS
SELECT c.benchmark, c.system, c.point_json AS point, r.round, m.metric, m.unit, m.value, m.unavailable
FROM measurements AS m JOIN runs AS r ON r.id = m.run_id JOIN cases AS c ON c.id = r.case_id
WHERE r.state = 'measured'
ORDER BY c.id, m.metric, r.round;

-- For people at the sqlite3 shell: how the experiment went, in its order.
CREATE VIEW journal AS
SELECT r.position, r.round, c.benchmark, c.system, c.point_json AS point, r.attempt, r.state, r.reason,
       datetime(r.started_unix_ms / 1000, 'unixepoch') AS started_utc, r.elapsed_s
FROM runs AS r JOIN cases AS c ON c.id = r.case_id
ORDER BY r.position, r.attempt;
