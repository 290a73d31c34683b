//! Reads SQLIO's printed output: many runs in one file, copied from web pages, edited by hand.

use crate::text::{NotUnderstood, break_html, decode, numbered_lines, plain_text};

use super::output::buffering_words;
use super::{
    BUCKETS, Buffering, Hundredths, InitiationUs, LatencyMs, Op, Pattern, PoolLine, Report, SizeLine, SizeOrigin,
    Timing,
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlioOutput {
    pub runs: Vec<SqlioRun>,
    /// Neither of a run nor known noise.
    pub not_understood: Vec<NotUnderstood>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlioRun {
    /// Line of its start, from 1.
    pub line: u64,
    pub label: Option<String>,
    /// If the console or the batch file echoed it.
    pub command: Option<String>,
    pub report: Report,
    /// Whether its figures are complete.
    pub ending: Ending,
}

/// How a run's output ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    Whole,
    /// No figure before the end of the file or the next run.
    #[default]
    Cut,
}

/// Words that begin a line; copies may join several lines.
const STARTS: &[&str] = &[
    "sqlio v",
    "using system counter",
    "using processor counter",
    "parameter file used:",
    "enabling multiple I/Os",
    "buffering set to",
    "using specified size:",
    "using current size:",
    "initialization done",
    "CUMULATIVE DATA:",
    "throughput metrics:",
    "IOs/sec:",
    "MBs/sec:",
    "latency metrics:",
    "Min_Init_Latency",
    "Avg_Init_Latency",
    "Max_Init_Latency",
    "Min_Latency",
    "Avg_Latency",
    "Max_Latency",
    "histogram:",
    "ms: 0 1",
    "%:",
];

/// Lines that the console leaves between runs.
const NOISE: &[&str] =
    &["timeout /t", "waiting for ", "press any key", "press ctrl", "echo off", "@echo", "terminate batch job"];

/// Understood and dropped.
const UTILISATION: &[&str] = &[
    "processornumber:",
    "dpctime(%):",
    "interrupttime(%):",
    "privilegedtime(%):",
    "processortime(%):",
    "usertime(%):",
    "interrupts/sec:",
];

/// Reads the runs of SQLIO's output in any encoding of [`decode`].
/// Unrecognised lines are listed, never an error.
pub fn read_output(bytes: &[u8]) -> SqlioOutput {
    let mut reader = Reader::default();
    for (number, raw) in numbered_lines(&decode(bytes)) {
        for line in break_html(raw) {
            // Markdown escapes underscores. Only in these words: `d:\_test` is a path.
            let line = plain_text(line).replace("\\_Latency", "_Latency").replace("\\_Init", "_Init");
            for part in split_joined(&line) {
                reader.take_line(number, part);
            }
        }
    }
    reader.finish()
}

/// Splits lines that a copy joined.
fn split_joined(line: &str) -> Vec<&str> {
    let mut cuts: Vec<usize> = STARTS
        .iter()
        .flat_map(|start| line.match_indices(start).map(|(at, _)| at))
        .chain(line.match_indices("using ").filter(|(at, _)| shape_words(&line[*at..]).is_some()).map(|(at, _)| at))
        .chain(line.match_indices("file ").filter(|(at, _)| begins_pool(&line[*at..])).map(|(at, _)| at))
        .chain(line.match_indices(" thread").filter_map(|(at, _)| find_work_start(line, at)))
        .filter(|at| *at > 0 && line[..*at].ends_with(' '))
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut parts = Vec::new();
    let mut from = 0;
    for cut in cuts {
        parts.push(line[from..cut].trim());
        from = cut;
    }
    parts.push(line[from..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether a text begins as the line of a pool does: `file a.dat with 4 threads`.
fn begins_pool(text: &str) -> bool {
    let words: Vec<&str> = text.splitn(6, ' ').collect();
    matches!(words[..], ["file", _, "with", _, thread, ..] if thread.starts_with("thread"))
}

/// Finds where `4 threads reading` begins whose `thread` stands at `at`.
fn find_work_start(line: &str, at: usize) -> Option<usize> {
    let verb = line[at + 1..].split(' ').nth(1)?;
    let start = line[..at].rfind(' ').map_or(0, |blank| blank + 1);
    matches!(verb, "reading" | "writing").then_some(start)
}

#[derive(Default)]
struct Reader {
    output: SqlioOutput,
    run: Option<SqlioRun>,
    label: Option<String>,
    command: Option<String>,
}

impl Reader {
    /// Takes a line of the output.
    fn take_line(&mut self, number: u64, line: &str) {
        if line.is_empty() || self.begin_if_start(number, line) {
            return;
        }
        if let Some(run) = &mut self.run
            && run.take_line(line)
        {
            return;
        }
        if let Some(command) = command_in(line) {
            self.finish_run();
            self.command = Some(command.to_owned());
            return;
        }
        let lower = line.to_lowercase();
        if NOISE.iter().any(|noise| lower.starts_with(noise)) || is_prompt(line) {
            return;
        }
        match decorated_text(line) {
            Some(label) => {
                self.finish_run();
                self.label = (!label.is_empty()).then(|| label.to_owned()).or(self.label.take());
            }
            None => self.output.not_understood.push(NotUnderstood::new(number, line)),
        }
    }

    /// Begins a run, if the line is the first of one; `false` if it is not.
    fn begin_if_start(&mut self, number: u64, line: &str) -> bool {
        let version = line.strip_prefix("sqlio v").filter(|version| !version.contains(' ')).map(str::to_owned);
        let work = Work::parse(line);
        if version.is_none() && work.is_none() {
            return false;
        }
        // A version line begins a run; so does a second line of what is done.
        let has_result = self.run.as_ref().is_some_and(|run| run.report.op.is_some() || run.ending == Ending::Whole);
        if version.is_some() || has_result || self.run.is_none() {
            self.finish_run();
            let (label, command) = (self.label.clone(), self.command.take());
            self.run = Some(SqlioRun { line: number, label, command, ..SqlioRun::default() });
        }
        if let Some(run) = &mut self.run {
            run.report.version = version.or(run.report.version.take());
            if let Some(work) = work {
                run.report.threads = Some(work.threads);
                run.report.op = Some(work.op);
                run.report.seconds = Some(work.seconds);
                run.report.files = work.files;
            }
        }
        true
    }

    /// Puts the run that is being read among the found ones.
    fn finish_run(&mut self) {
        self.output.runs.extend(self.run.take());
    }

    /// Ends the output, and returns what was found.
    fn finish(mut self) -> SqlioOutput {
        self.finish_run();
        self.output
    }
}

/// `4 threads reading for 30 secs from file a.dat`.
struct Work {
    threads: u32,
    op: Op,
    seconds: u32,
    files: Vec<String>,
}

impl Work {
    /// Parses a line of threads, operation and duration.
    fn parse(line: &str) -> Option<Work> {
        let mut words = line.split(' ');
        let threads = words.next()?.parse().ok()?;
        words.next().filter(|word| matches!(*word, "thread" | "threads"))?;
        let op = match words.next()? {
            "reading" => Op::Read,
            "writing" => Op::Write,
            _ => return None,
        };
        words.next().filter(|word| *word == "for")?;
        let seconds = words.next()?.parse().ok()?;
        words.next().filter(|word| matches!(*word, "secs" | "sec"))?;
        words.next().filter(|word| matches!(*word, "from" | "to"))?;
        words.next().filter(|word| matches!(*word, "file" | "files"))?;
        Some(Work { threads, op, seconds, files: words.map(str::to_owned).collect() })
    }
}

impl SqlioRun {
    /// Takes a line of the run; `false` if it is not understood.
    fn take_line(&mut self, line: &str) -> bool {
        self.take_head(line) || self.take_figure(line)
    }

    /// Takes a line that says what is run; `false` if it is none.
    fn take_head(&mut self, line: &str) -> bool {
        let report = &mut self.report;
        for (timing, start) in
            [(Timing::System, "using system counter"), (Timing::Processor, "using processor counter")]
        {
            if let Some(rest) = line.strip_prefix(start) {
                report.timer = Some(timing);
                report.timer_counts_per_s = rest.split(' ').find_map(|word| word.parse().ok());
                return true;
            }
        }
        if let Some(path) = line.strip_prefix("parameter file used:") {
            report.param_file = Some(path.trim().to_owned());
        } else if let Some(pool) = parse_pool_line(line) {
            report.pools.push(pool);
        } else if let Some((kb, pattern)) = parse_shape_line(line) {
            report.block_kb = Some(kb);
            report.pattern = Some(pattern);
        } else if let Some(rest) = line.strip_prefix("enabling multiple I/Os per thread with ") {
            match rest.strip_suffix(" outstanding").and_then(|depth| depth.parse().ok()) {
                Some(depth) => report.outstanding = Some(depth),
                None => return false,
            }
        } else if let Some(words) = line.strip_prefix("buffering set to ") {
            match buffering_of(words) {
                Some(buffering) => report.buffering = Some(buffering),
                None => return false,
            }
        } else if let Some(size) = parse_size_line(line) {
            report.sizes.push(size);
        } else {
            return matches!(
                line,
                "initialization done" | "CUMULATIVE DATA:" | "throughput metrics:" | "latency metrics:"
            );
        }
        true
    }

    /// Takes a line `name: value` of figures; `false` if it is none.
    fn take_figure(&mut self, line: &str) -> bool {
        let report = &mut self.report;
        let Some((name, value)) = line.split_once(':') else { return false };
        let value = value.trim();
        let taken = match name {
            "IOs/sec" => put_once(&mut report.ios_per_s, Hundredths::parse(value)),
            "MBs/sec" => put_once(&mut report.mbs_per_s, Hundredths::parse(value)),
            "Min_Latency(ms)" => {
                value.parse().is_ok_and(|ms| change_or_make(&mut report.latency, |l: &mut LatencyMs| l.min = ms))
            }
            "Avg_Latency(ms)" => value.parse().is_ok_and(|ms| change_or_make(&mut report.latency, |l| l.avg = ms)),
            "Max_Latency(ms)" => value.parse().is_ok_and(|ms| change_or_make(&mut report.latency, |l| l.max = ms)),
            "Min_Init_Latency(us)" => {
                value.parse().is_ok_and(|us| change_or_make(&mut report.initiation, |i: &mut InitiationUs| i.min = us))
            }
            "Avg_Init_Latency(us)" => {
                value.parse().is_ok_and(|us| change_or_make(&mut report.initiation, |i| i.avg = us))
            }
            "Max_Init_Latency(us)" => {
                value.parse().is_ok_and(|us| change_or_make(&mut report.initiation, |i| i.max = us))
            }
            "histogram" => return value.is_empty(),
            "ms" => return value.ends_with("24+") || value.ends_with("24 +"),
            "%" => put_once(&mut report.histogram, parse_histogram(value)),
            _ => return UTILISATION.iter().any(|label| line.to_lowercase().starts_with(label)),
        };
        if taken {
            self.ending = Ending::Whole;
        }
        taken
    }
}

/// Sets a place that is still empty; `false` if it is not, or there is no figure.
fn put_once<T>(place: &mut Option<T>, figure: Option<T>) -> bool {
    let fits = place.is_none() && figure.is_some();
    if fits {
        *place = figure;
    }
    fits
}

/// Changes the value at a place, made if there is nothing yet; always `true`.
fn change_or_make<T: Default>(place: &mut Option<T>, change: impl FnOnce(&mut T)) -> bool {
    change(place.get_or_insert_with(T::default));
    true
}

/// Parses 25 percentages, each three wide: 100 leaves no blank before it.
fn parse_histogram(text: &str) -> Option<[u32; BUCKETS]> {
    let mut shares = Vec::new();
    for glued in text.split(' ').filter(|glued| glued.is_ascii()) {
        let first = (glued.len().max(1) - 1) % 3 + 1;
        let (first, rest) = glued.split_at(first.min(glued.len()));
        let rest = (0..rest.len()).step_by(3).map(|at| &rest[at..at + 3]);
        for share in std::iter::once(first).chain(rest) {
            shares.push(share.parse().ok().filter(|share| *share <= 100)?);
        }
    }
    shares.try_into().ok()
}

/// Parses the line of a pool: `file a.dat with 4 threads (0-3) using mask 0x0 (0)`.
fn parse_pool_line(line: &str) -> Option<PoolLine> {
    let (file, rest) = line.strip_prefix("file ")?.split_once(" with ")?;
    let (threads, rest) = rest.split_once(' ')?;
    let threads = threads.parse().ok()?;
    let rest = rest.strip_prefix("threads ").or_else(|| rest.strip_prefix("thread "))?;
    let (range, mask) = rest.strip_prefix('(')?.split_once(") using mask ")?;
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let mask = super::params::parse_mask(mask.split(' ').next()?)?;
    Some(PoolLine {
        file: file.to_owned(),
        threads,
        first: first.trim().parse().ok()?,
        last: last.trim().parse().ok()?,
        mask,
    })
}

/// Parses block size and pattern of `using 8KB random IOs`, at the start of a text, and gives what follows.
fn shape_words(text: &str) -> Option<(u32, Pattern, &str)> {
    let (kb, rest) = text.strip_prefix("using ")?.split_once("KB ")?;
    let kb = kb.parse().ok()?;
    for (words, pattern) in [("random IOs", Pattern::Random), ("sequential IOs", Pattern::Sequential)] {
        if let Some(rest) = rest.strip_prefix(words) {
            return Some((kb, pattern, rest));
        }
    }
    let (blocks, rest) = rest.strip_prefix("IOs over ")?.split_once("-block stripes")?;
    Some((kb, Pattern::Stride(blocks.parse().ok()?), rest))
}

/// Parses a whole line of block size and pattern.
fn parse_shape_line(line: &str) -> Option<(u32, Pattern)> {
    shape_words(line).filter(|(_, _, rest)| rest.is_empty()).map(|(kb, pattern, _)| (kb, pattern))
}

/// Finds the use of caches that words describe.
fn buffering_of(words: &str) -> Option<Buffering> {
    use Buffering::{All, Hardware, None as Neither, Software};
    [Neither, Hardware, Software, All].into_iter().find(|buffering| buffering_words(*buffering) == words)
}

/// Parses the line of a size: `using specified size: 2000 MB for file: a.dat`.
fn parse_size_line(line: &str) -> Option<SizeLine> {
    let (origin, rest) = match line.strip_prefix("using specified size: ") {
        Some(rest) => (SizeOrigin::Specified, rest),
        None => (SizeOrigin::Current, line.strip_prefix("using current size: ")?),
    };
    let (mb, file) = rest.split_once(" MB for file: ")?;
    Some(SizeLine { origin, mb: mb.parse().ok()?, file: file.to_owned() })
}

/// Finds the command in `sqlio -kR …` or `C:\SQLIO>sqlio -kR …`.
fn command_in(line: &str) -> Option<&str> {
    let bare = line.rsplit_once('>').map_or(line, |(before, after)| if is_path(before) { after } else { line }).trim();
    let (program, rest) = bare.split_once(' ')?;
    let name = program.rsplit(['\\', '/']).next()?.to_lowercase();
    (matches!(name.as_str(), "sqlio" | "sqlio.exe") && rest.trim_start().starts_with('-')).then_some(bare)
}

/// Tests whether a text is a path before the `>` of the console: `C:\SQLIO`.
fn is_path(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic()) && characters.next() == Some(':')
}

/// Tells whether a line is a prompt with a command that says nothing of a measurement.
fn is_prompt(line: &str) -> bool {
    line.split_once('>').is_some_and(|(path, rest)| is_path(path) && is_uninteresting(rest))
}

/// Tests whether a command says nothing of a measurement.
fn is_uninteresting(rest: &str) -> bool {
    let rest = rest.trim().to_lowercase();
    rest.is_empty() || ["timeout", "echo", "rem", "cd", "sleep", "ping"].iter().any(|word| rest.starts_with(word))
}

/// Gives the text in `****** Read Tests *****`; empty for signs alone, `None` for a line without them.
fn decorated_text(line: &str) -> Option<&str> {
    let signs = line.chars().take_while(|c| is_sign(*c)).count();
    (signs >= 3).then(|| line.trim_matches(is_sign).trim())
}

/// Tests whether a character is part of a line's decoration.
fn is_sign(c: char) -> bool {
    matches!(c, '*' | '=' | '-' | '#' | '_' | '~' | '+')
}
