//! pgbench's files: excerpts of what version 15.18 wrote, and the wording of other versions.

#![cfg(test)]

use formats::pgbench::{
    AggregateRun, AggregateSummary, AggregatedInterval, LogSummary, PgbenchLogEntry, PgbenchOutcome, PgbenchSummary,
    SeventhColumn, Summaries, import_aggregates, import_log, import_summaries, read_entries, read_intervals,
    read_summaries,
};
use formats::{FormatError, Imported, ImportedResult, into_experiment};
use model::metric::FAILED_SHARE;
use model::{Direction, Reading, Role};
use proptest::prelude::*;

fn all(log: &str, seventh: SeventhColumn) -> Vec<PgbenchLogEntry> {
    read_entries(log.as_bytes(), seventh).collect::<Result<_, _>>().unwrap()
}

#[test]
fn logs_of_version_15_are_read() {
    let plain = all(include_str!("data/pgbench/plain.log"), SeventhColumn::Unknown);
    let first = PgbenchLogEntry {
        client: 0,
        transaction: 1,
        outcome: PgbenchOutcome::Succeeded(2601),
        script: 0,
        at_s: 1_795_249_959,
        at_us: 226_055,
        lag_us: None,
        retries: None,
        unnamed: None,
    };
    assert_eq!(plain[0], first);
    let limited = all(include_str!("data/pgbench/ratelimit.log"), SeventhColumn::Lag);
    assert_eq!((limited[0].lag_us, limited[2].outcome), (Some(101), PgbenchOutcome::Skipped));
    let retries = all(include_str!("data/pgbench/retries.log"), SeventhColumn::Retries);
    assert_eq!((retries[0].lag_us, retries[0].retries), (None, Some(0)));
    let unnamed = all(include_str!("data/pgbench/retries.log"), SeventhColumn::Unknown);
    assert_eq!((unnamed[0].retries, unnamed[0].unnamed), (None, Some(0)));
    let both = all(include_str!("data/pgbench/all.log"), SeventhColumn::Unknown);
    assert_eq!((both[0].lag_us, both[0].retries), (Some(100), Some(0)));
    let detailed = all(include_str!("data/pgbench/fail.log"), SeventhColumn::Unknown);
    assert_eq!(detailed[0].outcome, PgbenchOutcome::Serialization);
    let failed = all(include_str!("data/pgbench/fail2.log"), SeventhColumn::Unknown);
    assert_eq!((failed[0].outcome, failed[3].outcome), (PgbenchOutcome::Succeeded(0), PgbenchOutcome::Failed));
}

const AMONG_3_OF_6: &str = "it lies among the 3 of 6 (50.00 %) that did not succeed";

/// The share of failures that each result of an import has.
fn shares(import: &Imported) -> Vec<Reading> {
    let share = |result: &ImportedResult| {
        result.measurements.iter().find(|one| one.metric.id == FAILED_SHARE).unwrap().reading.clone()
    };
    import.results.iter().map(share).collect()
}

/// Aggregated logs of system a, one run each, imported together.
fn aggregates(logs: &[&AggregateSummary]) -> Vec<Imported> {
    let run = |log| AggregateRun { log, system: "a", source: "b".to_owned() };
    import_aggregates(&logs.iter().copied().map(run).collect::<Vec<_>>())
}

fn is_unknown(share: &Reading) -> bool {
    matches!(share, Reading::Unavailable(_))
}

#[test]
fn quantiles_of_a_log_are_of_what_failed_too() {
    let line = |number: u64| match number % 5 {
        0 => format!("0 {number} serialization 0 {number} 0\n"),
        _ => format!("0 {number} {number} 0 {number} 0\n"),
    };
    let text: String = (1..=1_000).map(line).collect();
    let mut log = LogSummary::default();
    log.read_log(text.as_bytes(), SeventhColumn::Unknown).unwrap();
    let import = import_log(&log, "a", "log");
    assert_eq!(shares(&import), [Reading::Value(20.0)]);
    assert_eq!(import.results[0].began_unix_ms, None, "no log is of 1970");
    let reading = |id: &str| import.results[0].measurements.iter().find(|m| m.metric.id == id).unwrap().reading.clone();
    let Reading::Value(p50) = reading("response_p50") else { panic!("a median") };
    assert!((p50 / 624.0 - 1.0).abs() < 0.002, "the 500th of 800 that succeeded: {p50}");
    assert!(is_unknown(&reading("response_p90")) && is_unknown(&reading("response_max")));
    assert_eq!(import.results[0].series[0].errors, 200);
    let mut log = LogSummary::default();
    log.read_log("0 1 500 0 1700000000 250000\n".as_bytes(), SeventhColumn::Unknown).unwrap();
    assert_eq!(import_log(&log, "a", "log").results[0].began_unix_ms, Some(1_700_000_000_250));
}

