//! The keys of a benchmark: each a value, a list or a range; together the points of a sweep.

use std::collections::BTreeSet;

use super::error::{Problems, quote};
use super::file::{BENCHMARK_KEYS, BenchmarkFile, list_choices, list_names, schedules_key};
use super::fleet::{self, CLIENTS_ON, FleetPlan};
use super::section::{DURATION_EXPECTED, Section, duration_hint, text_of, whole_expected};
use super::tree::{Data, Entry, Located, Node};
use super::{Benchmark, MAX_CASES};
use crate::catalog::{Catalog, KeyKind, KeySpec, Literal, WorkloadSpec};
use crate::duration;
use crate::near::{did_you_mean, nearest};
use crate::share;
use crate::value::{Point, Value};

/// A benchmark before its points are multiplied out.
pub(super) struct Sweep {
    name: String,
    workload: &'static str,
    stands_for: Option<String>,
    /// Keys with several values, in the order of the file; defaults of the other keys follow.
    axes: Vec<(&'static str, Vec<Value>)>,
    /// Keys that the file leaves out.
    by_default: BTreeSet<String>,
    /// Keys that mean nothing at a point.
    idle: fn(&Point) -> &'static [&'static str],
}

impl Sweep {
    /// Number of points, with those counted that turn out to be one.
    pub(super) fn size(&self) -> u64 {
        self.axes.iter().map(|(_, values)| values.len() as u64).fold(1, u64::saturating_mul)
    }

    /// Makes the benchmark of all combinations of the keys' values, the first key changing slowest.
    pub(super) fn into_benchmark(self) -> Benchmark {
        let mut points = vec![Point::new()];
        for (key, values) in &self.axes {
            points = points
                .iter()
                .flat_map(|point| {
                    let point = point.clone();
                    values.iter().map(move |value| {
                        let mut point = point.clone();
                        point.insert((*key).to_owned(), value.clone());
                        point
                    })
                })
                .collect();
        }
        points.retain(|point| self.is_first_of_its_kind(point));
        Benchmark {
            name: self.name,
            workload: self.workload.to_owned(),
            stands_for: self.stands_for,
            points,
            by_default: self.by_default,
        }
    }
}

impl Sweep {
    /// Whether a point is the first of those that differ only in keys without meaning there.
    fn is_first_of_its_kind(&self, point: &Point) -> bool {
        (self.idle)(point).iter().all(|key| match self.axes.iter().find(|(axis, _)| axis == key) {
            Some((axis, values)) => point.get(*axis) == values.first(),
            None => true,
        })
    }
}

/// Reads a benchmark's keys into a sweep; `None` when the workload is unknown or something is wrong.
pub(super) fn read_sweep(
    file: BenchmarkFile,
    catalog: &Catalog,
    fleet: Option<&FleetPlan>,
    problems: &mut Problems<'_>,
) -> Option<Sweep> {
    let workload = find_workload(file.workload.as_ref()?, &file.name, catalog, problems)?;
    let place = format!("benchmark `{}`", quote(&file.name));
    let keys = flatten_keys(&file.keys, &place, workload, problems);
    let section = Section { place, entries: &keys };

    // No early return: every wrong key is reported.
    let (mut axes, mut by_default) = (Vec::new(), BTreeSet::new());
    for Entry { key, value, .. } in &keys {
        if let Some(spec) = workload.keys.iter().find(|spec| spec.name == key) {
            axes.push(read_values(spec, value, &section, problems).map(|values| (spec.name, values)));
        }
    }
    for spec in workload.keys.iter().filter(|spec| section.get(spec.name).is_none()) {
        if spec.default.is_none() {
            let message = format!("{} has no `{}`, which `{}` needs", section.place, spec.name, workload.name);
            problems.add(&file.at, message, Some(format!("`{}` is: {}", spec.name, spec.about)));
        }
        match spec.default.map(Literal::to_value) {
            Some(Some(default)) => {
                by_default.insert(spec.name.to_owned());
                axes.push(Some((spec.name, vec![convert_to_kind(spec.kind, default)])));
            }
            Some(None) => {}
            None => axes.push(None),
        }
    }
    if let Some(hosts) = fleet::clients_axis(&file.clients, fleet) {
        axes.push(Some((CLIENTS_ON, hosts)));
    }
    let axes: Option<Vec<_>> = axes.into_iter().collect();
    Some(Sweep {
        name: file.name,
        workload: workload.name,
        stands_for: file.stands_for,
        axes: axes?,
        by_default,
        idle: workload.idle,
    })
}

