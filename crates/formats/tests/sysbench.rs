//! sysbench's output: what version 1.0.20 printed.

#![cfg(test)]

use formats::into_experiment;
use formats::sysbench::{SysbenchRun, import, read};
use model::{Reading, RunState, Value};
use proptest::prelude::*;

const OLTP: &str = include_str!("data/sysbench/oltp.txt");
const CPU: &str = include_str!("data/sysbench/cpu.txt");
const MEMORY: &str = include_str!("data/sysbench/memory.txt");
/// `prepare`; a run that a lock timeout ended; one without a server; a script that is not there.
const FAILING: &str = include_str!("data/sysbench/failing.txt");
const FILEIO: &str = include_str!("data/sysbench/fileio.txt");

fn one(text: &str) -> SysbenchRun {
    let output = read(text.as_bytes());
    assert_eq!(output.not_understood, []);
    assert_eq!(output.runs.len(), 1);
    output.runs.into_iter().next().unwrap()
}

#[test]
fn an_oltp_run_is_read() {
    let run = one(OLTP);
    assert_eq!((run.version.as_deref(), run.threads(), run.total_time_s()), (Some("1.0.20"), Some(2), Some(2.0074)));
    assert_eq!((run.rate(), run.per_second("SQL statistics", "queries")), (Some(461.19), Some(9267.62)));
    assert_eq!(run.figure("SQL statistics", "read"), Some(13_034.0));
    assert_eq!(run.figure("SQL statistics", "ignored errors"), Some(5.0));
    assert_eq!((run.figure("Latency (ms)", "max"), run.percentile()), (Some(1004.23), Some((99.0, 8.13))));
    assert_eq!(run.histogram.iter().map(|(_, count)| count).sum::<u64>(), 926, "every transaction is in a bin");
    let imported = import(&read(OLTP.as_bytes()), "a", "out.txt");
    let found = imported.results[0].measurements.iter().find(|m| m.metric.id == "response_p99").unwrap();
    assert_eq!((found.metric.unit.as_str(), &found.reading), ("us", &Reading::Value(8_130.0)));
    assert_eq!(imported.results[0].series.len(), 1);
}

#[test]
fn other_tests_are_read() {
    let cpu = one(CPU);
    assert_eq!(cpu.figure("CPU speed", "events per second"), Some(3367.44));
    assert!((cpu.rate().unwrap() - 3372.0 / 1.0004).abs() < 1e-9);
    let memory = one(MEMORY);
    assert_eq!(memory.per_second("Memory", "MiB transferred"), Some(5425.58));
    let fileio = one(FILEIO);
    assert_eq!(fileio.figure("File operations", "reads/s"), Some(55_163.40));
    assert_eq!(fileio.figure("Throughput", "written, MiB/s"), Some(574.63));
}

#[test]
fn runs_are_repetitions_and_cut_ones_failed() {
    let text = format!("$ sysbench run\n{CPU}{CPU}sysbench 1.0.20 (using LuaJIT)\nNumber of threads: 4\n");
    let output = read(text.as_bytes());
    assert_eq!((output.runs.len(), output.not_understood.len()), (3, 1));
    let imported = import(&output, "a", "out.txt");
    assert_eq!(imported.notes, ["lines that were not understood: 1", "1 of 3 results are of runs that failed"]);
    assert_eq!(into_experiment("x", &[imported]).unwrap().plan.schedule.rounds, 2);
}

#[test]
fn a_run_that_an_error_ended_keeps_its_place() {
    let output = read(format!("{OLTP}{FAILING}{OLTP}").as_bytes());
    assert_eq!(output.runs.len(), 6);
    let imported = import(&output, "a", "out.txt");
    let reasons: Vec<Option<&str>> =
        imported.results.iter().map(|one| one.dropped.as_ref().map(|(_, reason)| reason.as_str())).collect();
    let [None, Some(lock), Some(server), Some(script), None] = reasons[..] else { panic!("{reasons:?}") };
    assert!(lock.ends_with("PQexecPrepared() failed: 7 canceling statement due to lock timeout"), "{lock}");
    assert!(server.contains("Connection to database failed") && script.contains("Cannot find benchmark"), "{server}");
    assert!(imported.notes[0].starts_with("1 of 6 calls of sysbench were no run"), "{:?}", imported.notes);
    // What told no threads has been of the one case that there is.
    let experiment = into_experiment("x", &[imported]).unwrap();
    assert_eq!(experiment.plan.cases().len(), 1);
    assert_eq!(experiment.plan.cases()[0].point["threads"], Value::Int(2));
    let states: Vec<RunState> = experiment.runs.iter().map(|(_, record)| record.state).collect();
    let failed = RunState::Failed;
    assert_eq!(states, [RunState::Measured, failed, failed, failed, RunState::Measured]);
    assert_eq!(experiment.runs[4].0.round, 4, "what follows keeps its number");
    let alone = into_experiment("x", &[import(&read(b"sysbench 1.0.20 (x)\nFATAL: no\n"), "a", "b")]).unwrap_err();
    assert_eq!(
        alone.to_string(),
        "nothing tells what was run, since all of it failed: sysbench ended with an error: no"
    );
}

#[test]
fn what_failed_untold_counts_in_every_case_that_it_may_have_been_of() {
    let more = OLTP.replace("Number of threads: 2", "Number of threads: 4");
    let untold = "sysbench 1.0.20 (x)\nFATAL: no\n";
    let imports = [
        import(&read(format!("{OLTP}{more}{untold}").as_bytes()), "a", "a.txt"),
        import(&read(untold.as_bytes()), "b", "b.txt"),
    ];
    let experiment = into_experiment("x", &imports).unwrap();
    let found: Vec<(u32, u32, RunState)> =
        experiment.runs.iter().map(|(planned, record)| (planned.round, planned.case, record.state)).collect();
    let (good, failed) = (RunState::Measured, RunState::Failed);
    let b = [(0, 1, failed), (0, 3, failed)];
    assert_eq!(found, [(0, 0, good), b[0], (0, 2, good), b[1], (1, 0, failed), (1, 2, failed)]);
    let note = &experiment.runs[1].1.marks.last().unwrap().detail;
    assert_eq!(note, "nothing tells which of 2 cases failed: it counts in each");
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        let _ = read(&bytes);
    }

    #[test]
    fn no_damage_makes_it_panic(cut in 0..8000_usize, junk in "[ -~\n]{0,8}", digits in "[0-9.]{1,400}") {
        for text in [OLTP, CPU, MEMORY, FILEIO] {
            for junk in [&junk, &digits] {
                let mut damaged = text.to_owned();
                damaged.insert_str(cut.min(text.len()), junk);
                let _ = into_experiment("x", &[import(&read(damaged.as_bytes()), "a", "b")]);
            }
        }
    }
}
