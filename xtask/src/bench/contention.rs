//! `cargo xtask bench contention`: transactions that get into each other's way, by étalon and by pgbench.
//!
//! pgbench's own script, by 40 clients at scale 1 under SERIALIZABLE and with one try: all update the same row, so that most
//! are rolled back. A tool that lets its other clients wait for a rollback commits fewer. All are run in turn, in random
//! order in each block, on one private server; what was committed is counted there, by the rows of `pgbench_history`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use host::scratch::Scratch;
use stats::{Rng, Sample, TrialValue, paired};

use super::bars::{LEVEL, ratio};
use super::build::Build;
use super::entries::{Place, System, Transport};
use super::origin::{self, Origin};
use super::part::Part;
use super::process::ask;
use super::server::{ROLE, Server};
use super::{Extent, postgres_program, programs, shuffle};
use crate::requirements::{self, POSTGRES};

const CLIENTS: u32 = 40;
/// The bar: how far a ratio may be from 1.
const MOST: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Etalon,
    Pgbench,
}

/// What is run in each block: a tool on so many threads.
const SIDES: [(Tool, u32); 4] =
    [(Tool::Etalon, 1), (Tool::Etalon, CLIENTS), (Tool::Pgbench, 1), (Tool::Pgbench, CLIENTS)];
/// What is compared: the second over the first, by their places in [`SIDES`]. The last says what pgbench itself commits on one
/// thread, where a client waits for the thread that serves the others.
const RATIOS: [(usize, usize, Option<f64>); 4] = [(2, 0, Some(MOST)), (3, 1, Some(MOST)), (1, 0, None), (3, 2, None)];

fn name((tool, threads): (Tool, u32)) -> String {
    let tool = match tool {
        Tool::Etalon => "étalon",
        Tool::Pgbench => "pgbench",
    };
    format!("{tool} on {threads} {}", if threads == 1 { "thread" } else { "threads" })
}

/// Measures and prints the ratios. True if the bar was met.
///
/// # Errors
/// PostgreSQL is not there, étalon cannot be built, or a run failed.
pub fn run(root: &Path, options: &Extent) -> Result<bool> {
    let missing = requirements::ensure_optional(&[&POSTGRES])?;
    if !missing.is_empty() {
        bail!("{}", missing.join("; "));
    }
    if options.render.is_some() {
        bail!("this bench keeps no raw results, so there is nothing to render");
    }
    let build = Build::make(root, &options.profile)?;
    let scratch = Scratch::new("bench-contention", None).context("making a folder for the bench")?;
    scratch.allow_passage().context("opening the way to the server's folder")?;
    let programs = programs(System::Postgres).context("PostgreSQL's programs are not all there")?;
    let server = Server::start(System::Postgres, programs, &scratch)?;
    let bench = Bench { etalon: &build.etalon, server: &server, folder: scratch.path(), seconds: options.seconds };
    let taken = bench.measure(options);
    server.stop()?;
    let samples = taken?.map(Sample::from_trials);
    let mut is_met = true;
    let mut rows = String::new();
    for (base, other, most) in RATIOS {
        let figure = ratio(&paired(&samples[base], &samples[other])).context("the runs have no ratio")?;
        let asked = most.map_or("–".to_owned(), |most| format!("within {:.0} % of 1", most * 100.0));
        let _ = writeln!(
            rows,
            "| {} over {} | {asked} | {:.3} | {:.3} to {:.3} |",
            name(SIDES[other]),
            name(SIDES[base]),
            figure.median,
            figure.lo,
            figure.hi
        );
        is_met &= most.is_none_or(|most| (figure.median - 1.0).abs() <= most);
    }
    eprint!("{rows}");
    let command = format!(
        "cargo xtask bench contention --blocks {} --seconds {} --seed {}",
        options.blocks, options.seconds, options.seed
    );
    let pgbench = postgres_program("pgbench");
    let versions = origin::versions(root, &build.etalon, &[("pgbench", pgbench.as_deref())]);
    let origin = Origin { versions, ..Origin::now(options, None, command) };
    Part::Contention.write(root, &origin, &document(&origin, &rows))?;
    Ok(is_met)
}

