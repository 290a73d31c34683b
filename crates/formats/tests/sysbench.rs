//! sysbench's output: what version 1.0.20 printed.

#![cfg(test)]

use formats::into_experiment;
use formats::sysbench::{SysbenchRun, import_output, read_output};
use model::{Reading, RunState, Value};
use proptest::prelude::*;

const OLTP: &str = include_str!("data/sysbench/oltp.txt");
const CPU: &str = include_str!("data/sysbench/cpu.txt");
const MEMORY: &str = include_str!("data/sysbench/memory.txt");
/// `prepare`; a run that a lock timeout ended; one without a server; a script that is not there.
const FAILING: &str = include_str!("data/sysbench/failing.txt");
const FILEIO: &str = include_str!("data/sysbench/fileio.txt");

fn one(text: &str) -> SysbenchRun {
    let output = read_output(text.as_bytes());
    assert_eq!(output.not_understood, []);
    assert_eq!(output.runs.len(), 1);
    output.runs.into_iter().next().unwrap()
}

#[test]
fn an_oltp_run_is_read() {
    let run = one(OLTP);
    assert_eq!(
        (run.version.as_deref(), run.thread_count(), run.total_time_s()),
        (Some("1.0.20"), Some(2), Some(2.0074))
    );
    assert_eq!((run.rate_per_s(), run.per_second("SQL statistics", "queries")), (Some(461.19), Some(9267.62)));
    assert_eq!(run.figure_in_section("SQL statistics", "read"), Some(13_034.0));
    assert_eq!(run.figure_in_section("SQL statistics", "ignored errors"), Some(5.0));
    assert_eq!(
        (run.figure_in_section("Latency (ms)", "max"), run.percentile_ms()),
        (Some(1004.23), Some((99.0, 8.13)))
    );
    assert_eq!(run.histogram.iter().map(|(_, count)| count).sum::<u64>(), 926, "every transaction is in a bin");
    let imported = import_output(&read_output(OLTP.as_bytes()), "a", "out.txt");
    let failed = imported.results[0].measurements.iter().find(|m| m.metric.id == "failed_share").unwrap();
    assert_eq!(failed.reading, Reading::Value(500.0 / 931.0), "ignored errors are tries that failed");
    let uncounted = OLTP.replace("total number of events", "some other number");
    let uncounted = import_output(&read_output(uncounted.as_bytes()), "a", "out.txt");
    let failed = uncounted.results[0].measurements.iter().find(|m| m.metric.id == "failed_share");
    assert!(failed.is_none_or(|failed| matches!(failed.reading, Reading::Unavailable(_))), "{failed:?}");
    let found = imported.results[0].measurements.iter().find(|m| m.metric.id == "response_p99").unwrap();
    assert_eq!((found.metric.unit.as_str(), &found.reading), ("us", &Reading::Value(8_130.0)));
    assert_eq!(imported.results[0].series.len(), 1);
}

#[test]
fn figures_that_contradict_each_other_are_no_run() {
    assert_eq!(one(OLTP).failure_reason(), None);
    let told = one(&OLTP.replace("(461.19 per sec.)", "(922.38 per sec.)")).failure_reason().unwrap();
    assert!(told.contains("922.38 transactions per sec., and 926 transactions"), "{told}");
    let told = one(&OLTP.replace("avg:                                    4.32", "avg: 94.32")).failure_reason();
    assert!(told.is_some_and(|told| told.contains("threads have time for")), "{OLTP}");
}

#[test]
fn other_tests_are_read() {
    let cpu = one(CPU);
    assert_eq!(cpu.figure_in_section("CPU speed", "events per second"), Some(3367.44));
    assert!((cpu.rate_per_s().unwrap() - 3372.0 / 1.0004).abs() < 1e-9);
    let memory = one(MEMORY);
    assert_eq!(memory.per_second("Memory", "transferred"), Some(5425.58));
    let fileio = one(FILEIO);
    assert_eq!(fileio.figure_in_section("File operations", "reads/s"), Some(55_163.40));
    assert_eq!(fileio.figure_in_section("Throughput", "written, MiB/s"), Some(574.63));
}

/// Versions 0.4 and 0.5 as they print, with the parts that differ.
const OLD: &str = "sysbench 0.4.12:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 32

