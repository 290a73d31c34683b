//! fio's normal text, of versions 2 and 3, and its terse lines.

use std::collections::BTreeMap;

use super::definitions::Definitions;
use super::rates::bandwidth_bytes_s;
use super::{Direct, FioDocument, FioJob, FioLatency, take_sum};
use crate::text::{NotUnderstood, leading_number, numbered_lines, parse_number};

/// Tells whether a text holds the results of a job.
pub fn is_text(text: &str) -> bool {
    text.contains("(groupid=") && text.contains("err=")
}

/// Tells whether a line is one of fio's terse form: `3;fio-3.33;…`.
pub fn is_terse(line: &str) -> bool {
    let mut fields = line.splitn(3, ';');
    let version = fields.next().and_then(|version| version.parse::<u32>().ok());
    version.is_some_and(|version| (3..=5).contains(&version))
        && fields.next().is_some_and(|name| name.starts_with("fio-"))
}

/// A direction of the job that is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Read,
    Write,
    Trim,
}

#[derive(Default)]
struct Lines {
    documents: Vec<FioDocument>,
    definitions: Definitions,
    version: Option<String>,
    way: Option<Way>,
    /// The unit of the percentiles that follow, in nanoseconds, and whether they are of the total latency.
    percentiles: Option<(f64, bool)>,
    /// Behind the results of all jobs, until fio begins again.
    is_behind: bool,
    /// The next results are of another run of fio.
    is_over: bool,
    /// Lines that begin a call of fio stand in front of the next results.
    is_announced: bool,
    /// Clients of the call, if it has any.
    clients: usize,
    terse_call: TerseCall,
}

/// What terse lines show of the call that they are of.
#[derive(Default)]
struct TerseCall {
    /// The use of the disks, which fio reads once for all lines of a call.
    disks: String,
    /// Percent of its group's bandwidth that each line has, added up by name and group.
    shares: BTreeMap<(String, u64), f64>,
}

/// Percent of a group's bandwidth that its jobs have together, with what fio's means of samples add.
const WHOLE_SHARE: f64 = 105.0;
const MOST_SHARE: f64 = 150.0;

/// Reads fio's output for people into documents, and lists the lines that are not understood.
pub fn read_text(text: &str) -> (Vec<FioDocument>, Vec<NotUnderstood>) {
    let (mut lines, mut not_understood) = (Lines::default(), Vec::new());
    for (at, line) in numbered_lines(text) {
        let trimmed = line.trim();
        if !trimmed.is_empty() && !lines.take_line(at, trimmed) {
            not_understood.push(NotUnderstood::new(at, line));
        }
    }
    for document in &mut lines.documents {
        if !document.is_terse {
            document.jobs.iter_mut().for_each(add_sample_count);
        }
        document.sum = take_sum(&mut document.jobs);
    }
    (lines.documents, not_understood)
}

impl FioJob {
    /// Tests whether the job has this name and group.
    fn is_named(&self, name: &str, group: u64) -> bool {
        self.name == name && self.group == group
    }
}

impl FioDocument {
    /// Counts the jobs that have a name and a group.
    fn count_jobs(&self, name: &str, group: u64) -> usize {
        self.jobs.iter().filter(|job| job.is_named(name, group)).count()
    }
}

/// Sets the number of latency samples to that of the I/Os, where none failed; else removes the latencies.
fn add_sample_count(job: &mut FioJob) {
    let failed = job.failed;
    for direct in [&mut job.read, &mut job.write, &mut job.trim].into_iter().flatten() {
        let samples = if failed == 0 { direct.ios } else { 0 };
        for latency in [&mut direct.completion, &mut direct.total] {
            if let Some(latency) = latency {
                latency.samples = samples;
            }
            if samples == 0 {
                *latency = None;
            }
        }
    }
}

