//! What is asked of all readers: to recognise their own, and to be documented line by line.

use std::collections::BTreeSet;

use formats::reader::{READERS, Reads};

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

/// What the table of lines says: the first row whose beginning has these words.
fn row_of(words: &str) -> &'static str {
    let table = DOCUMENT.split("| what is imported | figures | keys, facts and notes |").nth(1).unwrap();
    let mut rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let has_words = |row: &&str| row.split('|').nth(1).unwrap().contains(words);
    rows.find(has_words).unwrap_or_else(|| panic!("{words} has no row"))
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
            "diskspd" => found.extend(names_of_diskspd(line)),
            "fio" => found.extend(names_of_fio(line)),
            "hammerdb" => found.extend(names_of_hammerdb(line)),
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
        name.starts_with(|c: char| c.is_alphabetic() || c == '…')
            && !name.ends_with("DATA")
            && !name.ends_with(" metrics")
    };
    found.into_iter().filter(is_name).collect()
}

/// The heads of a table's columns, the label of one of its rows, or of a line.
fn names_of_diskspd(line: &str) -> Vec<String> {
    let cells: Vec<&str> = line.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let is_head = ["thread", "CPU", "%-ile"].contains(&cells.first().copied().unwrap_or_default()) && cells.len() > 1;
    let label = match cells.as_slice() {
        [only] if only.contains(':') => only.split_once(':').map_or("", |(label, _)| label),
        [only] => only,
        [first, ..] => first.split(':').next().unwrap_or(first),
        [] => "",
    };
    if is_head { cells.iter().map(|cell| (*cell).to_owned()).collect() } else { vec![label.to_owned()] }
}

/// A line's label without its unit, and the names in front of its equals signs. Terse lines have no names.
fn names_of_fio(line: &str) -> Vec<String> {
    if line.contains(";fio-") || line.starts_with("sda:") {
        return Vec::new();
    }
    let (label, rest) = line.split_once(':').unwrap_or((line, ""));
    // The job's own name, fio's version, and how many processes there are.
    let is_name = line.contains("(g=") || line.contains("groupid=") || line.starts_with("fio-");
    let label =
        if is_name { "" } else { label.strip_suffix(" process").or(label.strip_suffix(" processes")).unwrap_or(label) };
    let label = label.split('(').next().unwrap_or(label).trim().trim_end_matches(|c: char| c.is_ascii_digit());
    let before_equals = rest.split('=').map(|part| part.rsplit([' ', ',', '(', '/']).next().unwrap_or(part));
    let count = rest.matches('=').count();
    let names = std::iter::once(label).chain(before_equals.take(count)).map(str::trim);
    // `r=`, `w=` and `d=` of fio 2 are the directions.
    names.filter(|name| name.len() > 1).map(str::to_owned).collect()
}

/// What a virtual user said, with `…` for each number; of the profiler's lines the names.
fn names_of_hammerdb(line: &str) -> Vec<String> {
    if line.contains('\t') {
        return line.split('\t').filter_map(|pair| Some(pair.split_once(':')?.0.to_owned())).collect();
    }
    let said = line.strip_prefix("Vuser ").and_then(|rest| rest.split_once(':')).map_or(line, |(_, said)| said);
    let mut name = String::new();
    for c in said.trim_start_matches(">>>>> ").chars() {
        let is_number = c.is_ascii_digit() || (c == '.' && name.ends_with('…'));
        if !is_number {
            name.push(c);
        } else if !name.ends_with('…') {
            name.push('…');
        }
    }
    vec![name]
}

/// What diskspd says of its load: each line of it is a key, as a row of the document says.
fn without_parameters(text: &str) -> String {
    let Some((head, rest)) = text.split_once("Input parameters:") else { return text.to_owned() };
    format!("{head}Input parameters:\n{}", &rest[rest.find("System information:").unwrap_or(0)..])
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
    let mut absent = Vec::new();
    for (reader, text) in samples().into_iter().chain(more) {
        let row = match (reader, text.starts_with(['{', '[', '<'])) {
            // Tables have the names that their users gave; those of sysbench stand in a test of their own.
            ("tidy" | "wide" | "sysbench", _) => continue,
            ("fio", false) => row_of("text of `fio`"),
            ("diskspd", false) => row_of("text of `diskspd`"),
            ("hammerdb", _) => row_of("console of `hammerdb`"),
            _ => row_of(&format!("`{reader}`")),
        };
        let spans: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let all = names(reader, &without_parameters(&text));
        assert!(!all.is_empty(), "{reader}: no name is found in its sample");
        let is_told = |name: &&String| {
            spans.iter().any(|span| span == name || span.strip_suffix('*').is_some_and(|stem| name.starts_with(stem)))
        };
        absent.extend(all.iter().filter(|name| !is_told(name)).map(|name| format!("{reader}: {name}")));
    }
    for name in ["JOBMAIN", "JOBOUTPUT", "JOBTIMING", "JOBTCOUNT", "JOBMETRIC", "JOBSYSTEM", "JOBCHART", "JOBCI"] {
        absent.extend((!row_of("`hammerdb-jobs`").contains(name)).then(|| name.to_owned()));
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
