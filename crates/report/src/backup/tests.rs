use super::*;

fn render(rows: &[BackupRow]) -> String {
    crate::views::text::render_tables(&table_views(rows), 80)
}

fn row(codec: &str, runs: usize) -> BackupRow {
    let figures = [("saving", 78.2), ("backup_cpu_per_gib", 14.04), ("backup_size", 1048576.0)];
    BackupRow {
        system: "here".to_owned(),
        group: String::new(),
        codec: codec.to_owned(),
        figures: figures.iter().map(|(id, value)| ((*id).to_owned(), *value)).collect(),
        missing: BTreeMap::new(),
        time_ratio: (codec != "none").then_some([0.9, 0.85, 0.97]),
        time_ratios: runs,
        restore_ratio: None,
        growth: Vec::new(),
        notes: Vec::new(),
    }
}

#[test]
fn a_verdict_is_one_line() {
    let expected = "zstd-3 saves 78 % and takes 0.90× the time (0.85× to 0.97× in 6 rounds); 14.0 CPU-seconds per GiB";
    assert_eq!(row("zstd-3", 6).verdict_line().unwrap(), expected);
    assert!(row("zstd-3", 1).verdict_line().unwrap().contains("one run"));
    assert_eq!(row("none", 6).verdict_line(), None);
    let mut equal = row("zstd-3", 6);
    equal.time_ratio = Some([0.98, 0.95, 1.02]);
    equal.figures.remove("backup_cpu_per_gib");
    let expected =
        "zstd-3 saves 78 % and takes about the same time (0.95× to 1.02× in 6 rounds); its CPU time is not known";
    assert_eq!(equal.verdict_line().unwrap(), expected);
    let mut encrypted = row("zstd-3", 6);
    encrypted.figures.insert("saving".to_owned(), -0.02);
    assert!(encrypted.verdict_line().unwrap().starts_with("zstd-3 saves nothing and takes 0.90× the time"));
}

#[test]
fn the_rounds_of_a_verdict_are_those_that_have_a_baseline() {
    let own: Vec<Measured> = (0..6).map(|round| measured(round, 9.0)).collect();
    let found = paired_ratios(&own, &[measured(2, 10.0), measured(7, 1.0)], "backup_time");
    assert_eq!((found.as_slice(), mean_and_extremes(&found)), (&[0.9][..], Some([0.9; 3])));
    let one = BackupRow { time_ratio: mean_and_extremes(&found), time_ratios: found.len(), ..row("zstd-3", 6) };
    assert!(one.verdict_line().unwrap().contains("(one run: no more than a hint)"), "{one:?}");
}

fn measured(round: u32, ms: f64) -> Measured {
    let values = [("backup_time".to_owned(), Reading::Value(ms))].into();
    Measured { run: 0, round, values }
}

#[test]
fn what_is_not_known_is_no_number() {
    let text = render(&[row("none", 6), row("zstd-3", 6)]);
    let line = text.lines().find(|line| line.trim_start().starts_with("none")).unwrap();
    assert_eq!(
        line.split_whitespace().collect::<Vec<_>>(),
        ["none", "1.0", "78.2", "n/a", "-", "14.04", "n/a", "-", "n/a"]
    );
}

#[test]
fn a_codec_that_an_engine_lacks_is_named_with_the_reason() {
    let reason = "SQL Server compresses with MS_XPRESS, QAT_DEFLATE or ZSTD";
    let text = render(&[row_without("gzip-6", reason), row_without("lz4-1", reason), row("zstd-3", 6)]);
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains(&format!("gzip-6, lz4-1: n/a: {reason}")), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

fn row_without(codec: &str, reason: &str) -> BackupRow {
    BackupRow {
        figures: BTreeMap::new(),
        missing: BTreeMap::from([("backup_rate".to_owned(), Absence::Unavailable.with_reason(reason))]),
        time_ratio: None,
        ..row(codec, 6)
    }
}

#[test]
fn a_terminal_of_80_columns_is_enough() {
    let mut rows = [row("none", 6), row("zstd-3 at the server", 6)];
    let figures = [("backup_rate", 1234.5), ("restore_rate", 1234.5), ("restore_cpu_per_gib", 2.5)];
    let figures = figures.map(|(id, value)| (id.to_owned(), value));
    rows.iter_mut().for_each(|row| row.figures.extend(figures.clone()));
    rows[1].restore_ratio = Some([2.34; 3]);
    let text = render(&rows);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["backup", "restore"]);
    assert_eq!(lines[1].chars().count(), lines[2].chars().count(), "{text}");
}

#[test]
fn speed_and_cpu_time_are_told_in_percent_as_published_and_why_they_are_not_known() {
    // The article's plain database.
    let text = render(&[row_with("none", 105.18, Some(1594.0)), row_with("zstd-3", 131.26, Some(2067.0))]);
    let line = text.lines().skip_while(|line| !line.contains("as published")).nth(2).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words, ["zstd-3", "+24.8", "%", "+29.7", "%", "n/a", "n/a"]);
    let text = render(&[row_with("none", 105.18, None), row_with("zstd-3", 90.0, None)]);
    let note = "second choice: cannot back up by `mariadb-backup`".to_owned();
    let text_of_all = render(&[noted_row("none", &note), noted_row("zstd-3", &note)]);
    assert_eq!(text_of_all.matches(&format!("note: {note}")).count(), 1, "{text_of_all}");
    assert!(
        render(&[row_with("none", 90.0, None), noted_row("zstd-3", &note)]).contains(&format!("note, zstd-3: {note}"))
    );
    assert_eq!(text.matches("s/GiB of the backup: n/a: the server's processes").count(), 1, "{text}");
    assert!(text.contains("-14.4 %"), "{text}");
}

fn noted_row(codec: &str, note: &str) -> BackupRow {
    BackupRow { notes: vec![note.to_owned()], ..row_with(codec, 90.0, None) }
}

fn row_with(codec: &str, rate: f64, cpu: Option<f64>) -> BackupRow {
    let mut row = row(codec, 6);
    row.figures.insert("backup_rate".to_owned(), rate);
    match cpu {
        Some(cpu) => drop(row.figures.insert("backup_cpu".to_owned(), cpu)),
        None => {
            row.figures.remove("backup_cpu_per_gib");
            let why = Absence::Unavailable.with_reason("the server's processes are not étalon's own");
            row.missing.insert("backup_cpu_per_gib".to_owned(), why);
        }
    }
    row
}

#[test]
fn ratios_are_taken_within_rounds() {
    let own = [run(0, 2.0), run(1, 30.0), run(2, 5.0)];
    let none = [run(0, 1.0), run(1, 10.0), run(3, 9.0)];
    assert_eq!(mean_and_extremes(&paired_ratios(&own, &none, "backup_time")), Some([6.0_f64.sqrt(), 2.0, 3.0]));
    assert_eq!(mean_and_extremes(&paired_ratios(&own, &none, "restore_time")), None);
}

fn run(round: u32, time: f64) -> Measured {
    Measured { run: 0, round, values: BTreeMap::from([("backup_time".to_owned(), Reading::Value(time))]) }
}