impl Lines {
    /// Takes a line of fio's output into the documents; `false` if it is not understood.
    fn take_line(&mut self, at: u64, line: &str) -> bool {
        if is_terse(line) {
            return self.take_terse(at, line);
        }
        if let Some(version) = client_version(line) {
            if !self.is_announced {
                self.definitions.finish();
            }
            self.begin_call();
            self.version = Some(version.to_owned());
            self.clients += 1;
            return true;
        }
        let line = if self.clients > 0 { without_client(line) } else { line };
        if let Some((name, rest)) = line.split_once(": (g=") {
            self.begin_call();
            return self.definitions.take_definition(name, rest);
        }
        if line.starts_with("fio-") && !line.contains(' ') {
            self.begin_call();
            self.version = Some(line.to_owned());
            self.definitions.finish();
            return true;
        }
        if let Some((name, rest)) = line.split_once(": (groupid=") {
            return self.take_job(at, name, rest);
        }
        if line == "..." {
            self.definitions.note_clones();
            return true;
        }
        if line.starts_with("Run status group") || line.starts_with("Disk stats") {
            // The results of each client have this behind them.
            (self.is_behind, self.is_over, self.way) = (true, self.clients == 0, None);
            return true;
        }
        if self.is_behind
            && let Some((disk, _)) = line.split_once(": ios=")
        {
            self.documents.last_mut().into_iter().for_each(|last| last.devices.extend([disk.to_owned()]));
        }
        // `READ: bw=…` and `vda: ios=…` stand behind the jobs.
        let is_sum = self.is_behind && line.contains('=');
        is_sum || line.is_empty() || is_noise(line) || self.take_job_line(line)
    }

    /// Notes that a call begins, at a line that fio prints before its results.
    fn begin_call(&mut self) {
        if !std::mem::replace(&mut self.is_announced, true) {
            self.clients = 0;
        }
        (self.is_behind, self.is_over) = (false, true);
    }

    /// Takes the heading of a job's results, `job: (groupid=0, jobs=4): err= 0: pid=123: Thu …`; `false` if it is none.
    fn take_job(&mut self, at: u64, name: &str, rest: &str) -> bool {
        let Some((group, _)) = leading_number(rest) else { return false };
        // Groups are small numbers.
        let group = group as u64;
        let jobs = number_behind(rest, "jobs=").unwrap_or(1.0);
        let defined = self.definitions.least_results(name, group);
        let document = self.current_document(at, |known| {
            // The line of a job stands as often as the job is defined, but for clones of it.
            known.jobs.last().is_some_and(|last| last.is_named(name, group))
                || known.count_jobs(name, group) < defined.max(1)
        });
        let before = document.count_jobs(name, group);
        let mut options = self.definitions.options_of_result(name, group, jobs, before);
        if jobs > 1.0 {
            options.insert("numjobs".to_owned(), jobs.to_string());
        }
        let job = FioJob {
            name: name.to_owned(),
            group,
            // Processes have small numbers.
            pid: number_behind(rest, "pid=").map(|pid| pid as u64),
            error: number_behind(rest, "err=").unwrap_or(0.0) as i64,
            options,
            ..FioJob::default()
        };
        if let Some(document) = self.documents.last_mut() {
            document.jobs.push(job);
        }
        (self.way, self.percentiles) = (None, None);
        true
    }

    /// Gives the document that goes on, or a new one where fio began again.
    fn current_document(&mut self, line: u64, goes_on: impl Fn(&FioDocument) -> bool) -> &mut FioDocument {
        let version = self.version.clone();
        let is_over = std::mem::take(&mut self.is_over);
        let is_same = !is_over && self.documents.last().is_some_and(|known| known.version == version && goes_on(known));
        if !is_same {
            let is_announced = std::mem::take(&mut self.is_announced);
            let clients = self.clients;
            self.documents.push(FioDocument { line, version, is_announced, clients, ..FioDocument::default() });
        }
        self.is_behind = false;
        let at = self.documents.len() - 1;
        &mut self.documents[at]
    }

