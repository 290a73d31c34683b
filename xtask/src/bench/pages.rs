//! `cargo xtask bench pages`: what étalon adds to the page inserts of SQLite, against a loop in C on the same SQLite.
//!
//! Both insert the same rows by the same statement with the same settings, and are run in turn, in random order in each
//! block. The time is from the first statement to the end of the checkpoint; on étalon's side it holds the counting of
//! every read, write and sync, which the loop does without.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Args;
use host::scratch::Scratch;
use serde_json::Value as Json;
use stats::{MIN_BLOCKS, Rng, Sample, TrialValue, paired};

use super::bars::{LEVEL, ratio};
use super::build::Build;
use super::process::ask;

const SOURCE: &str = include_str!("insert_loop.c");

/// The bar: étalon's elapsed time over the loop's.
const MOST: f64 = 1.03;

/// What to run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How often both are run; 6 are the fewest that are judged.
    #[arg(long, default_value_t = 10)]
    pub blocks: u32,
    /// Statements of each run.
    #[arg(long, default_value_t = 5_000)]
    pub statements: u32,
    /// SQLite's `synchronous`: `FULL`, as the plan has it, waits for the disk; `OFF` waits for nothing, and shows étalon's
    /// own cost best.
    #[arg(long, default_value = "FULL")]
    pub synchronous: String,
    /// Cargo's profile for étalon.
    #[arg(long, default_value = "release")]
    pub profile: String,
    /// Seed of the order.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Measures and prints the ratio. True if the bar was met.
///
/// # Errors
/// There is no C compiler, étalon cannot be built, or a run failed.
pub fn run(root: &Path, options: &Options) -> Result<bool> {
    let build = Build::make(root, &options.profile)?;
    let scratch = Scratch::new("bench-pages", None).context("making a folder for the bench")?;
    let program = compile(scratch.path(), build.sqlite.as_deref().context("cargo did not say where SQLite is")?)?;
    let sides: [(&str, &dyn Fn() -> Result<f64>); 2] = [
        ("loop in C", &|| c_loop(&program, scratch.path(), options)),
        ("étalon", &|| etalon(&build.etalon, scratch.path(), options)),
    ];
    let mut rng = Rng::new(options.seed);
    let mut taken: [Vec<TrialValue>; 2] = [Vec::new(), Vec::new()];
    // The first run of each warms what can be warmed, and is thrown away.
    for block in 0..=options.blocks {
        let first = rng.below(2);
        for side in [first, 1 - first] {
            let (name, measure) = sides[side];
            let value = measure().with_context(|| format!("running {name}"))?;
            if block > 0 {
                eprintln!("block {block} of {}: {name} {value:.4} s", options.blocks);
                taken[side].push(TrialValue { block, value });
            }
        }
    }
    let [c, own] = taken.map(Sample::from_trials);
    conclude(options, &paired(&c, &own))
}

fn conclude(options: &Options, pairs: &stats::Pairs) -> Result<bool> {
    let figure = ratio(pairs).context("the runs have no ratio")?;
    let Options { statements, synchronous, profile, .. } = options;
    eprintln!(
        "étalon over a loop in C, elapsed, {statements} statements, synchronous = {synchronous}, profile {profile}: {:.4} \
         ({:.0} % interval {:.4} to {:.4}, {} blocks); at most {MOST}",
        figure.median,
        LEVEL * 100.0,
        figure.lo,
        figure.hi,
        figure.blocks
    );
    if figure.blocks < MIN_BLOCKS {
        eprintln!("too few blocks to judge: {MIN_BLOCKS} are needed");
    }
    Ok(figure.median <= MOST)
}

fn compile(folder: &Path, sqlite: &Path) -> Result<PathBuf> {
    let (source, program) = (folder.join("insert_loop.c"), folder.join("insert_loop"));
    fs::write(&source, SOURCE).with_context(|| format!("writing {}", source.display()))?;
    let mut command = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
    command.args(["-O2", "-Wall", "-Werror", "-o"]).arg(&program).arg(&source).arg(sqlite.join("libsqlite3.a"));
    command.args(["-lpthread", "-ldl", "-lm"]);
    ask(command).context("compiling the loop in C")?;
    Ok(program)
}

fn c_loop(program: &Path, folder: &Path, options: &Options) -> Result<f64> {
    let mut command = Command::new(program);
    command.arg(folder.join("loop.db")).arg(options.statements.to_string()).arg(&options.synchronous);
    let output = ask(command)?;
    output.trim().parse().with_context(|| format!("the loop printed {output}"))
}

fn etalon(program: &Path, folder: &Path, options: &Options) -> Result<f64> {
    let results = folder.join("results");
    // Stores of earlier runs are of no use.
    let _ = fs::remove_dir_all(&results);
    let mut command = Command::new(program);
    command.args(["--quiet", "--json", "run", "sqlserver-pages", "--quick"]);
    command.arg("--set").arg(format!("systems.here.url=sqlite:{}", folder.join("etalon.db").display()));
    command.arg("--set").arg(format!("systems.here.settings.synchronous={}", options.synchronous));
    command.arg("--set").arg(format!("benchmarks.*.statements={}", options.statements));
    command.arg("-o").arg(&results);
    let json: Json = serde_json::from_str(&ask(command)?).context("reading étalon's answer")?;
    let figures = json.get("figures").and_then(Json::as_array).context("étalon gave no figures")?;
    let elapsed = figures.iter().find(|figure| figure["metric"] == "elapsed").context("no elapsed time")?;
    elapsed["side"]["median"].as_f64().context("étalon measured no elapsed time")
}