#[test]
fn aggregates_tell_failures_only_if_they_were_asked_to() {
    let share = |text: &str| {
        let mut log = AggregateSummary::default();
        log.read_log(text.as_bytes()).unwrap();
        shares(&aggregates(&[&log]).remove(0)).remove(0)
    };
    let failing = every(include_str!("data/pgbench/aggfail.log")).unwrap();
    let (failed, succeeded) = failing.iter().fold((0, 0), |(failed, succeeded), one| {
        (failed + one.serialization.unwrap() + one.deadlocks.unwrap(), succeeded + one.transactions)
    });
    let of_all = 100.0 * failed as f64 / (failed + succeeded) as f64;
    assert_eq!(share(include_str!("data/pgbench/aggfail.log")), Reading::Value(of_all));
    assert!(is_unknown(&share(include_str!("data/pgbench/agg.log"))), "a 0 may mean that nobody counted");
    assert!(is_unknown(&share("1345828501 5601 1542744 483552416 61 2573\n")), "version 9");
    assert_eq!(share("10 20 500 1 50 150 0 0 0 0 5\n"), Reading::Value(25.0), "five of twenty were skipped");
    assert_eq!(share("10 15 500 1 50 150 0 0 0 0 5 0 0 0 0\n"), Reading::Value(25.0), "from version 15 on beside them");
}

#[test]
fn what_one_repetition_counts_all_do() {
    let log = |text: &str| {
        let mut log = AggregateSummary::default();
        log.read_log(text.as_bytes()).unwrap();
        log
    };
    let failing = log("10 15 500 1 50 150 0 0 0 0 0 0 0 5 0\n");
    let whole = log("20 20 500 1 50 150 0 0 0 0 0 0 0 0 0\n");
    let old = log("30 20 500 1 50 150\n");
    let found: Vec<Reading> = aggregates(&[&whole, &failing, &old]).iter().flat_map(shares).collect();
    assert_eq!(found[..2], [Reading::Value(0.0), Reading::Value(25.0)], "the same option counts in both");
    assert!(is_unknown(&found[2]), "a log of version 13 has no place for them");
    assert!(is_unknown(&aggregates(&[&whole, &whole]).iter().flat_map(shares).next().unwrap()));
}

#[test]
fn a_log_is_summed_up() {
    let mut log = LogSummary::default();
    log.read_log("0 1 1000 0 100 0\n1 1 3000 0 100 500000 \n".as_bytes(), SeventhColumn::Unknown).unwrap();
    log.read_log(
        "2 1 failed 0 101 0\n2 2 deadlock 0 101 0\n2 3 skipped 0 101 0\n2 4 5000 0 102 0\n".as_bytes(),
        SeventhColumn::Unknown,
    )
    .unwrap();
    assert_eq!((log.succeeded(), log.failed(), log.skipped(), log.span_s()), (3, 2, 1, 2.0));
    assert_eq!((log.rate_per_s(), log.durations().mean_ns()), (Some(1.0), Some(3_000_000.0)));
    let import = import_log(&log, "a", "pgbench_log.1");
    let reading = |id: &str| import.results[0].measurements.iter().find(|m| m.metric.id == id).unwrap().reading.clone();
    assert_eq!(
        (reading("throughput"), reading("errors"), reading("response_max")),
        (Reading::Value(1.0), Reading::Value(2.0), Reading::unavailable(AMONG_3_OF_6))
    );
    assert_eq!(reading(FAILED_SHARE), Reading::Value(50.0), "two failed and one was skipped of six");
    assert!(matches!(reading("response_p99"), Reading::Unavailable(_)));
    assert_eq!(import.results[0].keys["clients"].as_int(), Some(3));
    assert_eq!(LogSummary::default().rate_per_s(), None);
}

#[test]
fn a_sample_is_known_by_its_gaps_and_scaled() {
    // Two clients with 100 transactions each, 10 ms apart; every fifth is in the log, and the ends of each.
    let line = |client: u64, number: u64| format!("{client} {number} 500 0 100 {}\n", number * 9_000 + client);
    let kept = |number: &u64| number.is_multiple_of(5) || *number == 1;
    let text: String =
        (0..2).flat_map(|client| (1..=100).filter(kept).map(move |number| line(client, number))).collect();
    let mut log = LogSummary::default();
    log.read_log(text.as_bytes(), SeventhColumn::Unknown).unwrap();
    let share = log.sampled_share().unwrap();
    assert_eq!(share, 40.0 / 198.0);
    assert_eq!(log.rate_per_s(), Some(41.0 / log.span_s() / share));
    let import = import_log(&log, "a", "log");
    let errors = import.results[0].measurements.iter().find(|m| m.metric.id == "errors").unwrap();
    assert_eq!(errors.reading, Reading::unavailable("the log is a sample: 0 in its 42 lines"));
    assert_eq!(shares(&import), [Reading::Value(0.0)]);
    let failing = text.replace(" 50 500 ", " 50 failed ");
    let mut log = LogSummary::default();
    log.read_log(failing.as_bytes(), SeventhColumn::Unknown).unwrap();
    assert_eq!(shares(&import_log(&log, "a", "log")), [Reading::Value(100.0 * 2.0 / 42.0)], "a share is not scaled");
    assert!(import.results[0].notes[0].contains("20.2 %"), "{:?}", import.results[0].notes);
    let mut twice = log.clone();
    twice.read_log(text.as_bytes(), SeventhColumn::Unknown).unwrap();
    assert!(!log.is_of_several_runs() && !twice.is_of_several_runs(), "a sample of two runs is below their count");
    let mut whole = LogSummary::default();
    for _ in 0..2 {
        whole.read_log("0 1 5 0 100 0\n0 2 5 0 100 9\n".as_bytes(), SeventhColumn::Unknown).unwrap();
    }
    assert!(whole.is_of_several_runs() && whole.overlaps(&whole.clone()));
    assert!(!LogSummary::default().overlaps(&whole));
}

