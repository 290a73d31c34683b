//! Pages and mails: which captions name a system, and which results are repetitions.

use formats::recognise::{Captions, Read, Text, read};
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
    read(&Text {
        text,
        source: "f",
        below: "f",
        system: "f",
        captions: if is_named { Captions::Keys } else { Captions::Systems },
        reader: None,
        options: &options,
    })
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
fn words_above_json_documents_begin_systems() {
    use crate::samples::{BENCHBASE, CLICKBENCH, FIO, FIO_TEXT, HYPERFINE};
    let text = format!("On server A:\n{FIO_TEXT}On server B:\n{}", FIO_TEXT.replace(": pid=", ": pid=9"));
    let found: Vec<String> = count(&read_as(&text, false).unwrap()).into_iter().map(|(system, _)| system).collect();
    assert_eq!(found, ["On server A", "On server B"], "what follows fio's sums is of the next");
    let command = HYPERFINE.find("\"command\"").unwrap();
    let one_command =
        HYPERFINE[..command].to_owned() + r#""command":"psql a","mean":0.1,"stddev":0.1,"median":0.1,"times":[0.1]}]}"#;
    for json in [BENCHBASE, CLICKBENCH, FIO, &one_command] {
        let mail = format!(
            "Hi,\n\non the old server:\n{json}\n\nOn the new server:\n{}\nCheers\n",
            json.replace("1795249983", "1795259983")
        );
        let found: Vec<String> = count(&read_as(&mail, false).unwrap()).into_iter().map(|(system, _)| system).collect();
        assert_eq!(found, ["on the old server", "On the new server"], "{mail}");
    }
    let mixed = format!(
        "On server alpha:\n{}{FIO}\nOn server beta:\n{}{}\n",
        runs(8, 1),
        runs(8, 1),
        FIO.replace("1795249983", "1795259983")
    );
    let found: Vec<String> = count(&read_as(&mixed, false).unwrap()).into_iter().map(|(system, _)| system).collect();
    assert_eq!(found, ["On server alpha", "On server beta"]);
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
    check("=== run 1 ===\nR\n=== run 2 ===\nR\n# Run 3\nR\nOnce more:\nR\n", &[("f", 8)]);
    check("# pgbench -c 8\nR\n# pgbench -c 8\nR\n", &[("f", 4)]);
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
    assert!(read_as(&many, true).is_err(), "nor within a system that its user named");
}

#[test]
fn any_line_between_runs_that_differs_names_a_system() {
    check("master\nR\npatched\nR\nmaster\nR\npatched\nR\n", &[("master", 4), ("patched", 4)]);
    check(
        "=== random_page_cost 1.1 ===\nR\n=== random_page_cost 2.0 ===\nR\n",
        &[("random_page_cost 1.1", 2), ("random_page_cost 2.0", 2)],
    );
    check("shared_buffers=1GB\nR\nshared_buffers=8GB\nR\n", &[("shared_buffers=1GB", 2), ("shared_buffers=8GB", 2)]);
    check(
        "=== PostgreSQL 15.4 ===\nR\n=== PostgreSQL 16.1 ===\nR\n",
        &[("PostgreSQL 15.4", 2), ("PostgreSQL 16.1", 2)],
    );
    check(
        "$ pgbench -h 10.0.0.1 -S bench\nR\n$ pgbench -h 10.0.0.2 -S bench\nR\n",
        &[("-h 10.0.0.1", 2), ("-h 10.0.0.2", 2)],
    );
    check("# R\n```\n$ pgbench -h old\n```\nB\n```\n$ pgbench -h new\n```\nB\n", &[("-h old", 2), ("-h new", 2)]);
    check(
        "Old server:\n\njit=on\nR\njit=off\nR\nNew server:\n\njit=on\nR\n",
        &[("Old server, jit=on", 2), ("Old server, jit=off", 2), ("New server", 2)],
    );
    check("master\n\nB\npatched\n\nB\nmaster\n\nB\npatched\n\nB\n", &[("master", 4), ("patched", 4)]);
}

#[test]
fn lines_of_different_cases_name_no_systems() {
    let page: String =
        [1, 4, 1, 4].iter().map(|clients| format!("=== {clients} VU ===\n{}", runs(*clients, 1))).collect();
    assert_eq!(count(&read_as(&page, false).unwrap()), [("f".to_owned(), 4)]);
}