fn document(origin: &Origin, rows: &str) -> String {
    let facts = |facts: &[(String, String)]| {
        let facts: Vec<String> = facts.iter().map(|(name, value)| format!("{name} {value}")).collect();
        facts.join("; ")
    };
    format!(
        "## Transactions that get into each other's way\n\n\
         <!-- Made by `cargo xtask bench contention`: edit neither the figures nor the text here. -->\n\n\
         {CLIENTS} clients run pgbench's own script at scale 1 under SERIALIZABLE, with one try each: all update the same row, and \
         most are rolled back. A tool that lets its other clients wait for a rollback commits less. What was committed is counted \
         at the server. On one thread fewer commit with either tool than on a thread for each client, since a client \
         that could go on waits for the thread.\n\n    {}\n\n{}. {}. {}.\n\n\
         | commits | asked | median ratio | {:.0} % interval |\n|---|---|---|---|\n{rows}",
        origin.command,
        origin.date,
        facts(&origin.versions),
        facts(&origin.machine),
        LEVEL * 100.0
    )
}

struct Bench<'a> {
    etalon: &'a Path,
    server: &'a Server,
    folder: &'a Path,
    seconds: u32,
}

impl Bench<'_> {
    fn measure(&self, options: &Extent) -> Result<[Vec<TrialValue>; 4]> {
        ask(self.pgbench(&["-i", "-q", "-s", "1"])?).context("loading pgbench's tables")?;
        self.server.sql(&format!("ALTER ROLE {ROLE} SET default_transaction_isolation = 'serializable'"))?;
        let mut rng = Rng::new(options.seed);
        let mut taken: [Vec<TrialValue>; 4] = Default::default();
        // The first run of each warms what can be warmed, and is thrown away.
        for block in 0..=options.blocks {
            let mut order: Vec<usize> = (0..SIDES.len()).collect();
            shuffle(&mut order, &mut rng);
            for side in order {
                let what = name(SIDES[side]);
                let value = self.commits_per_s(SIDES[side]).with_context(|| format!("running {what}"))?;
                if block > 0 {
                    eprintln!("block {block} of {}: {what}: {value:.0} commits/s", options.blocks);
                    taken[side].push(TrialValue { block, value });
                }
            }
        }
        Ok(taken)
    }

    fn commits_per_s(&self, (tool, threads): (Tool, u32)) -> Result<f64> {
        // One by one: several statements of one message are a transaction, and VACUUM takes none.
        for table in ["branches", "tellers", "accounts"] {
            self.server.sql(&format!("VACUUM pgbench_{table}"))?;
        }
        self.server.sql("TRUNCATE pgbench_history")?;
        let command = match tool {
            Tool::Etalon => self.etalon(threads)?,
            Tool::Pgbench => {
                let (clients, threads, seconds) = (CLIENTS.to_string(), threads.to_string(), self.seconds.to_string());
                let words = ["-n", "-M", "prepared", "--max-tries=1", "-c", &clients, "-j", &threads, "-T", &seconds];
                self.pgbench(&words)?
            }
        };
        ask(command)?;
        let rows = self.server.sql("SELECT count(*) FROM pgbench_history")?;
        let commits: f64 = rows.trim().parse().with_context(|| format!("reading the count `{}`", rows.trim()))?;
        Ok(commits / f64::from(self.seconds))
    }

    fn pgbench(&self, words: &[&str]) -> Result<Command> {
        let mut command = Command::new(postgres_program("pgbench").context("there is no pgbench")?);
        command.args(words).args(["-U", ROLE, "-h"]).arg(self.server.socket_folder());
        command.args(["-p", &self.server.port().to_string(), "postgres"]);
        Ok(command)
    }

    fn etalon(&self, threads: u32) -> Result<Command> {
        let url = self.server.url(Place { system: System::Postgres, transport: Transport::Unix, clients: CLIENTS });
        let seconds = self.seconds;
        let plan = format!(
            "name = \"contention\"\n[systems.server]\nurl = \"{url}\"\n[[benchmarks]]\nworkload = \"transactions\"\n\
             script = \"tpcb-like\"\nclients = {CLIENTS}\nthreads = {threads}\nscale = 1\ntables = \"none\"\n\
             protocol = \"prepared\"\n[schedule]\nblocks = 1\nwarmup = \"0s\"\nduration = \"{seconds}s\"\n"
        );
        let (path, results) = (self.folder.join("plan.toml"), self.folder.join("results"));
        fs::write(&path, plan).with_context(|| format!("writing {}", path.display()))?;
        // Stores of earlier runs are of no use.
        let _ = fs::remove_dir_all(&results);
        let mut command = Command::new(self.etalon);
        command.args(["--quiet", "--json", "run"]).arg(path).arg("-o").arg(results);
        Ok(command)
    }
}
