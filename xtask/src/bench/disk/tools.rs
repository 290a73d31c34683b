//! The command lines of both tools, and what they answer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value as Json;

use super::super::build::Build;
use super::super::{origin, process};
use super::{BLOCK_KB, Entry, Op, Run, Tool};

/// The name of étalon's only system.
const SYSTEM: &str = "disk";

/// Runs both tools.
pub struct Runner {
    etalon: PathBuf,
    fio: Option<PathBuf>,
    file: PathBuf,
    folder: PathBuf,
}

/// What a tool says of its run.
struct Said {
    iops: f64,
    own_cpu_us: Option<f64>,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
}

impl Runner {
    /// A runner on that file, with a folder for what the tools leave.
    pub fn new(build: &Build, fio: Option<PathBuf>, file: &Path, folder: &Path) -> Runner {
        Runner { etalon: build.etalon.clone(), fio, file: file.to_owned(), folder: folder.to_owned() }
    }

    /// What the programs say of their versions.
    pub fn versions(&self, root: &Path) -> Vec<(String, String)> {
        origin::versions(root, &self.etalon, &[("fio", self.fio.as_deref())])
    }

    /// Runs an entry once.
    ///
    /// # Errors
    /// The tool is not there, fails, or says something else than it should.
    pub fn run(&self, entry: Entry, seconds: u32) -> Result<Run> {
        let command = match entry.tool {
            Tool::Etalon => self.etalon(entry, seconds)?,
            Tool::Fio => self.fio(entry, seconds)?,
        };
        let usage = process::run(command, None, Duration::from_secs(u64::from(seconds)))?;
        let said = match entry.tool {
            Tool::Etalon => self.etalon_said()?,
            Tool::Fio => fio_said(&usage.stdout, entry.op)?,
        };
        let operations = said.iops * f64::from(seconds);
        Ok(Run {
            key: entry.key(),
            block: 0,
            iops: said.iops,
            own_cpu_us: said.own_cpu_us,
            cpu_us: usage.cpu_s * 1e6 / operations,
            p50_us: said.p50_us,
            p99_us: said.p99_us,
            foreign_share: usage.foreign_share,
        })
    }

    fn etalon(&self, entry: Entry, seconds: u32) -> Result<Command> {
        let plan = self.folder.join("plan.toml");
        fs::write(&plan, self.plan(entry, seconds)).with_context(|| format!("writing {}", plan.display()))?;
        // Stores of earlier runs are of no use.
        let _ = fs::remove_dir_all(self.results());
        let mut command = Command::new(&self.etalon);
        // The file is the bench's, and writes go over it.
        command.args(["--quiet", "--json", "run", "--yes"]).arg(plan).arg("-o").arg(self.results());
        Ok(command)
    }

    fn results(&self) -> PathBuf {
        self.folder.join("results")
    }

    fn plan(&self, entry: Entry, seconds: u32) -> String {
        let quoted = |path: &Path| Json::from(path.display().to_string()).to_string();
        let op = if entry.op == Op::Write { "write" } else { "read" };
        let form = if entry.op == Op::Null { "null" } else { "ring" };
        let url = Json::from(format!("disk:{}", self.file.display()));
        format!(
            "[systems.{SYSTEM}]\nurl = {url}\n\n[systems.{SYSTEM}.settings]\nio = \"{form}\"\n\n[[benchmarks]]\n\
             name = \"bench\"\nworkload = \"disk\"\nop = \"{op}\"\npattern = \"random\"\nblock_kb = {BLOCK_KB}\n\
             depth = {}\ntargets = {}\ncache = \"hw\"\n\n[schedule]\nblocks = 1\nwarmup = \"0s\"\n\
             duration = \"{seconds}s\"\n",
            entry.depth,
            quoted(&self.file)
        )
    }

