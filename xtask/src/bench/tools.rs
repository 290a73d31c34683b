//! The tools: how each is started, and what it says of itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value as Json;

use super::build::Build;
use super::entries::{Clock, Entry, Load, Place, System, Tool, Transport};
use super::loops;
use super::process::{self, Usage, ask};
use super::record::Observation;
use super::server::{ROLE, SBTEST_ROWS, SCALE, Server};

/// What the tool and the server count may differ by, besides one transaction of each client under way at the end.
const COUNTS_AGREE: f64 = 0.02;
/// Rows that the drawn and the constant key are of: few enough to be in every cache.
const HOT_ROWS: u32 = 1_000;
/// Queries by which mysqlslap, which knows no length of time, is timed first.
const SLAP_TRIAL: u32 = 20_000;

/// Programs that are there.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    /// The binary, not Debian's wrapper in Perl.
    pub pgbench: Option<PathBuf>,
    /// `sysbench`.
    pub sysbench: Option<PathBuf>,
    /// `mysqlslap`.
    pub mysqlslap: Option<PathBuf>,
}

/// Everything that a run needs.
pub struct Runner {
    /// Étalon.
    pub build: Build,
    /// What this étalon understands: keys of `transactions`, names of engines.
    pub known: BTreeSet<String>,
    /// The others.
    pub peers: Peers,
    /// The servers that run.
    pub servers: Vec<(System, Server)>,
    /// Where plans and stores go.
    pub folder: PathBuf,
    /// The loop in C, if there is a compiler.
    pub c_loop: Option<PathBuf>,
    /// How many queries a second mysqlslap made at a place.
    pub slap_rates: Vec<(Place, f64)>,
}

/// What a run gave before it is attributed to a block.
struct Counted {
    rate_per_s: f64,
    selects: f64,
}

impl Runner {
    /// Why an entry cannot be run here, if it cannot.
    pub fn obstacle(&self, entry: &Entry) -> Option<String> {
        let knows = |word: &str| self.known.contains(word);
        let lacks = |word: &str| Some(format!("this build of étalon has no `{word}`"));
        match *entry {
            Entry::Client { place, .. } if self.server(place.system).is_none() => {
                Some(format!("no {} server", place.system.name()))
            }
            Entry::Client { tool: Tool::Etalon, place, threads, .. } => {
                let one_thread = threads == super::entries::Threads::One && place.clients > 1;
                match place.system {
                    System::MariaDb if !knows("mysql") => lacks("mysql"),
                    _ if !knows("tables") => lacks("tables"),
                    _ if one_thread && !knows("threads") => lacks("threads"),
                    _ => None,
                }
            }
            Entry::Client { tool, .. } => {
                self.program(tool).is_none().then(|| format!("{} is not installed", tool.name()))
            }
            Entry::EmbeddedEtalon => None,
            Entry::EmbeddedLoop(_) => self.c_loop.is_none().then(|| "no C compiler".to_owned()),
        }
    }

    fn program(&self, tool: Tool) -> Option<&Path> {
        match tool {
            Tool::Etalon => Some(&self.build.etalon),
            Tool::Pgbench => self.peers.pgbench.as_deref(),
            Tool::Sysbench => self.peers.sysbench.as_deref(),
            Tool::Mysqlslap => self.peers.mysqlslap.as_deref(),
        }
    }

    /// The server of a kind.
    pub fn server(&self, system: System) -> Option<&Server> {
        self.servers.iter().find(|(kind, _)| *kind == system).map(|(_, server)| server)
    }

