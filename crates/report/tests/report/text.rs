//! The terminal table, as it stands on the screen.

use model::{DurabilityTier, MarkKind, RunState};
use report::text::{Runs, Style, TextOptions, render_set};
use report::{MetricFilter, Options, compare};
use store::StoredRun;
use unicode_width::UnicodeWidthStr;

use crate::evidence::{Builder, Made};

fn shown(made: &Made, options: &TextOptions) -> String {
    render_set(&compare(&made.evidence, &Options::default()).unwrap(), options)
}

fn at(width: usize) -> TextOptions {
    TextOptions { width, ..TextOptions::default() }
}

fn eventful() -> Made {
    let mut made = Builder::default().build();
    made.fail(made.position_of("wal"), "the server closed the connection");
    made.mark(3, MarkKind::ClientSaturated, "each of the client's 2 threads was busy 97 % of the time");
    made
}

#[test]
fn every_width_is_kept_to() {
    let made = eventful();
    for width in [40, 80, 90, 100, 120, 200] {
        let text = shown(&made, &at(width));
        for line in text.lines() {
            assert!(line.width() <= width.max(80), "{width}: {} columns: {line}", line.width());
            assert!(!line.ends_with(' '), "{line:?}");
        }
    }
}

/// What a unit of money buys has ten digits.
#[test]
fn what_is_too_wide_beside_its_name_stands_below_it() {
    let mut made = Builder::default().build();
    ["wal", "rollback-journal"].iter().for_each(|name| made.change(name, "throughput", |_, value| value * 1e6));
    let text = shown(&made, &at(80));
    assert!(text.contains("\n  throughput, tx/s ↑\n"), "{text}");
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    assert!(shown(&made, &at(120)).contains("\n  throughput, tx/s ↑  "));
}

/// `etalon resume` repeats a round whole, and is interrupted in a run that had been measured before.
#[test]
fn a_repetition_that_was_cut_off_is_not_said_to_have_been_measured() {
    let mut made = Builder::default().build();
    let first = made.evidence.runs[0].clone();
    let reason = Some("interrupted by the user".to_owned());
    let id = made.evidence.runs.iter().map(|run| run.id).max().unwrap() + 1;
    made.evidence.runs.push(StoredRun { id, attempt: 2, state: RunState::Aborted, reason, ..first });
    let said = |made: &Made| shown(made, &at(120));
    let text = said(&made);
    assert!(text.contains(": aborted when repeated, measured before: interrupted by the user\n"), "{text}");
    let page = |made: &Made| {
        let set = compare(&made.evidence, &Options::default()).unwrap();
        report::html::render_page(&made.evidence, &set, &made.series).unwrap()
    };
    assert!(page(&made).contains("<td>measured before</td>"));
    made.evidence.runs[0].attempt = 3;
    assert!(page(&made).contains("<td>yes, measured then</td>"));
    let text = said(&made);
    assert!(text.contains(": aborted, measured when repeated: interrupted by the user\n"), "{text}");
}

#[test]
fn a_run_that_was_not_counted_says_so_and_keeps_its_verdict() {
    let mut made = Builder::default().build();
    let plain = compare(&made.evidence, &Options::default()).unwrap();
    made.mark(3, MarkKind::NotCounted, "connections were made anew");
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let verdicts = |set: &report::ComparisonSet| -> Vec<_> {
        set.tables.iter().flat_map(|table| &table.rows).map(|row| row.verdict()).collect()
    };
    assert_eq!(verdicts(&set), verdicts(&plain));
    let said = ": connections were made anew";
    for form in [render_set(&set, &at(120)), report::markdown::render_comparisons(&made.evidence, &set)] {
        assert!(form.contains("not counted at the server in 1 of 10 runs of ") && form.contains(said), "{form}");
    }
}

#[test]
fn single_runs_and_colours_on_demand() {
    let made = Builder { rounds: 6, clients: vec![1], ..Builder::default() }.build();
    let text = shown(&made, &TextOptions { runs: Runs::Listed, ..at(80) });
    assert_eq!(text.matches("A tx/s: ").count(), 1, "{text}");
    let plain = shown(&made, &at(80));
    assert!(!plain.contains('\u{1b}'));
    let coloured = shown(&made, &TextOptions { style: Style::Ansi, ..at(80) });
    assert!(coloured.contains("\u{1b}["));
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        stripped.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    stripped.push_str(rest);
    assert_eq!(stripped, plain, "colours change nothing but colours");
}

#[test]
fn hostile_names_do_not_command_the_terminal() {
    let mut builder =
        Builder { rounds: 6, benchmark: "a\u{1b}]0;owned\u{7}b\u{202e}c".to_owned(), ..Builder::default() };
    builder.systems[1].0 = format!("\u{1b}[2J{}", "x".repeat(300));
    let mut made = builder.build();
    made.mark(0, MarkKind::Note, "\u{1b}[31mred");
    let text = shown(&made, &at(80));
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}') && !text.contains('\u{7}'), "{text:?}");
}

#[test]
fn notes_stand_above() {
    let mut made = Builder { rounds: 6, ..Builder::default() }.build();
    made.durability("wal", DurabilityTier::Delayed, "synchronous=normal");
    made.evidence.header.build = "debug".to_owned();
    let text = shown(&made, &at(80));
    assert!(text.contains("\nnote: not comparable: measured by a debug build"), "{text}");
    // What all rows share is said once, above them.
    assert!(text.contains("\nno verdicts: unequal durability: A is durable, B is delayed\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.ends_with("  no verdict")).count(), 6, "{text}");
    let markdown =
        report::markdown::render_comparisons(&made.evidence, &compare(&made.evidence, &Options::default()).unwrap());
    assert!(markdown.contains("| no verdict |"), "{markdown}");
    assert!(markdown.contains("\nNo verdicts: unequal durability: A is durable, B is delayed.\n"), "{markdown}");
    let all = compare(&made.evidence, &Options { metrics: MetricFilter::All, ..Options::default() }).unwrap();
    let text = render_set(&all, &at(120));
    assert!(text.contains("n/a"), "{text}");
}
