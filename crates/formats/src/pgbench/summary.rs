//! pgbench's printed summary.

use crate::text::{NotUnderstood, decode, leading_number, number, numbered, said};

use super::Statement;
use super::statement::{Columns, statement};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summaries {
    pub runs: Vec<Summary>,
    pub not_understood: Vec<NotUnderstood>,
}

/// What was not printed is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Line of its start, from 1.
    pub line: u64,
    pub version: Option<String>,
    /// Where it differs from pgbench's.
    pub server_version: Option<String>,
    /// `<builtin: TPC-B (sort of)>` and the like.
    pub script: Option<String>,
    pub scale: Option<u64>,
    /// `simple`, `extended` or `prepared`.
    pub query_mode: Option<String>,
    pub clients: Option<u64>,
    pub threads: Option<u64>,
    /// 0 for no limit.
    pub max_tries: Option<u64>,
    /// Planned.
    pub per_client: Option<u64>,
    pub duration_s: Option<u64>,
    /// See [`Summary::succeeded`].
    pub processed: Option<u64>,
    /// Transactions planned in all.
    pub planned: Option<u64>,
    pub failed: Option<u64>,
    /// Of these, failures to serialise.
    pub serialization: Option<u64>,
    pub deadlocks: Option<u64>,
    pub retried: Option<u64>,
    /// In all.
    pub retries: Option<u64>,
    /// Transactions that were too late to begin.
    pub skipped: Option<u64>,
    pub skipped_percent: Option<f64>,
    /// Transactions above the latency limit.
    pub above_limit: Option<u64>,
    pub above_limit_of: Option<u64>,
    pub limit_ms: Option<f64>,
    /// Mean, in milliseconds. Without `-P`, `-R` or `-L` it is not measured but time × clients / transactions.
    pub latency_ms: Option<f64>,
    /// Printed so up to version 9.5.
    pub has_colon: bool,
    pub stddev_ms: Option<f64>,
    pub lag_ms: Option<f64>,
    pub lag_max_ms: Option<f64>,
    /// For all connections, in milliseconds (from version 14 on).
    pub initial_connection_ms: Option<f64>,
    /// Mean for one, in milliseconds; with `-C` (from version 14 on).
    pub connection_ms: Option<f64>,
    /// Without connection time; with `-C`, including it.
    pub tps: Option<f64>,
    /// Up to version 13.
    pub tps_with_connections: Option<f64>,
    /// Lines of `-P`.
    pub progress: Vec<Progress>,
    pub statements: Vec<Statement>,
    pub scripts: Vec<Script>,
    /// What pgbench said first of why it could not go on, wholly or with some of its clients. One that printed nothing else
    /// has no script either.
    pub aborted: Option<String>,
}

/// A line of `-P`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Since the start, or Unix time with `--progress-timestamp`.
    pub at_s: f64,
    pub tps: f64,
    pub latency_ms: Option<f64>,
    pub failed: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    pub name: String,
    pub weight: Option<u64>,
    pub transactions: Option<u64>,
    pub failed: Option<u64>,
    pub tps: Option<f64>,
    pub latency_ms: Option<f64>,
    pub stddev_ms: Option<f64>,
    pub statements: Vec<Statement>,
}

/// Standard output, or both streams. Unrecognised lines are listed, never an error.
pub fn read_summaries(bytes: &[u8]) -> Summaries {
    let mut reader = Reader::default();
    for (number, line) in numbered(&decode(bytes)) {
        reader.line(number, line.trim_end());
    }
    reader.cut();
    reader.found
}

/// Printed before a run's first own line.
#[derive(Default)]
struct Before {
    version: Option<String>,
    server_version: Option<String>,
    progress: Vec<Progress>,
    /// Line of the first that was said of it, from 1.
    line: u64,
    /// The first error.
    error: Option<String>,
    /// Whether pgbench has said that it printed a summary that is not whole.
    has_summary: bool,
}

#[derive(Default)]
struct Reader {
    found: Summaries,
    run: Option<Summary>,
    before: Before,
    columns: Option<Columns>,
}

impl Reader {
    fn end(&mut self) {
        self.found.runs.extend(self.run.take());
        self.columns = None;
    }

    /// Another run begins, or the text ends: what was said and has no summary behind it is of the one before, if it is said to
    /// have one, and else of a run that printed none.
    fn cut(&mut self) {
        self.end();
        let Before { version, server_version, line, error, has_summary, .. } = std::mem::take(&mut self.before);
        let silent = || version.is_some().then(|| "it printed its version and nothing else".to_owned());
        let Some(why) = error.or_else(silent) else { return };
        match self.found.runs.last_mut() {
            Some(run) if has_summary => drop(run.aborted.get_or_insert(why)),
            _ => {
                let aborted = Some(why);
                self.found.runs.push(Summary { line, version, server_version, aborted, ..Summary::default() });
            }
        }
    }

