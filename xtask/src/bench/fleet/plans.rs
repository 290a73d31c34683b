//! The plans that étalon runs.

/// The agents at the real server.
pub const CLIENT_1: &str = "client-1";
/// The second of them.
pub const CLIENT_2: &str = "client-2";
/// How many agents make the simulated load.
pub const AGENTS: u32 = 100;
/// Clients of each of them.
const CLIENTS_OF_AGENT: u32 = 2;
/// The databases of the private server: each system has its own tables.
pub const DATABASES: [&str; 3] = ["direct", "agent", "sums"];
/// Half of the zone in which two ways count as equal.
pub const MARGIN: f64 = 0.02;
/// Clients of the comparison.
pub const CLIENTS: u32 = 8;
/// What one agent is asked for, in transactions per second.
pub const RATE: u32 = 500;
/// Clients of one agent under that rate.
pub const CLIENTS_AT_RATE: u32 = 4;
/// What the comparison is judged by.
pub const JUDGED: [&str; 2] = ["throughput", "response_p99"];
/// Metrics that are kept of every plan.
pub const KEPT: [&str; 7] =
    ["throughput", "response_p50", "response_p99", "start_skew", "start_time", "errors", "server_commits"];
/// And of each host.
pub const OF_A_HOST: &str = "throughput_on_";

/// The plan of the comparison, its benchmarks and systems.
pub const EQUAL: &str = "equal";
/// The load is made where the system is.
pub const HERE: &str = "here";
/// The same once more: what the machine alone makes differ.
pub const AGAIN: &str = "again";
/// The load is made by the agent, as one of several would.
pub const CLIENTS_ON: &str = "clients-on";
/// The system is opened in étalon's own process.
pub const DIRECT: &str = "direct";
/// The system is opened by the agent.
pub const AGENT: &str = "agent";

/// The plan of the sum, its benchmarks and its system.
pub const SUMS: &str = "sums";
/// One agent.
pub const ONE: &str = "one";
/// Two agents, twice the load.
pub const TWO: &str = "two";
/// The system of the sum.
pub const POSTGRES: &str = "postgres";

/// The plan of a hundred agents.
pub const HUNDRED: &str = "hundred";
/// The simulated system, and the benchmark at it.
pub const SIMULATED: &str = "simulated";

/// A plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// How many trials it has.
    pub trials: u32,
    /// How long each of them is under load, in seconds.
    pub trial_s: u32,
    /// Its blocks.
    blocks: u32,
}

/// The name of a simulated agent.
pub fn agent(number: u32) -> String {
    format!("sim-{number:03}")
}

fn fleet(nats: &str) -> String {
    format!("[fleet]\nnats = \"{nats}\"\n")
}

fn schedule(blocks: u32, warmup: &str, duration: &str, seed: u64) -> String {
    // What went wrong once is told, and does not take the rest along.
    format!(
        "[schedule]\nblocks = {blocks}\nwarmup = \"{warmup}\"\nduration = \"{duration}\"\nseed = {seed}\non_error = \
         \"continue\"\n"
    )
}

/// One agent beside étalon's own process: the system there or here, the load there or here.
pub fn equal(nats: &str, url: &dyn Fn(&str) -> String, blocks: u32, seconds: u32, seed: u64) -> Plan {
    let load = format!("workload = \"transactions\"\nscript = \"select-only\"\nclients = {CLIENTS}\n");
    let text = format!(
        "name = \"{EQUAL}\"\nmargin = {MARGIN}\n\n{}\n[systems.{DIRECT}]\nurl = \"{}\"\n\n[systems.{AGENT}]\nurl = \"{}\"\n\
         host = \"{CLIENT_1}\"\n\n[[benchmarks]]\nname = \"{HERE}\"\n{load}\n[[benchmarks]]\nname = \"{AGAIN}\"\n{load}\n\
         [[benchmarks]]\nname = \"{CLIENTS_ON}\"\n{load}clients_on = \"{CLIENT_1}\"\n\n{}",
        fleet(nats),
        url(DATABASES[0]),
        url(DATABASES[1]),
        schedule(blocks, "1s", &format!("{seconds}s"), seed)
    );
    Plan { name: EQUAL.to_owned(), text, trials: 6 * blocks, trial_s: 1 + seconds, blocks }
}

