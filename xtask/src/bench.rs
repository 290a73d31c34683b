//! `cargo xtask bench PART`: étalon's own cost and speed next to its peers', on one machine in one interleaved run.
//!
//! A part is a file in `xtask/bench/`: servers, and command lines of whole processes. Every round runs each of them once, in
//! random order, so that what the machine does in the meantime meets all of them alike. What a peer prints is read by
//! `etalon import`, what étalon measured by `etalon compare`; the time of the processor is the kernel's. All of it becomes one
//! table, `etalon import tidy` makes a store of it, and `etalon compare` judges.

mod part;
mod process;
mod publish;
mod servers;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use host::scratch::Scratch;
use serde_json::Value as Json;

use crate::{cargo_path, requirements, run_for_output};
use part::{Comparison, Part, Run, Side, Values};
use process::Programs;
use servers::Servers;

/// What others used of the processors during a run.
const FOREIGN_LOAD: &str = "foreign_load";

/// What to run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The part: the name of a file in xtask/bench/, as `transactions`.
    part: String,
    /// How often everything is run; 6 are the fewest that are judged.
    #[arg(long, default_value_t = 10)]
    rounds: u32,
    /// How long each run is, in seconds, where a tool takes a length.
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// Seed of the order.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only what has this in its name, as `pgbench clients=16`.
    #[arg(long)]
    only: Option<String>,
    /// Another value for one of the part, as `size_mb=64`.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// The folder in which everything is made: the disk that is measured.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Cargo's profile for étalon.
    #[arg(long, default_value = "release")]
    profile: String,
    /// Another étalon, such as an older build: it takes the peers' place.
    #[arg(long, value_name = "ETALON")]
    beside: Option<PathBuf>,
}

impl Options {
    /// Whether the bench measures all of a part at full length, so that the outcome may go into the document.
    fn is_whole(&self) -> bool {
        let is_long = self.rounds >= 6 && self.seconds >= 3 && self.profile == "release";
        is_long && self.only.is_none() && self.set.is_empty() && self.beside.is_none()
    }

    /// Writes the command line that measures with these options.
    fn command_line(&self) -> String {
        let Options { part, rounds, seconds, seed, .. } = self;
        let mut text = format!("cargo xtask bench {part} --rounds {rounds} --seconds {seconds} --seed {seed}");
        let only = self.only.iter().map(|only| ("only", only.clone()));
        let beside = self.beside.iter().map(|path| ("beside", path.display().to_string()));
        let profile = (self.profile != "release").then(|| ("profile", self.profile.clone()));
        for (option, value) in self.set.iter().map(|set| ("set", set.clone())).chain(only).chain(beside).chain(profile)
        {
            let _ = write!(text, " --{option} '{value}'");
        }
        text
    }
}

/// One number of one run, or why there is none.
type Figure = (String, String, std::result::Result<f64, String>);

/// How the runs went.
#[derive(Default)]
struct Outcome {
    /// How many failed.
    failed: usize,
    /// What others used of the processors during each of those that did not, in per cent.
    foreign_percent: Vec<f64>,
}

/// What all runs share.
struct Bench<'a> {
    options: &'a Options,
    part: &'a Part,
    programs: Programs,
    etalon: PathBuf,
    values: Values,
    output: PathBuf,
}

