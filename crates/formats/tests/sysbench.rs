//! sysbench's output: what version 1.0.20 printed.

#![cfg(test)]

use formats::into_experiment;
use formats::sysbench::{Run, import, read};
use model::Reading;
use proptest::prelude::*;

const OLTP: &str = include_str!("data/sysbench/oltp.txt");
const CPU: &str = include_str!("data/sysbench/cpu.txt");
const MEMORY: &str = include_str!("data/sysbench/memory.txt");
const FILEIO: &str = include_str!("data/sysbench/fileio.txt");

fn one(text: &str) -> Run {
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
    assert_eq!((run.progress.len(), run.progress[1].rate, run.progress[1].latency_ms), (2, Some(801.37), Some(7.30)));
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
fn runs_are_repetitions_and_cut_ones_are_said() {
    let text = format!("$ sysbench run\n{CPU}{CPU}sysbench 1.0.20 (using LuaJIT)\nNumber of threads: 4\n");
    let output = read(text.as_bytes());
    assert_eq!((output.runs.len(), output.not_understood.len()), (3, 1));
    let imported = import(&output, "a", "out.txt");
    assert_eq!(imported.notes, ["1 of 3 runs have no figures and are left out", "lines that were not understood: 1"]);
    assert_eq!(into_experiment("x", &[imported]).unwrap().plan.schedule.blocks, 2);
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
