//! What is run in every block.

use serde::{Deserialize, Serialize};

/// Client counts at which the tools are compared.
pub const CLIENTS: [u32; 3] = [1, 16, 80];
/// Connections between which the memory of one more is measured.
pub const MEMORY_CLIENTS: [u32; 2] = [80, 580];
/// Selects in a pipeline.
pub const PIPELINE_DEPTH: u32 = 20;
/// Clients of the pipelined load: the bar names no number, so that one and several are measured.
pub const PIPELINE_CLIENTS: [u32; 2] = [1, 16];

/// A database server of the bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum System {
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    MariaDb,
}

/// The way to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Transport {
    /// A Unix socket.
    Unix,
    /// TCP over the loopback interface, without TLS.
    Tcp,
}

/// Where a client works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The server.
    pub system: System,
    /// The way there.
    pub transport: Transport,
    /// How many connections.
    pub clients: u32,
}

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Load {
    /// pgbench's select by primary key, on pgbench's table.
    Accounts,
    /// sysbench's `oltp_point_select` on sysbench's table.
    Sbtest,
    /// [`PIPELINE_DEPTH`] times [`Load::Accounts`] in one pipeline.
    Pipelined,
    /// The same select with a key drawn by the script, from a range that fits every cache.
    DrawnKey,
    /// [`Load::DrawnKey`] with a constant in place of the drawn key.
    ConstantKey,
}

impl Load {
    /// Selects in one transaction of the script.
    pub fn queries(self) -> u32 {
        if self == Load::Pipelined { PIPELINE_DEPTH } else { 1 }
    }

    fn word(self) -> &'static str {
        match self {
            Load::Accounts => "accounts",
            Load::Sbtest => "sbtest",
            Load::Pipelined => "pipelined",
            Load::DrawnKey => "drawn-key",
            Load::ConstantKey => "constant-key",
        }
    }
}

/// How many threads a tool gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Threads {
    /// One.
    One,
    /// As many as gave the highest rate in the runs before the blocks.
    Best,
}

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tool {
    /// The one under test.
    Etalon,
    /// PostgreSQL's own.
    Pgbench,
    /// A thread for each client.
    Sysbench,
    /// MariaDB's own. A thread for each client, and statements as text.
    Mysqlslap,
}

impl Tool {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Etalon => "étalon",
            Tool::Pgbench => "pgbench",
            Tool::Sysbench => "sysbench",
            Tool::Mysqlslap => "mysqlslap",
        }
    }
}

/// One thing that is run in every block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Entry {
    /// A load generator against a server.
    Client {
        /// Which one.
        tool: Tool,
        /// Where.
        place: Place,
        /// Asking what.
        load: Load,
        /// On how many threads.
        threads: Threads,
    },
    /// Étalon with SQLite in its own process.
    EmbeddedEtalon,
    /// A loop in C on the same SQLite.
    EmbeddedLoop(Clock),
}

/// Whether the loop in C reads the clock once a select, as whoever measures latencies must.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Clock {
    /// It does not.
    Unread,
    /// It does.
    Read,
}

impl Entry {
    /// Its name in the raw results, and for `--only`.
    pub fn key(&self) -> String {
        match self {
            Entry::Client { tool, place, load, threads } => {
                let threads = match threads {
                    Threads::One => "one-thread",
                    Threads::Best => "best",
                };
                format!("{}/{}/{}/{threads}", place.key(), load.word(), ascii(tool.name()))
            }
            Entry::EmbeddedEtalon => "sqlite/etalon".to_owned(),
            Entry::EmbeddedLoop(Clock::Unread) => "sqlite/c-loop".to_owned(),
            Entry::EmbeddedLoop(Clock::Read) => "sqlite/c-loop-with-clock".to_owned(),
        }
    }

    /// Where it works, if it is a client of a server.
    pub fn place(&self) -> Option<Place> {
        match self {
            Entry::Client { place, .. } => Some(*place),
            Entry::EmbeddedEtalon | Entry::EmbeddedLoop(_) => None,
        }
    }
}

/// Keys are typed on command lines.
fn ascii(name: &str) -> String {
    name.replace('é', "e")
}

impl Place {
    fn key(self) -> String {
        let system = match self.system {
            System::Postgres => "postgres",
            System::MariaDb => "mariadb",
        };
        format!("{system}/{}/{}", self.transport.word(), self.clients)
    }
}

impl System {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            System::Postgres => "PostgreSQL",
            System::MariaDb => "MariaDB",
        }
    }
}

impl Transport {
    /// Both.
    pub const ALL: [Transport; 2] = [Transport::Unix, Transport::Tcp];

    /// In keys.
    pub fn word(self) -> &'static str {
        match self {
            Transport::Unix => "unix",
            Transport::Tcp => "tcp",
        }
    }

    /// In tables.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Unix => "Unix socket",
            Transport::Tcp => "TCP",
        }
    }
}

/// A client on PostgreSQL over the Unix socket, on one thread.
pub fn local(tool: Tool, clients: u32, load: Load) -> Entry {
    let place = Place { system: System::Postgres, transport: Transport::Unix, clients };
    Entry::Client { tool, place, load, threads: Threads::One }
}

/// Everything, without doubles.
pub fn all() -> Vec<Entry> {
    let mut entries = Vec::new();
    for transport in Transport::ALL {
        for clients in CLIENTS {
            let place = |system| Place { system, transport, clients };
            let client = |tool, system, load, threads| Entry::Client { tool, place: place(system), load, threads };
            for tool in [Tool::Pgbench, Tool::Etalon] {
                entries.push(client(tool, System::Postgres, Load::Accounts, Threads::One));
                entries.push(client(tool, System::Postgres, Load::Accounts, Threads::Best));
            }
            for (tool, system) in [Tool::Sysbench, Tool::Etalon]
                .into_iter()
                .flat_map(|tool| [(tool, System::Postgres), (tool, System::MariaDb)])
                .chain([(Tool::Mysqlslap, System::MariaDb)])
            {
                entries.push(client(tool, system, Load::Sbtest, Threads::Best));
            }
            entries.push(client(Tool::Etalon, System::MariaDb, Load::Sbtest, Threads::One));
        }
    }
    for clients in PIPELINE_CLIENTS {
        let tools = [Tool::Etalon, Tool::Pgbench];
        entries.extend(tools.map(|tool| local(tool, clients, Load::Pipelined)));
    }
    entries.extend([Load::DrawnKey, Load::ConstantKey].map(|load| local(Tool::Etalon, 16, load)));
    entries.extend(MEMORY_CLIENTS.map(|clients| local(Tool::Etalon, clients, Load::Accounts)));
    entries.extend([Entry::EmbeddedEtalon, Entry::EmbeddedLoop(Clock::Unread), Entry::EmbeddedLoop(Clock::Read)]);
    entries.sort();
    entries.dedup();
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_all_entries_apart() {
        let mut keys: Vec<String> = all().iter().map(Entry::key).collect();
        assert!(keys.contains(&"postgres/unix/16/accounts/etalon/one-thread".to_owned()));
        assert!(keys.iter().all(|key| key.is_ascii()));
        let count = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }
}