    /// Runs an entry for a length of time on so many threads.
    ///
    /// # Errors
    /// The tool fails, says nothing that is understood, or claims other than the server counted.
    pub fn run(&mut self, entry: &Entry, threads: u32, seconds: u32) -> Result<Observation> {
        let length = Duration::from_secs(u64::from(seconds));
        let (usage, counted) = match *entry {
            Entry::Client { tool, place, load, .. } => self.run_client(tool, place, load, threads, seconds)?,
            Entry::EmbeddedEtalon => {
                let url = format!("sqlite:{}", self.folder.join("etalon.db").display());
                let settings = format!("settings = {{ cache_size = {} }}\n", loops::CACHE_SIZE);
                let plan =
                    Plan { url, settings, script: "select-only".to_owned(), clients: 1, scale: 1, keys: Vec::new() };
                let usage = process::run(self.etalon(&plan, seconds)?, None, length)?;
                let counted = self.count_etalon(&usage, 1, seconds)?;
                (usage, counted)
            }
            Entry::EmbeddedLoop(clock) => {
                let program = self.c_loop.as_deref().context("no C compiler")?;
                let usage =
                    process::run(loops::command(program, &self.folder, seconds, clock == Clock::Read), None, length)?;
                let (selects, took_s) = loops::counts(&usage.stdout)?;
                (usage, Counted { rate_per_s: selects / took_s, selects })
            }
        };
        Ok(Observation {
            key: entry.key(),
            block: 0,
            rate_per_s: counted.rate_per_s,
            selects: counted.selects,
            cpu_us: usage.cpu_s * 1e6 / counted.selects,
            server_cpu_us: usage.server_cpu_s.map(|cpu_s| cpu_s * 1e6 / counted.selects),
            foreign_share: usage.foreign_share,
            peak_rss_bytes: usage.peak_rss_bytes,
        })
    }

    fn run_client(
        &mut self,
        tool: Tool,
        place: Place,
        load: Load,
        threads: u32,
        seconds: u32,
    ) -> Result<(Usage, Counted)> {
        let command = match tool {
            Tool::Etalon => self.etalon(&self.plan(place, load, threads)?, seconds)?,
            Tool::Pgbench => self.pgbench(place, load, threads, seconds)?,
            Tool::Sysbench => self.sysbench(place, seconds)?,
            Tool::Mysqlslap => {
                let rate = self.slap_rate(place)?;
                self.mysqlslap(place, (rate * f64::from(seconds)) as u32)?
            }
        };
        let server = self.server(place.system).context("no server")?;
        let before = server.rows_served()?;
        let usage = process::run(command, Some(server.pid()), Duration::from_secs(u64::from(seconds)))?;
        let served = server.rows_served()? - before;
        let said = match tool {
            Tool::Etalon => self.count_etalon(&usage, load.queries(), seconds)?,
            Tool::Pgbench => count_pgbench(&usage.stdout, load.queries())?,
            Tool::Sysbench => count_sysbench(&usage.stdout)?,
            Tool::Mysqlslap => count_mysqlslap(&usage.stdout, place.clients)?,
        };
        let under_way = f64::from(place.clients * load.queries());
        if (said.selects - served).abs() > COUNTS_AGREE * served + under_way {
            bail!("{} claims {:.0} selects, and the server counted {served:.0}", tool.name(), said.selects);
        }
        Ok((usage, Counted { rate_per_s: said.rate_per_s, selects: served }))
    }

    /// mysqlslap runs a number of queries: how many a second it is good for here.
    fn slap_rate(&mut self, place: Place) -> Result<f64> {
        if let Some((_, rate)) = self.slap_rates.iter().find(|(known, _)| *known == place) {
            return Ok(*rate);
        }
        let usage = process::run(self.mysqlslap(place, SLAP_TRIAL)?, None, Duration::from_secs(10))?;
        let rate = count_mysqlslap(&usage.stdout, place.clients)?.rate_per_s;
        self.slap_rates.push((place, rate));
        Ok(rate)
    }

