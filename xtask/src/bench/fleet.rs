//! `cargo xtask bench fleet`: what the way by agents on NATS costs, on this machine's loopback.
//!
//! A private nats-server, a private PostgreSQL, and agents as processes of the built étalon. Everything is run by étalon
//! itself from plans; what is judged are the rows of its stores. The outcome is the part "Several hosts" of
//! `docs/performance.md`.

mod document;
mod hosts;
mod journal;
mod plans;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use host::scratch::Scratch;
use model::{Reading, SeriesKind, TrialState};
use serde_json::Value as Json;
use stats::MIN_BLOCKS;
use store::Store;

use super::build::Build;
use super::entries::System;
use super::origin::{self, Origin};
use super::part::Part;
use super::raw::Raw;
use super::record::Failure;
use super::server::{ROLE, Server};
use super::{Extent, process, programs};
use crate::requirements::{self, NATS, POSTGRES};
use hosts::{Agents, Nats};
use journal::{Figure, Header, Journal, Judged, Line, Merged};
use plans::{AGENTS, CLIENT_1, CLIENT_2, Plan};

/// Where the raw results are kept.
const RESULTS: &str = "target/bench/fleet.jsonl";
/// What a trial takes at most beside its length, in seconds: tables, rest, the server's statistics.
const AROUND_A_TRIAL_S: u32 = 15;

fn command(extent: &Extent) -> String {
    let Extent { blocks, seconds, seed, .. } = extent;
    format!("cargo xtask bench fleet --blocks {blocks} --seconds {seconds} --seed {seed}")
}

/// Measures, and writes the document's part. True unless something failed.
///
/// # Errors
/// When étalon cannot be built, a server is not there or does not start, or a file cannot be written.
pub fn fleet(root: &Path, extent: &Extent) -> Result<bool> {
    if let Some(results) = &extent.render {
        let (header, journal) = journal::read(results)?;
        return conclude(root, &header, &journal);
    }
    let missing = requirements::ensure_optional(&[&NATS, &POSTGRES])?;
    if !missing.is_empty() {
        bail!("{}", missing.join("; "));
    }
    let build = Build::make(root, &extent.profile)?;
    let scratch = Scratch::new("bench-fleet", None).context("making a folder for the bench")?;
    scratch.allow_passage().context("opening the way to the servers' folders")?;
    let nats_program = NATS.path()?;
    let header = Header {
        origin: Origin {
            versions: versions(root, &build, &nats_program),
            ..Origin::now(extent, None, command(extent))
        },
        settings: super::server::POSTGRES_SETTINGS.iter().map(|(name, value)| format!("{name} = {value}")).collect(),
    };
    let mut bench = Bench {
        raw: Raw::create(root.join(RESULTS))?,
        journal: Journal::default(),
        etalon: build.etalon,
        nats: Nats::start(&nats_program, &scratch)?,
        scratch: &scratch,
        extent,
        started: Instant::now(),
    };
    bench.raw.keep(&Line::Header(Box::new(header.clone())))?;
    bench.run()?;
    eprintln!("raw results: {}", bench.raw.path().display());
    conclude(root, &header, &bench.journal)
}

fn conclude(root: &Path, header: &Header, journal: &Journal) -> Result<bool> {
    Part::Fleet.write(root, &header.origin, &document::render(header, journal))?;
    for Failure { key, block, reason } in &journal.failures {
        eprintln!("failed: {key}, block {block}: {reason}");
    }
    Ok(journal.failures.is_empty())
}

fn versions(root: &Path, build: &Build, nats: &Path) -> Vec<(String, String)> {
    let postgres = programs(System::Postgres).map(|programs| programs.server);
    origin::versions(root, &build.etalon, &[("nats-server", Some(nats)), ("PostgreSQL", postgres.as_deref())])
}

/// A bench under way.
struct Bench<'a> {
    raw: Raw,
    journal: Journal,
    etalon: PathBuf,
    nats: Nats,
    scratch: &'a Scratch,
    extent: &'a Extent,
    started: Instant,
}