    /// Takes a line of the last job's figures; `false` if it is none.
    fn take_job_line(&mut self, line: &str) -> bool {
        let Some(job) = self.documents.last_mut().and_then(|document| document.jobs.last_mut()) else { return false };
        let Some((name, value)) = line.split_once([':', '=']).map(|(name, value)| (name.trim(), value.trim())) else {
            return false;
        };
        let figures = &line[name.len()..];
        match name {
            "read" | "write" | "trim" => {
                let way = match name {
                    "read" => Way::Read,
                    "write" => Way::Write,
                    _ => Way::Trim,
                };
                self.way = Some(way);
                *direction_mut(job, way) = Some(parse_rates(value));
                return true;
            }
            "cpu" => {
                (job.user_cpu_percent, job.system_cpu_percent) =
                    (number_right_behind(value, "usr="), number_right_behind(value, "sys="));
                return true;
            }
            "issued rwts" | "issued rwt" | "issued" => {
                take_issued(job, value);
                return true;
            }
            "errors" => {
                job.failed = number_right_behind(value, "total=").unwrap_or(0.0) as u64;
                job.first_error = number_right_behind(value, "first_error=").unwrap_or(0.0) as i64;
                return true;
            }
            _ => {}
        }
        let Some(direct) = self.way.and_then(|way| direction_mut(job, way).as_mut()) else { return is_of_job(line) };
        if line.starts_with('|') {
            return take_percentiles(line, self.percentiles, direct);
        }
        let kind = name.split('(').next().unwrap_or_default().trim();
        let unit = unit_ns(name);
        if let (Some(unit), "clat percentiles" | "lat percentiles") = (unit, kind) {
            self.percentiles = Some((unit, kind.starts_with("lat")));
            return true;
        }
        // `lat (usec)   : 250=0.1%` is a histogram, with a blank before its colon.
        if let (Some(unit), "clat" | "lat", true) = (unit, kind, figures.contains("min=")) {
            let latency = parse_latency(figures, unit);
            match kind {
                "clat" => direct.completion = latency,
                _ => direct.total = latency,
            }
            return true;
        }
        is_of_job(line)
    }

    /// Takes a line of the terse form; `false` if it is cut off.
    fn take_terse(&mut self, at: u64, line: &str) -> bool {
        let Some(TerseLine { version, job, disks, share }) = parse_terse(line) else { return false };
        let known = self.documents.last().filter(|known| known.is_terse && known.version == Some(version.to_owned()));
        let first = known.and_then(|known| known.jobs.iter().find(|one| one.is_named(&job.name, job.group)));
        let id = (job.name.clone(), job.group);
        let shares = self.terse_call.shares.get(&id).copied().unwrap_or(0.0) + share;
        // What went on has more than a whole share, and has grown.
        let has_more =
            shares > MOST_SHARE || (shares > WHOLE_SHARE && first.is_some_and(|first| first.grows_into(&job)));
        let is_unclear = first.is_some() && disks.is_empty() && share == 0.0;
        let is_same = known.is_some()
            && self.terse_call.disks == disks
            && !(first.is_some() && has_more)
            && !is_unclear
            && !self.is_over;
        if !is_same {
            self.terse_call = TerseCall { disks: disks.clone(), shares: BTreeMap::new() };
            self.documents.push(FioDocument {
                line: at,
                version: Some(version.to_owned()),
                is_terse: true,
                is_doubtful: is_unclear,
                devices: disks
                    .split(';')
                    .step_by(DISK_FIELDS)
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect(),
                ..FioDocument::default()
            });
        }
        *self.terse_call.shares.entry(id).or_default() += share;
        self.is_over = false;
        self.version = Some(version.to_owned());
        self.documents.last_mut().into_iter().for_each(|last| last.jobs.push(job.clone()));
        true
    }
}

/// What a terse line has.
struct TerseLine<'l> {
    version: &'l str,
    job: FioJob,
    /// The fields of all disks.
    disks: String,
    /// Percent of its group's bandwidth.
    share: f64,
}

/// Fields of the use of a disk, the first of which is its name.
const DISK_FIELDS: usize = 9;
/// Fields from those of the processor to those of the disks.
const BEFORE_DISKS: usize = 34;

