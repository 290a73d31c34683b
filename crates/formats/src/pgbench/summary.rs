//! pgbench's printed summary.

use std::borrow::Cow;

use crate::text::{NotUnderstood, decode, leading_number, numbered_lines, parse_number, shorten_message};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summaries {
    pub runs: Vec<PgbenchSummary>,
    pub not_understood: Vec<NotUnderstood>,
}

/// What was not printed is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PgbenchSummary {
    pub version: Option<String>,
    /// The server's, where pgbench prints it since it differs from its own.
    pub server_version: Option<String>,
    /// Each of several scripts with its weight, as printed.
    pub scripts: Vec<(String, u64)>,
    /// What is printed of each of several scripts, and of the statements of each (`-r`).
    pub parts: Vec<PgbenchPart>,
    /// True if each transaction had a connection of its own (`-C`), as far as printed: from version 14 on.
    pub reconnects: bool,
    /// Milliseconds of `-L`.
    pub latency_limit: Option<String>,
    pub partition_method: Option<String>,
    pub partitions: Option<u64>,
    pub max_tries: Option<u64>,
    /// The text that pgbench printed: `100.0 ms`.
    pub max_tries_time: Option<String>,
    /// `-t`.
    pub transactions_per_client: Option<u64>,
    /// `<builtin: TPC-B (sort of)>` and the like.
    pub script: Option<String>,
    pub scale: Option<u64>,
    /// `simple`, `extended` or `prepared`.
    pub query_mode: Option<String>,
    pub clients: Option<u64>,
    pub threads: Option<u64>,
    /// pgbench prints whole seconds, and étalon's own export what it measured.
    pub duration_s: Option<f64>,
    /// See [`PgbenchSummary::succeeded`].
    pub processed: Option<u64>,
    /// Transactions planned in all.
    pub planned: Option<u64>,
    pub failed: Option<u64>,
    /// The number of the failed ones that could not be serialised.
    pub serialization: Option<u64>,
    pub deadlocks: Option<u64>,
    pub retried: Option<u64>,
    /// The number of retries of all transactions.
    pub retries: Option<u64>,
    /// Transactions that were too late to begin.
    pub skipped: Option<u64>,
    pub skipped_percent: Option<f64>,
    /// Transactions above the latency limit are printed without how many there are in all, as up to version 10.
    pub limit_without_total: bool,
    /// Mean, in milliseconds. Without `-P`, `-R` or `-L` it is not measured but time × clients / transactions.
    pub latency_ms: Option<f64>,
    /// Printed so up to version 9.5.
    pub has_colon: bool,
    pub stddev_ms: Option<f64>,
    pub lag_ms: Option<f64>,
    /// Without connection time; with `-C`, including it.
    pub tps: Option<f64>,
    /// What pgbench said first of why it could not go on, wholly or with some of its clients. One that printed nothing else
    /// has no script either.
    pub aborted: Option<String>,
}

/// What is printed of one script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PgbenchPart {
    /// `None` for the only script of a run.
    pub script: Option<String>,
    pub tps: Option<f64>,
    pub transactions: Option<u64>,
    pub failed: Option<u64>,
    pub skipped: Option<u64>,
    pub latency_ms: Option<f64>,
    pub stddev_ms: Option<f64>,
    pub statements: Vec<PgbenchStatement>,
}

/// A statement of a script, or a command of pgbench's own.
#[derive(Clone, Debug, PartialEq)]
pub struct PgbenchStatement {
    pub text: String,
    pub mean_ms: f64,
    pub failures: Option<u64>,
    pub retries: Option<u64>,
}

/// Reads the runs of pgbench's output; unrecognised lines are listed, never an error.
/// It is standard output, or both streams.
pub fn read_summaries(bytes: &[u8]) -> Summaries {
    let mut reader = Reader::default();
    let text = decode(bytes);
    let has_commas = text.lines().any(has_decimal_comma);
    for (number, line) in numbered_lines(&text) {
        let line = if has_commas { Cow::Owned(with_points(line)) } else { Cow::Borrowed(line) };
        reader.take_line(number, line.trim_end());
    }
    reader.cut_run();
    reader.found
}