    /// Étalon's CPU time for a run that does almost nothing.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub fn start_up_cpu_s(&self, place: Place) -> Result<f64> {
        let plan = self.plan(place, Load::Accounts, 1)?;
        let usage = process::run(self.etalon_for(&plan, "20ms")?, None, Duration::from_secs(1))?;
        Ok(usage.cpu_s)
    }

    fn plan(&self, place: Place, load: Load, threads: u32) -> Result<Plan> {
        let server = self.server(place.system).context("no server")?;
        let script = match load {
            Load::Accounts => "select-only".to_owned(),
            other => {
                let path = self.folder.join(format!("{other:?}.sql"));
                fs::write(&path, script(other)).with_context(|| format!("writing {}", path.display()))?;
                path.display().to_string()
            }
        };
        let wished = [
            ("tables", "\"none\"".to_owned()),
            ("protocol", "\"prepared\"".to_owned()),
            ("threads", threads.to_string()),
        ];
        let keys = wished.into_iter().filter(|(key, _)| self.known.contains(*key)).collect();
        Ok(Plan { url: server.url(place), settings: String::new(), script, clients: place.clients, scale: SCALE, keys })
    }

    fn etalon(&self, plan: &Plan, seconds: u32) -> Result<Command> {
        self.etalon_for(plan, &format!("{seconds}s"))
    }

    fn etalon_for(&self, plan: &Plan, duration: &str) -> Result<Command> {
        let path = self.folder.join("plan.toml");
        fs::write(&path, plan.text(duration)).with_context(|| format!("writing {}", path.display()))?;
        let results = self.folder.join("results");
        // Stores of earlier runs are of no use.
        let _ = fs::remove_dir_all(&results);
        let mut command = Command::new(&self.build.etalon);
        command.args(["--quiet", "--json", "run"]).arg(path).arg("-o").arg(results);
        Ok(command)
    }

    fn count_etalon(&self, usage: &Usage, queries: u32, seconds: u32) -> Result<Counted> {
        let json: Json = serde_json::from_str(&usage.stdout).context("reading étalon's answer")?;
        let figures = json.get("figures").and_then(Json::as_array).context("étalon gave no figures")?;
        let throughput = figures.iter().find(|figure| figure["metric"] == "throughput").context("no throughput")?;
        let rate = throughput["side"]["median"].as_f64().context("étalon measured no throughput")?;
        let rate_per_s = rate * f64::from(queries);
        Ok(Counted { rate_per_s, selects: rate_per_s * f64::from(seconds) })
    }

    fn pgbench(&self, place: Place, load: Load, threads: u32, seconds: u32) -> Result<Command> {
        let server = self.server(place.system).context("no server")?;
        let mut command = Command::new(self.program(Tool::Pgbench).context("no pgbench")?);
        command.args(["-n", "-M", "prepared", "-U", ROLE]);
        match load {
            Load::Accounts => command.arg("-S"),
            other => {
                let path = self.folder.join(format!("{other:?}.pgbench.sql"));
                fs::write(&path, script(other)).with_context(|| format!("writing {}", path.display()))?;
                command.arg("-s").arg(SCALE.to_string()).arg("-f").arg(path)
            }
        };
        command.args(["-j", &threads.to_string(), "-c", &place.clients.to_string(), "-T", &seconds.to_string()]);
        match place.transport {
            Transport::Unix => command.arg("-h").arg(server.socket_folder()),
            Transport::Tcp => command.args(["-h", "127.0.0.1"]),
        };
        command.args(["-p", &server.port().to_string(), "postgres"]).env("PGSSLMODE", "disable");
        Ok(command)
    }

    fn sysbench(&self, place: Place, seconds: u32) -> Result<Command> {
        let mut command = self.sysbench_on(place)?;
        command.args([&format!("--threads={}", place.clients), &format!("--time={seconds}")]);
        command.args(["--rand-type=uniform", "run"]);
        Ok(command)
    }

    fn sysbench_on(&self, place: Place) -> Result<Command> {
        let server = self.server(place.system).context("no server")?;
        let mut command = Command::new(self.program(Tool::Sysbench).context("no sysbench")?);
        let (driver, database) = match place.system {
            System::Postgres => ("pgsql", "postgres"),
            System::MariaDb => ("mysql", "sbtest"),
        };
        command.args(["oltp_point_select", "--tables=1", &format!("--table-size={SBTEST_ROWS}")]);
        command.args([&format!("--db-driver={driver}"), &format!("--{driver}-user={ROLE}")]);
        command.arg(format!("--{driver}-db={database}"));
        match (place.system, place.transport) {
            (System::Postgres, Transport::Unix) => {
                command.arg(format!("--pgsql-host={}", server.socket_folder().display()));
                command.arg(format!("--pgsql-port={}", server.port()));
            }
            (System::MariaDb, Transport::Unix) => {
                command.arg(server.socket_argument("--mysql-socket="));
            }
            (_, Transport::Tcp) => {
                command.arg(format!("--{driver}-host=127.0.0.1")).arg(format!("--{driver}-port={}", server.port()));
            }
        }
        Ok(command)
    }

    fn mysqlslap(&self, place: Place, queries: u32) -> Result<Command> {
        let server = self.server(place.system).context("no server")?;
        let mut command = Command::new(self.program(Tool::Mysqlslap).context("no mysqlslap")?);
        command.args(["--no-defaults", "--no-drop", "--create-schema=sbtest", &format!("--user={ROLE}")]);
        let query = format!("SELECT c FROM sbtest1 WHERE id={}", SBTEST_ROWS / 2);
        command.args(["--iterations=1", &format!("--query={query}"), &format!("--concurrency={}", place.clients)]);
        // It gives every client the same number of queries, and one more to nobody.
        let queries = (queries / place.clients).max(1) * place.clients;
        command.arg(format!("--number-of-queries={queries}"));
        match place.transport {
            Transport::Unix => command.arg(server.socket_argument("--socket=")),
            Transport::Tcp => {
                command.args(["--protocol=tcp", "--host=127.0.0.1"]).arg(format!("--port={}", server.port()))
            }
        };
        Ok(command)
    }

    /// Loads the tables that the tools work on.
    ///
    /// # Errors
    /// A tool fails.
    pub fn load_tables(&self) -> Result<()> {
        for (system, server) in &self.servers {
            if let (System::Postgres, Some(pgbench)) = (system, &self.peers.pgbench) {
                let mut command = Command::new(pgbench);
                command.args(["-i", "-q", "-s", &SCALE.to_string(), "-U", ROLE, "-h"]).arg(server.socket_folder());
                command.args(["-p", &server.port().to_string(), "postgres"]);
                ask(command).context("loading pgbench's tables")?;
            }
            // étalon reads sysbench's table, which is there without sysbench too.
            for statement in sbtest(*system) {
                server.sql(&statement).context("loading sysbench's table")?;
            }
        }
        Ok(())
    }
}

