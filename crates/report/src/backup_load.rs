//! Transactions during a backup compared with the load alone.

use model::backup::OF_THE_BACKUP;
use model::{Case, Value};

use crate::backup::{
    CODEC_KEYS, Measured, baseline_ratios, codec_label, group_by, has_no_failures, mean_and_extremes, runs_of_cases,
};
use crate::comparison::Index;
use crate::evidence::Evidence;
use crate::number::geometric_centre;
use crate::views::{Column, Entry, Form, Table, TablePlacement, View};

/// Selects the transactions.
const SCRIPT: &str = "load.script";
/// Whether and how a backup is taken.
const METHOD: &str = "method";

/// The keys of limits, with what is said of one.
const LIMITS: [(&str, &str); 4] = [
    ("max_rate_mib_s", "MiB/s"),
    ("server_cpu_percent", "% CPU of the server"),
    ("backup_cpu_percent", "% CPU"),
    ("backup_io_mib_s", "MiB/s of the disk"),
];

/// Whether a backup may differ from its load alone in a key.
fn is_backup_key(key: &str) -> bool {
    key == METHOD || OF_THE_BACKUP.contains(&key)
}

#[derive(Clone, Debug, PartialEq)]
pub struct LoadRow {
    pub system: String,
    pub load: String,
    /// `zstd-3, 20 MiB/s`, or `none`.
    pub backup: String,
    /// Geometric mean of the runs.
    pub throughput: Option<f64>,
    /// Why there is none.
    pub missing: Option<String>,
    /// p50 and p99: geometric means of the runs.
    pub response_us: [Option<f64>; 2],
    /// Over the load alone: geometric mean, lowest and highest of the rounds.
    pub throughput_ratio: Option<[f64; 3]>,
    /// Rounds that have such a ratio: those in which both were measured.
    pub throughput_ratios: usize,
    /// Ratio of the p99s, as `throughput_ratio`.
    pub p99_ratio: Option<[f64; 3]>,
}

/// A key's value in a case as text.
fn text_at<'c>(case: &'c Case, key: &str) -> Option<&'c str> {
    case.point.get(key).and_then(Value::as_text)
}

/// Makes a row for each load that runs with or without a backup, in the plan's order; empty without loads.
pub fn load_rows(evidence: &Evidence) -> Vec<LoadRow> {
    let cases: Vec<(usize, &Case)> = evidence
        .cases
        .iter()
        .enumerate()
        .filter(|(_, case)| case.workload == "backup" && text_at(case, SCRIPT).is_some())
        .collect();
    if cases.is_empty() {
        return Vec::new();
    }
    let readings = Index::new(evidence);
    let measured = runs_of_cases(&readings.lookup, cases.iter().map(|(index, _)| *index as u32));
    let mut rows: Vec<LoadRow> = Vec::new();
    for ((index, case), own) in cases.iter().zip(&measured).filter(|(_, own)| !own.is_empty()) {
        let alone = cases.iter().zip(&measured).find(|((_, other), _)| is_load_alone_of(case, other));
        let alone =
            alone.filter(|((other, _), _)| has_no_failures(&readings, *index) && has_no_failures(&readings, *other));
        let alone = if !is_load_alone(case) { alone.map(|(_, runs)| runs.as_slice()) } else { None };
        rows.push(make_row(&readings, (*index as u32, case), own, alone));
    }
    rows
}

/// Lists the keys that vary between the load alone and its backups: `method`, and others of the backup.
pub fn compared_keys(evidence: &Evidence) -> Vec<String> {
    let benchmarks = &evidence.header.plan.benchmarks;
    [METHOD]
        .into_iter()
        .chain(OF_THE_BACKUP)
        .filter(|key| {
            *key == METHOD
                || benchmarks
                    .iter()
                    .any(|own| evidence.header.plan.varying_keys(&own.name).iter().any(|varying| varying == key))
        })
        .map(str::to_owned)
        .collect()
}

/// Whether a case is the load without a backup.
fn is_load_alone(case: &Case) -> bool {
    text_at(case, METHOD) == Some("none")
}

/// Whether `other` is the same load alone, without the case's backup.
fn is_load_alone_of(case: &Case, other: &Case) -> bool {
    is_load_alone(other)
        && other.system == case.system
        && other.benchmark == case.benchmark
        && case.point.keys().all(|key| is_backup_key(key) || case.point.get(key) == other.point.get(key))
}

