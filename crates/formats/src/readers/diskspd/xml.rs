//! diskspd's XML: elements without attributes.

use model::{Point, Value};

use super::super::figures::plain_value;
use super::{KEPT_RANKS, Side, Span};
use crate::text::{parse_number, shorten};
use crate::{FormatError, places, size};

/// Elements within elements; diskspd's own are nine deep.
const MOST_DEPTH: usize = 32;

/// Parameters of a target that change what is measured: all of them are keys but these.
const NO_KEYS: [&str; 8] =
    ["Path", "FileSize", "Weight", "RandomSeed", "Duration", "Warmup", "Cooldown", "MeasureLatency"];

/// Lists each text of the XML with the names of the elements around it, in order.
/// An empty text marks the beginning of an element that may stand several times.
fn leaf_texts(text: &str) -> Result<Vec<(Vec<&str>, &str)>, FormatError> {
    let mut found = Vec::new();
    let (mut path, mut rest): (Vec<&str>, &str) = (Vec::new(), text);
    while let Some(at) = rest.find('<') {
        let value = rest[..at].trim();
        if !value.is_empty() && !path.is_empty() {
            found.push((path.clone(), value));
        }
        let Some(end) = rest[at..].find('>') else {
            return Err(FormatError::of_whole("the XML ends within an element"));
        };
        let tag = &rest[at + 1..at + end];
        rest = &rest[at + end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if path.pop() != Some(name.trim()) {
                return Err(FormatError::of_whole(format!("</{}> closes nothing that is open", shorten(name))));
            }
        } else if !tag.starts_with(['?', '!']) && !tag.ends_with('/') {
            path.push(tag.split_whitespace().next().unwrap_or_default());
        }
        if path.len() > MOST_DEPTH {
            return Err(FormatError::of_whole("the XML is not diskspd's: its elements are too deep"));
        }
        // Marks the beginning of what may stand several times.
        if ["TimeSpan", "Target", "Thread", "Bucket"].contains(&tag) {
            found.push((path.clone(), ""));
        }
    }
    if path.is_empty() { Ok(found) } else { Err(FormatError::of_whole("the XML ends in the middle")) }
}

#[derive(Clone, Copy, Default)]
struct Counts {
    read_ios: f64,
    read_bytes: f64,
    write_ios: f64,
    write_bytes: f64,
}

/// Reads the spans of the output as XML.
pub(super) fn read_spans(text: &str) -> Result<Vec<Span>, FormatError> {
    let leaves = leaf_texts(text)?;
    let keys = profile_keys(leaves.iter().filter(|(path, _)| is_profile(path)));
    let mut places = Point::new();
    let named = leaves.iter().filter(|(path, _)| is_profile(path) && path.last() == Some(&"Path"));
    for (target, (_, path)) in (1..).zip(named) {
        places::put_place(&mut places, &format!("path_{target}"), Some(path));
    }
    let computer = leaves.iter().find(|(path, _)| path.last() == Some(&"ComputerName"));
    places::put_place(&mut places, "computer", computer.map(|(_, name)| *name));
    let mut spans: Vec<(Span, Counts)> = Vec::new();
    for (path, value) in leaves.iter().filter(|(path, _)| !is_profile(path)) {
        if path.last() == Some(&"TimeSpan") {
            spans.push((Span { keys: keys.clone(), places: places.clone(), ..Span::default() }, Counts::default()));
            continue;
        }
        let Some((span, counts)) = spans.last_mut() else { continue };
        let Some(name) = path.last() else { continue };
        if *name == "Bucket" && value.is_empty() {
            span.percentiles.push((f64::NAN, None, None));
            continue;
        }
        let Some(figure) = parse_number(value) else { continue };
        match *name {
            "TestTimeSeconds" => span.elapsed_s = Some(figure),
            "UsagePercent" if path.contains(&"Average") => span.cpu_percent = Some(figure),
            "ReadCount" if path.contains(&"Thread") => counts.read_ios += figure,
            "ReadBytes" if path.contains(&"Thread") => counts.read_bytes += figure,
            "WriteCount" if path.contains(&"Thread") => counts.write_ios += figure,
            "WriteBytes" if path.contains(&"Thread") => counts.write_bytes += figure,
            "AverageReadMilliseconds" if !path.contains(&"Thread") => side_mut(&mut span.read).mean_ms = Some(figure),
            "AverageWriteMilliseconds" if !path.contains(&"Thread") => side_mut(&mut span.write).mean_ms = Some(figure),
            "Percentile" | "ReadMilliseconds" | "WriteMilliseconds"
                if path.contains(&"Bucket") && !path.contains(&"Thread") =>
            {
                if let Some(bucket) = span.percentiles.last_mut() {
                    match *name {
                        "Percentile" => bucket.0 = figure,
                        "ReadMilliseconds" => bucket.1 = Some(figure),
                        _ => bucket.2 = Some(figure),
                    }
                }
            }
            _ => {}
        }
    }
    Ok(spans.into_iter().map(|(span, counts)| set_span_rates(span, counts)).collect())
}

/// Tests whether a path is within the profile.
fn is_profile(path: &[&str]) -> bool {
    path.contains(&"Profile")
}

/// Gives the side's figures, made if there are none yet.
fn side_mut(side: &mut Option<Side>) -> &mut Side {
    side.get_or_insert_with(Side::default)
}

/// Sets a span's rates from its threads' counts, and its longest latencies from the percentiles.
fn set_span_rates(mut span: Span, counts: Counts) -> Span {
    let seconds = span.elapsed_s.filter(|seconds| *seconds > 0.0);
    let add = |of: &mut Option<Side>, ios: f64, bytes: f64| {
        let Some(seconds) = seconds else { return };
        let side = side_mut(of);
        (side.ios, side.iops, side.mib_per_s) = (ios, ios / seconds, bytes / seconds / 1_048_576.0);
    };
    add(&mut span.read, counts.read_ios, counts.read_bytes);
    add(&mut span.write, counts.write_ios, counts.write_bytes);
    let longest = span.percentiles.iter().find(|(rank, ..)| *rank == 100.0);
    span.longest_ms = longest.map_or((None, None), |(_, read, write)| (*read, *write));
    span.percentiles.retain(|(rank, ..)| KEPT_RANKS.contains(rank));
    span
}

/// Collects the keys that the profile sets.
fn profile_keys<'a>(profile: impl Iterator<Item = &'a (Vec<&'a str>, &'a str)>) -> Point {
    let (mut keys, mut targets) = (Point::new(), 0_i64);
    for (path, value) in profile {
        let Some(name) = path.last() else { continue };
        if *name == "Target" {
            targets += i64::from(value.is_empty());
        }
        if value.is_empty() || NO_KEYS.contains(name) || !path.contains(&"TimeSpan") {
            continue;
        }
        let name = if targets > 1 { format!("{name}_of_target_{targets}") } else { (*name).to_owned() };
        let value = if name.starts_with("BlockSize") { size::size_value(value) } else { plain_value(value) };
        keys.insert(name, value);
    }
    if targets > 0 {
        keys.insert("targets".to_owned(), Value::Int(targets));
    }
    keys
}
