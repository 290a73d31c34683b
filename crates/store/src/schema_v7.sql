-- Version 6 to version 7: a search for the highest load that keeps a promise may try numbers of clients.
ALTER TABLE points ADD COLUMN clients INTEGER CHECK (clients > 0);     -- NULL: a rate was sought