/// Tests whether a line has a decimal comma, as pgbench prints it by locale: `tps = 1000,117000`.
/// It always prints six decimals.
fn has_decimal_comma(line: &str) -> bool {
    let tps = line.trim_start().strip_prefix("tps = ").and_then(|tps| tps.split(' ').next()?.split_once(','));
    tps.is_some_and(|(whole, decimals)| {
        decimals.len() == 6 && [whole, decimals].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Puts points for commas in the numbers of a line that are words of their own.
fn with_points(line: &str) -> String {
    let words = line.split_inclusive(char::is_whitespace).map(|word| {
        let is_number = word.trim().trim_matches(['(', ')', '%', ',']).bytes().all(|b| b.is_ascii_digit() || b == b',');
        if is_number { word.replace(',', ".") } else { word.to_owned() }
    });
    words.collect()
}

/// Printed before a run's first own line.
#[derive(Default)]
struct Before {
    version: Option<String>,
    server_version: Option<String>,
    /// The first error.
    error: Option<String>,
    /// Whether pgbench has said that it printed a summary that is not whole.
    has_summary: bool,
}

#[derive(Default)]
struct Reader {
    found: Summaries,
    run: Option<PgbenchSummary>,
    before: Before,
    /// Within what is printed of each script of several.
    in_script: bool,
    /// Counts between latency and statement, behind the heading of `-r`.
    statement_counts: Option<usize>,
}

impl Reader {
    /// Puts the run that is being read among the found ones.
    fn finish_run(&mut self) {
        self.found.runs.extend(self.run.take());
        self.in_script = false;
        self.statement_counts = None;
    }

    /// Ends the run: what was said and has no summary behind it is of the run before, or of one that printed none.
    /// It is of the one before if it is said to have a summary.
    fn cut_run(&mut self) {
        self.finish_run();
        let Before { version, server_version, error, has_summary } = std::mem::take(&mut self.before);
        let Some(why) =
            error.or_else(|| version.is_some().then(|| "it printed its version and nothing else".to_owned()))
        else {
            return;
        };
        match self.found.runs.last_mut() {
            Some(run) if has_summary => drop(run.aborted.get_or_insert(why)),
            _ => self.found.runs.push(PgbenchSummary {
                version,
                server_version,
                aborted: Some(why),
                ..PgbenchSummary::default()
            }),
        }
    }

    /// Takes an error of the run whose summary follows, or, if it says so, of the one before.
    /// Errors stand in front of the summary, since a pipe or a file has that at the end; behind it stands, from version
    /// 12 on, that it is not whole.
    fn take_error(&mut self, error: &str) {
        let is_of_summary = error.starts_with("Run was aborted");
        match &mut self.run {
            Some(run) if is_of_summary && self.before.error.is_none() => {
                run.aborted.get_or_insert_with(|| shorten_message(error));
            }
            _ => {
                self.before.error.get_or_insert_with(|| shorten_message(error));
                self.before.has_summary |= is_of_summary;
            }
        }
    }

    /// Takes a line of the output.
    fn take_line(&mut self, number: u64, raw: &str) {
        let line = raw.trim_start();
        if line.is_empty() || self.take_head(line) {
            return;
        }
        if let Some(error) = error_in(line) {
            self.take_error(error);
            return;
        }
        if let Some(script) = line.strip_prefix("transaction type:") {
            self.finish_run();
            let before = std::mem::take(&mut self.before);
            self.run = Some(PgbenchSummary {
                version: before.version,
                server_version: before.server_version,
                script: Some(script.trim().to_owned()),
                aborted: before.error,
                ..PgbenchSummary::default()
            });
            return;
        }
        let taken = self.take_detail(line) || self.run.as_mut().is_some_and(|run| run.take_line(line));
        if !taken {
            self.found.not_understood.push(NotUnderstood::new(number, raw));
        }
    }

    /// Takes a line on one of several scripts or a statement; `false` if it is none.
    fn take_detail(&mut self, line: &str) -> bool {
        let Some(run) = &mut self.run else { return false };
        let script = script_in(line);
        if let Some(name) = script {
            run.scripts.push((name.to_owned(), 1));
            run.parts.push(PgbenchPart { script: Some(name.to_owned()), ..PgbenchPart::default() });
        } else if let Some((weight, (_, known))) = line.strip_prefix("- weight:").zip(run.scripts.last_mut()) {
            *known = parse_count(weight.trim()).unwrap_or(*known);
        }
        if let Some(counts) = statement_counts(line) {
            self.statement_counts = Some(counts);
        } else if script.is_some() {
            self.in_script = true;
        } else {
            if let Some(statement) = self.statement_counts.and_then(|counts| parse_statement(line, counts)) {
                if run.parts.is_empty() {
                    run.parts.push(PgbenchPart::default());
                }
                run.parts.last_mut().into_iter().for_each(|part| part.statements.push(statement.clone()));
                return true;
            }
            let of_script = line.strip_prefix("- ").filter(|rest| self.in_script && is_of_script(rest));
            if let (Some(rest), Some(part)) = (of_script, run.parts.last_mut()) {
                part.take_line(rest);
            }
            return of_script.is_some();
        }
        true
    }

    /// Takes a line outside of a run's summary: versions, vacuum or progress; `false` if it is none.
    fn take_head(&mut self, line: &str) -> bool {
        if let Some(versions) = line.strip_prefix("pgbench (").and_then(|rest| rest.strip_suffix(')')) {
            self.cut_run();
            let (version, server) = match versions.split_once(", server ") {
                Some((version, server)) => (version, Some(server.to_owned())),
                None => (versions, None),
            };
            self.before = Before { version: Some(version.to_owned()), server_version: server, ..Before::default() };
        } else if line.starts_with("progress: ") {
            return true;
        } else if line.starts_with("starting vacuum") {
            // Where no version was printed, this is the first line of a run.
            if self.before.version.is_none() {
                self.cut_run();
            }
        } else {
            return line == "end.";
        }
        true
    }
}

/// Finds what a line says of an error that stopped pgbench or one of its clients.
/// Up to version 11 nothing stands in front of it.
fn error_in(line: &str) -> Option<&str> {
    let signs = ["pgbench: error: ", "pgbench: fatal: "];
    signs.iter().find_map(|sign| line.strip_prefix(sign)).or_else(|| says_aborted(line).then_some(line))
}

/// Tests whether a line says that the run or one of its clients was aborted.
fn says_aborted(line: &str) -> bool {
    let is_client = line.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("client "));
    line.starts_with("Run was aborted") || (is_client && line.contains(" aborted "))
}

/// Finds the name in `SQL script 1: <builtin: select only>`.
fn script_in(line: &str) -> Option<&str> {
    let (number, name) =
        line.trim_start_matches("SQL ").strip_prefix(['S', 's'])?.strip_prefix("cript ")?.split_once(": ")?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(name.trim())
}

/// Counts the columns between latency and statement, if the line is a heading of `-r`: none, failures, and retries.
fn statement_counts(line: &str) -> Option<usize> {
    let rest = line.trim_start_matches("- ").strip_prefix("statement latencies in milliseconds")?;
    ["", " and failures", ", failures and retries"].iter().position(|columns| *columns == rest.trim_end_matches(':'))
}

/// Parses a statement with its latency and counts: `0.140  0  UPDATE …`.
fn parse_statement(line: &str, counts: usize) -> Option<PgbenchStatement> {
    let (first, mut rest) = line.split_once(char::is_whitespace)?;
    let mean_ms = if first.contains('.') { parse_number(first)? } else { return None };
    let mut found = [None; 2];
    for count in found.iter_mut().take(counts) {
        let (word, behind) = rest.trim_start().split_once(char::is_whitespace)?;
        *count = Some(word.parse().ok()?);
        rest = behind;
    }
    let text = shorten_message(rest);
    let [failures, retries] = found;
    (!text.is_empty()).then_some(PgbenchStatement { text, mean_ms, failures, retries })
}

impl PgbenchPart {
    /// Takes a figure of the script: `5031 transactions (59.9% of total, tps = 2520.018393)`, `latency average = …`.
    fn take_line(&mut self, line: &str) {
        if line.contains(" transactions (") {
            self.transactions = parse_count(line);
            self.tps = line.split_once("tps = ").and_then(|(_, tps)| leading_number(tps)).map(|(tps, _)| tps);
        } else if let Some(value) = text_behind(line, "latency average") {
            self.latency_ms = parse_milliseconds(value);
        } else if let Some(value) = text_behind(line, "latency stddev") {
            self.stddev_ms = parse_milliseconds(value);
        } else if let Some(value) = text_behind(line, "number of failed transactions") {
            self.failed = parse_count(value);
        } else if let Some(value) = text_behind(line, "number of transactions skipped") {
            self.skipped = parse_count(value);
        }
    }
}

/// Gives what stands behind a name at the beginning of a line.
fn text_behind<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    line.strip_prefix(name).map(|rest| rest.trim_start_matches([':', ' ', '=']))
}

/// Tests whether a line is of one script: `weight: 3`, `5031 transactions (50.3% of total, …`, or what a summary has.
fn is_of_script(line: &str) -> bool {
    let is_count = line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(" transactions");
    is_count || SCRIPT.iter().any(|name| line.strip_prefix(name).is_some_and(|rest| rest.starts_with([':', ' '])))
}

const SCRIPT: [&str; 9] = [
    "weight",
    "latency average",
    "latency stddev",
    "number of failed transactions",
    "number of transactions skipped",
    "number of serialization failures",
    "number of deadlock failures",
    "number of transactions retried",
    "total number of retries",
];

/// Parses the number at the start of a value: `358`, `10/10`, `0 (0.000%)`, `60 s`.
fn parse_count(value: &str) -> Option<u64> {
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    value[..digits].parse().ok()
}

/// Parses a number of ms.
fn parse_milliseconds(value: &str) -> Option<f64> {
    let (figure, rest) = leading_number(value.trim())?;
    rest.trim_start().starts_with("ms").then_some(figure)
}

/// Sets a place to a figure; `false` if there is none.
fn put_if_found<T>(place: &mut Option<T>, figure: Option<T>) -> bool {
    let found = figure.is_some();
    if found {
        *place = figure;
    }
    found
}

impl PgbenchSummary {
    /// Whether skipped transactions are counted among those processed, as versions 9.6 and 10 do.
    /// The versions are distinguished by the latency limit line, which has no total up to version 10, and by the
    /// latency's sign.
    pub(super) fn counts_skipped(&self) -> bool {
        self.limit_without_total && !self.has_colon
    }

    /// Counts the transactions that were processed and not skipped.
    pub fn succeeded(&self) -> Option<u64> {
        let among = if self.counts_skipped() { self.skipped.unwrap_or(0) } else { 0 };
        self.processed.map(|processed| processed.saturating_sub(among))
    }

    /// Takes a line of the summary; `false` if it is none.
    fn take_line(&mut self, line: &str) -> bool {
        if let Some((name, value)) = line.split_once(" = ") {
            return self.take_equation(name, value);
        }
        match line.split_once(':') {
            Some((name, value)) => self.take_parameter(name, value.trim()) || self.take_count(name, value.trim()),
            None => false,
        }
    }

    /// Takes a line `name = value`.
    fn take_equation(&mut self, name: &str, value: &str) -> bool {
        match name {
            "latency average" => put_if_found(&mut self.latency_ms, parse_milliseconds(value)),
            "latency stddev" => put_if_found(&mut self.stddev_ms, parse_milliseconds(value)),
            "initial connection time" => true,
            "average connection time" => {
                self.reconnects = true;
                true
            }
            "tps" if value.contains("(including connections establishing)") => true,
            "tps" => put_if_found(&mut self.tps, leading_number(value).map(|(tps, _)| tps).filter(|tps| *tps >= 0.0)),
            _ => false,
        }
    }

    /// Takes a line that says what was asked for.
    fn take_parameter(&mut self, name: &str, value: &str) -> bool {
        match name {
            "scaling factor" => put_if_found(&mut self.scale, parse_count(value)),
            "query mode" => put_if_found(&mut self.query_mode, Some(value.to_owned())),
            "number of clients" => put_if_found(&mut self.clients, parse_count(value)),
            "number of threads" => put_if_found(&mut self.threads, parse_count(value)),
            "duration" => put_if_found(&mut self.duration_s, leading_number(value).map(|(seconds, _)| seconds)),
            "partition method" => put_if_found(&mut self.partition_method, Some(value.to_owned())),
            "partitions" => put_if_found(&mut self.partitions, parse_count(value)),
            // `unlimited` is no number.
            "maximum number of tries" => {
                self.max_tries = parse_count(value);
                true
            }
            "maximum time of tries" => put_if_found(&mut self.max_tries_time, Some(value.to_owned())),
            "number of transactions per client" => put_if_found(&mut self.transactions_per_client, parse_count(value)),
            // 9.x prints colons.
            "latency average" => {
                self.has_colon = true;
                put_if_found(&mut self.latency_ms, parse_milliseconds(value))
            }
            "latency stddev" => put_if_found(&mut self.stddev_ms, parse_milliseconds(value)),
            "rate limit schedule lag" => self.take_lag(value),
            _ => false,
        }
    }

    /// Takes a line that counts transactions.
    fn take_count(&mut self, name: &str, value: &str) -> bool {
        match name {
            "number of transactions actually processed" => {
                self.planned = value.split_once('/').and_then(|(_, planned)| parse_count(planned));
                put_if_found(&mut self.processed, parse_count(value))
            }
            "number of failed transactions" => put_if_found(&mut self.failed, parse_count(value)),
            "number of serialization failures" => put_if_found(&mut self.serialization, parse_count(value)),
            "number of deadlock failures" => put_if_found(&mut self.deadlocks, parse_count(value)),
            "number of transactions retried" => put_if_found(&mut self.retried, parse_count(value)),
            "total number of retries" => put_if_found(&mut self.retries, parse_count(value)),
            "number of transactions skipped" => {
                let percent = value.split_once('(').and_then(|(_, percent)| leading_number(percent));
                self.skipped_percent = percent.map(|(percent, _)| percent);
                put_if_found(&mut self.skipped, parse_count(value))
            }
            _ if name.starts_with("number of transactions above the ") => {
                self.limit_without_total = !value.contains('/');
                let limit = name.split_once("above the ").and_then(|(_, rest)| rest.strip_suffix(" latency limit"));
                self.latency_limit = limit.map(str::to_owned);
                true
            }
            _ => false,
        }
    }

    /// Takes the schedule lag: `avg 0.132 (max 0.951) ms`.
    fn take_lag(&mut self, value: &str) -> bool {
        put_if_found(&mut self.lag_ms, value.strip_prefix("avg ").and_then(leading_number).map(|(mean, _)| mean))
    }
}