/// Parses a line of the terse form; `None` for one that is cut off.
fn parse_terse(line: &str) -> Option<TerseLine<'_>> {
    let fields: Vec<&str> = line.split(';').collect();
    let width = if fields[0] == "5" { 47 } else { 41 };
    let field = |at: usize| fields.get(at).copied().unwrap_or_default();
    let figure = |at: usize| parse_number(field(at).trim_end_matches('%'));
    let side = |from: usize| -> Option<Direct> {
        let (bytes, iops, runtime) = (figure(from + 1)? * 1024.0, figure(from + 2)?, figure(from + 3)?);
        // Saturates; it is not printed.
        let ios = (iops * runtime / 1e3).round() as u64;
        let latency = |at: usize| -> Option<FioLatency> {
            Some(FioLatency {
                samples: ios,
                min_ns: figure(at)? * 1e3,
                max_ns: figure(at + 1)? * 1e3,
                mean_ns: figure(at + 2)? * 1e3,
                ..FioLatency::default()
            })
        };
        let mut completion = latency(from + 8);
        if let Some(completion) = &mut completion {
            completion.percentiles = (from + 12..from + 32)
                .filter_map(|at| {
                    let (rank, us) = field(at).split_once("%=")?;
                    Some((parse_number(rank)?, parse_number(us)? * 1e3)).filter(|(rank, _)| *rank > 0.0)
                })
                .collect();
        }
        (ios > 0).then(|| Direct {
            ios,
            iops: Some(iops),
            bytes_per_s: Some(bytes),
            runtime_ms: Some(runtime),
            completion,
            total: latency(from + 32),
        })
    };
    let ways = if fields[0] == "3" { 2 } else { 3 };
    let cpu = 5 + width * ways;
    let job = FioJob {
        name: field(2).to_owned(),
        group: figure(3).unwrap_or(0.0) as u64,
        error: figure(4).unwrap_or(0.0) as i64,
        read: side(5),
        write: side(5 + width),
        trim: if ways == 2 { None } else { side(5 + 2 * width) },
        user_cpu_percent: figure(cpu),
        system_cpu_percent: figure(cpu + 1),
        ..FioJob::default()
    };
    let shares = (0..ways).filter_map(|way| figure(5 + way * width + 38));
    let behind = fields.get(cpu + BEFORE_DISKS..).unwrap_or_default().chunks_exact(DISK_FIELDS);
    let disks = behind.take_while(|disk| !disk[0].is_empty() && parse_number(disk[0]).is_none());
    (fields.len() > cpu + 1).then(|| TerseLine {
        version: fields[1],
        job,
        disks: disks.map(|disk| disk.join(";")).collect::<Vec<_>>().join(";"),
        share: shares.fold(0.0, f64::max),
    })
}

/// Finds fio's version in a client's line: `hostname=a, be=0, 64-bit, os=Linux, fio=fio-3.33, flags=1`.
fn client_version(line: &str) -> Option<&str> {
    line.strip_prefix("hostname=")?.split(", ").find_map(|part| part.strip_prefix("fio="))
}

/// Strips a line of the client that fio names in front of it: `<host> job: (g=0): …`.
fn without_client(line: &str) -> &str {
    let client = line.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    client.filter(|(name, _)| !name.contains(' ')).map_or(line, |(_, rest)| rest.trim_start())
}

/// Parses the number that follows a name without a blank.
fn number_right_behind(text: &str, name: &str) -> Option<f64> {
    leading_number(&text[text.find(name)? + name.len()..]).map(|(number, _)| number)
}

/// Parses the number behind a name, also behind blanks.
fn number_behind(text: &str, name: &str) -> Option<f64> {
    let from = text.find(name)? + name.len();
    leading_number(text[from..].trim_start()).map(|(number, _)| number)
}

/// Gives the figures of a direction of a job, to be changed.
fn direction_mut(job: &mut FioJob, way: Way) -> &mut Option<Direct> {
    match way {
        Way::Read => &mut job.read,
        Way::Write => &mut job.write,
        Way::Trim => &mut job.trim,
    }
}

/// Parses a number with its decimal suffix: `25.2k`, `1805.8K`, `3M`.
fn parse_count(text: &str) -> Option<f64> {
    let (figure, rest) = leading_number(text.trim_start())?;
    let factor = match rest.chars().next() {
        Some('k' | 'K') => 1e3,
        Some('m' | 'M') => 1e6,
        Some('g' | 'G') => 1e9,
        _ => 1.0,
    };
    Some(figure * factor)
}

/// Parses `IOPS=25.2k, BW=98.3MiB/s (103MB/s)(5898MiB/60002msec)`, or fio 2's line of rates.
/// That is `io=326081KB, bw=1023.3KB/s, iops=170 , runt=318686msec`.
fn parse_rates(text: &str) -> Direct {
    let lower = text.to_ascii_lowercase();
    let runtime = text_behind(&lower, "runt=").map(str::trim_start).and_then(number_in_front).or_else(|| {
        let before = lower.rfind("msec")?;
        let from = lower[..before].rfind('/')? + 1;
        parse_number(lower[from..before].trim())
    });
    Direct {
        ios: 0,
        iops: text_behind(&lower, "iops=").and_then(parse_count),
        // The case tells bits from bytes.
        bytes_per_s: lower.find("bw=").and_then(|at| bandwidth_bytes_s(&text[at + 3..])),
        runtime_ms: runtime,
        completion: None,
        total: None,
    }
}

