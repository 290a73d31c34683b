//! diskspd: its text and its XML (`-Rxml`).

use model::{Direction, Measurement, Point, Role, Value};

use super::figures::{Figures, first_number, note_strange};
use crate::reader::{Found, Input, Names, Reader, Reads, has_line};
use crate::text::{NotUnderstood, numbered_lines, parse_number};
use crate::{FormatError, Imported, ImportedResult, places, size};

mod xml;

pub const READER: Reader = Reader {
    name: "diskspd",
    about: "What diskspd prints, as text or XML",
    recognises: |text| {
        has_line(text, &["Results for timespan ", "Command Line: diskspd", "Command Line: .\\diskspd"])
            || (text.contains("<Results>") && text.contains("<TimeSpan>") && text.contains("<TestTimeSeconds>"))
    },
    names: Names::File,
    reads: Reads::Text(read),
};

/// Figures of reads, writes or both.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Side {
    pub ios: f64,
    pub mib_per_s: f64,
    pub iops: f64,
    pub mean_ms: Option<f64>,
}

/// A time span.
#[derive(Clone, Debug, Default)]
pub(super) struct Span {
    pub keys: Point,
    pub places: Point,
    pub elapsed_s: Option<f64>,
    pub cpu_percent: Option<f64>,
    pub read: Option<Side>,
    pub write: Option<Side>,
    /// Name of the percentile, and milliseconds of reads and writes.
    pub percentiles: Vec<(f64, Option<f64>, Option<f64>)>,
    pub longest_ms: (Option<f64>, Option<f64>),
}

/// Reads DiskSpd's output, text or XML.
fn read(input: &Input<'_>) -> Result<Found, FormatError> {
    let unknown = ["the device", "whether the device or a cache answered", "what failed"];
    let mut imported = Imported::new(READER.name, input.source, unknown);
    let (spans, not_understood) = if input.text.contains("<TimeSpan>") {
        (xml::read_spans(input.text)?, Vec::new())
    } else {
        read_text_spans(input.text)
    };
    imported.results = spans.iter().flat_map(|span| span_results(span, input.system)).collect();
    imported.note_not_understood(&not_understood);
    Ok(Found { imported, not_understood })
}

/// Makes the results of a span: one of reads, one of writes.
fn span_results(span: &Span, system: &str) -> Vec<ImportedResult> {
    let sides = [("read", span.read, 0), ("write", span.write, 1)];
    let used = sides.into_iter().filter_map(|(op, side, place)| Some((op, side.filter(|side| side.ios > 0.0)?, place)));
    used.map(|(op, side, place)| {
        let mut figures = Figures::default();
        figures.push_failed(None, None, "diskspd does not tell how much failed");
        figures.push_rate("iops", "io/s", Role::Primary, Some(side.iops));
        figures.push_rate("bandwidth", "MiB/s", Role::Secondary, Some(side.mib_per_s));
        let pick = |read: Option<f64>, write: Option<f64>| if place == 0 { read } else { write };
        figures.push_response("mean", side.mean_ms.map(|ms| ms * 1e3));
        figures.push_response("max", pick(span.longest_ms.0, span.longest_ms.1).map(|ms| ms * 1e3));
        for (rank, read, write) in &span.percentiles {
            figures.push_percentile(*rank, pick(*read, *write).map(|ms| ms * 1e3));
        }
        let mut result = ImportedResult::new(system, "diskspd");
        result.keys = span.keys.clone();
        result.places.clone_from(&span.places);
        result.keys.insert("op".to_owned(), Value::Text(op.to_owned()));
        result.elapsed_s = span.elapsed_s;
        result.measurements = figures.measurements;
        result.measurements.extend(
            span.cpu_percent
                .map(|share| Measurement::value("cpu_busy", "%", Direction::Lower, Role::Diagnostic, share)),
        );
        result
    })
    .collect()
}

/// Where a line stands.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Head,
    Parameters,
    System,
    Results,
    Total,
    Read,
    Write,
    Percentiles,
}

