-- Version 7 to version 8: the change that étalon has made in a server, so that what a killed one left can be undone.
CREATE TABLE changes (
  server  TEXT PRIMARY KEY,                            -- the system that the server is without the change
  system  TEXT NOT NULL,                               -- the system that it is with the change
  state   TEXT NOT NULL CHECK (state IN ('unsure', 'made')),
  session TEXT                                         -- how the server names the session that works on it
) STRICT, WITHOUT ROWID;