impl Bench<'_> {
    /// Everything, the servers' starts and ends included.
    fn run(&mut self) -> Result<()> {
        let programs = programs(System::Postgres).context("PostgreSQL's programs are not all there")?;
        let server = Server::start(System::Postgres, programs, self.scratch).context("starting PostgreSQL")?;
        for database in plans::DATABASES {
            server.sql(&format!("CREATE DATABASE {database}")).context("making a database")?;
        }
        let url = |database: &str| format!("postgres://{ROLE}@127.0.0.1:{}/{database}?sslmode=disable", server.port());
        let agents = self.agents(&[CLIENT_1.to_owned(), CLIENT_2.to_owned()])?;
        let (blocks, seconds, seed) = (self.extent.blocks, self.extent.seconds, self.extent.seed);
        let nats = self.nats.url();
        self.equal(&plans::equal(&nats, &url, blocks, seconds, seed))?;
        // What is added up needs no more blocks than a verdict does.
        self.conduct(&plans::sums(&nats, &url, blocks.min(MIN_BLOCKS), seconds, seed)).map(|_| ())?;
        drop(agents);
        server.stop()?;
        self.hundred(&plans::hundred(&nats, blocks.min(MIN_BLOCKS), seed))
    }

    fn agents(&self, names: &[String]) -> Result<Agents> {
        Agents::start(&self.etalon, &self.nats.url(), names, self.scratch)
    }

    fn say(&self, text: &str) {
        eprintln!("{:4.0} s  {text}", self.started.elapsed().as_secs_f64());
    }

    fn keep(&mut self, line: Line) -> Result<()> {
        self.raw.keep(&line)?;
        self.journal.take(line);
        Ok(())
    }

    /// The direct run beside the one by an agent, with the verdict of étalon's own comparison.
    fn equal(&mut self, plan: &Plan) -> Result<()> {
        let Some(store) = self.conduct(plan)? else { return Ok(()) };
        let mut command = Command::new(&self.etalon);
        command.args(["--quiet", "--json", "compare"]).arg(store);
        let said = process::ask(command).context("comparing")?;
        let json: Json = serde_json::from_str(&said).context("reading étalon's comparison")?;
        for row in json["comparisons"].as_array().into_iter().flatten() {
            let judged = judged(row)?;
            if plans::JUDGED.contains(&judged.metric.as_str()) {
                self.keep(Line::Judged(judged))?;
            }
        }
        Ok(())
    }

    /// The same simulated load by a hundred processes and by one.
    fn hundred(&mut self, plan: &Plan) -> Result<()> {
        let names: Vec<String> = (0..AGENTS).map(plans::agent).collect();
        self.say(&format!("starting {AGENTS} agents"));
        let agents = self.agents(&names)?;
        let by_agents = self.conduct(plan)?;
        drop(agents);
        let by_one = self.conduct(&plans::one_process(plan, self.extent.seed))?;
        let (Some(by_agents), Some(by_one)) = (by_agents, by_one) else { return Ok(()) };
        let (by_agents, by_one) = (merged(&by_agents)?, merged(&by_one)?);
        for (block, (hosts, histogram)) in by_agents {
            let other = by_one.iter().find(|(number, _)| *number == block).map(|(_, (_, histogram))| histogram);
            let is_identical = other == Some(&histogram);
            let merged = Merged { block, hosts, values: histogram.len(), is_identical };
            self.say(&format!("block {block}: {} values of {hosts} hosts, identical: {is_identical}", merged.values));
            self.keep(Line::Merged(merged))?;
        }
        Ok(())
    }

    /// Runs a plan, and keeps the rows of its store. Gives the store, or nothing if none came about, which is then kept
    /// as a failure.
    fn conduct(&mut self, plan: &Plan) -> Result<Option<PathBuf>> {
        self.say(&format!("plan {}: {} trials", plan.name, plan.trials));
        let folder = self.scratch.path().join(&plan.name);
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let file = folder.join("plan.toml");
        fs::write(&file, &plan.text).with_context(|| format!("writing {}", file.display()))?;
        let mut command = Command::new(&self.etalon);
        command.arg("--quiet").arg("run").arg(&file).arg("-o").arg(&folder).current_dir(&folder);
        let length = Duration::from_secs(u64::from(plan.trials * (plan.trial_s + AROUND_A_TRIAL_S)));
        if let Err(error) = process::run(command, None, length) {
            let failure = Failure { key: plan.name.clone(), block: 0, reason: format!("{error:#}") };
            self.say(&format!("plan {}: {}", plan.name, failure.reason));
            self.keep(Line::Failed(failure))?;
        }
        let found = fs::read_dir(&folder).with_context(|| format!("looking into {}", folder.display()))?.flatten();
        let mut stores =
            found.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == store::EXTENSION));
        let Some(path) = stores.next() else { return Ok(None) };
        for line in rows(&path, &plan.name)? {
            self.keep(line)?;
        }
        Ok(Some(path))
    }
}