/// Flattens inline tables to dotted names; unknown keys are reported.
fn flatten_keys(entries: &[Entry], place: &str, workload: &WorkloadSpec, problems: &mut Problems<'_>) -> Vec<Entry> {
    let mut known: Vec<&str> = BENCHMARK_KEYS.to_vec();
    for name in declared_keys(workload).map(|name| name.split_once('.').map_or(name, |(table, _)| table)) {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    Section { place: place.to_owned(), entries }.refuse_unknown(&known, schedules_key, problems);
    let mut keys = Vec::with_capacity(entries.len());
    for entry in entries.iter().filter(|entry| known.contains(&entry.key.as_str())) {
        let inner: Vec<&str> = declared_keys(workload)
            .filter_map(|name| name.strip_prefix(entry.key.as_str())?.strip_prefix('.'))
            .collect();
        match &entry.value.data {
            _ if inner.is_empty() => keys.push(entry.clone()),
            Data::Table(table) if !table.is_empty() => {
                let section = Section { place: format!("`{}` of {place}", entry.key), entries: table };
                section.refuse_unknown(&inner, schedules_key, problems);
                keys.extend(
                    table
                        .iter()
                        .filter(|own| inner.contains(&own.key.as_str()))
                        .map(|own| Entry { key: format!("{}.{}", entry.key, own.key), ..own.clone() }),
                );
            }
            data => {
                let section = Section { place: place.to_owned(), entries: &[] };
                let hint = format!("write `{} = {{ {} = … }}`", entry.key, inner.join(" = …, "));
                // Else it would be as if it were not written.
                if matches!(data, Data::Table(_)) {
                    let message = format!("`{}` in {place} is empty", quote(&entry.key));
                    problems.add(&entry.value.at, message, Some(hint));
                    continue;
                }
                let _: Option<()> = section.refuse(&entry.key, &entry.value, "a table", Some(hint), problems);
            }
        }
    }
    keys
}

/// Lists the names of the workload's keys.
fn declared_keys(workload: &WorkloadSpec) -> impl Iterator<Item = &str> {
    workload.keys.iter().map(|spec| spec.name)
}

/// Finds the workload of a benchmark; an unknown one is reported.
fn find_workload<'c>(
    written: &Located<String>,
    benchmark: &str,
    catalog: &'c Catalog,
    problems: &mut Problems<'_>,
) -> Option<&'c WorkloadSpec> {
    let found = catalog.workload(&written.value);
    if found.is_none() {
        let names: Vec<&str> = catalog.workloads.iter().map(|workload| workload.name).collect();
        let hint = match nearest(&written.value, names.iter().copied()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("the workloads are {}", list_names(&names)),
        };
        let message = format!("unknown workload `{}` in benchmark `{}`", quote(&written.value), quote(benchmark));
        problems.add(&written.at, message, Some(hint));
    }
    found
}

/// Reads the values of a key: one value, a list's, or a range's.
fn read_values(spec: &KeySpec, node: &Node, section: &Section<'_>, problems: &mut Problems<'_>) -> Option<Vec<Value>> {
    match (&node.data, spec.kind) {
        (Data::List(items), KeyKind::Durations) if !items.iter().any(|item| matches!(item.data, Data::List(_))) => {
            Some(vec![read_key_value(spec, node, section, problems)?])
        }
        (Data::List(items), _) => read_list(spec, node, items, section, problems),
        (Data::Text(text), KeyKind::Int { min, max }) if text.contains("..") => match expand_range(text, min, max) {
            Ok(values) => Some(values),
            Err((message, hint)) => {
                let place = format!("`{}` in {}", spec.name, section.place);
                problems.add(&node.at, format!("the range \"{}\" of {place} {message}", quote(text)), hint);
                None
            }
        },
        _ => Some(vec![read_key_value(spec, node, section, problems)?]),
    }
}