/// sysbench's table, as `oltp_common.lua` of version 1.0 makes it, loaded by one statement.
fn sbtest(system: System) -> Vec<String> {
    let digits = |group: u32| {
        format!("lpad(floor(random() * 1e11)::bigint::text, 11, '0'){}", if group > 0 { " || '-'" } else { "" })
    };
    let postgres_text = |groups: u32| (0..groups).rev().map(digits).collect::<Vec<_>>().join(" || ");
    let mariadb_text = |groups: usize| {
        let group = "lpad(floor(rand() * 1e11), 11, '0')";
        format!("concat_ws('-', {})", vec![group; groups].join(", "))
    };
    let rows = SBTEST_ROWS;
    match system {
        System::Postgres => vec![
            "CREATE TABLE sbtest1 (id SERIAL PRIMARY KEY, k INTEGER DEFAULT 0 NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL)"
                .to_owned(),
            format!(
                "INSERT INTO sbtest1 (k, c, pad) SELECT 1 + floor(random() * {rows})::int, {}, {} \
                 FROM generate_series(1, {rows})",
                postgres_text(10),
                postgres_text(5)
            ),
            "CREATE INDEX k_1 ON sbtest1 (k)".to_owned(),
            "VACUUM ANALYZE sbtest1".to_owned(),
        ],
        System::MariaDb => vec![
            "CREATE TABLE sbtest1 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT 0 NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) ENGINE = InnoDB"
                .to_owned(),
            format!(
                "INSERT INTO sbtest1 (id, k, c, pad) SELECT seq, 1 + floor(rand() * {rows}), {}, {} FROM seq_1_to_{rows}",
                mariadb_text(10),
                mariadb_text(5)
            ),
            "CREATE INDEX k_1 ON sbtest1 (k)".to_owned(),
            "ANALYZE TABLE sbtest1".to_owned(),
        ],
    }
}

