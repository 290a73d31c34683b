-- Version 5 to version 6: what programs read of a reason stands beside it as data. Where an older store has it in a
-- sentence alone, it is read out of that sentence here, and nowhere else.
ALTER TABLE measurements ADD COLUMN absence TEXT
  CHECK (absence IN ('unavailable', 'too-few-operations', 'wrong', 'unsupported', 'failed'));
ALTER TABLE measurements ADD COLUMN operations_needed INTEGER CHECK (operations_needed >= 0);
UPDATE measurements SET absence = 'unavailable' WHERE unavailable IS NOT NULL;
UPDATE measurements SET absence = 'wrong', unavailable = substr(unavailable, length('wrong answer: ') + 1)
WHERE substr(unavailable, 1, length('wrong answer: ')) = 'wrong answer: ';
UPDATE measurements SET absence = 'unsupported', unavailable = substr(unavailable, length('unsupported: ') + 1)
WHERE absence = 'unavailable' AND substr(unavailable, 1, length('unsupported: ')) = 'unsupported: ';
UPDATE measurements SET absence = 'failed', unavailable = substr(unavailable, length('failed: ') + 1)
WHERE absence = 'unavailable' AND substr(unavailable, 1, length('failed: ')) = 'failed: ';
UPDATE measurements SET absence = 'too-few-operations',
                        operations_needed = CAST(substr(unavailable, length('fewer than ') + 1) AS INTEGER)
WHERE absence = 'unavailable' AND unavailable GLOB 'fewer than [0-9]* *';

ALTER TABLE marks ADD COLUMN host TEXT;                               -- NULL: the only machine, or the whole run
ALTER TABLE marks ADD COLUMN data TEXT CHECK (json_valid(data));
UPDATE marks SET data = (
  SELECT json_object('change_point', json_object('after', after, 'of', intervals)) FROM (
    SELECT CAST(rest AS INTEGER) AS after, CAST(substr(rest, instr(rest, ' of ') + 4) AS INTEGER) AS intervals FROM (
      SELECT substr(detail, instr(detail, ' changed its level after ') + length(' changed its level after ')) AS rest)))
WHERE kind = 'warm-up-too-short' AND detail GLOB '* changed its level after [0-9]* of [0-9]* intervals';
UPDATE marks SET data = '"lost_to_others"'
WHERE kind = 'errors' AND (detail GLOB '[0-9]* × serialization: *' OR detail GLOB '[0-9]* × deadlock: *');
-- The run's own measurements name the machines of its agents.
UPDATE marks SET host = (
  SELECT substr(metric, length('other_load_on_') + 1) FROM measurements AS m
  WHERE m.run_id = marks.run_id AND substr(metric, 1, length('other_load_on_')) = 'other_load_on_'
  AND substr(marks.detail, 1, length(metric) - length('other_load_on_') + 2) = substr(metric, length('other_load_on_') + 1) || ': '
  ORDER BY length(metric) DESC LIMIT 1)
WHERE kind GLOB 'machine-*';
UPDATE marks SET detail = substr(detail, length(host) + 3) WHERE host IS NOT NULL;

-- `aborted` says that étalon itself ended; what imports of other tools' runs called so has failed.
UPDATE runs SET state = 'failed' WHERE state = 'aborted'
AND reason NOT GLOB 'interrupted by the user*' AND reason NOT GLOB 'the process ended in mid-run*'
AND reason NOT GLOB 'the process ended in mid-trial*';

-- For people at the sqlite3 shell: what was measured.
DROP VIEW results;
CREATE VIEW results AS
SELECT c.benchmark, c.system, c.point_json AS point, r.round, m.metric, m.unit, m.value, m.absence, m.unavailable
FROM measurements AS m JOIN runs AS r ON r.id = m.run_id JOIN cases AS c ON c.id = r.case_id
WHERE r.state = 'measured'
ORDER BY c.id, m.metric, r.round;