Doing OLTP test.
Running mixed OLTP test
Using Special distribution (12 iterations,  1 pct of values are returned in 75 pct cases)
Using \"BEGIN\" for starting transactions
Using auto_inc on the id column
Threads started!
Done.

OLTP test statistics:
    queries performed:
        read:                            8277066
        write:                           2956095
        other:                           1182438
        total:                           12415599
    transactions:                        591219 (1970.62 per sec.)
    deadlocks:                           3      (0.01 per sec.)
    read/write requests:                 11233161 (37441.78 per sec.)
    other operations:                    1182438 (3941.24 per sec.)

Test execution summary:
    total time:                          300.0174s
    total number of events:              591219
    total time taken by event execution: 9598.1
    per-request statistics:
         min:                                  5.74ms
         avg:                                 16.23ms
         max:                                533.05ms
         approx.  99 percentile:              32.12ms

Threads fairness:
    events (avg/stddev):           18475.59/5.91
    execution time (avg/stddev):   299.94/0.01
";

#[test]
fn old_versions_are_read_as_new_ones_are() {
    let new = OLD
        .replace("0.4.12", "0.5")
        .replace("Test execution summary", "General statistics")
        .replace("per-request statistics", "response time");
    for text in [OLD, &new] {
        let imported = import_output(&read_output(text.as_bytes()), "a", "a.txt");
        assert_eq!(read_output(text.as_bytes()).not_understood, []);
        let [result] = imported.results.as_slice() else { panic!("{:?}", imported.results) };
        assert_eq!((result.benchmark.as_str(), result.dropped.as_ref()), ("oltp", None));
        assert_eq!(result.keys["statements"], Value::Text("14 read, 5 write, 2 other".to_owned()));
        let value = |id: &str| result.measurements.iter().find(|m| m.metric.id == id).map(|m| m.reading.clone());
        for (id, expected) in [
            ("throughput", 1970.62),
            ("response_mean", 16_230.0),
            ("response_max", 533_050.0),
            ("response_p99", 32_120.0),
            ("errors_deadlock", 3.0),
        ] {
            let Some(Reading::Value(found)) = value(id) else { panic!("{id}") };
            assert!((found - expected).abs() < 1e-6 * expected, "{id}: {found}");
        }
    }
}

#[test]
fn progress_as_csv_and_sums_of_old_files_are_known() {
    let csv = "1,16,455.16,16233.08,9158.12,6116.72,958.23,106.75,0.00,0.00\nDB SCHEMA public\n";
    let text = OLTP.replacen("Threads started!\n", &format!("Threads started!\n{csv}"), 1);
    let output = read_output(text.as_bytes());
    assert_eq!((output.not_understood, output.runs.len()), (vec![], 1));
    let old = "sysbench 0.4.12:  multi-threaded system evaluation benchmark\n\nNumber of threads: 1\n128 files, 64Mb each\n\
               8Gb total file size\nBlock size 4Kb\nUsing synchronous I/O mode\nDoing random r/w test\nThreads started!\nDone.\n\n\
               Operations performed:  125160 Read, 83440 Write, 266979 Other = 475579 Total\n\
               Read 488.91Mb  Written 325.94Mb  Total transferred 814.84Mb  (2.7161Mb/sec)\n  695.33 Requests/sec executed\n\n\
               Test execution summary:\n    total time:                          300.0032s\n    total number of events:              208600\n";
    let output = read_output(old.as_bytes());
    assert_eq!(output.not_understood, []);
    let imported = import_output(&output, "a", "a.txt");
    let throughput = imported.results[0].measurements.iter().find(|one| one.metric.id == "throughput").unwrap();
    assert!(throughput.reading.value().is_some_and(|rate| (rate - 695.33).abs() < 0.01), "{throughput:?}");
}

fn cases(texts: &[&str]) -> usize {
    into_experiment("x", &[import_output(&read_output(texts.concat().as_bytes()), "a", "a.txt")])
        .unwrap()
        .plan
        .cases()
        .len()
}

