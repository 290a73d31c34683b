-- Version 2 to version 3: a measured trial may be superseded by another attempt at its place. SQLite cannot change a
-- CHECK, so the table is made anew, and the views that name it with it.
DROP VIEW results;
DROP VIEW journal;
CREATE TABLE trials_new (
  id              INTEGER PRIMARY KEY,
  position        INTEGER NOT NULL CHECK (position >= 0),
  block           INTEGER NOT NULL CHECK (block >= 0),
  cell            INTEGER NOT NULL REFERENCES cells (id),
  attempt         INTEGER NOT NULL CHECK (attempt >= 1),
  state           TEXT    NOT NULL CHECK (state IN ('planned', 'running', 'measured', 'failed', 'aborted', 'superseded')),
  reason          TEXT    CHECK (reason IS NOT NULL OR state NOT IN ('failed', 'aborted', 'superseded')),
  started_unix_ms INTEGER CHECK ((started_unix_ms IS NULL) = (state = 'planned')),
  elapsed_s       REAL    NOT NULL DEFAULT 0 CHECK (elapsed_s >= 0),
  UNIQUE (position, attempt)
) STRICT;
INSERT INTO trials_new SELECT id, position, block, cell, attempt, state, reason, started_unix_ms, elapsed_s FROM trials;
DROP TABLE trials;
ALTER TABLE trials_new RENAME TO trials;
CREATE UNIQUE INDEX trials_one_measured ON trials (block, cell) WHERE state = 'measured';
CREATE INDEX trials_of_cell ON trials (cell);

-- For people at the sqlite3 shell: what was measured.
CREATE VIEW results AS
SELECT c.benchmark, c.system, c.point_json AS point, t.block, m.metric, m.unit, m.value, m.unavailable
FROM measurements AS m JOIN trials AS t ON t.id = m.trial JOIN cells AS c ON c.id = t.cell
WHERE t.state = 'measured'
ORDER BY c.id, m.metric, t.block;

-- For people at the sqlite3 shell: how the experiment went, in its order.
CREATE VIEW journal AS
SELECT t.position, t.block, c.benchmark, c.system, c.point_json AS point, t.attempt, t.state, t.reason,
       datetime(t.started_unix_ms / 1000, 'unixepoch') AS started_utc, t.elapsed_s
FROM trials AS t JOIN cells AS c ON c.id = t.cell
ORDER BY t.position, t.attempt;