/// Makes the row of a case, compared with the runs of the load alone, if there are any.
fn make_row(index: &Index<'_>, (number, case): (u32, &Case), own: &[Measured], alone: Option<&[Measured]>) -> LoadRow {
    let varying = index.lookup.varying_keys(&case.benchmark);
    let clients = case.point.get("load.clients").and_then(Value::as_int).unwrap_or(1);
    let clients = if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") };
    let mut load = vec![text_at(case, SCRIPT).unwrap_or_default().to_owned(), clients];
    load.extend(
        varying
            .iter()
            .filter(|key| !is_backup_key(key) && ![SCRIPT, "load.clients"].contains(&key.as_str()))
            .filter_map(|key| Some(format!("{key}={}", case.point.get(key)?))),
    );

    LoadRow {
        system: case.system.clone(),
        load: load.join(", "),
        backup: backup_label(case, varying),
        throughput: central_value(index, number, "throughput"),
        missing: index.values_of_all_runs(number, "throughput").err().map(|(why, _)| why.to_string()),
        response_us: [central_value(index, number, "response_p50"), central_value(index, number, "response_p99")],
        throughput_ratio: mean_and_extremes(&baseline_ratios(own, alone, "throughput")),
        throughput_ratios: baseline_ratios(own, alone, "throughput").len(),
        p99_ratio: mean_and_extremes(&baseline_ratios(own, alone, "response_p99")),
    }
}

/// The geometric mean of a metric over all runs of a case; `None` if one has no value.
fn central_value(index: &Index<'_>, number: u32, id: &str) -> Option<f64> {
    geometric_centre(index.values_of_all_runs(number, id).ok()?.iter().map(|point| point.value))
}

/// Names the backup of a case: `vacuum-into, zstd-3, 20 MiB/s`, and what else varies of it.
fn backup_label(case: &Case, varying: &[String]) -> String {
    if is_load_alone(case) {
        return "none".to_owned();
    }
    let method = text_at(case, METHOD).filter(|method| *method != "native");
    let codec = match codec_label(case).as_str() {
        "none" => "plain".to_owned(),
        codec => codec.to_owned(),
    };
    let mut parts: Vec<String> = method.map(str::to_owned).into_iter().chain([codec]).collect();
    for (key, unit) in LIMITS {
        let limit = case.point.get(key).and_then(Value::as_int).filter(|limit| *limit > 0);
        parts.extend(limit.map(|limit| format!("{limit} {unit}")));
    }
    let others = varying.iter().filter(|key| {
        is_backup_key(key)
            && !(*key == METHOD || CODEC_KEYS.contains(&key.as_str()) || LIMITS.iter().any(|(limit, _)| limit == *key))
    });
    parts.extend(others.filter_map(|key| Some(format!("{key}={}", case.point.get(key)?))));
    parts.join(", ")
}

impl LoadRow {
    /// Says in one line what share of the transactions is left during the backup; `None` for the load alone.
    pub fn verdict_line(&self) -> Option<String> {
        if let Some(why) = &self.missing {
            return Some(format!("beside {}: n/a: {why}", self.backup));
        }
        let [left, lowest, highest] = self.throughput_ratio?.map(|ratio| 100.0 * ratio);
        let of_rounds = match self.throughput_ratios {
            1 => "one run: no more than a hint".to_owned(),
            rounds => format!("{lowest:.0} to {highest:.0} % in {rounds} rounds"),
        };
        let p99 = match self.p99_ratio {
            Some([ratio, ..]) => format!("at {ratio:.2}× the p99"),
            None => "at a p99 that is not known".to_owned(),
        };
        Some(format!("beside {}: {left:.0} % of the transactions, {p99} ({of_rounds})", self.backup))
    }

    /// Makes the row's entries: transactions a second, their share of the load alone, p50 and p99 in ms, and its ratio.
    fn entries(&self) -> Vec<Entry> {
        let missing = self.missing.as_deref().unwrap_or("it, or that of the transactions alone, is not known");
        let [p50, p99] = self.response_us.map(|us| Entry::from_value(us.map(|us| us / 1e3), Form::Fixed(2), missing));
        let throughput = Entry::from_value(self.throughput, Form::Fixed(0), missing);
        vec![
            Entry::of_text(&self.backup),
            throughput,
            self.ratio_entry(self.throughput_ratio, missing),
            p50,
            p99,
            self.ratio_entry(self.p99_ratio, missing),
        ]
    }

    /// Makes the entry of a mean ratio to the load alone; a dash for that load itself.
    fn ratio_entry(&self, ratio: Option<[f64; 3]>, missing: &str) -> Entry {
        match ratio {
            None if self.backup == "none" => Entry::dash("they are the transactions alone"),
            ratio => Entry::from_value(ratio.map(|[middle, ..]| middle), Form::Times, missing),
        }
    }
}