    /// The figures of étalon's last run, from its store.
    fn etalon_said(&self) -> Result<Said> {
        let stores = fs::read_dir(self.results()).context("reading étalon's results")?;
        let is_store = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "etalon");
        let store = stores.flatten().map(|entry| entry.path()).find(is_store).context("étalon left no store")?;
        let mut command = Command::new(&self.etalon);
        let metrics = "iops,cpu_per_io,latency_p50,latency_p99";
        command.args(["--json", "compare"]).arg(store).args(["--metrics", metrics]);
        etalon_figures(&process::ask(command)?)
    }

    fn fio(&self, entry: Entry, seconds: u32) -> Result<Command> {
        let mut command = Command::new(self.fio.as_ref().context("there is no fio")?);
        command.args(["--name=bench", "--thread", "--output-format=json", "--time_based", "--lat_percentiles=1"]);
        command.args(["--norandommap", "--group_reporting", "--percentile_list=50:99"]);
        command.arg(format!("--rw={}", if entry.op == Op::Write { "randwrite" } else { "randread" }));
        command.args([format!("--bs={BLOCK_KB}k"), format!("--iodepth={}", entry.depth)]);
        command.arg(format!("--runtime={seconds}"));
        if entry.op == Op::Write {
            // Without it fio writes the same buffers again, and after a run of it the file would compress: étalon refuses
            // to measure on such a one.
            command.arg("--refill_buffers");
        }
        match entry.op {
            Op::Null => command.args(["--ioengine=null", "--size=4g"]),
            _ => {
                command.args(["--ioengine=io_uring", "--direct=1", "--fixedbufs", "--registerfiles"]);
                command.arg(format!("--filename={}", self.file.display()))
            }
        };
        Ok(command)
    }
}

/// What étalon's JSON holds.
fn etalon_figures(text: &str) -> Result<Said> {
    let json: Json = serde_json::from_str(text).context("reading étalon's answer")?;
    let figures = json.get("figures").and_then(Json::as_array).context("étalon gave no figures")?;
    let value = |metric: &str| {
        let figure = figures.iter().find(|figure| figure["metric"] == metric)?;
        figure["side"]["median"].as_f64()
    };
    Ok(Said {
        iops: value("iops").context("étalon measured no rate")?,
        own_cpu_us: value("cpu_per_io"),
        p50_us: value("latency_p50"),
        p99_us: value("latency_p99"),
    })
}

/// What fio's JSON holds. Some versions put a remark before it.
fn fio_said(text: &str, op: Op) -> Result<Said> {
    let begin = text.find('{').context("fio printed no JSON")?;
    let json: Json = serde_json::from_str(&text[begin..]).context("reading fio's answer")?;
    let job = &json["jobs"][0];
    let side = &job[if op == Op::Write { "write" } else { "read" }];
    let iops = side["iops"].as_f64().filter(|iops| *iops > 0.0).context("fio measured no rate")?;
    let cpu_percent = job["usr_cpu"].as_f64().zip(job["sys_cpu"].as_f64()).map(|(user, system)| user + system);
    let percentile = |key: &str| side["lat_ns"]["percentile"][key].as_f64().map(|ns| ns / 1e3);
    Ok(Said {
        iops,
        own_cpu_us: cpu_percent.map(|percent| percent / 100.0 * 1e6 / iops),
        p50_us: percentile("50.000000"),
        p99_us: percentile("99.000000"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fios_answer_is_read_behind_a_remark() {
        let text = "note: both iodepth >= 1 and synchronous I/O engine\n{\"jobs\": [{\"usr_cpu\": 10.0, \"sys_cpu\": \
                    40.0, \"read\": {\"iops\": 50000.0, \"lat_ns\": {\"percentile\": {\"50.000000\": 120000, \
                    \"99.000000\": 900000}}}}]}";
        let said = fio_said(text, Op::Read).unwrap();
        assert_eq!((said.iops, said.own_cpu_us), (50_000.0, Some(10.0)));
        assert_eq!((said.p50_us, said.p99_us), (Some(120.0), Some(900.0)));
        assert!(fio_said("fio: no such file", Op::Read).is_err());
        assert!(fio_said(text, Op::Write).is_err());
    }

    #[test]
    fn etalons_answer_is_read() {
        let text = "{\"figures\": [{\"metric\": \"iops\", \"side\": {\"median\": 7.5}}, {\"metric\": \"latency_p99\", \
                    \"side\": {\"median\": null}}]}";
        let said = etalon_figures(text).unwrap();
        assert_eq!((said.iops, said.own_cpu_us, said.p99_us), (7.5, None, None));
        assert!(etalon_figures("{\"figures\": []}").is_err());
    }
}