#[test]
fn rates_of_version_1_1_are_read() {
    let text = "sysbench 1.1.0 (using LuaJIT)\n\nNumber of threads: 1\nBlock size 16KiB\n1 files, 4MiB each\n
Throughput:\n         read:  IOPS=2560.33 40.01 MiB/s (41.95 MB/s)\n         write: IOPS=1706.89 26.67 MiB/s (27.97 MB/s)
         fsync: IOPS=5470.29\n\nLatency (ms):\n         min:                                  0.00
         avg:                                  0.10\n         max:                                  7.53\n";
    let output = read_output(text.as_bytes());
    assert_eq!(output.not_understood, []);
    let with_time = text.replace(
        "Latency",
        "General statistics:
    total time:  10.0s
    total number of events: 97375

Latency",
    );
    let imported = import_output(&read_output(with_time.as_bytes()), "a", "a.txt");
    assert_eq!(imported.results[0].benchmark, "fileio");
    let value =
        |id: &str| imported.results[0].measurements.iter().find(|m| m.metric.id == id).map(|m| m.reading.clone());
    assert_eq!(value("reads"), Some(Reading::Value(2560.33)));
    assert_eq!(value("fsyncs"), Some(Reading::Value(5470.29)));
    assert_eq!(value("bandwidth_write"), Some(Reading::Value(26.67)));
}

#[test]
fn tests_of_sysbench_are_different_cases() {
    let imported = import_output(&read_output([CPU, MEMORY, FILEIO, OLTP].concat().as_bytes()), "a", "a.txt");
    let names: Vec<&str> = imported.results.iter().map(|result| result.benchmark.as_str()).collect();
    assert_eq!(names, ["cpu", "memory", "fileio", "oltp"]);
    assert_eq!(cases(&[CPU, MEMORY, FILEIO, OLTP, CPU, MEMORY, FILEIO, OLTP]), 4);
}

#[test]
fn one_changed_condition_makes_two_cases() {
    let changes = [
        (CPU, "Number of threads: 1", "Number of threads: 2"),
        (CPU, "Prime numbers limit: 10000", "Prime numbers limit: 20000"),
        (MEMORY, "block size: 1KiB", "block size: 4KiB"),
        (MEMORY, "total size: 102400MiB", "total size: 1024MiB"),
        (MEMORY, "operation: write", "operation: read"),
        (MEMORY, "scope: global", "scope: local"),
        (FILEIO, "1 files, 4MiB each", "2 files, 4MiB each"),
        (FILEIO, "1 files, 4MiB each", "1 files, 8MiB each"),
        (FILEIO, "4MiB total file size", "8MiB total file size"),
        (FILEIO, "Block size 16KiB", "Block size 4KiB"),
        (FILEIO, "combined random IO test: 1.50", "combined random IO test: 3.00"),
        (FILEIO, "open flags: (none)", "open flags: directio"),
        (FILEIO, "Periodic FSYNC enabled, calling fsync() each 100 requests.", ""),
        (FILEIO, "each 100 requests", "each 10 requests"),
        (FILEIO, "at the end of test, Enabled.", "at the end of test, Disabled."),
        (FILEIO, "synchronous I/O mode", "asynchronous I/O mode"),
        (FILEIO, "Doing random r/w test", "Doing random read test"),
        (OLTP, "Number of threads: 2", "Number of threads: 3"),
        (OLTP, "Number of threads: 2", "Number of threads: 2\nTarget transaction rate: 100/sec"),
        (OLTP, "read:                            13034", "read:                            9260"),
        (OLTP, "write:                           3698", "write:                           926"),
        (OLD, "Running mixed OLTP", "Running simple OLTP"),
        (OLD, "Special distribution", "Uniform distribution"),
        (OLD, "\"BEGIN\"", "\"LOCK TABLES WRITE\""),
        (OLD, "Using auto_inc on the id column", ""),
    ];
    for (text, from, to) in changes {
        assert!(text.contains(from), "{from}");
        let changed = text.replacen(from, to, 1);
        assert_eq!(cases(&[text, &changed]), 2, "{from} -> {to}");
    }
}

#[test]
fn sizes_written_differently_are_one_case() {
    let other = FILEIO.replace("16KiB", "16Kb").replace("4MiB", "4096k");
    assert_eq!(cases(&[FILEIO, &other]), 1);
}

