//! `cargo xtask bench`: étalon's own cost and speed beside its peers', on one machine in one interleaved run.
//!
//! Every block runs every entry once, in random order, so that what the machine does in the meantime meets all of them
//! alike. All tools are measured from outside by the same means; ratios, intervals and verdicts are those of the crate
//! `stats`. The outcome is `docs/performance.md`, of which no figure is written by hand.

mod bars;
mod build;
pub mod contention;
pub mod disk;
mod document;
mod entries;
mod extent;
pub mod fleet;
mod loops;
pub mod origin;
pub mod pages;
mod part;
mod process;
mod raw;
mod record;
mod server;
mod template;
mod threads;
mod tools;
mod truth;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use host::scratch::Scratch;
use stats::Rng;

use crate::requirements::{self, MARIADB, POSTGRES, SYSBENCH};
use build::Build;
use entries::{Entry, Place, System, Threads, Tool, Transport};
pub use extent::Extent;
use origin::Origin;
use raw::Raw;
use record::{Failure, Header, Journal, Line};
use server::{Programs, Server};
use tools::{Peers, Runner};

/// Where the raw results are kept: every run of every block, a line each.
const RESULTS: &str = "target/bench/transactions.jsonl";
/// How often étalon's start-up is measured.
const START_UPS: usize = 3;

/// What to run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How much.
    #[command(flatten)]
    pub extent: Extent,
    /// Only what has this in its key, as `unix/16`; the document goes to target/bench/.
    #[arg(long)]
    pub only: Option<String>,
}

impl Options {
    fn wants(&self, key: &str) -> bool {
        self.only.as_deref().is_none_or(|part| key.contains(part))
    }

    fn command(&self) -> String {
        let Extent { blocks, seconds, seed, profile, .. } = &self.extent;
        let only = self.only.as_ref().map(|part| format!(" --only {part}")).unwrap_or_default();
        let profile = if profile == "release" { String::new() } else { format!(" --profile {profile}") };
        format!("cargo xtask bench transactions --blocks {blocks} --seconds {seconds} --seed {seed}{only}{profile}")
    }
}

/// Measures, and writes the document. True unless a run failed.
///
/// # Errors
///
/// When étalon cannot be built, a server does not start, or a file cannot be written.
pub fn transactions(root: &Path, options: &Options) -> Result<bool> {
    let extent = &options.extent;
    if let Some(results) = &extent.render {
        let (header, journal) = record::read(results)?;
        return conclude(root, &header, &journal);
    }
    let origin = Origin::now(extent, options.only.as_deref(), options.command());
    let mut header = Header { origin, ..Header::default() };
    let wanted: Vec<Entry> = entries::all().into_iter().filter(|entry| options.wants(&entry.key())).collect();
    let build = Build::make(root, &extent.profile)?;
    let scratch = Scratch::new("bench", None).context("making a folder for the bench")?;
    scratch.allow_passage().context("opening the way to the servers' folders")?;
    let mut runner = set_up(root, build, &scratch, &wanted, &mut header)?;
    let results = root.join(RESULTS);
    let journal = measure(root, &mut runner, wanted, options, &mut header, results.clone());
    for (_, server) in runner.servers.drain(..) {
        server.stop()?;
    }
    let journal = journal?;
    eprintln!("raw results: {}", results.display());
    conclude(root, &header, &journal)
}

fn conclude(root: &Path, header: &Header, journal: &Journal) -> Result<bool> {
    // The parts that other benches made stay.
    part::write(root, &header.origin, "performance.md", |before| {
        part::kept(before, &document::render(header, journal))
    })?;
    for failure in &journal.failures {
        eprintln!("failed: {}, block {}: {}", failure.key, failure.block, failure.reason);
    }
    Ok(journal.failures.is_empty())
}

/// Finds or installs the peers, starts the servers that are wanted, and loads their tables.
fn set_up(root: &Path, build: Build, scratch: &Scratch, wanted: &[Entry], header: &mut Header) -> Result<Runner> {
    header.missing = requirements::ensure_optional(&[&POSTGRES, &MARIADB, &SYSBENCH])?;
    let find = |requirement: &requirements::Requirement, name: &str| requirement.find(&[name]);
    let peers = Peers {
        pgbench: postgres_program("pgbench"),
        sysbench: find(&SYSBENCH, "sysbench"),
        mysqlslap: find(&MARIADB, "mysqlslap"),
    };
    let c_loop = match &build.sqlite {
        Some(sqlite) => match loops::compile(scratch.path(), sqlite) {
            Ok(program) => Some(program),
            Err(error) => {
                header.missing.push(format!("the loop in C: {error:#}"));
                None
            }
        },
        None => None,
    };
    let known = tools::known_words(&build.etalon)?;
    let folder = scratch.path().to_owned();
    let mut runner = Runner { build, known, peers, servers: Vec::new(), folder, c_loop, slap_rates: Vec::new() };
    for system in [System::Postgres, System::MariaDb] {
        let is_wanted = wanted.iter().any(|entry| entry.place().is_some_and(|place| place.system == system));
        if let (true, Some(programs)) = (is_wanted, programs(system)) {
            eprintln!("starting {}", system.name());
            runner.servers.push((system, Server::start(system, programs, scratch)?));
        }
    }
    header.origin.versions = versions(root, &runner);
    eprintln!("loading tables");
    runner.load_tables()?;
    Ok(runner)
}