    /// Errors of a run stand in front of its summary, since a pipe or a file has that at the end; behind it stands, from version
    /// 12 on, that it is not whole.
    fn error(&mut self, number: u64, error: &str) {
        let is_of_summary = error.starts_with("Run was aborted");
        match &mut self.run {
            Some(run) if is_of_summary && self.before.error.is_none() => drop(run.aborted.get_or_insert(said(error))),
            _ => {
                self.before.line = if self.before.line == 0 { number } else { self.before.line };
                self.before.error.get_or_insert_with(|| said(error));
                self.before.has_summary |= is_of_summary;
            }
        }
    }

    fn line(&mut self, number: u64, raw: &str) {
        let line = raw.trim_start();
        if line.is_empty() || self.head(number, line) {
            return;
        }
        if let Some(error) = error_in(line) {
            self.error(number, error);
            return;
        }
        if let Some(script) = line.strip_prefix("transaction type:") {
            self.end();
            let before = std::mem::take(&mut self.before);
            self.run = Some(Summary {
                line: number,
                version: before.version,
                server_version: before.server_version,
                progress: before.progress,
                script: Some(script.trim().to_owned()),
                aborted: before.error,
                ..Summary::default()
            });
            return;
        }
        let taken = self.run.as_mut().is_some_and(|run| {
            if let Some(columns) = Columns::of_heading(line) {
                self.columns = Some(columns);
                return true;
            }
            match self.columns.and_then(|columns| statement(line, columns)) {
                Some(statement) => run.add(statement),
                None => return run.take(line),
            }
            true
        });
        if !taken {
            self.found.not_understood.push(NotUnderstood::new(number, raw));
        }
    }

    fn head(&mut self, number: u64, line: &str) -> bool {
        if let Some(versions) = line.strip_prefix("pgbench (").and_then(|rest| rest.strip_suffix(')')) {
            self.cut();
            let (version, server) = versions.split_once(", server ").unwrap_or((versions, ""));
            self.before = Before {
                version: Some(version.to_owned()),
                server_version: (!server.is_empty()).then(|| server.to_owned()),
                line: number,
                ..Before::default()
            };
        } else if let Some(rest) = line.strip_prefix("progress: ") {
            let Some(progress) = progress(rest) else { return false };
            // Of the coming run, unless printed after its summary's first line.
            let open = self.run.as_mut().filter(|run| run.tps.is_none());
            open.map_or(&mut self.before.progress, |run| &mut run.progress).push(progress);
        } else if line.starts_with("starting vacuum") {
            // Where no version was printed, this is the first line of a run.
            if self.before.version.is_none() {
                self.cut();
            }
        } else {
            return line == "end.";
        }
        true
    }
}

/// What a line says of an error that stopped pgbench or one of its clients. Up to version 11 nothing stands in front of it.
fn error_in(line: &str) -> Option<&str> {
    let signs = ["pgbench: error: ", "pgbench: fatal: "];
    let is_bare = || {
        let is_client = line.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("client "));
        line.starts_with("Run was aborted") || (is_client && line.contains(" aborted "))
    };
    signs.iter().find_map(|sign| line.strip_prefix(sign)).or_else(|| is_bare().then_some(line))
}

/// `5.0 s, 1234.5 tps, lat 3.186 ms stddev 1.629, 0 failed`.
fn progress(text: &str) -> Option<Progress> {
    let mut parts = text.split(", ");
    let at_s = number(parts.next()?.strip_suffix(" s")?)?;
    let tps = number(parts.next()?.strip_suffix(" tps")?)?;
    let mut progress = Progress { at_s, tps, latency_ms: None, failed: None };
    for part in parts {
        if let Some(latency) = part.strip_prefix("lat ") {
            progress.latency_ms = number(latency.split(' ').next()?);
        } else if let Some(failed) = part.strip_suffix(" failed") {
            progress.failed = failed.parse().ok();
        }
    }
    Some(progress)
}

/// The number at the start of a value: `358`, `10/10`, `0 (0.000%)`, `60 s`.
fn count(value: &str) -> Option<u64> {
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    value[..digits].parse().ok()
}

fn milliseconds(value: &str) -> Option<f64> {
    let (figure, rest) = leading_number(value.trim())?;
    rest.trim_start().starts_with("ms").then_some(figure)
}

fn put<T>(place: &mut Option<T>, figure: Option<T>) -> bool {
    let found = figure.is_some();
    if found {
        *place = figure;
    }
    found
}

impl Summary {
    /// Versions 9.6 and 10 count skipped ones among those processed, others do not. The versions are told apart by the
    /// latency limit line, which has no total up to version 10, and by the latency's sign.
    pub fn succeeded(&self) -> Option<u64> {
        let is_9_6_or_10 = self.above_limit.is_some() && self.above_limit_of.is_none() && !self.has_colon;
        let among = self.skipped.filter(|_| is_9_6_or_10).unwrap_or(0);
        self.processed.map(|processed| processed.saturating_sub(among))
    }

    fn add(&mut self, statement: Statement) {
        match self.scripts.last_mut() {
            Some(script) => script.statements.push(statement),
            None => self.statements.push(statement),
        }
    }

