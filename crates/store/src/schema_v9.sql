-- Version 8 to version 9: the plan by which the engine answered each query of a run.
CREATE TABLE query_plans (
  id              INTEGER PRIMARY KEY,
  run_id          INTEGER NOT NULL REFERENCES runs (id),
  query           TEXT    NOT NULL,
  plan            TEXT,                                -- without costs
  unavailable     TEXT,                                -- why it could not be read
  CHECK ((plan IS NULL) <> (unavailable IS NULL))
) STRICT;
CREATE INDEX query_plans_of_run ON query_plans (run_id);