/// Gives what stands behind a name.
fn text_behind<'t>(lower: &'t str, name: &str) -> Option<&'t str> {
    lower.find(name).map(|at| &lower[at + name.len()..])
}

/// Parses the number that a text begins with.
fn number_in_front(text: &str) -> Option<f64> {
    leading_number(text).map(|(number, _)| number)
}

/// Takes the number of I/Os: `total=1509874,0,0,0 short=…`; fio 2: `total=r=419/w=109/d=0, short=…`.
fn take_issued(job: &mut FioJob, text: &str) {
    let Some((_, total)) = text.split_once("total=") else { return };
    let end = total.find("short").unwrap_or(total.len());
    let counts = total[..end].trim().trim_end_matches(',').split([',', '/']);
    let counts: Vec<u64> = counts
        .filter_map(|part| part.trim().trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '=').parse().ok())
        .collect();
    for (way, ios) in [Way::Read, Way::Write, Way::Trim].into_iter().zip(counts) {
        let side = direction_mut(job, way);
        match side {
            Some(known) if ios > 0 => known.ios = ios,
            _ => *side = None,
        }
    }
}

/// Gives the nanoseconds of the unit in brackets: `clat (usec)`.
fn unit_ns(name: &str) -> Option<f64> {
    let (_, unit) = name.split_once('(')?;
    match unit.split(')').next()?.trim() {
        "nsec" => Some(1.0),
        "usec" => Some(1e3),
        "msec" => Some(1e6),
        "sec" => Some(1e9),
        _ => None,
    }
}

/// Parses a latency, `: min=2, max=1841, avg= 7.63, stdev= 5.14`, in ns.
fn parse_latency(figures: &str, unit: f64) -> Option<FioLatency> {
    Some(FioLatency {
        min_ns: duration_behind(figures, unit, "min=")?,
        max_ns: duration_behind(figures, unit, "max=")?,
        mean_ns: duration_behind(figures, unit, "avg=")?,
        ..FioLatency::default()
    })
}

/// Parses the duration behind a name, in ns.
fn duration_behind(figures: &str, unit: f64, name: &str) -> Option<f64> {
    parse_count(&figures[figures.find(name)? + name.len()..]).map(|figure| figure * unit)
}

/// Takes a line of percentiles, `|  1.00th=[  314],  5.00th=[  351], …`; `false` where none are expected.
fn take_percentiles(line: &str, of: Option<(f64, bool)>, direct: &mut Direct) -> bool {
    let Some((unit, is_total)) = of else { return false };
    let latency = if is_total { &mut direct.total } else { &mut direct.completion };
    let Some(latency) = latency else { return true };
    for part in line.trim_start_matches('|').split("],") {
        let Some((rank, value)) = part.trim().trim_end_matches(',').split_once("th=[") else { continue };
        let value = parse_number(value.trim_end_matches(']').trim());
        latency.percentiles.extend(parse_number(rank.trim()).zip(value.map(|value| value * unit)));
    }
    true
}

/// Tests whether a line tells nothing about a result, wherever it stands.
fn is_noise(line: &str) -> bool {
    const NOISE: [&str; 6] = ["Starting ", "Jobs: ", "clock setting", "Description", "note: ", "cache invalidation"];
    line.contains(": Laying out IO file") || NOISE.iter().any(|noise| line.starts_with(noise))
}

/// Tests whether a line of a job is known and holds no figure of étalon's.
fn is_of_job(line: &str) -> bool {
    const KNOWN: [&str; 15] = [
        "slat",
        "bw (",
        "bw(",
        "iops ",
        "iops:",
        "lat (",
        "cpu ",
        "IO depths",
        "submit",
        "complete",
        "latency ",
        "fsync/fdatasync",
        "sync (",
        "sync percentiles",
        "|",
    ];
    KNOWN.iter().any(|known| line.starts_with(known))
}