/// Reads a list of values; an empty list and repeated values are reported.
fn read_list(
    spec: &KeySpec,
    node: &Node,
    items: &[Node],
    section: &Section<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<Value>> {
    if items.is_empty() {
        let message = format!("`{}` in {} is an empty list", spec.name, section.place);
        problems.add(&node.at, message, Some("a list needs at least one value".to_owned()));
        return None;
    }
    let mut values: Vec<Value> = Vec::with_capacity(items.len());
    let mut seen = BTreeSet::new();
    let mut all_well = true;
    for item in items {
        let Some(value) = read_key_value(spec, item, section, problems) else {
            all_well = false;
            continue;
        };
        if !seen.insert(value_identity(spec.kind, &value)) {
            let message = format!("`{}` in {} has {} twice", spec.name, section.place, quote(&value.to_string()));
            problems.add(
                &item.at,
                message,
                Some("each value makes a case, and a case is run in every round".to_owned()),
            );
            all_well = false;
        }
        values.push(value);
    }
    all_well.then_some(values)
}

/// Gives the text by which values of a list must differ: `"1s"` is `"1000ms"`.
fn value_identity(kind: KeyKind, value: &Value) -> String {
    match (kind, value) {
        (KeyKind::Duration, Value::Text(text)) => duration::parse(text).map_or_else(|_| text.clone(), duration::format),
        (KeyKind::DurationRange, Value::Text(text)) => format!("{:?}", duration::parse_range(text)),
        (KeyKind::Durations, Value::Text(text)) => format!("{:?}", duration::parse_list(text)),
        // Adding nothing turns -0.0 into 0.0.
        (_, Value::Float(x)) => (x + 0.0).to_string(),
        _ => value.to_string(),
    }
}

/// Reads one value of a key by its kind; another value is reported.
fn read_key_value(spec: &KeySpec, node: &Node, section: &Section<'_>, problems: &mut Problems<'_>) -> Option<Value> {
    let value = match (spec.kind, &node.data) {
        (KeyKind::Int { min, max }, Data::Int(n)) => {
            i64::try_from(*n).ok().filter(|n| (min..=max).contains(n)).map(Value::Int)
        }
        (KeyKind::Float { min, max }, Data::Int(_) | Data::Float(_)) => {
            number_of(&node.data).filter(|x| (min..=max).contains(x)).map(Value::Float)
        }
        (KeyKind::Share, Data::Int(_) | Data::Float(_)) => {
            number_of(&node.data).filter(|x| (0.0..=1.0).contains(x)).map(Value::Float)
        }
        (KeyKind::Share, _) => text_of(node, problems).and_then(|t| share::parse_with_ends(&t)).map(Value::Float),
        (KeyKind::Bool, Data::Bool(b)) => Some(Value::Bool(*b)),
        (KeyKind::Int { .. } | KeyKind::Float { .. } | KeyKind::Bool, _) => None,
        (KeyKind::Choice(words), _) => text_of(node, problems).filter(|t| words.contains(&t.as_str())).map(Value::Text),
        (KeyKind::ChoiceOrFile(words), _) => {
            text_of(node, problems).filter(|t| is_word_or_file(words, t)).map(Value::Text)
        }
        (KeyKind::Mix(words), _) => {
            text_of(node, problems).filter(|t| parts_of_mix(t).all(|part| is_in_mix(words, part))).map(Value::Text)
        }
        (KeyKind::Duration, _) => text_of(node, problems).filter(|t| duration::parse(t).is_ok()).map(Value::Text),
        (KeyKind::DurationRange, _) => {
            text_of(node, problems).filter(|t| duration::parse_range(t).is_ok()).map(Value::Text)
        }
        (KeyKind::Durations, Data::List(items)) => join_durations(items, problems),
        (KeyKind::Durations, _) => text_of(node, problems).filter(|t| duration::parse_list(t).is_ok()).map(Value::Text),
        (KeyKind::OfEngines | KeyKind::Text, _) => text_of(node, problems).map(Value::Text),
    };
    value.or_else(|| section.refuse(spec.name, node, &expected_text(spec.kind), value_hint(spec.kind, node), problems))
}

/// Whether a text is one of the words or looks like the path of a file.
fn is_word_or_file(words: &[&str], text: &str) -> bool {
    words.contains(&text) || text.contains(['/', '\\', '.'])
}

/// Splits a mix at its commas.
fn parts_of_mix(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim)
}

/// Whether a part of a mix is a word or a file, with or without a weight.
fn is_in_mix(words: &[&str], part: &str) -> bool {
    let (name, weight) = split_weight(part);
    is_word_or_file(words, name) && weight.parse::<i32>().is_ok()
}

/// Splits a part of a mix into its name and weight; an `@` without a number behind it is part of the name.
fn split_weight(part: &str) -> (&str, &str) {
    part.rsplit_once('@')
        .filter(|(_, weight)| !weight.is_empty() && weight.bytes().all(|byte| byte.is_ascii_digit()))
        .unwrap_or((part, "1"))
}

/// Joins a list of lengths of time into the one text that a point keeps.
fn join_durations(items: &[Node], problems: &Problems<'_>) -> Option<Value> {
    let texts: Option<Vec<String>> = items
        .iter()
        .map(|item| text_of(item, problems).filter(|text| !text.contains(',') && duration::parse(text).is_ok()))
        .collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| Value::Text(texts.join(", ")))
}

/// Gives the number in a node; `None` if it is none.
fn number_of(data: &Data) -> Option<f64> {
    match data {
        Data::Int(n) => Some(*n as f64),
        Data::Float(x) => Some(*x),
        _ => None,
    }
}

/// Converts a default to its key's kind: `rate = 0` of a float key is 0.0.
fn convert_to_kind(kind: KeyKind, value: Value) -> Value {
    match (kind, value) {
        (KeyKind::Float { .. } | KeyKind::Share, Value::Int(n)) => Value::Float(n as f64),
        (_, value) => value,
    }
}