    fn take(&mut self, line: &str) -> bool {
        if let Some(rest) = line.strip_prefix("SQL script ").or_else(|| line.strip_prefix("Script ")) {
            let name = rest.split_once(": ").map_or(rest, |(_, name)| name);
            self.scripts.push(Script { name: name.to_owned(), ..Script::default() });
            return true;
        }
        if let Some(script) = self.scripts.last_mut()
            && let Some(rest) = line.strip_prefix("- ")
        {
            return script.take(rest);
        }
        if let Some((name, value)) = line.split_once(" = ") {
            return self.take_equation(name, value);
        }
        match line.split_once(':') {
            Some((name, value)) => self.take_parameter(name, value.trim()) || self.take_count(name, value.trim()),
            None => false,
        }
    }

    fn take_equation(&mut self, name: &str, value: &str) -> bool {
        match name {
            "latency average" => put(&mut self.latency_ms, milliseconds(value)),
            "latency stddev" => put(&mut self.stddev_ms, milliseconds(value)),
            "initial connection time" => put(&mut self.initial_connection_ms, milliseconds(value)),
            "average connection time" => put(&mut self.connection_ms, milliseconds(value)),
            "tps" => {
                let figure = leading_number(value).map(|(figure, _)| figure);
                if value.contains("(including connections establishing)") {
                    put(&mut self.tps_with_connections, figure)
                } else {
                    put(&mut self.tps, figure)
                }
            }
            _ => false,
        }
    }

    fn take_parameter(&mut self, name: &str, value: &str) -> bool {
        match name {
            "scaling factor" => put(&mut self.scale, count(value)),
            "query mode" => put(&mut self.query_mode, Some(value.to_owned())),
            "number of clients" => put(&mut self.clients, count(value)),
            "number of threads" => put(&mut self.threads, count(value)),
            "maximum number of tries" => put(&mut self.max_tries, count(value)),
            "number of transactions per client" => put(&mut self.per_client, count(value)),
            "duration" => put(&mut self.duration_s, count(value)),
            // No use for a comparison.
            "partition method" | "partitions" | "maximum time of tries" => true,
            // 9.x prints colons.
            "latency average" => {
                self.has_colon = true;
                put(&mut self.latency_ms, milliseconds(value))
            }
            "latency stddev" => put(&mut self.stddev_ms, milliseconds(value)),
            "rate limit schedule lag" => self.take_lag(value),
            _ => false,
        }
    }

    fn take_count(&mut self, name: &str, value: &str) -> bool {
        match name {
            "number of transactions actually processed" => {
                self.planned = value.split_once('/').and_then(|(_, planned)| count(planned));
                put(&mut self.processed, count(value))
            }
            "number of failed transactions" => put(&mut self.failed, count(value)),
            "number of serialization failures" => put(&mut self.serialization, count(value)),
            "number of deadlock failures" => put(&mut self.deadlocks, count(value)),
            "number of transactions retried" => put(&mut self.retried, count(value)),
            "total number of retries" => put(&mut self.retries, count(value)),
            "number of transactions skipped" => {
                let percent = value.split_once('(').and_then(|(_, percent)| leading_number(percent));
                self.skipped_percent = percent.map(|(percent, _)| percent);
                put(&mut self.skipped, count(value))
            }
            _ => match name.strip_prefix("number of transactions above the ") {
                Some(limit) => {
                    self.limit_ms = milliseconds(limit);
                    self.above_limit_of = value.split_once('/').and_then(|(_, all)| count(all));
                    put(&mut self.above_limit, count(value))
                }
                None => false,
            },
        }
    }

    /// `avg 0.132 (max 0.951) ms`.
    fn take_lag(&mut self, value: &str) -> bool {
        let Some((mean, rest)) = value.strip_prefix("avg ").and_then(leading_number) else { return false };
        self.lag_ms = Some(mean);
        let largest = rest.trim_start().strip_prefix("(max ").and_then(leading_number);
        put(&mut self.lag_max_ms, largest.map(|(largest, _)| largest))
    }
}

impl Script {
    fn take(&mut self, line: &str) -> bool {
        if let Some((name, value)) = line.split_once(" = ")
            && !name.contains('(')
        {
            return match name {
                "latency average" => put(&mut self.latency_ms, milliseconds(value)),
                "latency stddev" => put(&mut self.stddev_ms, milliseconds(value)),
                _ => false,
            };
        }
        if let Some((name, value)) = line.split_once(": ") {
            return match name {
                "weight" => put(&mut self.weight, count(value)),
                "number of failed transactions" => put(&mut self.failed, count(value)),
                "number of transactions skipped"
                | "number of serialization failures"
                | "number of deadlock failures"
                | "number of transactions retried"
                | "total number of retries" => true,
                _ => false,
            };
        }
        let Some(transactions) = count(line).filter(|_| line.contains(" transactions")) else { return false };
        self.transactions = Some(transactions);
        let tps = line.split_once("tps = ").and_then(|(_, rest)| leading_number(rest));
        put(&mut self.tps, tps.map(|(tps, _)| tps)) || line.contains(" of total")
    }
}
