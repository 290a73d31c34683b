//! Pages and mails: which captions name a system, and which results are repetitions.

use formats::recognise::{Read, Text, read};
use formats::{FormatError, Options};

/// Runs of pgbench.
fn runs(clients: u32, count: usize) -> String {
    let run = format!(
        "transaction type: <builtin: select only>\nscaling factor: 1\nquery mode: simple\nnumber of clients: {clients}\n\
         number of threads: 1\nduration: 10 s\nnumber of transactions actually processed: 500\n\
         latency average = 0.5 ms\ntps = 50.5 (without initial connection time)\n"
    );
    run.repeat(count)
}

fn read_as(text: &str, is_named: bool) -> Result<Read, FormatError> {
    let options = Options::default();
    read(&Text { text, source: "f", below: "f", system: "f", is_named, reader: None, options: &options })
}

/// How many results each system has; a line `B` is a block of two runs in fences, `R` without.
fn systems(text: &str) -> Vec<(String, usize)> {
    let (bare, block) = (runs(8, 2), format!("```\n{}```\n", runs(8, 2)));
    let lines = text.lines().map(|line| match line {
        "R" => bare.clone(),
        "B" => block.clone(),
        _ => format!("{line}\n"),
    });
    count(&read_as(&lines.collect::<String>(), false).unwrap())
}

fn count(read: &Read) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    for result in read.imports.iter().flat_map(|import| &import.results) {
        match found.iter_mut().find(|(system, _)| *system == result.system) {
            Some((_, count)) => *count += 1,
            None => found.push((result.system.clone(), 1)),
        }
    }
    found
}

fn check(text: &str, expected: &[(&str, usize)]) {
    let found = systems(text);
    let found: Vec<(&str, usize)> = found.iter().map(|(system, count)| (system.as_str(), *count)).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn prose_between_results_begins_another_system() {
    check(
        "## Master\nB\nand with the patch\nB\n## Reverted\nB\n",
        &[("Master", 2), ("Master, and with the patch", 2), ("Reverted", 2)],
    );
    check("I get\n\nB\n\nWith the patch I get\n\nB\n", &[("I get", 2), ("With the patch I get", 2)]);
    check(
        "Without it I get\n\nR\nWith the patch I get\n\nR\n",
        &[("Without it I get", 2), ("With the patch I get", 2)],
    );
    check("R\nWith the patch:\nR\n", &[("f", 2), ("With the patch", 2)]);
}

#[test]
fn long_labels_name_systems_and_stay_distinct() {
    let long = "With the patch v3 on top of the commit that introduced the regression";
    let short = "With the patch v3 on top of the commit that introduced the r…";
    assert_eq!(short.chars().count(), 61);
    let second = format!("{short} (2)");
    check(
        &format!("Master:\nR\n{long}:\nR\n{long} twice:\nR\nReverted:\nR\n"),
        &[("Master", 2), (short, 2), (&second, 2), ("Reverted", 2)],
    );
    let mail = "On master I ran it three times and\nI get:\n\nR\nWith the patch\nI get:\n\nR\n";
    check(mail, &[("On master I ran it three times and I get", 2), ("With the patch I get", 2)]);
}

#[test]
fn what_is_printed_between_runs_parts_nothing() {
    check("$ pgbench -c 8\nR\nreal 0m5.1s\n\n$ pgbench -c 8\nR\nThu Nov 26 05:09:19 UTC 2026\nR\n", &[("f", 6)]);
    check("=== run 1 ===\nR\n=== run 2 ===\nR\n# pgbench -c 8\nR\n# Run 3\nR\nOnce more:\nR\n", &[("f", 10)]);
    check("Run is over\nR\nRun is over\nR\ndone in 1.5 s (vacuum)\nR\ndone in 1.6 s (vacuum)\nR\n", &[("f", 8)]);
    check("# Old\n## Run 1\nB\n## Run 2\nB\n# New\n## Run 1\nB\n", &[("Old", 4), ("New", 2)]);
}

#[test]
fn captions_below_others_keep_their_parent() {
    let four: &[_] = &[("A, on", 2), ("A, off", 2), ("B, on", 2), ("B, off", 2)];
    check("# Results\n## A\n### on\nB\n### off\nB\n## B\n### on\nB\n### off\nB\n", four);
    check("## A\n\non:\n\nB\n\noff:\n\nB\n## B\non:\n\nB\noff:\nB\n", four);
    check("Hello,\n\nA:\n\non:\n\nR\noff:\n\nR\nB:\n\non:\nR\noff:\nR\nRegards\n", four);
    check("# Old\n```\non:\nR\noff:\nR\n```\n# New\nB\n", &[("Old, on", 2), ("Old, off", 2), ("New", 2)]);
    check("## Benchmark\n\nBefore:\nB\nAfter:\nB\n", &[("Before", 2), ("After", 2)]);
}

#[test]
fn underlined_and_html_headings_name_systems() {
    check("Old machine\n===========\n\nB\nNew machine\n======\nB\n", &[("Old machine", 2), ("New machine", 2)]);
    check("Old\n-----\n\nB\n\nNew\n---\nB\n", &[("Old", 2), ("New", 2)]);
    check("Old\n-----\n\nR\n\nNew\n---\nR\n", &[("Old", 2), ("New", 2)]);
    check("<h2>Old</h2>\n\nB\n<h2 id='n'>New</h2>\nB\n", &[("Old", 2), ("New", 2)]);
}

#[test]
fn captions_of_different_cases_are_of_one_system() {
    let both = |above: &str, one: &str, other: &str| {
        format!("{above}\n{one}\n\n```\n{}```\n{other}\n\n```\n{}```\n", runs(8, 1), runs(16, 1))
    };
    for (one, other) in [("8 clients:", "16 clients:"), ("with 8 clients", "with 16 clients"), ("### 8", "### 16")] {
        let text = format!("{}{}", both("## Old", one, other), both("## New", one, other));
        let found = count(&read_as(&text, false).unwrap());
        assert_eq!(found, [("Old".to_owned(), 2), ("New".to_owned(), 2)], "{one}");
    }
}

#[test]
fn no_number_of_captions_pools_systems() {
    let page = |count: usize, caption: &str| -> String {
        (0..count).map(|number| format!("{}\n{}\n", caption.replace('N', &number.to_string()), runs(8, 1))).collect()
    };
    let fenced =
        page(70, "## Server N\n").replace("transaction type", "```\ntransaction type").replace("time)", "time)\n```");
    assert_eq!(count(&read_as(&fenced, false).unwrap()).len(), 70);
    let labelled = page(17, "Server N:");
    assert_eq!(count(&read_as(&labelled, false).unwrap()).len(), 17);
    let many = page(300, "Server N:");
    let error = read_as(&many, false).unwrap_err();
    assert!(error.to_string().contains("more than 256"), "{error}");
    assert_eq!(count(&read_as(&many, true).unwrap()), [("f".to_owned(), 300)]);
}
