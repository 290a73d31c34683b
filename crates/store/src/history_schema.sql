CREATE TABLE remembered (
  name            TEXT    PRIMARY KEY,                 -- 'anchor'
  value           TEXT    NOT NULL
) STRICT;
CREATE TABLE experiments (
  id              TEXT    PRIMARY KEY,                 -- digest of what distinguishes an experiment
  name            TEXT    NOT NULL,
  created_unix_ms INTEGER NOT NULL,
  commit_name     TEXT,
  runs            INTEGER NOT NULL                     -- measured runs
) STRICT;
CREATE TABLE facts (
  digest          TEXT    PRIMARY KEY,
  facts_json      TEXT    NOT NULL
) STRICT;
CREATE TABLE series (
  id              INTEGER PRIMARY KEY,
  system          TEXT    NOT NULL,
  benchmark       TEXT    NOT NULL,
  case_json       TEXT    NOT NULL,
  metric          TEXT    NOT NULL,
  unit            TEXT    NOT NULL,
  direction       TEXT    NOT NULL,
  anchor          TEXT    NOT NULL,                    -- the system that the values are ratios to; empty for plain values
  UNIQUE (system, benchmark, case_json, metric, unit, direction, anchor)
) STRICT;
CREATE TABLE points (
  series_id       INTEGER NOT NULL REFERENCES series (id),
  experiment_id   TEXT    NOT NULL REFERENCES experiments (id),
  value           REAL    NOT NULL,
  low             REAL,
  high            REAL,
  version         TEXT,
  facts_digest    TEXT    NOT NULL REFERENCES facts (digest),
  PRIMARY KEY (series_id, experiment_id)
) STRICT, WITHOUT ROWID;