/// Reads the spans of the output as text.
fn read_text_spans(text: &str) -> (Vec<Span>, Vec<NotUnderstood>) {
    let (mut spans, mut not_understood) = (Vec::new(), Vec::new());
    let (mut keys, mut part, mut target) = (Point::new(), Part::Head, 0_usize);
    let (mut span, mut paths): (Option<Span>, Vec<&str>) = (None, Vec::new());
    let (mut places, mut size) = (Point::new(), None);
    for (number, line) in numbered_lines(text) {
        let line = line.trim();
        if let Some(next) = part_of_heading(line) {
            if line.starts_with("Command Line:") || line.starts_with("Results for timespan") {
                spans.extend(span.take());
            }
            if let Some(command) = line.strip_prefix("Command Line:") {
                size = command.split_whitespace().find_map(|word| word.strip_prefix("-c")).map(size::size_value);
            }
            match next {
                Part::Parameters => (keys, places, target) = (Point::new(), Point::new(), 0),
                Part::Results => {
                    let (keys, places) = (without_repeats(keys.clone(), target), places.clone());
                    let sized = size.clone().map(|size| (FILE_SIZE.to_owned(), size));
                    span = Some(Span { keys: keys.into_iter().chain(sized).collect(), places, ..Span::default() });
                }
                // A table for each target comes before that of all of them.
                Part::Percentiles => span.iter_mut().for_each(|span| span.percentiles.clear()),
                _ => {}
            }
            part = next;
            continue;
        }
        let taken = match (part, &mut span) {
            (Part::Parameters, _) => take_parameter(line, &mut keys, &mut target),
            (Part::Head | Part::System, _) => true,
            (_, Some(span)) => take_figure(line, part, span) || paths.contains(&line),
            _ => line.is_empty(),
        };
        if let (Part::Parameters, Some(path)) = (part, line.strip_prefix("path:")) {
            let path = path.trim().trim_matches('\'');
            paths.push(path);
            places::put_place(&mut places, &format!("path_{target}"), Some(path));
        }
        if part == Part::System {
            places::put_place(&mut places, "computer", line.strip_prefix("computer name:"));
        }
        if !taken {
            note_strange(number, line, &mut not_understood);
        }
    }
    spans.extend(span);
    (spans, not_understood)
}

/// The key of the size of the file.
const FILE_SIZE: &str = "file_size";

/// Finds the part of the output that a line begins.
fn part_of_heading(line: &str) -> Option<Part> {
    const HEADINGS: [(&str, Part); 8] = [
        ("Command Line:", Part::Head),
        ("Input parameters:", Part::Parameters),
        ("System information:", Part::System),
        ("Results for timespan", Part::Results),
        ("Total IO", Part::Total),
        ("Read IO", Part::Read),
        ("Write IO", Part::Write),
        ("%-ile |", Part::Percentiles),
    ];
    HEADINGS.into_iter().find(|(name, _)| line.starts_with(name)).map(|(_, part)| part)
}

/// Takes a line of the parameters: each is a key but names, lengths and what is printed.
/// `true`: all of them are understood.
fn take_parameter(line: &str, keys: &mut Point, target: &mut usize) -> bool {
    const NO_KEYS: [&str; 9] = [
        "timespan:",
        "---",
        "duration:",
        "warm up time:",
        "cool down time:",
        "measuring latency",
        "gathering IOPS",
        "random seed:",
        "IO priority: normal",
    ];
    if line.is_empty() || NO_KEYS.iter().any(|name| line.starts_with(name)) {
        return true;
    }
    if line.starts_with("path:") {
        *target += 1;
        keys.insert("targets".to_owned(), Value::Int(i64::try_from(*target).unwrap_or(i64::MAX)));
        return true;
    }
    let (name, value) = match line.split_once(':') {
        Some((name, value)) if !name.contains('(') => (name.trim(), value.trim()),
        // `performing mix test (read/write ratio: 75/25)`.
        _ => (line, "yes"),
    };
    // Of the first target; what others do differently is a key with their number.
    let name = if *target > 1 { format!("{name} of target {target}") } else { name.to_owned() };
    let value =
        if name.starts_with("block size") { size::size_value(value) } else { super::figures::plain_value(value) };
    keys.insert(name.replace(' ', "_"), value);
    true
}