/// Runs all blocks.
fn measure(
    root: &Path,
    runner: &mut Runner,
    wanted: Vec<Entry>,
    options: &Options,
    header: &mut Header,
    results: PathBuf,
) -> Result<Journal> {
    let mut entries = Vec::new();
    let mut obstacles: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in wanted {
        match runner.obstacle(&entry) {
            Some(obstacle) => obstacles.entry(obstacle).or_default().push(format!("`{}`", entry.key())),
            None => entries.push(entry),
        }
    }
    let not_measured = obstacles.iter().map(|(why, keys)| format!("{why}; not measured: {}", keys.join(", ")));
    header.missing.extend(not_measured);
    eprintln!("looking for the best numbers of threads");
    let failures = threads::search(runner, &entries, header);
    entries.retain(|entry| !header.same_as.contains_key(&entry.key()));
    entries.retain(|entry| failures.iter().all(|failure| failure.key != entry.key()));
    header.start_up_cpu_s = start_up_cpu_s(runner);
    if options.wants("truth") {
        match truth::measure(root) {
            Ok(rows) => header.truth = rows,
            Err(reason) => header.missing.push(format!("latency truth: {reason}")),
        }
    }
    let (mut raw, mut journal) = (Raw::create(results)?, Journal::default());
    let mut keep = |line: Line| {
        raw.keep(&line)?;
        journal.take(line);
        anyhow::Ok(())
    };
    keep(Line::Header(Box::new(header.clone())))?;
    for failure in failures {
        keep(Line::Failed(failure))?;
    }
    let mut rng = Rng::new(options.extent.seed);
    for block in 1..=options.extent.blocks {
        shuffle(&mut entries, &mut rng);
        for entry in &entries {
            let threads = header.threads.get(&entry.key()).copied().unwrap_or(1);
            keep(run_one(runner, entry, threads, block, &options.extent))?;
        }
    }
    Ok(journal)
}

/// Runs an entry once, and says what came out.
fn run_one(runner: &mut Runner, entry: &Entry, threads: u32, block: u32, extent: &Extent) -> Line {
    let key = entry.key();
    match runner.run(entry, threads, extent.seconds) {
        Ok(mut run) => {
            run.block = block;
            let foreign = run.foreign_share.map_or("not known".to_owned(), |share| format!("{:.1} %", share * 100.0));
            let (blocks, rate, cpu_us) = (extent.blocks, run.rate_per_s, run.cpu_us);
            eprintln!("block {block}/{blocks} {key}: {rate:.0} selects/s, {cpu_us:.2} µs, foreign load {foreign}");
            Line::Run(run)
        }
        Err(error) => {
            eprintln!("block {block}/{}: {key}: {error:#}", extent.blocks);
            Line::Failed(Failure { key, block, reason: format!("{error:#}") })
        }
    }
}

/// The median of a few runs of étalon that do almost nothing.
fn start_up_cpu_s(runner: &Runner) -> Option<f64> {
    let place = Place { system: System::Postgres, transport: Transport::Unix, clients: 16 };
    let entry = Entry::Client { tool: Tool::Etalon, place, load: entries::Load::Accounts, threads: Threads::Best };
    if runner.obstacle(&entry).is_some() {
        return None;
    }
    let mut times: Vec<f64> = (0..START_UPS).filter_map(|_| runner.start_up_cpu_s(place).ok()).collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

/// Fisher and Yates' shuffle, from Knuth, "The Art of Computer Programming" 2, algorithm 3.4.2 P.
fn shuffle<T>(items: &mut [T], rng: &mut Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, rng.below(last + 1));
    }
}

/// A program of PostgreSQL's: what stands beside the server itself, behind any link. What Debian has in the path for
/// `pgbench` is a wrapper in Perl.
fn postgres_program(name: &str) -> Option<PathBuf> {
    let server = POSTGRES.find(&["postgres"])?.canonicalize().ok()?;
    let path = server.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    path.is_file().then_some(path)
}

fn programs(system: System) -> Option<Programs> {
    match system {
        System::Postgres => Some(Programs {
            install: postgres_program("initdb")?,
            server: postgres_program("postgres")?,
            client: postgres_program("psql")?,
        }),
        System::MariaDb => Some(Programs {
            install: MARIADB.find(&["mariadb-install-db"])?,
            server: MARIADB.find(&["mariadbd"])?,
            client: MARIADB.find(&["mariadb"])?,
        }),
    }
}

fn versions(root: &Path, runner: &Runner) -> Vec<(String, String)> {
    let server = |system| programs(system).map(|programs| programs.server);
    let (postgres, mariadb) = (server(System::Postgres), server(System::MariaDb));
    let others = [
        ("PostgreSQL", postgres.as_deref()),
        ("pgbench", runner.peers.pgbench.as_deref()),
        ("MariaDB", mariadb.as_deref()),
        ("sysbench", runner.peers.sysbench.as_deref()),
        ("mysqlslap", runner.peers.mysqlslap.as_deref()),
        ("rustc", Some(Path::new("rustc"))),
        ("C compiler", Some(Path::new("cc"))),
    ];
    origin::versions(root, &runner.build.etalon, &others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_chosen_and_said() {
        #[derive(clap::Parser)]
        struct Arguments {
            #[command(flatten)]
            options: Options,
        }
        let of =
            |arguments: &[&str]| <Arguments as clap::Parser>::parse_from([&["bench"][..], arguments].concat()).options;
        assert!(of(&[]).wants("anything"));
        let partial = of(&["--only", "tcp/16"]);
        assert!(partial.wants("postgres/tcp/16/x") && !partial.wants("postgres/tcp/80/x"));
        assert!(partial.command().ends_with("--seed 1 --only tcp/16"), "{}", partial.command());
    }

    #[test]
    fn a_shuffle_loses_nothing_and_follows_its_seed() {
        let order = |seed| {
            let mut items: Vec<u32> = (0..20).collect();
            shuffle(&mut items, &mut Rng::new(seed));
            items
        };
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
        let mut sorted = order(7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
    }
}