/// A row of `etalon compare --json`.
fn judged(row: &Json) -> Result<Judged> {
    let text = |key: &str| row[key].as_str().map(str::to_owned);
    let mut judged: Judged = Judged {
        benchmark: text("benchmark").context("a comparison without a benchmark")?,
        metric: text("metric").context("a comparison without a metric")?,
        verdict: text("verdict"),
        no_verdict: text("no_verdict"),
        ratio: row["ratio"].as_f64(),
        interval: None,
        blocks: row["blocks"].as_u64().unwrap_or_default() as u32,
        blocks_needed: row["blocks_needed"].as_u64().map(|blocks| blocks as u32),
    };
    if let Some([lo, hi]) = row["interval"].as_array().map(Vec::as_slice) {
        judged.interval = lo.as_f64().zip(hi.as_f64());
    }
    Ok(judged)
}

/// What a store has of the metrics that the document is about, and the trials that failed.
fn rows(path: &Path, plan: &str) -> Result<Vec<Line>> {
    let store = Store::open_read_only(path).with_context(|| format!("opening {}", path.display()))?;
    let cells = store.cells();
    let entry = |cell: u32| {
        let cell = cells.get(cell as usize).context("a trial of a cell that the plan has not")?;
        anyhow::Ok(journal::entry(plan, &cell.benchmark, &cell.system))
    };
    let mut lines = Vec::new();
    for trial in store.trials()?.into_iter().filter(|trial| trial.state == TrialState::Failed) {
        let reason = trial.reason.unwrap_or_default();
        lines.push(Line::Failed(Failure { key: entry(trial.planned.cell)?, block: trial.planned.block + 1, reason }));
    }
    let unchecked: Vec<i64> = store
        .marks()?
        .into_iter()
        .filter(|(_, mark)| mark.detail.contains("was not checked"))
        .map(|(id, _)| id)
        .collect();
    for row in store.measurements()? {
        let metric = row.measurement.metric.id;
        let is_wanted = plans::KEPT.contains(&metric.as_str()) || metric.starts_with(plans::OF_A_HOST);
        if let (true, Reading::Value(value)) = (is_wanted, row.measurement.reading) {
            let is_counted = !unchecked.contains(&row.trial_id);
            let (entry, block) = (entry(row.cell)?, row.block + 1);
            lines.push(Line::Figure(Figure { entry, block, metric, value, is_counted }));
        }
    }
    Ok(lines)
}

/// A block's number, how many hosts had a part in it, and the histogram of all of them.
type OfBlock = (u32, (usize, Histogram<u64>));

/// What each block of a plan of one cell amounts to.
fn merged(path: &Path) -> Result<Vec<OfBlock>> {
    let store = Store::open_read_only(path).with_context(|| format!("opening {}", path.display()))?;
    let mut blocks = Vec::new();
    for trial in store.trials()?.into_iter().filter(|trial| trial.state == TrialState::Measured) {
        let of_trial = store.series(trial.id)?;
        let whole = of_trial.iter().filter(|one| one.kind == SeriesKind::Response && one.interval.is_none());
        let mut all: Option<(usize, Histogram<u64>)> = None;
        for series in whole {
            let read = Deserializer::new().deserialize(&mut series.histogram.as_slice());
            let one: Histogram<u64> = read.map_err(|error| anyhow::anyhow!("reading a histogram: {error:?}"))?;
            match &mut all {
                None => all = Some((1, one)),
                Some((hosts, sum)) => {
                    *hosts += 1;
                    sum.add(one).context("merging histograms")?;
                }
            }
        }
        blocks.push((trial.planned.block + 1, all.context("a trial without a histogram")?));
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_the_comparison_is_read() {
        let row = serde_json::json!({
            "benchmark": "here", "metric": "throughput", "verdict": "equivalent", "no_verdict": null, "ratio": 0.999,
            "interval": [0.99, 1.01], "blocks": 10, "blocks_needed": null,
        });
        let read = judged(&row).unwrap();
        assert_eq!((read.verdict.as_deref(), read.interval, read.blocks), (Some("equivalent"), Some((0.99, 1.01)), 10));
        let empty = judged(&serde_json::json!({"benchmark": "here", "metric": "errors", "interval": null})).unwrap();
        assert_eq!((empty.verdict, empty.interval, empty.blocks), (None, None, 0));
        assert!(judged(&serde_json::json!({})).is_err());
    }
}
