//! What published outputs have and a tool's own documents do not show.

use crate::samples::{BENCHMARKSQL, DISKSPD, HYPERFINE, PGBENCH, TPCC_MYSQL};
use crate::{figure, import, import_with, key};

#[test]
fn diskspd_keeps_keys_and_percentiles_of_all_targets() {
    let (before, parameters) = DISKSPD.split_once("\tpath: 'iotest.dat'\n").unwrap();
    let (of_target, behind) = parameters.split_once("\nSystem information").unwrap();
    let (results, table) = behind.split_once("total:\n ").unwrap();
    let one = |name: &str| format!("\tpath: '{name}'\n{of_target}");
    let slow = table.replace("0.700", "70.0").replace("1.300", "130.0");
    let text = |second: &str| {
        let second = format!("\tpath: 'E:\\b.dat'\n{second}");
        let tables = format!("iotest.dat\n {slow}\nE:\\b.dat\n {slow}\ntotal:\n {table}");
        format!("{before}{}{second}\nSystem information{results}{tables}", one("iotest.dat"))
    };
    let found = &import(&text(of_target))[0];
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    let results = &found.results;
    assert_eq!((figure(&results[0], "response_p50"), figure(&results[1], "response_p50")), (700.0, 1_300.0));
    assert_eq!(key(&results[0], "targets"), "2");
    assert!(!results[0].keys.keys().any(|name| name.contains("of_target_2")), "both are alike");
    let unlike = import_with("diskspd", &text(&of_target.replace("8KiB\n\t\tusing", "64KiB\n\t\tusing")));
    assert_eq!(key(&unlike[0], "block_size_of_target_2"), "64k");
}

#[test]
fn ycsb_counts_no_success_as_a_failure() {
    for ok in ["OK", "BATCHED_OK", "0"] {
        let text = format!(
            "[OVERALL], RunTime(ms), 10110.0\n[OVERALL], Throughput(ops/sec), 98.9\n[UPDATE], Operations, 491\n\
             [UPDATE], AverageLatency(us), 54.5\n[UPDATE], 99thPercentileLatency(ms), 1\n[UPDATE], Return={ok}, 491\n\
             [UPDATE], 0, 464\n[UPDATE], 1, 27\n[UPDATE], >1000, 0\n"
        );
        let results = import_with("ycsb", &text);
        assert_eq!((figure(&results[0], "throughput"), figure(&results[0], "failed_share")), (98.9, 0.0), "{ok}");
        assert_eq!(figure(&results[1], "response_p99"), 1_000.0, "{ok}");
        let without_blanks = text.replace("[OVERALL], ", "[OVERALL],");
        assert_eq!(import_with("ycsb", &without_blanks), results);
    }
    let failed = "[OVERALL], Throughput(ops/sec), 9\n[READ], Operations, 9\n[READ], Return=NOT_FOUND, 9\n";
    assert_eq!(figure(&import_with("ycsb", failed)[0], "failed_share"), 100.0);
}

#[test]
fn tpcc_mysql_with_remarks_or_cut_is_read() {
    let whole = import_with("tpcc-mysql", TPCC_MYSQL);
    let remark = TPCC_MYSQL.replace(" TpmC", " TpmC  -- a minute");
    assert_eq!(import_with("tpcc-mysql", &remark), whole);
    let cut = TPCC_MYSQL.split("<TpmC>").next().unwrap();
    let results = import_with("tpcc-mysql", cut);
    assert_eq!(figure(&results[1], "throughput"), 1200.0);
    assert!(!results[0].measurements.iter().any(|one| one.metric.id == "nopm"));
}

#[test]
fn benchmarksql_keeps_properties_without_its_prefix() {
    let bare: String = BENCHMARKSQL
        .lines()
        .filter_map(|line| Some(format!("> {}\n", line.split_once("Term-00,")?.1.trim())))
        .filter(|line| line.contains('='))
        .collect();
    let found = &import(&bare)[0];
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    assert_eq!(found.results, import_with("benchmarksql", BENCHMARKSQL));
}

#[test]
fn json_next_to_other_blocks_of_a_page_is_read() {
    let page = format!("Closes #1\n```json\n{HYPERFINE}\n```\n```csv\ncommand,mean\nsleep 0.1,0.1\n```\n");
    let results = |text: &str| {
        let options = formats::Options::default();
        let (captions, reader) = (formats::recognise::Captions::Systems, None);
        let (source, system) = ("f", "a");
        let asked = formats::recognise::Text { text, source, below: "f", system, captions, reader, options: &options };
        let read = formats::recognise::read(&asked).unwrap();
        read.imports.into_iter().flat_map(|import| import.results).collect::<Vec<_>>()
    };
    assert_eq!(results(&page), results(HYPERFINE));
    let both = format!("{HYPERFINE}\n{HYPERFINE}");
    assert_eq!(import_with("hyperfine", &both).len(), 2 * import_with("hyperfine", HYPERFINE).len());
    let error = formats::reader::find_reader("hyperfine").map(|reader| {
        let text = format!("{HYPERFINE}\n{}", &HYPERFINE[..HYPERFINE.len() / 2]);
        let options = formats::Options::default();
        let input = formats::reader::Input {
            system: "s",
            is_named: false,
            source: "f",
            below: "f",
            text: &text,
            options: &options,
        };
        let formats::reader::Reads::Text(read) = reader.reads else { unreachable!() };
        read(&input).unwrap_err().to_string()
    });
    assert!(error.is_some_and(|error| error.contains("no JSON")), "the second ends in the middle");
}

