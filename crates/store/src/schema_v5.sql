-- Version 4 to version 5: the short runs of a search for the highest load that keeps a promise.
CREATE TABLE points (
  id                 INTEGER PRIMARY KEY,
  run_id             INTEGER NOT NULL REFERENCES runs (id),
  rate               REAL CHECK (rate > 0),                          -- NULL: as fast as it was answered
  throughput         REAL    NOT NULL CHECK (throughput >= 0),
  response_p50_us    REAL CHECK (response_p50_us >= 0),              -- NULL: of too few responses
  response_p99_us    REAL CHECK (response_p99_us >= 0),
  late_share         REAL    NOT NULL CHECK (late_share BETWEEN 0 AND 1),
  failed_share       REAL    NOT NULL CHECK (failed_share BETWEEN 0 AND 1),
  is_kept            INTEGER CHECK (is_kept IN (0, 1)),              -- NULL: no rate was promised
  is_client_saturated INTEGER NOT NULL CHECK (is_client_saturated IN (0, 1))
) STRICT;
CREATE INDEX points_of_run ON points (run_id);