/// Drops the keys of further targets if all targets have the same parameters.
fn without_repeats(keys: Point, targets: usize) -> Point {
    let of = |target: usize| -> Point {
        let ending = format!("_of_target_{target}");
        let bare = |name: &str| {
            if target == 1 { Some(name.to_owned()) } else { name.strip_suffix(&ending).map(str::to_owned) }
        };
        let own = keys.iter().filter(|(name, _)| target > 1 || !(name.contains("_of_target_") || *name == "targets"));
        own.filter_map(|(name, value)| Some((bare(name)?, value.clone()))).collect()
    };
    let first = of(1);
    if (2..=targets).all(|target| of(target) == first) {
        return keys.into_iter().filter(|(name, _)| !name.contains("_of_target_")).collect();
    }
    keys
}

/// Takes a line of a table; `false` if it is not understood.
fn take_figure(line: &str, part: Part, span: &mut Span) -> bool {
    let is_rule = line.is_empty() || line.starts_with(['-', '*']);
    let known = [
        "thread |",
        "thread|",
        "proc count:",
        "CPU |",
        "Socket",
        "Node |",
        "Group",
        "Core |",
        "Total latency distribution:",
    ];
    if let Some(value) = line.strip_prefix("actual test time:") {
        span.elapsed_s = first_number(value);
    } else if let Some(count) = line.strip_prefix("thread count:") {
        span.keys.insert("threads".to_owned(), super::figures::plain_value(count));
    } else if let Some(cells) = line.strip_prefix("avg.|") {
        span.cpu_percent = cells.split('|').next().and_then(first_number);
    } else if let Some(cells) = line.strip_prefix("total:") {
        // Alone on its line it is the heading of the percentiles.
        match part {
            Part::Read => span.read = parse_side(cells).or(span.read),
            Part::Write => span.write = parse_side(cells).or(span.write),
            _ => {}
        }
    } else if part == Part::Percentiles && line.contains('|') {
        take_percentile(line, span);
    } else {
        // `0 | 3587547136 | 437933 | 57.02 | 7299.01 | test.dat (10GiB)`.
        let size = line.strip_suffix(')').filter(|line| line.contains('|')).and_then(|line| line.rsplit_once(" ("));
        span.keys.extend(size.map(|(_, size)| (FILE_SIZE.to_owned(), size::size_value(size))));
        let is_row =
            line.split(['|', ':']).next().is_some_and(|cell| parse_number(cell.trim()).is_some()) && line.contains('|');
        return is_rule || is_row || known.iter().any(|name| line.starts_with(name));
    }
    true
}

/// Parses a line's cells: ` 3587546136 |  437933 |  57.02 |  7299.01 |  4.380`.
/// They are bytes, I/Os, MiB/s, I/O per s, and with `-L` the mean.
fn parse_side(cells: &str) -> Option<Side> {
    let cells: Vec<Option<f64>> = cells.split('|').map(first_number).collect();
    Some(Side {
        ios: cell_at(&cells, 1)?,
        mib_per_s: cell_at(&cells, 2)?,
        iops: cell_at(&cells, 3)?,
        mean_ms: cell_at(&cells, 4),
    })
}

/// Gives the number in a cell, if it has one.
fn cell_at(cells: &[Option<f64>], at: usize) -> Option<f64> {
    cells.get(at).copied().flatten()
}

/// Takes a line of percentiles: `99th |  1.2 |  N/A |  1.2`.
fn take_percentile(line: &str, span: &mut Span) {
    let mut cells = line.split('|').map(str::trim);
    let name = cells.next().unwrap_or_default();
    let (read, write) = (cells.next().and_then(parse_number), cells.next().and_then(parse_number));
    let rank = match name {
        "max" => {
            span.longest_ms = (read, write);
            return;
        }
        "3-nines" => Some(99.9),
        "4-nines" => Some(99.99),
        _ => name.strip_suffix("th").and_then(parse_number),
    };
    let kept = rank.filter(|rank| KEPT_RANKS.contains(rank));
    span.percentiles.extend(kept.map(|rank| (rank, read, write)));
}

pub(super) const KEPT_RANKS: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];
