//! Transcripts on a document of their own; `/bin/sh` plays the part of `etalon`.
#![cfg(unix)]

use super::*;

/// Runs `text` and returns its failures and the blessed document.
fn run_document(text: &str) -> (Vec<String>, String) {
    let mut document = Document::new("x.md".to_owned(), text, Path::new("/bin/sh")).unwrap();
    document.run().unwrap();
    let failures = document.failures.iter().map(|f| f.text.clone()).collect();
    let blessed = document.blessed_text();
    (failures, blessed)
}

fn failures(text: &str) -> Vec<String> {
    run_document(text).0
}

const NOTHING: Vec<String> = Vec::new();

#[test]
fn a_true_transcript_passes_and_state_carries_over() {
    let text = "# T\n\n```text file=a.txt\nhello\n```\n\nSay:\n\n```console\n$ cat a.txt\nhello\n\n\
                $ etalon -c 'echo b > b.txt; echo to stderr >&2; exit 3'\n? 3\nto stderr\n```\n\n\
                ```console\n$ ls\na.txt\nb.txt\n```\n";
    assert_eq!(failures(text), NOTHING);
}

#[test]
fn what_disturbed_the_machine_of_the_moment_is_no_difference() {
    let said = "round 1\nwarning: before the first run, load: 7 on 2 cores\nnote: during the runs: busy machine in\n      4 of 4 \
                runs\nnote: during the runs: power in 1 of 4 runs\n\ntable\n      indented\n";
    assert_eq!(drop_machine_notes(said), "round 1\ntable\n      indented\n");
    let noted = "note: a debug build\n      of étalon\nnote: during the runs: x\n\ntable\n";
    assert_eq!(drop_machine_notes(noted), "note: a debug build\n      of étalon\n\ntable\n");
    let quiet = "note: a\n\n\ntable\n\nend\n";
    assert_eq!(drop_machine_notes(quiet), quiet);
    let answered = "A is faster. The machine was busy: others\nused up to 0.9 of its 2 cores.\n\nA a: SQLite\n";
    assert_eq!(drop_machine_notes(answered), "A is faster.\n\nA a: SQLite\n");
}

#[test]
fn wildcards_match_lines_and_parts_of_lines() {
    let text = "```console\n$ etalon -c 'echo took 12 ms; echo a; echo b; echo end; pwd'\n\
                took [..] ms\n...\nend\n[CWD]\n```\n";
    assert_eq!(failures(text), NOTHING);
}

#[test]
fn a_difference_names_file_line_and_both_sides() {
    let text = "intro\n\n```console\n$ etalon -c 'echo new; exit 2'\nold\n```\n";
    let found = failures(text);
    assert!(found[0].starts_with("x.md:4: $ etalon -c"), "{}", found[0]);
    assert!(found[0].contains("expected exit code 0, got 2"));
    assert!(found[0].contains("- old") && found[0].contains("+ new"), "{}", found[0]);
}

#[test]
fn bless_rewrites_what_differs_and_keeps_wildcards_that_match() {
    let text = "1. item\n\n   ```console\n   $ etalon -c 'echo took 5 ms; echo new; exit 2'\n   \
                took [..] ms\n   old\n\n   $ etalon -c 'echo same'\n   same\n   ```\nend\n";
    let (found, blessed) = run_document(text);
    assert_eq!(found.len(), 1);
    let expected = text.replace("   took [", "   ? 2\n   took [").replace("   old\n", "   new\n");
    assert_eq!(blessed, expected);
    assert_eq!(failures(&blessed), NOTHING);
}

#[test]
fn a_long_command_continues_after_a_backslash() {
    let text = "```console\n$ etalon -c \\\n    'echo long'\nlong\n```\n";
    assert_eq!(failures(text), NOTHING);
}

#[test]
fn what_is_not_run_says_why() {
    let block = "```console,no-run\n$ sudo reboot\n```\n";
    let with = |comment: &str| failures(&format!("text\n\n{comment}{block}"));
    assert_eq!(with("<!-- not run: needs a second host -->\n"), NOTHING);
    assert_eq!(with("<!-- not run: needs a second host -->\n\n"), NOTHING);
    for bad in ["", "<!-- not run: -->\n", "<!-- not run: x -->\n\nBut then.\n\n"] {
        let found = with(bad);
        assert!(found[0].contains("put <!-- not run: reason -->"), "{bad:?}");
    }
}

#[test]
fn other_programs_and_shell_syntax_are_refused() {
    let found = failures("```console\n$ rm -rf x\n```\n");
    assert!(found[0].starts_with("x.md:2: `rm` is not run here"), "{found:?}");
    let found = failures("```console\n$ etalon list | head\n```\n");
    assert!(found[0].contains("there is no shell here"), "{found:?}");
    let found = failures("```console\nout of nothing\n```\n");
    assert!(found[0].starts_with("x.md:2: a transcript starts with"), "{found:?}");
    let found = failures("```console,norun\n$ ls\n```\n");
    assert!(found[0].contains("no flag but no-run"), "{found:?}");
}

#[test]
fn a_plan_is_checked_unless_it_is_a_fragment() {
    // `sh plan FILE` fails as there is no script called plan.
    let plan = "[systems.a]\nurl = \"x\"\n```\n";
    assert!(failures(&format!("```toml\n{plan}"))[0].starts_with("x.md:1: etalon plan"));
    assert_eq!(failures(&format!("```toml file=p.toml\n{plan}")).len(), 1);
    assert_eq!(failures(&format!("```toml,fragment\n{plan}")), NOTHING);
    assert_eq!(failures("```toml\n[package]\n```\n"), NOTHING);
    let script = "```sh file=plan\ntest -f \"$1\"\n```\n\n";
    let with_script = format!("{script}```toml\n{plan}\n```console\n$ ls\nplan\n```\n");
    assert_eq!(failures(&with_script), NOTHING);
}

#[test]
fn a_file_stays_within_the_folder() {
    let found = failures("```toml file=../x.toml\na = 1\n```\n");
    assert!(found[0].contains("leaves the folder"), "{found:?}");
}

#[test]
fn a_document_has_the_files_of_its_own_folder() {
    let root = tempfile::tempdir().unwrap();
    let docs = root.path().join("docs");
    fs::create_dir_all(docs.join("x")).unwrap();
    fs::write(docs.join("x/sent.txt"), "hello\n").unwrap();
    fs::write(docs.join("x.md"), "```console\n$ cat sent.txt\nhello\n```\n").unwrap();
    let options = Options::default();
    assert!(run_with(root.path(), &options, Path::new("/bin/sh")).unwrap());
}
