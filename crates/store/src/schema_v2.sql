-- Version 1 to version 2: the series of a trial under a rate may have a gauge of its backlog. SQLite cannot change a
-- CHECK, so the table is made anew.
CREATE TABLE series_new (
  id              INTEGER PRIMARY KEY,
  trial           INTEGER NOT NULL REFERENCES trials (id),
  host            TEXT    NOT NULL,
  kind            TEXT    NOT NULL CHECK (kind IN ('response', 'service', 'backlog')),
  interval        INTEGER CHECK (interval >= 0),       -- NULL: the whole measured part
  length_ms       INTEGER NOT NULL CHECK (length_ms >= 0),
  errors          INTEGER NOT NULL CHECK (errors >= 0),
  histogram       BLOB    NOT NULL                     -- HdrHistogram, V2 serialisation: nanoseconds, or transactions
) STRICT;
INSERT INTO series_new SELECT id, trial, host, kind, interval, length_ms, errors, histogram FROM series;
DROP TABLE series;
ALTER TABLE series_new RENAME TO series;
CREATE UNIQUE INDEX series_once ON series (trial, host, kind, coalesce(interval, -1));
