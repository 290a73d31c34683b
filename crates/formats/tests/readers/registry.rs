//! What is asked of all readers: to recognise their own, to be documented line by line, and to stand what is damaged.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::path::Path;

use formats::Options;
use formats::reader::{LogFile, READERS, Reads, named};
use formats::recognise::{Text, read};

use crate::samples::samples;

const DOCUMENT: &str = include_str!("../../../../docs/import.md");

#[test]
fn the_document_has_a_row_for_each_reader_and_no_other() {
    let table = DOCUMENT.split("| format | is |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let mut named: Vec<&str> = rows
        .flat_map(|line| line.split('|').nth(1).unwrap().split(','))
        .map(|name| name.trim().trim_matches('`'))
        .collect();
    let mut known: Vec<&str> = READERS.iter().map(|reader| reader.name).collect();
    named.sort_unstable();
    known.sort_unstable();
    assert_eq!(named, known);
}

#[test]
fn the_document_tells_what_becomes_of_each_line_of_sysbench() {
    let absent: Vec<&str> =
        formats::sysbench::FIGURES.into_iter().filter(|name| !DOCUMENT.contains(&format!("`{name}`"))).collect();
    assert!(absent.is_empty(), "{absent:?}");
}

/// What the table of lines says of a reader.
fn row_of(reader: &str) -> &'static str {
    let table = DOCUMENT.split("| what is imported | figures | keys, facts and notes |").nth(1).unwrap();
    let mut rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let of_reader = |row: &&str| row.split('|').nth(1).unwrap().contains(&format!("`{reader}`"));
    rows.find(of_reader).unwrap_or_else(|| panic!("{reader} has no row"))
}

fn json_names(json: &serde_json::Value, into: &mut BTreeSet<String>) {
    match json {
        serde_json::Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            into.insert(name.clone());
            // What is in these has names of its user's, or of figures that stand elsewhere.
            if !["job options", "global options", "parameters", "percentile", "bins"].contains(&name.as_str()) {
                json_names(value, into);
            }
        }),
        serde_json::Value::Array(items) => items.iter().for_each(|item| json_names(item, into)),
        _ => {}
    }
}

/// Names of the lines and fields of a text, as its tool writes them.
fn names(reader: &str, text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if let Some(json) = text.find('{').and_then(|at| serde_json::from_str(&text[at..]).ok()) {
        json_names(&json, &mut found);
        return found;
    }
    if text.starts_with('<') {
        let results = text.split("</Profile>").nth(1).unwrap();
        let tags = results.split('<').filter(|tag| !tag.starts_with('/'));
        return tags.filter_map(|tag| Some(tag.split_once('>')?.0.to_owned())).collect();
    }
    for line in text.lines().map(|line| line.trim().trim_start_matches("- ")) {
        let label = |separator: &str| line.split_once(separator).map(|(label, _)| label);
        match reader {
            "pgbench" => {
                let label = label(" = ").or_else(|| label(": ")).or_else(|| line.strip_suffix(':')).unwrap_or_default();
                let label = if label.contains("above the") {
                    "number of transactions above the … latency limit"
                } else {
                    label
                };
                found.insert(label.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ').to_owned());
            }
            "ycsb" if line.starts_with('[') => {
                found.extend(line.split(", ").nth(1).map(|name| name.split_inclusive('=').next().unwrap().to_owned()));
            }
            "go-tpc" | "go-ycsb" => {
                let figures = line.split_once(" - ").map_or("", |(_, figures)| figures);
                found.extend(figures.split(", ").filter_map(|pair| Some(pair.split_once(": ")?.0.to_owned())));
            }
            "tpcc-mysql" => {
                found.extend(
                    line.strip_prefix('[').and_then(|rest| rest.split_once("]:")).map(|(name, _)| name.to_owned()),
                );
                let counts = line.contains(" sc:").then(|| line.split_whitespace().filter(|word| word.contains(':')));
                found.extend(counts.into_iter().flatten().map(|word| word.split(':').next().unwrap().to_owned()));
            }
            "benchmarksql" => {
                let name = line.rsplit("Term-00, ").next().and_then(|rest| rest.split_once(" = "));
                found.extend(name.map(|(name, _)| name.trim().to_owned()));
            }
            "mysqlslap" | "sqlio" => found.extend(label(":").map(str::to_owned)),
            _ => {}
        }
    }
    let is_name = |name: &String| {
        name.starts_with(|c: char| c.is_alphabetic()) && !name.ends_with("DATA") && !name.ends_with(" metrics")
    };
    found.into_iter().filter(is_name).collect()
}

#[test]
fn the_document_tells_what_becomes_of_each_line() {
    let of_pgbench = [
        include_str!("../data/pgbench/all.txt"),
        include_str!("../data/pgbench/multi.txt"),
        include_str!("../data/pgbench/retries.txt"),
        include_str!("../data/pgbench/ratelimit.txt"),
        include_str!("../data/pgbench/conn.txt"),
        include_str!("../data/pgbench/fail.txt"),
    ];
    let more = of_pgbench.map(|text| ("pgbench", text.to_owned()));
    // Their names are the document's own list, or stand in other tests.
    let others = ["hammerdb", "diskspd", "sysbench"];
    let mut absent = Vec::new();
    for (reader, text) in samples().into_iter().chain(more) {
        let row = if reader == "tidy" || reader == "wide" { continue } else { row_of(reader) };
        let spans: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let all = names(reader, &text);
        assert!(
            !all.is_empty() || others.contains(&reader) || text.contains("groupid="),
            "{reader}: no name is found in its sample"
        );
        let is_told = |name: &&String| {
            spans.iter().any(|span| span == name || span.strip_suffix('*').is_some_and(|stem| name.starts_with(stem)))
        };
        absent.extend(all.iter().filter(|name| !is_told(name)).map(|name| format!("{reader}: {name}")));
    }
    for name in ["JOBMAIN", "JOBOUTPUT", "JOBTIMING", "JOBTCOUNT", "JOBMETRIC", "JOBSYSTEM", "JOBCHART", "JOBCI"] {
        absent.extend((!row_of("hammerdb-jobs").contains(name)).then(|| name.to_owned()));
    }
    assert!(absent.is_empty(), "{absent:#?}");
    for reader in READERS.iter().filter(|reader| matches!(reader.reads, Reads::Text(_))) {
        assert!(samples().iter().any(|(name, _)| *name == reader.name), "{} has no sample", reader.name);
    }
}

#[test]
fn each_sample_is_recognised_by_its_own_reader_alone() {
    for (name, text) in samples() {
        let readers = READERS.iter().filter(|reader| (reader.recognises)(&text)).map(|reader| reader.name);
        assert_eq!(readers.collect::<Vec<_>>(), [name]);
    }
}

/// A generator of changes: small, fast and the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

/// Replaces, cuts, doubles and swaps pieces of a text.
fn damaged(text: &str, dice: &mut Dice) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=dice.roll(4) {
        let (at, length) = (dice.roll(bytes.len()), dice.roll(40));
        let end = (at + length).min(bytes.len());
        match dice.roll(5) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            3 => bytes.splice(at..end, *b"99999999999999999999e99").for_each(drop),
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = b"-:;,|{}[]<>\"\n 0\xFF"[dice.roll(16)]),
        }
        if bytes.is_empty() {
            break;
        }
    }
    formats::text::decode(&bytes)
}