/// What étalon is asked to do.
struct Plan {
    url: String,
    settings: String,
    script: String,
    clients: u32,
    scale: u32,
    keys: Vec<(&'static str, String)>,
}

impl Plan {
    fn text(&self, duration: &str) -> String {
        let Plan { url, settings, script, clients, scale, .. } = self;
        let keys: String = self.keys.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        format!(
            "name = \"bench\"\n[systems.server]\nurl = \"{url}\"\n{settings}[[benchmarks]]\n\
             workload = \"transactions\"\nscript = \"{script}\"\nclients = {clients}\nscale = {scale}\n{keys}\
             [schedule]\nblocks = 1\nwarmup = \"0s\"\nduration = \"{duration}\"\nseed = 1\n"
        )
    }
}

/// A load in pgbench's language.
fn script(load: Load) -> String {
    let drawn = format!("\\set aid random(1, 100000 * {SCALE})\n");
    let select = "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";
    match load {
        Load::Accounts => format!("{drawn}{select}"),
        Load::Sbtest => format!("\\set id random(1, {SBTEST_ROWS})\nSELECT c FROM sbtest1 WHERE id = :id;\n"),
        Load::Pipelined => {
            let all = format!("{drawn}{select}").repeat(load.queries() as usize);
            format!("\\startpipeline\n{all}\\endpipeline\n")
        }
        // The expression is that of the built-in script; only the rows are fewer.
        Load::DrawnKey => format!("\\set aid random(1, {} * :scale)\n{select}", HOT_ROWS / SCALE),
        // `:scale` is a parameter that nothing computes.
        Load::ConstantKey => "SELECT abalance FROM pgbench_accounts WHERE aid = :scale;\n".to_owned(),
    }
}

/// The number after a text.
fn number_after(output: &str, before: &str) -> Result<f64> {
    let rest = output.split_once(before).map(|(_, rest)| rest.trim_start());
    let end = |rest: &str| rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let number = rest.map(|rest| &rest[..end(rest)]).and_then(|number| number.parse().ok());
    number.with_context(|| format!("the output has no `{before}` with a number: {output}"))
}

fn count_pgbench(output: &str, queries: u32) -> Result<Counted> {
    let queries = f64::from(queries);
    Ok(Counted {
        rate_per_s: number_after(output, "tps = ")? * queries,
        selects: number_after(output, "transactions actually processed:")? * queries,
    })
}

fn count_sysbench(output: &str) -> Result<Counted> {
    let selects = number_after(output, "transactions:")?;
    let rate_per_s = number_after(output.split_once("transactions:").map_or("", |(_, rest)| rest), "(")?;
    Ok(Counted { rate_per_s, selects })
}

fn count_mysqlslap(output: &str, clients: u32) -> Result<Counted> {
    let seconds = number_after(output, "Average number of seconds to run all queries:")?;
    let selects = number_after(output, "Average number of queries per client:")? * f64::from(clients);
    Ok(Counted { rate_per_s: selects / seconds, selects })
}

/// The keys of `transactions` and the engines that an étalon knows.
///
/// # Errors
/// It does not run.
pub fn known_words(etalon: &Path) -> Result<BTreeSet<String>> {
    let mut schema = Command::new(etalon);
    schema.args(["schema", "plan"]);
    let schema: Json = serde_json::from_str(&ask(schema)?).context("reading étalon's schema")?;
    let mut list = Command::new(etalon);
    list.args(["list", "--json"]);
    let list: Json = serde_json::from_str(&ask(list)?).context("reading étalon's list")?;
    let mut words = BTreeSet::new();
    let kinds = schema.pointer("/properties/benchmarks/items/oneOf").and_then(Json::as_array);
    for kind in kinds.into_iter().flatten() {
        let is_ours = kind.pointer("/properties/workload").is_some_and(|w| w.to_string().contains("\"transactions\""));
        if let (true, Some(properties)) = (is_ours, kind["properties"].as_object()) {
            words.extend(properties.keys().cloned());
        }
    }
    let engines = list["engines"].as_array().into_iter().flatten();
    words.extend(engines.filter_map(|engine| engine["name"].as_str()).map(str::to_owned));
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tools_print_is_understood() {
        let pgbench = "number of transactions actually processed: 1234\nlatency average = 0.2 ms\n\
                       initial connection time = 3.4 ms\ntps = 617.5 (without initial connection time)\n";
        let counted = count_pgbench(pgbench, 20).unwrap();
        assert_eq!((counted.selects, counted.rate_per_s), (24_680.0, 12_350.0));
        let sysbench = "SQL statistics:\n    queries performed:\n        read:    57630\n    transactions:   \
                        57630  (11524.53 per sec.)\n    queries:  57630  (11524.53 per sec.)\n";
        let counted = count_sysbench(sysbench).unwrap();
        assert_eq!((counted.selects, counted.rate_per_s), (57_630.0, 11_524.53));
        let slap = "Benchmark\n\tAverage number of seconds to run all queries: 0.500 seconds\n\
                    \tNumber of clients running queries: 16\n\tAverage number of queries per client: 1250\n";
        let counted = count_mysqlslap(slap, 16).unwrap();
        assert_eq!((counted.selects, counted.rate_per_s), (20_000.0, 40_000.0));
        assert!(count_pgbench("pgbench: error", 1).is_err());
    }

    #[test]
    fn the_two_keys_differ_by_the_expression_alone() {
        let drawn = script(Load::DrawnKey);
        assert_eq!(drawn.lines().count(), 2);
        assert_eq!(script(Load::ConstantKey).lines().count(), 1);
        assert_eq!(script(Load::Pipelined).matches("SELECT").count(), 20);
    }
}