/// Makes the tables of the transactions while backups run, one per system and load; none without loads.
pub fn table_views(evidence: &Evidence) -> Vec<View> {
    let mut tables = backup_load_tables(&load_rows(evidence));
    if let Some(last) = tables.last_mut() {
        let cols = compared_keys(evidence).join(",");
        last.notes.push(
            "Geometric means of the runs, and of the ratios to the transactions alone in the same round.".to_owned(),
        );
        // On a line of its own, to be copied.
        last.notes.push(format!("Intervals and verdicts: `etalon compare STORE --cols {cols}`."));
    }
    tables.into_iter().map(View::Table).collect()
}

/// Makes a table for each system and load.
fn backup_load_tables(rows: &[LoadRow]) -> Vec<Table> {
    let heads = [("tx/s", "tx/s"), ("of alone", ""), ("p50 ms", "ms"), ("p99 ms", "ms"), ("of alone", "")];
    group_by(rows, |row| (&row.system, &row.load))
        .iter()
        .map(|own| Table {
            family: "backup",
            case: format!("{}: transactions beside the backup ({})", own[0].system, own[0].load),
            columns: std::iter::once(Column::of_words("backup"))
                .chain(heads.map(|(head, unit)| Column::new(head, unit)))
                .collect(),
            rows: own.iter().map(|row| row.entries()).collect(),
            conclusions: own.iter().filter_map(|row| row.verdict_line()).collect(),
            placement: TablePlacement::Under,
            ..Table::default()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(rows: &[LoadRow]) -> String {
        crate::views::text::render_tables(
            &backup_load_tables(rows).into_iter().map(View::Table).collect::<Vec<_>>(),
            80,
        )
    }

    fn row(backup: &str, ratio: Option<[f64; 3]>, runs: usize) -> LoadRow {
        LoadRow {
            system: "here".to_owned(),
            load: "tpcb-like, 4 clients".to_owned(),
            backup: backup.to_owned(),
            throughput: Some(1234.4),
            missing: None,
            response_us: [Some(1_200.0), None],
            throughput_ratio: ratio,
            throughput_ratios: runs,
            p99_ratio: None,
        }
    }

    #[test]
    fn every_key_of_the_backup_may_differ_from_the_load_alone_and_is_said() {
        let alone = case(&[(METHOD, word("none")), ("stripes", Value::Int(1)), ("load.clients", Value::Int(4))]);
        assert!(
            is_load_alone_of(&backup_case(4, 4), &alone)
                && !is_load_alone_of(&backup_case(4, 8), &alone)
                && !is_load_alone_of(&backup_case(4, 4), &backup_case(1, 4))
        );
        let varying = [METHOD, "stripes", "load.clients"].map(str::to_owned);
        assert_eq!(
            [backup_label(&backup_case(4, 8), &varying), backup_label(&alone, &varying)],
            ["plain, stripes=4", "none"]
        );
    }

    fn backup_case(stripes: i64, clients: i64) -> Case {
        let keys = [("codec", word("none")), ("stripes", Value::Int(stripes)), ("load.clients", Value::Int(clients))];
        case(&[&keys[..], &[(METHOD, word("native"))]].concat())
    }

    fn word(word: &str) -> Value {
        Value::Text(word.to_owned())
    }

    fn case(keys: &[(&str, Value)]) -> Case {
        Case {
            benchmark: "backup".to_owned(),
            workload: "backup".to_owned(),
            system: "here".to_owned(),
            point: keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect(),
        }
    }

    #[test]
    fn what_is_left_is_one_line_and_what_is_not_known_is_no_number() {
        let rows = [row("none", None, 6), row("zstd-3, 20 MiB/s", Some([0.66, 0.61, 0.7]), 6)];
        let text = render(&rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "here: transactions beside the backup (tpcb-like, 4 clients)");
        assert_eq!(lines[2].split_whitespace().collect::<Vec<_>>(), ["none", "1234", "-", "1.20", "n/a", "-"]);
        assert!(lines[3].ends_with("1234     0.66×    1.20     n/a       n/a"), "{}", lines[3]);
        assert_eq!(
            lines[4..6].join(""),
            "  beside zstd-3, 20 MiB/s: 66 % of the transactions, at a p99 that is not known    (61 to 70 % in 6 rounds)"
        );
        // Six runs, of which one has the load alone, too.
        let one = LoadRow { throughput_ratios: 1, ..row("zstd-3", Some([0.66; 3]), 6) };
        assert!(one.verdict_line().unwrap().ends_with("(one run: no more than a hint)"));
        assert_eq!(render(&[]), "");
    }
}