/// Measures a part, and writes its text. True if every run gave figures and no bar was missed for sure.
///
/// # Errors
/// When étalon cannot be built, something that the part needs is not there, or a file cannot be written.
pub fn run(root: &Path, options: &Options) -> Result<bool> {
    publish::refuse_changes(root)?;
    let part = Part::read(root, &options.part, options.beside.as_deref())?;
    let needed = requirements::ensure_packages(&part.needs)?;
    let programs = Programs::new(needed.iter().filter_map(|requirement| requirement.programs_folder()));
    let built = build_etalon(root, &options.profile, &part.programs)?;
    let folder = options.folder.clone().or(part.folder.as_ref().map(|folder| root.join(folder)));
    let scratch = Scratch::new("bench", folder.as_deref()).context("making a folder for the bench")?;
    scratch.allow_passage().context("opening the way to the servers' folders")?;
    let output = root.join("target/bench").join(&options.part);
    // Tables of an earlier run would be taken for this one's.
    let _ = fs::remove_dir_all(&output);
    fs::create_dir_all(&output).with_context(|| format!("making {}", output.display()))?;
    let mut values = part.values.clone();
    for set in &options.set {
        let (name, value) = set.split_once('=').with_context(|| format!("--set {set}: no `=`"))?;
        values.replace(name, value)?;
    }
    values.add("etalon", built.etalon.display());
    values.add("sqlite", built.sqlite.display());
    part.programs.iter().zip(&built.programs).for_each(|(name, path)| values.add(name, path.display()));
    values.add("here", root.join("xtask/bench").display());
    values.add("dir", scratch.path().display());
    values.add("seconds", options.seconds);
    let mut bench = Bench { options, part: &part, programs, etalon: built.etalon, values, output };
    let servers = Servers::start_all(&mut bench, &scratch)?;
    for line in &part.setup {
        run_for_output(bench.programs.make_command(&bench.values.fill_in(line)?)?)?;
    }
    let outcome = bench.measure_all(&servers)?;
    drop(servers);
    Ok(bench.conclude(root, &outcome)? && outcome.failed == 0)
}