#[test]
fn runs_are_repetitions_and_cut_ones_failed() {
    let text = format!("$ sysbench run\n{CPU}{CPU}sysbench 1.0.20 (using LuaJIT)\nNumber of threads: 4\n");
    let output = read_output(text.as_bytes());
    assert_eq!((output.runs.len(), output.not_understood.len()), (3, 1));
    let imported = import_output(&output, "a", "out.txt");
    assert_eq!(imported.notes, ["lines that were not understood: 1", "1 of 3 results are of runs that failed"]);
    assert_eq!(into_experiment("x", &[imported]).unwrap().plan.schedule.rounds, 2);
}

#[test]
fn a_run_that_an_error_ended_keeps_its_place() {
    let output = read_output(format!("{OLTP}{FAILING}{OLTP}").as_bytes());
    assert_eq!(output.runs.len(), 6);
    let imported = import_output(&output, "a", "out.txt");
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
    let alone = into_experiment("x", &[import_output(&read_output(b"sysbench 1.0.20 (x)\nFATAL: no\n"), "a", "b")])
        .unwrap_err();
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
        import_output(&read_output(format!("{OLTP}{more}{untold}").as_bytes()), "a", "a.txt"),
        import_output(&read_output(untold.as_bytes()), "b", "b.txt"),
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
        let _ = read_output(&bytes);
    }

    #[test]
    fn no_damage_makes_it_panic(cut in 0..8000_usize, junk in "[ -~\n]{0,8}", digits in "[0-9.]{1,400}") {
        for text in [OLTP, CPU, MEMORY, FILEIO] {
            for junk in [&junk, &digits] {
                let mut damaged = text.to_owned();
                damaged.insert_str(cut.min(text.len()), junk);
                let _ = into_experiment("x", &[import_output(&read_output(damaged.as_bytes()), "a", "b")]);
            }
        }
    }
}

/// The end of a run of version 1.0 that prints nothing else: `threads`, or `mutex` with one event for each thread.
fn bare(threads: u32, events: u32) -> String {
    format!(
        "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nRunning the test with following options:\nNumber of threads: {threads}\n\
         Threads started!\n\nGeneral statistics:\n    total time:                          1.0003s\n    \
         total number of events:              {events}\n\nLatency (ms):\n         min:                                    0.70\n\n\
         Threads fairness:\n    events (avg/stddev):           {:.4}/0.00\n    execution time (avg/stddev):   0.9969/0.00\n\n",
        f64::from(events) / f64::from(threads)
    )
}

#[test]
fn threads_and_mutex_are_two_benchmarks() {
    let text = format!("{}{}{}", bare(2, 1091), bare(2, 2), bare(1, 1));
    let imported = import_output(&read_output(text.as_bytes()), "a", "a.txt");
    let benchmarks: Vec<&str> = imported.results.iter().map(|result| result.benchmark.as_str()).collect();
    assert_eq!(benchmarks, ["threads", "mutex", "mutex"]);
}

#[test]
fn a_copy_without_head_or_blanks_is_the_same_run() {
    let whole = import_output(&read_output(OLTP.as_bytes()), "a", "a.txt").results.remove(0);
    let dedented: String = OLTP.lines().map(|line| format!("{}\n", line.trim_start())).collect();
    let dedented = import_output(&read_output(dedented.as_bytes()), "a", "a.txt").results.remove(0);
    assert_eq!((&dedented.keys, &dedented.measurements), (&whole.keys, &whole.measurements));
    let cpu = &CPU[CPU.find("CPU speed:").unwrap()..];
    assert!((formats::sysbench::READER.recognises)(cpu));
    let headless = import_output(&read_output(cpu.as_bytes()), "a", "a.txt").results.remove(0);
    assert_eq!((headless.benchmark.as_str(), headless.keys.get("threads")), ("cpu", Some(&Value::Int(1))));
    assert_eq!(headless.keys.get("prime_limit"), None, "what was not printed is not known");
    let end = "General statistics:\n    total time:    1.0s\n    total number of events:   7\n";
    let unnamed = import_output(&read_output(format!("{end}{end}").as_bytes()), "a", "a.txt");
    assert_eq!(into_experiment("x", &[unnamed]).unwrap().plan.schedule.rounds, 1, "they may be of different tests");
}
