-- Version 1 of an étalon store. Never edit a version that was released: add a step in migrate.rs.

CREATE TABLE experiment (
  id              INTEGER PRIMARY KEY CHECK (id = 1),  -- one row
  name            TEXT    NOT NULL,                    -- the plan's name
  etalon_version  TEXT    NOT NULL,
  build           TEXT    NOT NULL,                    -- a debug build's figures are not comparable
  created_unix_ms INTEGER NOT NULL,
  command         TEXT    NOT NULL,
  plan_path       TEXT,
  plan_hash       TEXT    NOT NULL,
  plan_text       TEXT    NOT NULL,                    -- as written, passwords removed
  plan_json       TEXT    NOT NULL CHECK (json_valid(plan_json))
) STRICT;

CREATE TABLE writer (
  id              INTEGER PRIMARY KEY CHECK (id = 1),  -- no row when nobody writes
  token           TEXT    NOT NULL,
  pid             INTEGER NOT NULL
) STRICT;

CREATE TABLE facts (
  subject         TEXT    NOT NULL,                    -- 'client' or a system's name
  name            TEXT    NOT NULL,
  value           TEXT,
  unavailable     TEXT,                                -- why there is no value
  nature          TEXT    NOT NULL CHECK (nature IN ('identity', 'passing')),
  taken_unix_ms   INTEGER NOT NULL,
  PRIMARY KEY (subject, name),
  CHECK ((value IS NULL) <> (unavailable IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE cells (
  id              INTEGER PRIMARY KEY,                 -- from 0, in the plan's order
  benchmark       TEXT    NOT NULL,
  workload        TEXT    NOT NULL,
  system          TEXT    NOT NULL,
  point_json      TEXT    NOT NULL CHECK (json_valid(point_json))
) STRICT;

CREATE TABLE trials (
  id              INTEGER PRIMARY KEY,
  position        INTEGER NOT NULL CHECK (position >= 0),
  block           INTEGER NOT NULL CHECK (block >= 0),
  cell            INTEGER NOT NULL REFERENCES cells (id),
  attempt         INTEGER NOT NULL CHECK (attempt >= 1),
  state           TEXT    NOT NULL CHECK (state IN ('planned', 'running', 'measured', 'failed', 'aborted')),
  reason          TEXT    CHECK (reason IS NOT NULL OR state NOT IN ('failed', 'aborted')),
  started_unix_ms INTEGER CHECK ((started_unix_ms IS NULL) = (state = 'planned')),
  elapsed_s       REAL    NOT NULL DEFAULT 0 CHECK (elapsed_s >= 0),
  UNIQUE (position, attempt)
) STRICT;
CREATE UNIQUE INDEX trials_one_measured ON trials (block, cell) WHERE state = 'measured';
CREATE INDEX trials_of_cell ON trials (cell);

CREATE TABLE measurements (
  id              INTEGER PRIMARY KEY,
  trial           INTEGER NOT NULL REFERENCES trials (id),
  metric          TEXT    NOT NULL,
  unit            TEXT    NOT NULL,
  direction       TEXT    NOT NULL CHECK (direction IN ('higher', 'lower', 'neither')),
  role            TEXT    NOT NULL CHECK (role IN ('primary', 'secondary', 'diagnostic')),
  value           REAL,
  unavailable     TEXT,                                -- why there is no value; never 0 for that
  UNIQUE (trial, metric),
  CHECK ((value IS NULL) <> (unavailable IS NULL))
) STRICT;

CREATE TABLE series (
  id              INTEGER PRIMARY KEY,
  trial           INTEGER NOT NULL REFERENCES trials (id),
  host            TEXT    NOT NULL,
  kind            TEXT    NOT NULL CHECK (kind IN ('response', 'service')),
  interval        INTEGER CHECK (interval >= 0),       -- NULL: the whole measured part
  length_ms       INTEGER NOT NULL CHECK (length_ms >= 0),
  errors          INTEGER NOT NULL CHECK (errors >= 0),
  histogram       BLOB    NOT NULL                     -- HdrHistogram, V2 serialisation, nanoseconds
) STRICT;
CREATE UNIQUE INDEX series_once ON series (trial, host, kind, coalesce(interval, -1));

CREATE TABLE marks (
  id              INTEGER PRIMARY KEY,
  trial           INTEGER NOT NULL REFERENCES trials (id),
  kind            TEXT    NOT NULL,
  detail          TEXT    NOT NULL
) STRICT;
CREATE INDEX marks_of_trial ON marks (trial);

-- Holds disk space for the next record; empty but for a moment. See reserve.rs.
CREATE TABLE ballast (zeroes BLOB NOT NULL) STRICT;

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