impl Bench<'_> {
    /// Runs every side of every case, round by round in random order, and writes the tables.
    fn measure_all(&self, servers: &Servers) -> Result<Outcome> {
        let only = self.options.only.as_deref().unwrap_or_default();
        let runs: Vec<Run<'_>> = self.part.runs().filter(|run| run.to_string().contains(only)).collect();
        let mut tables: Vec<String> = vec![String::new(); runs.len()];
        let mut order: Vec<usize> = (0..runs.len()).collect();
        let (mut outcome, mut rng) = (Outcome::default(), stats::Rng::new(self.options.seed));
        for round in 1..=self.options.rounds {
            for last in (1..order.len()).rev() {
                order.swap(last, rng.draw_below(last + 1));
            }
            for &index in &order {
                let run = &runs[index];
                let mut keep = |metric: &str, unit: &str, role: &str, kind: &str, value: String| {
                    eprintln!("round {round}/{}: {run}: {metric} {value} {unit}", self.options.rounds);
                    let value = value.replace('"', "'");
                    let _ = writeln!(
                        tables[index],
                        "{},{round},{metric},{unit},{role},{kind},\"{value}\"",
                        run.row_fields()
                    );
                };
                match self.run_process(run, servers) {
                    Err(error) => {
                        outcome.failed += 1;
                        keep("failed", "", "", "run", format!("{error:#}"));
                    }
                    Ok(figures) => figures.into_iter().for_each(|(metric, unit, figure)| {
                        let is_load = metric == FOREIGN_LOAD;
                        if is_load {
                            outcome.foreign_percent.extend(figure.as_ref().ok());
                        }
                        let role = if is_load { "diagnostic" } else { "primary" };
                        keep(
                            &metric,
                            &unit,
                            role,
                            "",
                            figure.map_or_else(|why| format!("n/a: {why}"), |f| f.to_string()),
                        );
                    }),
                }
                // An interrupted bench leaves what it has.
                let name = &run.comparison.name;
                let rows = runs.iter().zip(&tables).filter(|(run, _)| run.comparison.name == *name);
                let table: String = rows.map(|(_, rows)| rows.as_str()).collect();
                let heading = run.comparison.table_heading(self.options.seed);
                fs::write(self.output_file(name, "csv"), heading + &table).context("writing the table")?;
            }
        }
        Ok(outcome)
    }

    /// Gives the path of a comparison's file with this ending.
    fn output_file(&self, comparison: &str, ending: &str) -> PathBuf {
        self.output.join(format!("{comparison}.{ending}"))
    }

    /// Runs a process and gives the figures of what it printed, and of what it took.
    fn run_process(&self, run: &Run<'_>, servers: &Servers) -> Result<Vec<Figure>> {
        let Run { comparison, side, .. } = run;
        let out = PathBuf::from(self.values.get("dir")).join("out");
        let _ = fs::remove_dir_all(&out);
        fs::create_dir(&out).with_context(|| format!("making {}", out.display()))?;
        let mut values = run.values_with_case(&self.values);
        values.add("out", out.display());
        for line in &comparison.before {
            run_for_output(self.programs.make_command(&values.fill_in(line)?)?)?;
        }
        let count = || -> Result<f64> {
            let Some(counted) = &comparison.counted else { return Ok(0.0) };
            let text = run_for_output(self.programs.make_command(&values.fill_in(&counted.command)?)?)?;
            text.trim().parse().with_context(|| format!("reading the server's counter `{}`", text.trim()))
        };
        let before = count()?;
        let took =
            process::run_command(self.programs.make_command(&values.fill_in(&side.command)?)?, &out, &servers.pids())?;
        let served = count()? - before;
        let mut figures = self.read_figures(side, &out)?;
        let seconds = run.number_key("seconds").unwrap_or(f64::from(self.options.seconds));
        let rate = comparison.rate.as_ref().map(|rate| value_of(&figures, rate)).transpose()?;
        let rate = rate.map(|rate| rate * side.operations);
        let mut operations = rate.map(|rate| rate * seconds);
        if let Some(counted) = &comparison.counted {
            // What a peer prints is of the time after its connections, which it does not report.
            let said = if side.reads == part::ETALON { operations } else { None };
            let under_way = run.number_key("clients").unwrap_or_default() * side.operations;
            if let Some(said) = said.filter(|said| (said - served).abs() > 0.02 * served + under_way) {
                bail!("it claims {said:.0} operations, and the server counted {served:.0}");
            }
            figures.push((counted.metric.clone(), counted.unit.clone(), Ok(rate.unwrap_or(served / seconds))));
            operations = Some(served);
        }
        let (user_s, system_s) = (took.user_s, took.system_s);
        let cpu = [("client_cpu", user_s + system_s), ("client_user", user_s), ("client_system", system_s)];
        for (name, spent_s) in cpu {
            figures.extend(operations.map(|all| (name.to_owned(), "us".to_owned(), Ok(spent_s * 1e6 / all))));
        }
        for (name, _, figure) in &mut figures {
            if figure.as_ref().is_ok_and(|value| !value.is_finite()) {
                *figure = Err(format!("{name} is of no operation"));
            }
        }
        figures.push(("peak_memory".to_owned(), "MB".to_owned(), Ok(took.peak_bytes / 1e6)));
        figures.push((FOREIGN_LOAD.to_owned(), "%".to_owned(), took.foreign_share.map(|share| share * 100.0)));
        figures.retain(|(name, ..)| comparison.metric_names().any(|wanted| wanted == name) || name == FOREIGN_LOAD);
        Ok(figures)
    }

    /// Reads the figures that the tool itself printed, as étalon imports them.
    fn read_figures(&self, side: &Side, out: &Path) -> Result<Vec<Figure>> {
        let store = if side.reads == part::ETALON {
            let found = fs::read_dir(out).context("reading étalon's results")?.flatten().map(|entry| entry.path());
            let mut stores = found.filter(|path| path.extension().is_some_and(|ending| ending == "etalon"));
            stores.next().context("étalon left no store")?
        } else {
            let store = out.join("imported.etalon");
            let mut import = Command::new(&self.etalon);
            import.args(["--quiet", "import", &side.reads]).arg(out.join("stdout")).arg("-o").arg(&store);
            run_for_output(import)?;
            store
        };
        let json = self.compare_store(&store, &["--json", "--metrics", "all"])?;
        let json: Json = serde_json::from_str(&json).context("reading étalon's answer")?;
        let figures = json["figures"].as_array().context("étalon gave no figures")?;
        Ok(figures
            .iter()
            .map(|figure| {
                let value = figure["side"]["median"].as_f64().ok_or_else(|| figure["side"]["unavailable"].to_string());
                (text_of(&figure["metric"]), text_of(&figure["unit"]), value)
            })
            .collect())
    }

    /// Runs `etalon compare` on a store, and gives what it prints.
    fn compare_store(&self, store: &Path, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.etalon);
        command.args(["--quiet", "compare"]).arg(store).args(arguments);
        run_for_output(command)
    }

    /// Judges the bars, and writes the part's text. True if no bar was missed for sure.
    fn conclude(&self, root: &Path, outcome: &Outcome) -> Result<bool> {
        let mut text = publish::part_head(root, self)?;
        let mut loads = outcome.foreign_percent.clone();
        loads.sort_by(f64::total_cmp);
        if let (Some(median), Some(highest)) = (loads.get(loads.len() / 2), loads.last()) {
            let all = loads.len();
            let _ = writeln!(
                text,
                "Others used {median:.1} % of the processors in the median of {all} runs, {highest:.1} % at most."
            );
        }
        if outcome.failed > 0 {
            let _ = writeln!(text, "{} runs failed.", outcome.failed);
        }
        let mut is_good = true;
        for comparison in self.part.comparisons.iter().filter(|one| self.output_file(&one.name, "csv").is_file()) {
            let store = self.import_store(comparison)?;
            let _ = write!(text, "\n### {}\n", comparison.title);
            for view in &comparison.views {
                let words = shlex::split(view).context("a view is no command line")?;
                let mut arguments = vec!["--markdown", "--metrics", &comparison.metrics];
                arguments.extend(words.iter().map(String::as_str));
                let _ = write!(text, "\n{}", self.compare_store(&store, &arguments)?.replace("### ", "#### "));
            }
            if !comparison.bars.is_empty() && self.options.beside.is_none() {
                let json = self.compare_store(&store, &["--json", "--metrics", &comparison.metrics])?;
                let json: Json = serde_json::from_str(&json).context("reading étalon's answer")?;
                let bars = comparison.bars.iter().map(|bar| bar.table_row(&json, &comparison.baseline));
                let _ = writeln!(
                    text,
                    "\n| bar | asked | measured | 95 % interval, or smallest to largest | |\n|---|---|---|---|---|"
                );
                for row in bars {
                    is_good &= !row.contains("**not met**");
                    let _ = writeln!(text, "{row}");
                }
            }
        }
        publish::write_part(root, self, &text)?;
        Ok(is_good)
    }

    /// Imports a comparison's table into a store, and gives its path.
    fn import_store(&self, comparison: &Comparison) -> Result<PathBuf> {
        let store = self.output_file(&comparison.name, "etalon");
        let _ = fs::remove_file(&store);
        let mut import = Command::new(&self.etalon);
        // Notes name the file as it is given.
        import.args(["--quiet", "import", "tidy", &format!("{}.csv", comparison.name), "-o"]).arg(&store);
        run_for_output(import.current_dir(&self.output))?;
        Ok(store)
    }
}