/// One agent at a rate, and two at the same rate each, of transactions that write: the server has the sum.
pub fn sums(nats: &str, url: &dyn Fn(&str) -> String, blocks: u32, seconds: u32, seed: u64) -> Plan {
    let load = |name: &str, times: u32, on: &str| {
        format!(
            "[[benchmarks]]\nname = \"{name}\"\nworkload = \"transactions\"\nscript = \"select-update\"\nclients = {}\n\
             rate = {}\nclients_on = [{on}]\n\n",
            times * CLIENTS_AT_RATE,
            times * RATE
        )
    };
    let text = format!(
        "name = \"{SUMS}\"\n\n{}\n[systems.{POSTGRES}]\nurl = \"{}\"\n\n{}{}{}",
        fleet(nats),
        url(DATABASES[2]),
        load(ONE, 1, &format!("\"{CLIENT_1}\"")),
        load(TWO, 2, &format!("\"{CLIENT_1}\", \"{CLIENT_2}\"")),
        schedule(blocks, "1s", &format!("{seconds}s"), seed)
    );
    Plan { name: SUMS.to_owned(), text, trials: 2 * blocks, trial_s: 1 + seconds, blocks }
}

fn simulated(name: &str, fleet: &str, on: &str, blocks: u32, seed: u64) -> Plan {
    let text = format!(
        "name = \"{name}\"\n\n{fleet}\n[systems.{SIMULATED}]\nurl = \"sim:?service_us=300\"\n\n[[benchmarks]]\nname = \
         \"{SIMULATED}\"\nworkload = \"transactions\"\nscript = \"select-only\"\nclients = {CLIENTS_OF_AGENT}\nprocesses = \
         {AGENTS}\n{on}\n{}",
        schedule(blocks, "50ms", "200ms", seed)
    );
    Plan { name: name.to_owned(), text, trials: blocks, trial_s: 1, blocks }
}

/// A hundred agents at a simulated server, each with a part of it: its time is virtual, so that what passes is spent on
/// preparing, starting, fetching and merging.
pub fn hundred(nats: &str, blocks: u32, seed: u64) -> Plan {
    let names: Vec<String> = (0..AGENTS).map(|number| format!("\"{}\"", agent(number))).collect();
    simulated(HUNDRED, &fleet(nats), &format!("clients_on = [{}]\n", names.join(", ")), blocks, seed)
}

/// The same in one process: a thread for each part.
pub fn one_process(of: &Plan, seed: u64) -> Plan {
    simulated("one-process", "", "", of.blocks, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(plan: &Plan) -> toml::Table {
        toml::from_str(&plan.text).unwrap_or_else(|error| panic!("{error}\n{}", plan.text))
    }

    #[test]
    fn plans_are_toml_and_count_their_trials() {
        let url = |database: &str| format!("postgres://x@127.0.0.1:1/{database}");
        let equal = equal("nats://127.0.0.1:1", &url, 3, 4, 7);
        let table = parsed(&equal);
        let cells = table["systems"].as_table().unwrap().len() * table["benchmarks"].as_array().unwrap().len();
        assert_eq!((cells as u32 * 3, equal.trial_s), (equal.trials, 5));
        let sums = parsed(&sums("nats://127.0.0.1:1", &url, 3, 4, 7));
        let of = |number: usize, key: &str| sums["benchmarks"][number][key].as_integer().unwrap();
        assert_eq!((of(1, "rate"), of(1, "clients")), (2 * of(0, "rate"), 2 * of(0, "clients")));
        let hundred = hundred("nats://127.0.0.1:1", 2, 7);
        let agents = parsed(&hundred)["benchmarks"][0]["clients_on"].as_array().unwrap().len();
        let alone = parsed(&one_process(&hundred, 7));
        assert_eq!(alone["benchmarks"][0]["processes"].as_integer().unwrap() as usize, agents);
        assert!(!alone.contains_key("fleet") && !alone["benchmarks"][0].as_table().unwrap().contains_key("clients_on"));
        assert_eq!(alone["schedule"], parsed(&hundred)["schedule"]);
    }
}