#[test]
fn a_line_that_is_no_transaction_is_named() {
    for (line, message) in [
        ("1 2 3", "line 1: 3 words, a log of transactions has 6 to 8: 1 2 3"),
        ("0 1 x 0 100 0", "line 1: word 3 is no latency in microseconds, and no known failure: x"),
        ("0 1 -5 0 100 0", "line 1: word 3 is no latency in microseconds, and no known failure: -5"),
        ("a 1 5 0 100 0", "line 1: word 1 is no client's number: a"),
        ("0 1 5 0 100 1000000", "line 1: word 6 is 1000000: a second has 1000000 microseconds"),
    ] {
        let error = read_entries(line.as_bytes(), SeventhColumn::Unknown).next().unwrap().unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let error = read_entries(include_str!("data/pgbench/agg.log").as_bytes(), SeventhColumn::Unknown)
        .next()
        .unwrap()
        .unwrap_err();
    assert_eq!(error.hint(), Some("this looks like a log with --aggregate-interval"));
}

fn every(log: &str) -> Result<Vec<AggregatedInterval>, FormatError> {
    read_intervals(log.as_bytes()).collect()
}

#[test]
fn aggregated_logs_of_all_versions_are_read() {
    let newest = every(include_str!("data/pgbench/aggfail.log")).unwrap();
    assert_eq!((newest[0].transactions, newest[0].retries, newest[0].serialization), (386, Some(866), Some(705)));
    assert_eq!((newest[0].deadlocks, newest[0].other), (Some(0), None));
    let rate = every(include_str!("data/pgbench/aggrate.log")).unwrap();
    assert_eq!(rate[0].lag_us, Some(3161.0));
    let old = every("1345828501 5601 1542744 483552416 61 2573\n").unwrap();
    assert_eq!((old[0].sum_us, old[0].lag_us, old[0].skipped), (1_542_744.0, None, None));
    assert_eq!(every("1 2 3 4 5 6 7 8 9 10 11\n").unwrap()[0].skipped, Some(11));
    assert_eq!(every("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n").unwrap()[0].other, Some(16));
    for wrong in ["1 2 3 4 5", "1 2 3 4 5 6 7", "1 2 x 4 5 6", "1 2 -3 4 5 6", "1 2 inf 4 5 6"] {
        assert!(every(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn aggregates_are_summed_up_over_whole_intervals() {
    let mut log = AggregateSummary::default();
    log.read_log("10 5 500 1 50 150\n12 20 2000 1 40 300\n14 22 2200 1 60 160\n16 1 100 1 100 100\n".as_bytes())
        .unwrap();
    assert_eq!(log.rate_per_s(), Some(42.0 / 4.0));
    // A second thread that began a second later: its own whole intervals count.
    log.read_log("11 5 500 1 50 150\n13 10 1000 1 40 300\n15 1 100 1 60 160\n".as_bytes()).unwrap();
    assert_eq!(log.rate_per_s(), Some(42.0 / 4.0 + 10.0 / 2.0));
    let import = aggregates(&[&log]).remove(0);
    let reading = |id: &str| import.results[0].measurements.iter().find(|m| m.metric.id == id).unwrap().reading.clone();
    assert_eq!((reading("response_mean"), reading("response_min")), (Reading::Value(100.0), Reading::Value(40.0)));
    let mut skipped = AggregateSummary::default();
    skipped
        .read_log("10 5 500 1 50 150 0 0 0 0 2\n12 20 1500 1 40 300 0 0 0 0 5\n14 9 9 1 1 1 0 0 0 0 9\n".as_bytes())
        .unwrap();
    assert_eq!(skipped.rate_per_s(), Some(15.0 / 2.0), "up to version 14 the count has the skipped ones");
    let mut none = AggregateSummary::default();
    none.read_log(include_str!("data/pgbench/agg.log").as_bytes()).unwrap();
    let ids: Vec<String> =
        aggregates(&[&none])[0].results[0].measurements.iter().map(|m| m.metric.id.clone()).collect();
    assert!(!ids.contains(&"errors_serialization".to_owned()), "a 0 may mean that nobody counted: {ids:?}");
    assert!(into_experiment("x", &[aggregates(&[&AggregateSummary::default()]).remove(0)]).is_ok());
}

fn one(text: &str) -> PgbenchSummary {
    let Summaries { runs, not_understood } = read_summaries(text.as_bytes());
    assert_eq!(not_understood, []);
    assert_eq!(runs.len(), 1);
    runs.into_iter().next().unwrap()
}

#[test]
fn summaries_of_version_15_are_read() {
    let plain = one(include_str!("data/pgbench/plain.txt"));
    assert_eq!(plain.version.as_deref(), Some("15.18 (Debian 15.18-0+deb12u1)"));
    assert_eq!((plain.clients, plain.threads, plain.scale), (Some(2), Some(1), Some(1)));
    assert_eq!((plain.processed, plain.planned, plain.failed), (Some(10), Some(10), Some(0)));
    assert_eq!((plain.latency_ms, plain.stddev_ms, plain.tps), (Some(1.327), None, Some(1507.386192)));
    let limited = one(include_str!("data/pgbench/ratelimit.txt"));
    assert_eq!((limited.skipped, limited.lag_ms, limited.stddev_ms), (Some(8), Some(0.151), Some(1.155)));
    let failed = one(include_str!("data/pgbench/fail.txt"));
    assert_eq!((failed.processed, failed.planned, failed.failed), (Some(42), Some(160), Some(118)));
    assert_eq!((failed.serialization, failed.deadlocks), (Some(118), Some(0)));
    // Progress, statements and scripts are known, and are not the run's.
    for (text, tps) in
        [(include_str!("data/pgbench/conn.txt"), 324.298219), (include_str!("data/pgbench/multi.txt"), 4203.536942)]
    {
        assert_eq!(one(text).tps, Some(tps));
    }
}

#[test]
fn summaries_of_older_versions_are_read() {
    let nine = "starting vacuum...end.\ntransaction type: TPC-B (sort of)\nscaling factor: 10\nquery mode: simple\n\
        number of clients: 10\nnumber of threads: 1\nduration: 60 s\nnumber of transactions actually processed: 31272\n\
        latency average: 19.185 ms\nlatency stddev: 8.111 ms\ntps = 521.103 (including connections establishing)\n\
        tps = 521.208 (excluding connections establishing)\nstatement latencies in milliseconds:\n\
        \t0.003456\t\\set nbranches 1 * :scale\n\t1.2\tUPDATE t SET a = 1;\n";
    let run = one(nine);
    assert_eq!(run.tps, Some(521.208), "without the time of connecting");
    assert_eq!((run.latency_ms, run.duration_s, run.version.as_deref()), (Some(19.185), Some(60.0), None));
    let exported = one(&nine.replace("duration: 60 s", "duration: 1.7 s"));
    assert_eq!(exported.duration_s, Some(1.7), "as étalon's export has it");
    let thirteen = "transaction type: <builtin: select only>\nscaling factor: 1\nquery mode: prepared\nnumber of clients: 1\n\
        number of threads: 1\nnumber of transactions per client: 10\nnumber of transactions actually processed: 10/10\n\
        latency average = 0.321 ms\ntps = 3112.6 (including connections establishing)\n\
        tps = 3900.1 (excluding connections establishing)\n";
    assert_eq!(one(thirteen).tps, Some(3900.1));
    let seventeen = "pgbench (17.2, server 16.1)\nstarting vacuum...end.\nprogress: 1.0 s, 99.0 tps, lat NaN ms stddev NaN, 0 failed\n\
        transaction type: a.sql\nscaling factor: 1\nquery mode: extended\nnumber of clients: 1\nnumber of threads: 1\n\
        maximum number of tries: 10\nduration: 5 s\nnumber of transactions actually processed: 500\n\
        number of failed transactions: 0 (0.000%)\nnumber of transactions retried: 3 (0.600%)\ntotal number of retries: 4\n\
        latency average = 9.9 ms\ninitial connection time = 3.1 ms\ntps = 101.5 (without initial connection time)\n\
        statement latencies in milliseconds, failures and retries:\n 1.5  2  3 select 1;\n";
    let run = one(seventeen);
    assert_eq!(run.version.as_deref(), Some("17.2"));
    assert_eq!((run.retried, run.retries, run.tps), (Some(3), Some(4), Some(101.5)));
}

#[test]
fn a_summary_tells_what_failed_from_version_15_on() {
    let share = |text: &str| shares(&import_summaries(&read_summaries(text.as_bytes()), "a", "b")).remove(0);
    assert_eq!(share(include_str!("data/pgbench/fail.txt")), Reading::Value(100.0 * 118.0 / 160.0));
    assert_eq!(share(include_str!("data/pgbench/plain.txt")), Reading::Value(0.0));
    let limited = one(include_str!("data/pgbench/ratelimit.txt"));
    let all = limited.processed.unwrap() + 8;
    assert_eq!(share(include_str!("data/pgbench/ratelimit.txt")), Reading::Value(100.0 * 8.0 / all as f64));
}

/// What pgbench of a version before 15 prints with `-R` and `-L`, by its `printResults`.
fn old_summary(processed: u64, skipped: &str, above: &str, equals: &str) -> String {
    format!(
        "transaction type: a.sql\nscaling factor: 1\nquery mode: simple\nnumber of clients: 2\nnumber of threads: 1\n\
         duration: 10 s\nnumber of transactions actually processed: {processed}\n\
         number of transactions skipped: {skipped}\n\
         number of transactions above the 1.0 ms latency limit: {above}\n\
         latency average{equals} 0.300 ms\nlatency stddev{equals} 0.100 ms\n\
         rate limit schedule lag: avg 0.151 (max 3.857) ms\n\
         tps = 900.000000 (including connections establishing)\n\
         tps = 1000.000000 (excluding connections establishing)\n"
    )
}

#[test]
fn up_to_version_14_skipped_transactions_are_the_share() {
    let found = |text: &str| {
        let found = read_summaries(text.as_bytes());
        assert_eq!(found.not_understood, []);
        let import = import_summaries(&found, "a", "b");
        let is_rate = |id: &str| id == "throughput" || id == "limited_throughput";
        let rate = import.results[0].measurements.iter().find(|m| is_rate(&m.metric.id)).unwrap().reading.clone();
        (shares(&import).remove(0), rate)
    };
    let value = |share, rate| (Reading::Value(share), Reading::Value(rate));
    let of_11_to_14 = old_summary(9_000, "1000 (10.000 %)", "45/9000 (0.500 %)", " =");
    assert_eq!(found(&of_11_to_14), value(10.0, 1000.0), "as it is printed: the processed ones are the others");
    assert_eq!(found(&old_summary(400, "600 (60.000 %)", "4/400 (1.000 %)", " =")), value(60.0, 1000.0));
    assert_eq!(found(&old_summary(400, "0 (0.000 %)", "4/400 (1.000 %)", " =")), value(0.0, 1000.0), "none is a count");
    let of_9_5 = old_summary(9_000, "1000 (10.000 %)", "45 (0.450 %)", ":");
    assert_eq!(found(&of_9_5), value(10.0, 1000.0));
    let of_9_6_and_10 = old_summary(10_000, "1000 (9.091 %)", "45 (0.409 %)", " =");
    assert_eq!(
        found(&of_9_6_and_10),
        value(10.0, 900.0),
        "which count them among the processed ones, and in their tps"
    );
    for text in [of_11_to_14.replace("10.000", "25.000"), of_9_6_and_10.replace("9.091", "10.000")] {
        assert!(is_unknown(&found(&text).0), "no version prints that: {text}");
        let import = import_summaries(&read_summaries(text.as_bytes()), "a", "b");
        let mean = import.results[0].measurements.iter().find(|m| m.metric.id == "response_mean").unwrap();
        assert!(is_unknown(&mean.reading), "no share would void a mean of the others alone");
    }
    let unlimited: String = of_11_to_14
        .lines()
        .filter(|line| !line.contains("limit") && !line.contains("skipped"))
        .fold(String::new(), |text, line| text + line + "\n");
    assert!(is_unknown(&found(&unlimited).0));
}

fn reasons(import: &Imported) -> Vec<Option<&str>> {
    import.results.iter().map(|one| one.dropped.as_ref().map(|(_, reason)| reason.as_str())).collect()
}

/// Two streams in a file: a good run, one of which a backend was killed, one without a server, a good one, and one whose
/// second script failed.
const ABORTED: &str = include_str!("data/pgbench/aborted.txt");
/// Standard output alone of a run that lost all its clients.
const STOPPED: &str = include_str!("data/pgbench/stopped.txt");

#[test]
fn a_run_that_was_aborted_failed_and_keeps_its_place() {
    let imported = import_summaries(&read_summaries(ABORTED.as_bytes()), "a", "out.txt");
    let found = reasons(&imported);
    let [None, Some(killed), Some(server), None, Some(script)] = found[..] else { panic!("{found:?}") };
    assert_eq!(
        killed,
        "pgbench was aborted: client 0 script 0 aborted in command 1 query 0: FATAL:  terminating connection due to \
         administrator command"
    );
    assert!(server.contains("port 54990 failed: Connection refused"), "{server}");
    assert!(script.contains("division by zero"), "{script}");
    assert!(imported.results.iter().all(|one| one.dropped.is_none() || one.measurements.is_empty()));
    assert!(imported.notes.contains(&"3 of 5 results are of runs that failed".to_owned()), "{:?}", imported.notes);
    let experiment = into_experiment("x", &[imported]).unwrap();
    let select: Vec<(u32, bool)> = experiment
        .runs
        .iter()
        .filter(|(planned, _)| planned.case == 0)
        .map(|(planned, record)| (planned.round, record.reason.is_some()))
        .collect();
    // The one without a server may have been of either script, and counts in both.
    assert_eq!(select, [(0, false), (1, true), (2, true), (3, false)]);
    assert_eq!(experiment.runs.iter().filter(|(planned, _)| planned.case == 1).count(), 2);
}

#[test]
fn errors_find_their_run_in_whatever_order_the_streams_were_written() {
    let good = ABORTED.split("pgbench (").nth(1).unwrap();
    let old = good.split_once("transaction type").unwrap().1;
    let old = format!("transaction type{old}");
    let said = "Client 3 aborted in state 1. Probably the backend died while processing.\n";
    let not_whole = "Run was aborted; the above results are incomplete.\n";
    let of = |text: &str| {
        let found = read_summaries(text.as_bytes());
        found.runs.iter().map(|run| run.aborted.is_some()).collect::<Vec<_>>()
    };
    let head = "starting vacuum...end.\n";
    assert_eq!(of(&format!("{head}{old}{head}{said}{old}")), [false, true], "up to version 11");
    assert_eq!(of(&format!("{head}{old}{head}{said}{not_whole}{old}")), [false, true], "version 12");
    assert_eq!(of(&format!("{old}{said}{not_whole}")), [true], "one stream behind the other");
    assert_eq!(of(&format!("pgbench ({good}{said}{not_whole}pgbench ({good}")), [true, false]);
    let fatal = "pgbench: fatal: cannot\n";
    assert_eq!(of(&format!("{head}{old}{fatal}{head}{old}{fatal}")), [false, true, false, true]);
    assert_eq!(of("pgbench (15.18)\npgbench (15.18)\n"), [true, true], "a heading alone is a run that was stopped");
}

#[test]
fn fewer_transactions_than_were_planned_are_no_whole_run() {
    let imported = import_summaries(&read_summaries(STOPPED.as_bytes()), "a", "out.txt");
    assert!(reasons(&imported)[0].unwrap().starts_with("683 of 8000 transactions ended"));
    let whole = STOPPED.replace("683/", "8000/");
    assert_eq!(reasons(&import_summaries(&read_summaries(whole.as_bytes()), "a", "out.txt")), [None]);
    let failed = STOPPED.replace("transactions: 0 (", "transactions: 7317 (");
    assert_eq!(reasons(&import_summaries(&read_summaries(failed.as_bytes()), "a", "out.txt")), [None]);
}

#[test]
fn figures_that_contradict_each_other_are_no_run() {
    let text = include_str!("data/pgbench/plain.txt");
    let timed = text.replace("number of transactions per client: 5", "duration: 10 s").replace("10/10", "15000");
    let said =
        |text: &str| reasons(&import_summaries(&read_summaries(text.as_bytes()), "a", "out.txt"))[0].map(str::to_owned);
    assert_eq!(said(&timed), None, "1507 tps and 15000 transactions in 10 s");
    let told = said(&timed.replace("15000", "7500")).unwrap();
    assert!(told.contains("1507.386192 tps, and 7500 transactions in 10 s"), "{told}");
}

#[test]
fn several_summaries_become_repetitions() {
    let text = include_str!("data/pgbench/plain.txt").repeat(3) + "hello\ntransaction type: cut\nscaling factor: 1\n";
    let found = read_summaries(text.as_bytes());
    assert_eq!((found.runs.len(), found.not_understood.len()), (4, 1));
    let import = import_summaries(&found, "a", "out.txt");
    assert_eq!((import.results.len(), import.notes.len()), (4, 2));
    let experiment = into_experiment("x", &[import]).unwrap();
    assert_eq!((experiment.plan.schedule.rounds, experiment.runs.len()), (4, 4));
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes: Vec<u8>) {
        let _ = read_entries(&bytes[..], SeventhColumn::Lag).count();
        let _ = read_intervals(&bytes[..]).count();
        let _ = read_summaries(&bytes);
    }

    #[test]
    fn no_damage_makes_a_reader_panic(cut in 0..1500_usize, junk in "[ -~\n]{0,9}", digits in "[0-9]{1,25}") {
        for text in [include_str!("data/pgbench/multi.txt"), include_str!("data/pgbench/ratelimit.txt")] {
            for junk in [&junk, &digits] {
                let mut damaged = text.to_owned();
                damaged.insert_str(cut.min(text.len()), junk);
                let found = read_summaries(damaged.as_bytes());
                let _ = into_experiment("x", &[import_summaries(&found, "a", "b")]);
            }
        }
        for text in [include_str!("data/pgbench/ratelimit.log"), include_str!("data/pgbench/aggfail.log")] {
            for junk in [&junk, &digits] {
                let mut damaged = text.to_owned();
                damaged.insert_str(cut.min(text.len()), junk);
                let mut log = LogSummary::default();
                let _ = log.read_log(damaged.as_bytes(), SeventhColumn::Unknown);
                let _ = into_experiment("x", &[import_log(&log, "a", "b")]);
                let mut log = AggregateSummary::default();
                let _ = log.read_log(damaged.as_bytes());
                let _ = into_experiment("x", &[aggregates(&[&log]).remove(0)]);
            }
        }
    }
}

const TERMS: &str = "pgbench (16.2, server 13.22)
transaction type: multiple scripts
scaling factor: 50
query mode: simple
number of clients: 20
number of threads: 4
maximum number of tries: 1
duration: 60 s
number of transactions actually processed: 77591
number of failed transactions: 0 (0.000%)
latency average = 15.3 ms
initial connection time = 8.4 ms
tps = 1293.187080 (without initial connection time)
SQL script 1: <builtin: TPC-B (sort of)>
 - weight: 9 (targets 90.0% of total)
SQL script 2: olap.sql
 - weight: 1 (targets 10.0% of total)
";

/// Cases of whole runs.
fn cases_of(texts: &[&str]) -> usize {
    let mut imported = import_summaries(&read_summaries(texts.concat().as_bytes()), "a", "a.txt");
    imported.results.retain(|one| one.benchmark != "pgbench scripts");
    into_experiment("x", &[imported]).unwrap().plan.cases().len()
}

#[test]
fn one_changed_condition_makes_two_cases() {
    for (from, to) in [
        ("multiple scripts", "<builtin: select only>"),
        ("scaling factor: 50", "scaling factor: 10"),
        ("query mode: simple", "query mode: prepared"),
        ("number of clients: 20", "number of clients: 10"),
        ("number of threads: 4", "number of threads: 1"),
        ("number of tries: 1", "number of tries: 5"),
        ("initial connection time = 8.4 ms", "average connection time = 8.4 ms"),
        ("weight: 9", "weight: 1"),
        ("olap.sql", "other.sql"),
        ("query mode: simple", "partition method: hash\nquery mode: simple"),
        ("query mode: simple", "partitions: 4\nquery mode: simple"),
        (
            "latency average",
            "number of transactions above the 10.0 ms latency limit: 5/77591 (0.006%)\nlatency average",
        ),
        ("tps =", "rate limit schedule lag: avg 0.132 (max 0.951) ms\ntps ="),
        ("duration: 60 s", "maximum time of tries: 100.0 ms\nduration: 60 s"),
    ] {
        assert!(TERMS.contains(from), "{from}");
        assert_eq!(cases_of(&[TERMS, &TERMS.replacen(from, to, 1)]), 2, "{from} -> {to}");
    }
    for (from, to) in
        [("duration: 60 s", "duration: 30 s"), ("1293.18", "1300.02"), (": olap.sql", ": /home/x/olap.sql")]
    {
        assert_eq!(cases_of(&[TERMS, &TERMS.replacen(from, to, 1)]), 1, "{from} -> {to}");
    }
}

#[test]
fn builtin_scripts_have_one_name_in_all_versions() {
    let text = "transaction type: TPC-B (sort of)\nscaling factor: 1\nnumber of transactions actually processed: 1\ntps = 1.0\n";
    let import = import_summaries(&read_summaries(text.as_bytes()), "a", "a.txt");
    assert_eq!(import.results[0].benchmark, "<builtin: TPC-B (sort of)>");
}

#[test]
fn the_servers_version_is_a_fact() {
    let import = import_summaries(&read_summaries(TERMS.as_bytes()), "a", "a.txt");
    assert_eq!(import.facts["a"].get("server.version"), Some("13.22"));
    assert_eq!(import.version.as_deref(), Some("16.2"));
}

/// `multi.txt` tells of two scripts and, with `-r`, of their statements.
#[test]
fn scripts_and_statements_are_benchmarks_of_their_own() {
    let found = read_summaries(include_bytes!("data/pgbench/multi.txt"));
    let results = import_summaries(&found, "a", "multi.txt").results;
    let of = |benchmark: &str| results.iter().filter(|one| one.benchmark == benchmark).collect::<Vec<_>>();
    let value =
        |one: &ImportedResult, id: &str| one.measurements.iter().find(|m| m.metric.id == id).unwrap().reading.clone();
    let scripts = of("pgbench scripts");
    assert_eq!(scripts.len(), 2);
    assert_eq!(value(scripts[0], "throughput"), Reading::Value(1_683.518549));
    assert_eq!(value(scripts[1], "response_mean"), Reading::Value(143.0));
    let statements = of("pgbench statements");
    let names: Vec<String> = statements.iter().map(|one| one.keys["statement"].to_string()).collect();
    assert_eq!(names.len(), 8, "commands of pgbench's own are no statements: {names:?}");
    assert_eq!(names[0], "5: BEGIN;");
    assert_eq!(value(statements[1], "response_mean"), Reading::Value(140.0));
    assert_ne!(statements[0].keys["script"], statements[7].keys["script"]);
}

/// A run with `-R` of one script.
fn limited_run(tps: f64) -> String {
    format!(
        "pgbench (16.2)\ntransaction type: a.sql\nscaling factor: 10\nquery mode: simple\nnumber of clients: 8\n\
         number of threads: 2\nduration: 60 s\nnumber of transactions actually processed: {}\n\
         number of failed transactions: 0 (0.000%)\nlatency average = 8.1 ms\nlatency stddev = 1.1 ms\n\
         rate limit schedule lag: avg 2.859 (max 27.065) ms\ntps = {tps} (without initial connection time)\n",
        tps * 60.0
    )
}

#[test]
fn throughput_under_a_rate_is_not_judged() {
    let unlimited = limited_run(900.0).replace("rate limit schedule lag", "progress");
    let text = [limited_run(99.6), limited_run(101.2), limited_run(200.4), unlimited].concat();
    let import = import_summaries(&read_summaries(text.as_bytes()), "a", "a.txt");
    let rates: Vec<Option<String>> =
        import.results.iter().map(|one| one.keys.get("rate").map(ToString::to_string)).collect();
    let about = |rate: &str| Some(format!("about {rate}"));
    assert_eq!(rates, [about("100"), about("100"), about("200"), None]);
    let directions = |at: usize| {
        let ids = import.results[at].measurements.iter().filter(|one| one.metric.id.ends_with("throughput"));
        ids.map(|one| (one.metric.id.as_str(), one.metric.direction, one.metric.role)).collect::<Vec<_>>()
    };
    assert_eq!(directions(0), [("limited_throughput", Direction::Neither, Role::Diagnostic)]);
    let without = limited_run(100.0).replace("latency stddev", "progress");
    let of = import_summaries(&read_summaries(without.as_bytes()), "a", "a.txt").results.remove(0).measurements;
    assert!(of.iter().any(|one| one.metric.id == "response_mean" && one.metric.role == Role::Primary));
    assert_eq!(directions(3), [("throughput", Direction::Higher, Role::Primary)]);
    assert!(import.results[0].notes.iter().any(|note| note.contains("no verdict")), "{:?}", import.results[0].notes);
    assert_eq!(into_experiment("x", &[import]).unwrap().plan.cases().len(), 3);
}

#[test]
fn logs_under_a_rate_have_no_judged_throughput() {
    let ids = |import: &Imported| {
        let result = &import.results[0];
        assert_eq!(result.keys["rate_limited"].to_string(), "yes");
        result
            .measurements
            .iter()
            .map(|one| one.metric.id.clone())
            .filter(|id| id.ends_with("throughput"))
            .collect::<Vec<_>>()
    };
    let mut log = LogSummary::default();
    log.read_log(include_str!("data/pgbench/ratelimit.log").as_bytes(), SeventhColumn::Lag).unwrap();
    assert_eq!(ids(&import_log(&log, "a", "b")), ["limited_throughput"]);
    let mut aggregated = AggregateSummary::default();
    aggregated
        .read_log("10 50 1500 1 40 300 90 9 1 2\n12 100 1500 1 40 300 90 9 1 2\n14 9 9 1 1 1 9 9 1 2\n".as_bytes())
        .unwrap();
    let import = aggregates(&[&aggregated]).remove(0);
    assert_eq!(ids(&import), ["limited_throughput"]);
    assert_eq!(import.results[0].keys["rate"].to_string(), "about 50");
}

/// What is printed of two scripts that have one file name, after version 15 and `-R -L`.
fn two_scripts(first: &str, second: &str) -> String {
    let head = TERMS.split("SQL script 1").next().unwrap();
    format!(
        "{head}SQL script 1: {first}\n - weight: 1 (targets 50.0% of total)\n\
         \x20- 30000 transactions (50.0% of total, tps = 500.0)\n - number of failed transactions: 0 (0.000%)\n\
         \x20- number of transactions skipped: 10000 (25.000%)\n - latency average = 20.1 ms\n\
         SQL script 2: {second}\n - weight: 1 (targets 50.0% of total)\n\
         \x20- 29000 transactions (50.0% of total, tps = 480.0)\n - number of failed transactions: 1000 (3.333%)\n\
         \x20- latency average = 10.1 ms\n"
    )
}

#[test]
fn scripts_of_one_file_name_are_two_cases() {
    let scripts = |first: &str, second: &str| {
        let import = import_summaries(&read_summaries(two_scripts(first, second).repeat(3).as_bytes()), "a", "a.txt");
        let of = import.results.iter().filter(|one| one.benchmark == "pgbench scripts");
        of.map(|one| one.keys["script"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(scripts("ins/q.sql", "sel/q.sql")[..4], ["1: q.sql", "2: q.sql", "1: q.sql", "2: q.sql"]);
    assert_eq!(scripts("ins/p.sql", "sel/q.sql")[..2], ["p.sql", "q.sql"]);
}

#[test]
fn skipped_transactions_of_a_script_failed() {
    let import = import_summaries(&read_summaries(two_scripts("p.sql", "q.sql").as_bytes()), "a", "a.txt");
    let scripts: Vec<&ImportedResult> =
        import.results.iter().filter(|one| one.benchmark == "pgbench scripts").collect();
    let value =
        |one: &ImportedResult, id: &str| one.measurements.iter().find(|m| m.metric.id == id).unwrap().reading.clone();
    assert_eq!(value(scripts[0], FAILED_SHARE), Reading::Value(25.0));
    assert_eq!(value(scripts[0], "skipped"), Reading::Value(10_000.0));
    assert_eq!(value(scripts[1], FAILED_SHARE), Reading::Value(100.0 / 30.0));
    // Versions 9.6 and 10 count skipped ones among the transactions of a script, too.
    let old = two_scripts("p.sql", "q.sql")
        .replace("latency average = 59", "latency average = 1")
        .replace("tps = 1293", "number of transactions above the 10.0 ms latency limit: 5 (0.006 %)\ntps = 1293")
        .replace(" - number of failed transactions: 0 (0.000%)\n", "");
    let import = import_summaries(&read_summaries(old.as_bytes()), "a", "a.txt");
    let first = import.results.iter().find(|one| one.benchmark == "pgbench scripts").unwrap();
    assert_eq!(value(first, FAILED_SHARE), Reading::Value(100.0 / 3.0));
    assert_eq!(value(first, "throughput"), Reading::Value(500.0 * 2.0 / 3.0));
}

#[test]
fn decimals_behind_commas_are_read() {
    let text = "transaction type: <builtin: select only>\nscaling factor: 1\nquery mode: simple\nnumber of clients: 1\n\
        number of threads: 1\nduration: 10 s\nnumber of transactions actually processed: 10000\n\
        latency average = 3,210 ms\ntps = 1000,117000 (without initial connection time)\n";
    let with_points = text.replace("3,210", "3.210").replace("1000,117000", "1000.117000");
    let found = read_summaries(text.as_bytes());
    assert_eq!(found.runs[0].tps, Some(1000.117));
    assert_eq!(found, read_summaries(with_points.as_bytes()));
}