/// Says what a kind of key takes, for a message.
fn expected_text(kind: KeyKind) -> String {
    match kind {
        KeyKind::Int { min, max } => whole_expected(min.into(), max.into()),
        KeyKind::Float { min, max } if max == f64::MAX || max.is_infinite() => format!("a number of at least {min}"),
        KeyKind::Float { min, max } => format!("a number from {min} to {max}"),
        KeyKind::Share => "a share such as 0.001 or \"0.1%\", from 0 to 1".to_owned(),
        KeyKind::Bool => "`true` or `false`".to_owned(),
        KeyKind::Choice(words) => format!("one of {}", list_choices(words)),
        KeyKind::ChoiceOrFile(words) => format!("one of {}, or the path of a file", list_names(words)),
        KeyKind::Mix(words) => {
            format!("one of {}, the path of a file, or several of these with weights", list_names(words))
        }
        KeyKind::Duration => DURATION_EXPECTED.to_owned(),
        KeyKind::DurationRange => {
            "a length of time such as \"10s\", or a range of them such as \"50ms..249ms\"".to_owned()
        }
        KeyKind::Durations => "lengths of time such as [\"100ms\", \"1s\"]".to_owned(),
        KeyKind::OfEngines | KeyKind::Text => "a string".to_owned(),
    }
}

/// Makes the hint for a wrong value of a key.
fn value_hint(kind: KeyKind, node: &Node) -> Option<String> {
    match (kind, &node.data) {
        (KeyKind::Choice(words) | KeyKind::ChoiceOrFile(words), Data::Text(text)) => {
            did_you_mean(text, words.iter().copied())
        }
        (KeyKind::Mix(words), Data::Text(text)) => {
            let wrong = parts_of_mix(text).find(|part| !is_in_mix(words, part))?;
            let (name, weight) = wrong.rsplit_once('@').unwrap_or((wrong, "1"));
            if is_word_or_file(words, name) {
                return Some(format!("`{}` is not a weight: a whole number from 0 to 2147483647", quote(weight)));
            }
            did_you_mean(name, words.iter().copied())
        }
        (KeyKind::Duration, _) => duration_hint(node),
        (KeyKind::DurationRange, Data::Text(text)) => duration::parse_range(text).err().map(|e| e.to_string()),
        (KeyKind::DurationRange, _) => duration_hint(node),
        (KeyKind::Durations, Data::List(items)) => items.iter().find_map(duration_hint),
        (KeyKind::Int { .. } | KeyKind::Float { .. }, Data::Text(text))
            if text.parse::<f64>().is_ok_and(f64::is_finite) =>
        {
            Some(format!("write it without quotes: {}", quote(text)))
        }
        _ => None,
    }
}

/// Message to follow the range, and a hint.
type Refusal = (String, Option<String>);

/// Expands a range: `1..8` is every number, both ends included; `1..64*2` doubles up to the end.
fn expand_range(text: &str, min: i64, max: i64) -> Result<Vec<Value>, Refusal> {
    let (first, rest) = text.split_once("..").ok_or_else(unreadable_range)?;
    let (last, factor) = match rest.split_once('*') {
        Some((last, factor)) => (last, Some(parse_range_number(factor)?)),
        None => (rest, None),
    };
    let (first, last) = (parse_range_number(first)?, parse_range_number(last)?);
    if first > last {
        return Err(("is reversed".to_owned(), Some(format!("write \"{last}..{first}\""))));
    }
    if first < min || last > max {
        let expected = whole_expected(min.into(), max.into());
        return Err((format!("leaves its limits: each value must be {expected}"), None));
    }
    let Some(factor) = factor else {
        let count = last.abs_diff(first).saturating_add(1);
        if count > MAX_CASES {
            let hint = format!("write \"{first}..{last}*2\" to double from value to value");
            return Err((format!("has {count} values, more than {MAX_CASES}"), Some(hint)));
        }
        return Ok((first..=last).map(Value::Int).collect());
    };
    if first < 1 || factor < 2 {
        return Err(("must start at 1 or above and multiply by 2 or more".to_owned(), None));
    }
    let steps = std::iter::successors(Some(first), |n| n.checked_mul(factor));
    Ok(steps.take_while(|n| *n <= last).map(Value::Int).collect())
}

/// Parses an end or the factor of a range; fails if it is no whole number.
fn parse_range_number(part: &str) -> Result<i64, Refusal> {
    part.parse::<i64>().map_err(|_| unreadable_range())
}

/// Makes the refusal of a text that is no range.
fn unreadable_range() -> Refusal {
    let hint = "write \"1..8\" for every number, or \"1..64*2\" to double from 1 to 64".to_owned();
    ("cannot be read".to_owned(), Some(hint))
}