#[test]
fn a_line_within_a_result_parts_nothing() {
    let noisy = runs(8, 1).replace("latency average", "server closed a log\nlatency average");
    let page = format!("old\n{noisy}{noisy}new\n{noisy}");
    assert_eq!(count(&read_as(&page, false).unwrap()), [("old".to_owned(), 2), ("new".to_owned(), 1)]);
}

#[test]
fn captions_in_common_are_keys_where_files_are_systems() {
    let options = Options::default();
    let text = format!("jit=on\n{}jit=off\n{}", runs(8, 2), runs(8, 2));
    let captions = Captions::Keys;
    let text = Text { text: &text, source: "f", below: "f", system: "f", captions, reader: None, options: &options };
    let keys = read(&text).unwrap();
    let captions: Vec<String> = keys
        .imports
        .iter()
        .flat_map(|import| &import.results)
        .map(|result| result.keys["caption"].to_string())
        .collect();
    assert_eq!(
        (captions, count(&keys).len()),
        (["jit=on", "jit=on", "jit=off", "jit=off"].map(str::to_owned).to_vec(), 1)
    );
}

#[test]
fn names_in_front_of_lines_are_systems() {
    let prefixed =
        |prefix: &str, text: &str| -> String { text.lines().map(|line| format!("{prefix}{line}\n")).collect() };
    for (one, other, names) in [
        ("pg15-1  | ", "pg16-1  | ", ["pg15-1", "pg16-1"]),
        ("[pod/old-7f/pgbench] ", "[pod/new-9c/pgbench] ", ["old-7f/pgbench", "new-9c/pgbench"]),
        ("Nov 26 05:09:19 old pgbench[17]: ", "Nov 26 05:10:19 new pgbench[18]: ", ["old", "new"]),
        ("db1: ", "db2: ", ["db1", "db2"]),
        (
            "bench (pg15)\tRun pgbench\t2026-11-26T05:09:00.1Z ",
            "bench (pg16)\tRun pgbench\t2026-11-26T05:09:00.1Z ",
            ["bench (pg15)", "bench (pg16)"],
        ),
    ] {
        let text = prefixed(one, &runs(8, 3)) + &prefixed(other, &runs(8, 3));
        let expected = names.map(|name| (name.to_owned(), 3)).to_vec();
        assert_eq!(count(&read_as(&text, false).unwrap()), expected, "{one}");
        let mixed: Vec<String> = prefixed(one, &runs(8, 3))
            .lines()
            .zip(prefixed(other, &runs(16, 3)).lines())
            .map(|(one, other)| format!("{one}\n{other}\n"))
            .collect();
        assert_eq!(count(&read_as(&mixed.concat(), false).unwrap()), expected, "{one}, lines by turns");
    }
    let alone = prefixed("pg15-1  | ", &runs(8, 3));
    assert_eq!(count(&read_as(&alone, false).unwrap()), [("f".to_owned(), 3)]);
}

#[test]
fn captions_below_blocks_and_in_fences_name_them() {
    check(
        "# Upgrade\n\nHere is what it said:\n\nB\n*Listing 1: PostgreSQL 15*\n\nB\n*Listing 2: PostgreSQL 16*\n\nSo 16 wins.\n",
        &[("Listing 1: PostgreSQL 15", 2), ("Listing 2: PostgreSQL 16", 2)],
    );
    check("Hi,\n\nR\n^^^ this is master\n\nR\n^^^ this is patched\n", &[("this is master", 2), ("this is patched", 2)]);
    check("*old*\n\nB\n*new*\n\nB\n*Thanks*\n", &[("old", 2), ("new", 2)]);
    let fence = |info: &str| format!("```{info}\n{}```\n", runs(8, 2));
    let page = format!("# R\n{}{}", fence("text title=\"PostgreSQL 15\""), fence("text title=\"PostgreSQL 16\""));
    assert_eq!(
        count(&read_as(&page, false).unwrap()),
        [("PostgreSQL 15".to_owned(), 2), ("PostgreSQL 16".to_owned(), 2)]
    );
}

#[test]
fn web_pages_are_read_without_tags_and_entities() {
    let pre = runs(8, 2).replace('<', "&lt;").replace('>', "&gt;");
    let page = format!(
        "<html><body><h2>PostgreSQL 15</h2>\n<p>We ran</p>\n<pre><code>{pre}</code></pre>\n<h2>PostgreSQL 16</h2>\n\
         <pre class=\"code\"><code>{pre}</code></pre></body></html>\n"
    );
    let found = read_as(&page, false).unwrap();
    assert_eq!(count(&found), [("PostgreSQL 15".to_owned(), 2), ("PostgreSQL 16".to_owned(), 2)]);
    assert_eq!(found.imports[0].results[0].benchmark, "<builtin: select only>");
}