#[test]
fn hammerdb_gives_a_result_behind_progress_of_a_script() {
    let line = "Vuser 1:TEST RESULT : System achieved 251442 NOPM from 584467 MariaDB TPM\n";
    let found = import_with("hammerdb", &format!("\r\r  Elapsed: 00:44 / 61:30{line}"));
    assert_eq!(figure(&found[0], "nopm"), 251_442.0);
    assert_eq!(found, import_with("hammerdb", line));
}

/// Results without what the way to here may change.
fn results_of(name: &str, bytes: &[u8]) -> Vec<formats::ImportedResult> {
    let options = formats::Options::default();
    let text = &formats::text::decode(bytes);
    // A tidy table names its systems itself.
    let is_named = name != "tidy";
    let asked = formats::recognise::Text {
        text,
        source: "f",
        below: "f",
        system: "a",
        captions: if is_named { formats::recognise::Captions::Keys } else { formats::recognise::Captions::Systems },
        reader: None,
        options: &options,
    };
    let mut imports = formats::recognise::read(&asked).map(|read| read.imports).unwrap_or_default();
    imports.iter_mut().flat_map(|import| std::mem::take(&mut import.results)).collect()
}

#[test]
fn each_sample_reads_the_same_however_it_was_sent() {
    let mut unlike = Vec::new();
    for (name, sample) in crate::samples::samples() {
        let plain = results_of(name, sample.as_bytes());
        assert!(!plain.is_empty() || name == "wide", "{name}");
        let windows = sample.replace('\n', "\r\n");
        let utf16: Vec<u8> = format!("\u{feff}{windows}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        let quoted: String = sample.lines().map(|line| format!("> {line}\n")).collect();
        let mail = format!("Hi Anna,\n\nsee what it printed:\n\n{sample}\n\nWhat do you think?\n\nCheers, Tom\n");
        let page = format!("Hi, see what it printed.\n\n```\n{sample}\n```\nWhat do you think?\n");
        let mut ways = vec![
            ("Windows", windows.into_bytes()),
            ("UTF-16", utf16),
            ("quoted", quoted.into_bytes()),
            ("page", page.into_bytes()),
        ];
        // A table in a mail has no end.
        if !["tidy", "wide"].contains(&name) {
            ways.push(("mail", mail.into_bytes()));
        }
        for (way, bytes) in ways {
            if results_of(name, &bytes) != plain {
                unlike.push(format!("{name}, {way}"));
            }
        }
    }
    assert!(unlike.is_empty(), "{unlike:?}");
}

#[test]
fn words_above_results_in_a_mail_name_their_systems() {
    let systems = |text: &str, is_named: bool| -> Vec<String> {
        let options = formats::Options::default();
        let asked = formats::recognise::Text {
            text,
            source: "f",
            below: "f",
            system: "mail",
            captions: if is_named { formats::recognise::Captions::Keys } else { formats::recognise::Captions::Systems },
            reader: None,
            options: &options,
        };
        let imports = formats::recognise::read(&asked).unwrap().imports;
        imports.into_iter().flat_map(|import| import.results).map(|result| result.system).collect()
    };
    let mail = format!("Hi Anna,\n\non the old box:\n\n{PGBENCH}\nOn the new one:\n\n{PGBENCH}\nCheers, Tom\n");
    assert_eq!(systems(&mail, false), ["on the old box", "On the new one"]);
    assert_eq!(systems(&mail, true), ["mail", "mail"]);
    let quoted: String = mail.lines().map(|line| format!("> {line}\n")).collect();
    assert_eq!(systems(&quoted, false), ["on the old box", "On the new one"]);
    for text in [
        format!("Run 1:\n{PGBENCH}\nRun 2:\n{PGBENCH}"),
        format!("Results:\n{PGBENCH}\nResults:\n{PGBENCH}"),
        format!("{PGBENCH}\nOnce more:\n{PGBENCH}"),
        format!("Run 1:\n```\n{PGBENCH}```\nRun 2:\n```\n{PGBENCH}```\n"),
    ] {
        assert_eq!(systems(&text, false), ["mail", "mail"], "{text}");
    }
}

#[test]
fn a_saved_mail_is_read_without_its_encoding() {
    let encoded = PGBENCH.replace('=', "=3D").replace("latency average", "latency =\r\naverage");
    let mail = format!("Subject: x\nContent-Transfer-Encoding: quoted-printable\n\nSee =C3=A9:\n{encoded}");
    assert_eq!(results_of("pgbench", mail.as_bytes()), import_with("pgbench", PGBENCH));
    assert_ne!(results_of("pgbench", encoded.as_bytes()), import_with("pgbench", PGBENCH));
}