/// Gives a text of JSON; empty if it is none.
fn text_of(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

/// Gives the value of a metric; fails if it was not measured.
fn value_of(figures: &[Figure], metric: &str) -> Result<f64> {
    let figure = figures.iter().find(|(name, ..)| name == metric).map(|(_, _, value)| value.clone());
    figure.with_context(|| format!("it measured no {metric}"))?.map_err(anyhow::Error::msg)
}

/// What [`build_etalon`] has made.
pub struct Built {
    pub etalon: PathBuf,
    /// Where the SQLite that is part of it was compiled.
    sqlite: PathBuf,
    /// The programs in the order in which they were asked for.
    programs: Vec<PathBuf>,
}

/// Builds étalon, and further programs of the workspace.
///
/// # Errors
/// It does not compile.
pub fn build_etalon(root: &Path, profile: &str, programs: &[String]) -> Result<Built> {
    eprintln!("building étalon, profile {profile}");
    let mut command = Command::new(cargo_path());
    command.args(["build", "--package", "cli", "--profile", profile, "--message-format=json-render-diagnostics"]);
    command.args(programs.iter().flat_map(|name| ["--package", name]));
    let messages = run_for_output(command.current_dir(root).stderr(Stdio::inherit()))?;
    let messages = messages.lines().map(serde_json::from_str).collect::<std::result::Result<Vec<Json>, _>>();
    let messages = messages.context("reading cargo's messages")?;
    let find = |key: &str, is_it: &dyn Fn(&Json) -> bool| {
        let found = messages.iter().rfind(|message| is_it(message) && message[key].is_string())?;
        found[key].as_str().map(PathBuf::from)
    };
    let program = |name: &str| {
        let found = find("executable", &|message| message["target"]["name"] == name);
        found.with_context(|| format!("cargo built no {name}"))
    };
    Ok(Built {
        etalon: program("etalon")?,
        sqlite: find("out_dir", &|message: &Json| {
            message["package_id"].as_str().is_some_and(|id| id.contains("libsqlite3-sys"))
        })
        .context("cargo did not say where SQLite is")?,
        programs: programs.iter().map(|name| program(name)).collect::<Result<_>>()?,
    })
}