#[test]
fn a_lone_table_of_markdown_is_a_wide_table() {
    let text = "Hello,\n\n| clients | old TPS | new TPS |\n|--:|--:|--:|\n| 1 | 100.5 | 110.2 |\n| 8 | 800.5 | 910.2 |\n\nBye\n";
    let error = read_as(text, false).unwrap_err();
    let hint = error.hint().unwrap_or_default();
    assert!(
        hint.contains("--map 'old TPS=old@throughput:tx/s:higher' --map 'new TPS=new@throughput:tx/s:higher'"),
        "{error}: {hint}"
    );
}

#[test]
fn warm_ups_are_left_out() {
    check("Warmup run\nR\nRun 1\nR\nRun 2\nR\n", &[("f", 4)]);
    check("=== WARMUP ===\nR\n=== RUN 1 ===\nR\n", &[("f", 2)]);
    for caption in
        ["Warm-up run (ignore):", "warmup (discarded)", "Aufwärmlauf:", "First run (cold cache, please ignore):"]
    {
        check(&format!("{caption}\nR\nMeasured runs:\nR\nR\n"), &[("f", 4)]);
        check(&format!("{caption}\n$ pgbench b\nR\nRun 1\n$ pgbench b\nR\nRun 2\n$ pgbench b\nR\n"), &[("f", 4)]);
    }
    check("## Old\n### Warm-up\nB\n### Run 1\nB\n## New\nB\n", &[("Old", 2), ("New", 2)]);
}

#[test]
fn a_caption_holds_for_all_commands_below_it() {
    for (first, second) in
        [("server 15.4", "server 16.0"), ("psql (15.4)", "psql (16.0)"), ("=== on ===", "=== off ===")]
    {
        let commands = "$ pgbench -T60 b\nR\n".repeat(3);
        let found = systems(&format!("{first}\n{commands}{second}\n{commands}"));
        let counts: Vec<usize> = found.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [6, 6], "{found:?}");
    }
    for line in [
        "$ export PGOPTIONS=\"-c jit=off\"",
        "$ psql -c \"ALTER SYSTEM SET jit = off\"",
        "# mount -o noatime /dev/sdb /data",
        "# mount /dev/sdb /data",
        "+ sysctl -w vm.swappiness=1",
        "$ sudo systemctl restart postgresql",
    ] {
        let commands = "$ pgbench -T60 b\nR\n".repeat(3);
        let found = systems(&format!("{commands}{line}\n{commands}"));
        let counts: Vec<usize> = found.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [6, 6], "{found:?}");
    }
}

#[test]
fn sides_of_a_mail_keep_their_results_however_often_quoted() {
    let quoted = |mark: &str, text: &str| -> String { text.lines().map(|line| format!("{mark}{line}\n")).collect() };
    for (one, other) in [(">> ", "> "), ("> > ", "> "), ("> ", ""), (">>", "")] {
        let sides = [("I get on master:\n\n", one), ("and with the patch:\n\n", other)];
        let text: String = sides.iter().map(|(words, mark)| quoted(mark, &format!("{words}{}", runs(8, 3)))).collect();
        let found: Vec<usize> = count(&read_as(&text, false).unwrap()).into_iter().map(|(_, count)| count).collect();
        assert_eq!(found, [3, 3], "{text}");
    }
}

#[test]
fn a_typescript_has_no_script_of_pgbench() {
    let text = format!(
        "Script started on 2023-11-24 10:06:10+01:00\n{}\nScript done on 2023-11-24 10:07:10+01:00\n",
        runs(8, 2)
    );
    let read = read_as(&text, false).unwrap();
    let keys: Vec<_> = read.imports.iter().flat_map(|import| &import.results).map(|one| one.keys.clone()).collect();
    assert!(keys.len() == 2 && keys.iter().all(|keys| !keys.contains_key("scripts")), "{keys:?}");
}

#[test]
fn a_rate_that_is_no_number_above_0_is_no_result() {
    for (tps, expected) in [("5.05e+01", true), ("1e400", false), ("-50.5", false)] {
        let read = read_as(&runs(8, 1).replace("50.5", tps), false).unwrap();
        assert_eq!(read.imports[0].count_failed_results() == 0, expected, "{tps}");
    }
}