#[test]
fn nothing_that_is_damaged_makes_a_reader_panic_or_hang() {
    let times = mutations();
    let options = Options::default();
    for (name, text) in samples() {
        let mut dice = Dice(7);
        let mut longest = std::time::Duration::ZERO;
        for _ in 0..times {
            let text = damaged(&text, &mut dice);
            let began = std::time::Instant::now();
            let asked =
                Text { text: &text, source: "f", system: "a", is_named: false, reader: None, options: &options };
            if let Ok(found) = read(&asked) {
                let _ = formats::into_experiment("x", &found.imports);
            }
            longest = longest.max(began.elapsed());
            // A busy machine may let it wait; what hangs does not end in this time either.
            assert!(began.elapsed().as_secs() < 10, "{name}: {text}");
        }
        println!("{name}: {times} damaged texts, {longest:?} at most");
    }
}

#[test]
fn no_damaged_log_makes_a_reader_panic_or_hang() {
    let task = "00000000-1111-2222-3333-444444444444\t3\t10000000\t03:47:09\n00000000-1111-2222-3333-444444444444\t4\t-1\t00:00:00\n";
    for (name, text) in [
        ("pgbench-log", include_str!("../data/pgbench/all.log")),
        ("pgbench-aggregate", include_str!("../data/pgbench/aggrate.log")),
        ("task-log", task),
    ] {
        let Some(Reads::Logs(read)) = named(name).map(|reader| reader.reads) else { panic!("{name} is no log") };
        let file = LogFile { system: "a", path: Path::new("pgbench_log.1") };
        let mut dice = Dice(7);
        for _ in 0..mutations() {
            let text = damaged(text, &mut dice);
            let began = std::time::Instant::now();
            let mut open = |_| Ok(Box::new(Cursor::new(text.clone().into_bytes())) as Box<dyn std::io::BufRead>);
            if let Ok(imports) = read(&[file], &Options::default(), &mut open) {
                let _ = formats::into_experiment("x", &imports);
            }
            assert!(began.elapsed().as_secs() < 10, "{name}: {text}");
        }
    }
}

/// Damaged texts of each format.
fn mutations() -> usize {
    if std::env::var_os("ETALON_SLOW").is_some() { 10_000 } else { 300 }
}
