//! Every reader of the registry: recognised by itself, its figures, its cases, what is foreign to it.

#![cfg(test)]

mod damage;
#[path = "../shared/jobs.rs"]
mod jobs;
mod pages;
mod places;
mod published;
mod registry;
mod samples;

use formats::reader::{READERS, Reads};
use formats::recognise::{Captions, Text, read};
use formats::{Imported, ImportedResult, Options};
use model::{Reading, Role};

use crate::samples::*;

fn import_as(text: &str, source: &str, system: &str, is_named: bool) -> Vec<Imported> {
    let options = Options::default();
    let text = Text {
        text,
        source,
        below: source,
        system,
        captions: if is_named { Captions::Keys } else { Captions::Systems },
        reader: None,
        options: &options,
    };
    let read = read(&text).unwrap();
    assert!(read.not_understood.is_empty(), "{:?}", read.not_understood);
    read.imports
}

fn import(text: &str) -> Vec<Imported> {
    import_as(text, "file", "a", false)
}

/// The only import of a text, which its reader recognised.
fn import_with(reader: &str, text: &str) -> Vec<ImportedResult> {
    let imports = import(text);
    assert_eq!(imports.iter().map(|import| import.tool).collect::<Vec<_>>(), [reader]);
    imports.into_iter().flat_map(|import| import.results).collect()
}

fn figure(result: &ImportedResult, id: &str) -> f64 {
    let found = result.measurements.iter().find(|measurement| measurement.metric.id == id);
    match &found.unwrap_or_else(|| panic!("{id} in {:?}", result.measurements)).reading {
        Reading::Value(value) => *value,
        Reading::Unavailable(missing) => panic!("{id}: {missing}"),
    }
}

fn key(result: &ImportedResult, name: &str) -> String {
    result.keys.get(name).unwrap_or_else(|| panic!("{name} in {:?}", result.keys)).to_string()
}

/// A whole output that stands twice, the second time without what it begins with.
fn repeated_from(text: &str, from: &str) -> String {
    let at = text.find(from).unwrap_or_else(|| panic!("{from}"));
    format!("{text}\n{}", &text[at..])
}

#[test]
fn a_second_output_without_its_head_is_a_run_of_its_own() {
    for (text, from) in [
        (SYSBENCH, "Running the test with following options"),
        (SYSBENCH, "CPU speed:"),
        (GO_YCSB, "Run finished, takes"),
        (BENCHMARKSQL, "Measured tpmC"),
        (TPCC_MYSQL, "<Raw Results>"),
        (TPCC_MYSQL, "<TpmC>"),
    ] {
        let repeated = import(&repeated_from(text, from));
        let whole = |imports: &[Imported]| {
            let first = imports[0].results[0].benchmark.clone();
            imports.iter().flat_map(|one| &one.results).filter(|result| result.benchmark == first).count()
        };
        assert_eq!(whole(&repeated), 2 * whole(&import(text)), "{from}");
    }
}

#[test]
fn operations_that_failed_count_as_ycsb_counts_them() {
    let counts = |read: &str, failed: &str| {
        let operations = format!("[UPDATE], Operations, {read}\n[UPDATE], AverageLatency(us), 9.0\n{failed}");
        let text = format!(
            "[OVERALL], RunTime(ms), 5000\n[OVERALL], Throughput(ops/sec), 200.0\n[READ], Operations, 500\n[READ], AverageLatency(us), 9.0\n[READ], Return=OK, 500\n{operations}"
        );
        let results = import_with("ycsb", &text);
        (figure(&results[0], "failed_share"), key(&results[0], "operations"))
    };
    let mix = "READ 50 %, UPDATE 50 %".to_owned();
    let newer = "[UPDATE], Return=OK, 450\n[UPDATE], Return=ERROR, 50\n[UPDATE-FAILED], Operations, 50\n";
    assert_eq!(counts("450", newer), (5.0, mix.clone()), "failed ones are counted by themselves");
    assert_eq!(
        counts("500", "[UPDATE], Return=0, 450\n[UPDATE], Return=1, 50\n"),
        (5.0, mix.clone()),
        "all are counted"
    );
    let none = "[UPDATE], Return=ERROR, 500\n[UPDATE-FAILED], Operations, 500\n";
    assert_eq!(counts("0", none), (50.0, mix));
}

#[test]
fn requests_that_failed_are_no_work_of_benchbase() {
    let results = import_with("benchbase", BENCHBASE);
    let role = |id: &str| results[0].measurements.iter().find(|one| one.metric.id == id).map(|one| one.metric.role);
    assert_eq!((role("goodput"), role("throughput")), (Some(Role::Primary), Some(Role::Secondary)));
}

#[test]
fn go_tpc_gives_orders_and_each_transaction() {
    let results = import_with("go-tpc", GO_TPC);
    assert_eq!(results.len(), 3);
    assert_eq!((figure(&results[0], "nopm"), figure(&results[0], "tpm")), (450.0, 950.0));
    assert_eq!(figure(&results[0], "failed_share"), 5.0);
    assert_eq!((key(&results[0], "warehouses"), key(&results[0], "threads")), ("20".into(), "8".into()));
    assert_eq!(figure(&results[1], "response_mean"), 20_000.0);
    let p99 = |result: &ImportedResult| {
        result.measurements.iter().find(|one| one.metric.id == "response_p99").unwrap().reading.clone()
    };
    assert!(matches!(p99(&results[1]), Reading::Unavailable(_)), "50 new orders failed");
    assert_eq!(p99(&results[2]), Reading::Value(9_400.0));
}

#[test]
fn benchmarksql_gives_both_rates_and_its_properties() {
    let results = import_with("benchmarksql", BENCHMARKSQL);
    assert_eq!(results.len(), 1);
    assert_eq!((figure(&results[0], "nopm"), figure(&results[0], "tpm")), (132.85, 295.07));
    assert_eq!((key(&results[0], "warehouses"), key(&results[0], "terminals")), ("10".into(), "4".into()));
    assert!(!results[0].keys.contains_key("user"));
}

#[test]
fn tpcc_mysql_gives_orders_and_keeps_no_password() {
    let results = import_with("tpcc-mysql", TPCC_MYSQL);
    assert_eq!(results.len(), 3);
    assert_eq!(figure(&results[0], "nopm"), 1200.0);
    assert_eq!(figure(&results[1], "throughput"), 1200.0);
    assert_eq!(figure(&results[1], "response_mean"), 3_900.0);
    assert_eq!(figure(&results[2], "failed_share"), 100.0 * 5.0 / 1315.0);
    assert_eq!((key(&results[0], "warehouses"), key(&results[0], "connections")), ("20".into(), "8".into()));
    assert!(results[0].notes[0].contains("New-Order"));
    assert!(!format!("{:?}", import(TPCC_MYSQL)).contains("topsecret"));
}

#[test]
fn ycsb_gives_the_throughput_and_each_operation() {
    let results = import_with("ycsb", YCSB);
    assert_eq!(results.len(), 3);
    assert_eq!(figure(&results[0], "throughput"), 2000.0);
    assert_eq!(figure(&results[0], "failed_share"), 0.5);
    assert_eq!(key(&results[0], "operations"), "READ 50 %, UPDATE 50 %");
    assert_eq!((key(&results[0], "threads"), key(&results[0], "workload")), ("16".into(), "workloada".into()));
    assert_eq!((figure(&results[1], "response_mean"), figure(&results[1], "response_p99")), (476.5, 875.0));
    assert!(
        results[2]
            .measurements
            .iter()
            .all(|one| one.metric.id != "response_p99" || !matches!(one.reading, Reading::Value(_)))
    );
    let limited = import_with("ycsb", &YCSB.replacen("-t\n", "-target 500 -t\n", 1));
    assert!(limited[0].measurements.iter().any(|one| one.metric.id == "limited_throughput"), "{limited:?}");
}

#[test]
fn an_operation_that_never_succeeded_has_no_latency_in_ycsb() {
    let text = "/usr/bin/java -cp /ycsb/conf site.ycsb.Client -t -db site.ycsb.BasicDB\n2025-05-31 13:19:49:066 0 sec: 0 operations; \
                est completion in 0 second\n[OVERALL], RunTime(ms), 485\n[OVERALL], Throughput(ops/sec), 2.06\n[READ], Operations, 0\n\
                [READ], AverageLatency(us), NaN\n[READ], MinLatency(us), 9223372036854775807\n[READ], MaxLatency(us), 0\n\
                [READ], Return=NOT_FOUND, 1\n[READ-FAILED], Operations, 1\n";
    let results = import_with("ycsb", text);
    assert_eq!(figure(&results[1], "failed_share"), 100.0);
    assert!(results[1].measurements.iter().all(|one| !one.metric.id.starts_with("response")), "{:?}", results[1]);
}

#[test]
fn go_ycsb_gives_last_figures_of_a_run_and_keeps_no_password() {
    let results = import_with("go-ycsb", GO_YCSB);
    assert_eq!(
        results.iter().map(|one| one.benchmark.as_str()).collect::<Vec<_>>(),
        ["ycsb", "ycsb operations", "ycsb operations"]
    );
    assert_eq!((figure(&results[0], "throughput"), figure(&results[0], "failed_share")), (32.8, 1.0));
    assert_eq!(results[0].elapsed_s, Some(60.5));
    assert_eq!((figure(&results[1], "response_mean"), figure(&results[1], "response_p50")), (2_628.0, 2_100.0));
    assert_eq!(figure(&results[1], "response_p99"), 15_007.0);
    let of_updates = results[2].measurements.iter().find(|one| one.metric.id == "response_p99").unwrap();
    assert!(matches!(of_updates.reading, Reading::Unavailable(_)), "20 of them failed");
    let keys: Vec<String> = results[0].keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let expected = "fieldlength=100 operations=READ 50 %, UPDATE 50 % phase=run recordcount=1000 \
                    requestdistribution=zipfian threads=16 tool=go-ycsb workload=workloada";
    assert_eq!(keys.join(" "), expected);
    let everything = format!("{:?}", import(GO_YCSB));
    assert!(!everything.contains("topsecret") && !everything.contains("4711"));
    let json = "Run finished, takes 3.1s\n[{\"Operation\":\"INSERT\",\"Takes(s)\":\"3.0\",\"Count\":\"1000\",\"OPS\":\"333.3\",\"Avg(us)\":\"2900\"}]\n";
    let results = import_with("go-ycsb", json);
    assert_eq!((figure(&results[0], "throughput"), key(&results[0], "phase")), (333.3, "load".into()));
    let older = "READ - Takes(s): 3.2, Count: 484, OPS: 153.2, Avg(us): 2628, 99th(us): 15000 \
                 UPDATE - Takes(s): 3.0, Count: 508, OPS: 172.0, Avg(us): 83150, 99th(us): 215000\n";
    let results = import_with("go-ycsb", &format!("Run finished, takes 3.164680955s {older}{older}"));
    let rates: Vec<f64> =
        results.iter().filter(|one| one.benchmark == "ycsb").map(|one| figure(one, "throughput")).collect();
    assert_eq!(rates, [325.2, 325.2], "two runs, and no sum of both");
}

#[test]
fn mysqlslap_gives_a_result_for_each_block() {
    let results = import_with("mysqlslap", MYSQLSLAP);
    assert_eq!(results.len(), 2);
    assert_eq!((figure(&results[0], "elapsed_mean"), figure(&results[0], "elapsed_max")), (1.002, 1.109));
    assert_eq!((key(&results[0], "clients"), key(&results[0], "engine")), ("400".into(), "innodb".into()));
    assert_eq!(figure(&results[1], "elapsed_mean"), 2.5);
    assert!(!results[1].keys.contains_key("engine"), "the second run does not say it");
}

#[test]
fn a_figure_that_is_cut_off_is_none_and_said() {
    let options = Options::default();
    for (text, at, id) in [
        (PGBENCH, "tps = 10", "throughput"),
        (SYSBENCH, "total number of events:              100", "throughput"),
        (YCSB, "Throughput(ops/sec), 20", "throughput"),
        (BENCHMARKSQL, "Measured tpmC (NewOrders) = 13", "nopm"),
        (TPCC_MYSQL, "[0] sc:11", "nopm"),
        (MYSQLSLAP, "run all queries: 1.0", "elapsed_mean"),
        (FIO_TEXT, "read: IOPS=25", "iops"),
    ] {
        let end = text.find(at).unwrap_or_else(|| panic!("{at}")) + at.len();
        let text = Text {
            text: &text[..end],
            source: "a",
            below: "a",
            system: "a",
            captions: Captions::Keys,
            reader: formats::reader::find_text_readers(text).first().copied(),
            options: &options,
        };
        let Ok(found) = read(&text) else { continue };
        let has_figure = |result: &ImportedResult| {
            let of = result.measurements.iter().find(|one| one.metric.id == id);
            result.dropped.is_none() && of.is_some_and(|one| matches!(one.reading, Reading::Value(_)))
        };
        let first = found.imports.iter().flat_map(|import| &import.results).next();
        assert!(!first.is_some_and(has_figure), "{at}: {first:?}");
        let is_said = found.not_understood.iter().any(|line| line.text.ends_with("(cut off)"));
        assert!(is_said || found.imports.is_empty(), "{at}: {:?}", found.not_understood);
        // A line end makes it whole.
        let whole = format!("{}\n", text.text);
        let found = read(&Text { text: &whole, ..text }).unwrap();
        assert!(!found.not_understood.iter().any(|line| line.text.ends_with("(cut off)")), "{at}");
    }
}

#[test]
fn benchbase_gives_its_summary_and_its_windows() {
    let results = import_with("benchbase", BENCHBASE);
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].benchmark, "benchbase tpcc");
    assert_eq!(results[0].began_unix_ms, Some(1_700_000_000_000));
    assert_eq!((figure(&results[0], "throughput"), figure(&results[0], "failed_share")), (100.0, 1.0));
    assert_eq!((figure(&results[0], "response_p99"), figure(&results[0], "response_mean")), (15_000.0, 3_900.0));
    assert_eq!(
        (key(&results[0], "terminals"), key(&results[0], "isolation")),
        ("4".into(), "TRANSACTION_SERIALIZABLE".into())
    );
    let stopped = import_with("benchbase", &BENCHBASE.replace("DONE", "LATENCY_COMPLETE"));
    assert!(stopped[0].dropped.is_some());
    let windows =
        "Time (seconds),Throughput (requests/second),Average Latency (microseconds)\n0,100.0,1000\n5,300.0,2000\n";
    for windows in [windows.to_owned(), windows.replace("microseconds", "millisecond").replace("000\n", "\n")] {
        let results = import_with("benchbase", &windows);
        assert_eq!((figure(&results[0], "throughput"), figure(&results[0], "response_mean")), (200.0, 1_750.0));
    }
}

#[test]
fn tables_of_one_run_of_benchbase_are_cases_of_their_own() {
    let table = "Time (seconds),Throughput (requests/second),Average Latency (millisecond)\n0,100.0,1\n";
    let samples =
        "Time (seconds),Requests,Throughput (requests/second),Average Latency (microseconds)\n0,100,100.0,1000\n";
    let keys = |text: &str, source: &str| import_as(text, source, "a", false)[0].results[0].keys.clone();
    let all = [
        keys(table, "r/tpcc_1.results.csv"),
        keys(table, "r/tpcc_1.results.NewOrder.csv"),
        keys(table, "r/tpcc_1.results.Payment.csv"),
        keys(samples, "r/tpcc_1.samples.csv"),
    ];
    for (at, one) in all.iter().enumerate() {
        assert!(!all[..at].contains(one), "{all:?}");
    }
}

#[test]
fn clickbench_gives_cold_and_hot_times_of_each_query() {
    let results = import_with("clickbench", CLICKBENCH);
    assert_eq!(results.len(), 4);
    assert_eq!(results[0].system, "PostgreSQL, c6a.4xlarge");
    assert_eq!((figure(&results[0], "cold_time"), figure(&results[0], "hot_time")), (10.5, 2.25));
    assert!(results[1].dropped.is_some());
    assert_eq!(figure(&results[3], "load_time"), 1012.0);
    assert_eq!(import_as(CLICKBENCH, "file", "mine", true)[0].results[0].system, "mine");
}

#[test]
fn hyperfine_gives_every_time_as_a_run() {
    let results = import_with("hyperfine", HYPERFINE);
    let systems: Vec<_> = results.iter().map(|result| result.system.as_str()).collect();
    assert_eq!(systems, ["psql -f a.sql", "psql -f a.sql", "psql -f b.sql", "psql -f b.sql"]);
    assert_eq!((figure(&results[0], "elapsed"), figure(&results[1], "elapsed")), (0.1, 0.2));
    assert!(results[3].dropped.is_some());
    let named = &import_as(HYPERFINE, "file", "mine", true)[0];
    assert_eq!(key(&named.results[2], "command"), "psql -f b.sql");
}

#[test]
fn criterion_gives_the_estimate_of_each_benchmark() {
    let estimate = |ns: f64| {
        format!(r#"{{"confidence_interval":{{"confidence_level":0.95}},"point_estimate":{ns},"standard_error":1.0}}"#)
    };
    let text = format!(r#"{{"mean":{},"median":{},"slope":{}}}"#, estimate(120.0), estimate(110.0), estimate(115.0));
    let found = import_as(&text, "target/criterion/insert/1000/new/estimates.json", "x", false);
    let result = &found[0].results[0];
    assert_eq!((result.system.as_str(), key(result, "name").as_str()), ("new", "insert/1000"));
    assert_eq!((figure(result, "time"), figure(result, "time_mean")), (115.0, 120.0));
    assert_eq!(figure(&import_with("criterion", CRITERION)[0], "time"), 7.0);
    let older = text.replace("mean", "Mean").replace("median", "Median").replace("slope", "Slope");
    let found = import_as(&older, "criterion/insert/base/estimates.json", "x", false);
    let result = &found[0].results[0];
    assert_eq!((figure(result, "time"), figure(result, "time_median")), (115.0, 110.0), "of version 0.3");
}

#[test]
fn diskspd_gives_reads_and_writes_apart() {
    let results = import_with("diskspd", DISKSPD);
    assert_eq!(results.iter().map(|result| key(result, "op")).collect::<Vec<_>>(), ["read", "write"]);
    assert_eq!((figure(&results[0], "iops"), figure(&results[1], "iops")), (12.0, 8.0));
    assert_eq!((figure(&results[0], "response_p99"), figure(&results[1], "response_max")), (1_900.0, 3_200.0));
    assert_eq!((key(&results[0], "block_size").as_str(), key(&results[0], "threads_per_file").as_str()), ("8k", "2"));
    assert!(!results[0].keys.keys().any(|name| name.contains("duration") || name.contains("path")));
    assert_eq!(key(&results[0], "file_size"), "1g");
    let results = import_with(
        "diskspd",
        &DISKSPD.replace("iotest.dat (1GiB)", "iotest.dat").replacen("diskspd", "diskspd -c10G", 1),
    );
    assert_eq!(key(&results[0], "file_size"), "10g", "as the command line says");
}

#[test]
fn diskspd_gives_the_same_of_its_xml() {
    let results = import_with("diskspd", DISKSPD_XML);
    assert_eq!(results.len(), 1, "nothing was written");
    assert_eq!(figure(&results[0], "iops"), 20.0);
    assert_eq!((figure(&results[0], "response_mean"), figure(&results[0], "response_p99")), (750.0, 1_900.0));
    assert_eq!((key(&results[0], "BlockSize").as_str(), key(&results[0], "RequestCount").as_str()), ("8k", "4"));
}

#[test]
fn hammerdb_gives_streams_queries_and_profiles() {
    let results = import_with("hammerdb", TPROC_H);
    assert_eq!((figure(&results[0], "query_geomean"), figure(&results[0], "query_total")), (15.40292, 32.0));
    let times: Vec<_> = results[1..].iter().map(|one| (key(one, "query"), figure(one, "query_time"))).collect();
    assert_eq!(times, [("Q5".to_owned(), 18.98), ("Q12".to_owned(), 12.5)]);
    let profile = "Hammerdb Time Profile Report @ now\n>>>>> VIRTUAL USER 2 : ELAPSED TIME : 120522ms\n>>>>> PROC: NEWORD\n\
        CALLS: 9\tMIN: 1.0ms\tAVG: 2.0ms\tMAX: 3.0ms\tTOTAL: 18.0ms\nP99: 3.0ms\tP95: 3.0ms\tP50: 2.0ms\tSD: 0.5ms\tRATIO: 50.0%\n+-+-+\n\
        >>>>> SUMMARY OF 2 ACTIVE VIRTUAL USERS : MEDIAN ELAPSED TIME : 127146ms\n>>>>> PROC: NEWORD\n\
        CALLS: 3427\tMIN: 1.730ms\tAVG: 36.332ms\tMAX: 1220.165ms\tTOTAL: 124508.229ms\nP99: 210.118ms\tP95: 104.921ms\tP50: 19.126ms\tSD: 49.6ms\tRATIO: 48.9%\n";
    let results = import_with("hammerdb", TPROC_C);
    assert_eq!(results[0].elapsed_s, Some(300.0), "five minutes");
    assert_eq!((figure(&results[0], "nopm"), figure(&results[0], "tpm")), (51_234.0, 117_500.0));
    // A page may have made blanks of the tabs.
    for profile in [profile.to_owned(), profile.replace('\t', "     ")] {
        let results = import_with("hammerdb", &profile);
        let figures = ["response_mean/NEWORD", "response_p99/NEWORD", "calls/NEWORD"].map(|id| figure(&results[0], id));
        assert_eq!(figures, [36_332.0, 210_118.0, 3427.0]);
    }
}

fn wide(text: &str, mappings: &[&str]) -> Result<Vec<ImportedResult>, formats::FormatError> {
    let mappings = mappings.iter().map(|text| formats::tidy::wide::Mapping::parse(text).unwrap()).collect();
    let options = Options { mappings, ..Options::default() };
    let asked = Text {
        text,
        source: "f",
        below: "f",
        system: "s",
        captions: Captions::Systems,
        reader: None,
        options: &options,
    };
    read(&asked).map(|read| read.imports.into_iter().flat_map(|import| import.results).collect())
}

#[test]
fn a_wide_table_is_read_by_the_mapping_that_its_error_proposes() {
    let error = wide(WIDE, &[]).unwrap_err();
    let hint = error.hint().unwrap();
    let proposed: Vec<&str> = hint.split("--map '").skip(1).map(|part| part.split('\'').next().unwrap()).collect();
    assert_eq!(proposed, ["Threads=key", "TPS=TPS:tx/s:higher", "Latency (ms)=Latency:ms:lower", "engine=system"]);
    let results = wide(WIDE, &proposed).unwrap();
    assert_eq!(
        (results[0].system.as_str(), figure(&results[0], "TPS"), figure(&results[0], "Latency")),
        ("a", 1200.5, 3.1)
    );
    assert_eq!(key(&results[1], "Threads"), "8");
    assert!(wide(WIDE, &["Absent=key"]).unwrap_err().to_string().contains("no column `Absent`"));
}

#[test]
fn a_column_may_be_a_system_and_decimals_may_have_commas() {
    let text = "Abfrage;PG 15 (ms);PG 16 (ms)\nQ1;10,5;9,25\n";
    let hint = wide(text, &[]).unwrap_err().hint().unwrap().to_owned();
    let proposed: Vec<&str> = hint.split("--map '").skip(1).map(|part| part.split('\'').next().unwrap()).collect();
    assert_eq!(proposed, ["Abfrage=key", "PG 15 (ms)=PG 15@time:ms:lower", "PG 16 (ms)=PG 16@time:ms:lower"]);
    let results = wide(text, &proposed).unwrap();
    let found: Vec<_> = results.iter().map(|one| (one.system.as_str(), figure(one, "time"))).collect();
    assert_eq!(found, [("PG 15", 10.5), ("PG 16", 9.25)]);
}

#[test]
fn a_job_that_ran_two_tools_gives_both() {
    let imports = import(&format!("{PGBENCH}{SYSBENCH}"));
    let tools: Vec<_> = imports.iter().map(|import| (import.tool, import.results.len())).collect();
    assert_eq!(tools, [("pgbench", 1), ("sysbench", 1)]);
}

#[test]
fn output_within_a_log_or_a_page_is_read_all_the_same() {
    let alone = import(SYSBENCH);
    for prefix in ["2026-11-26T05:09:19.1234567Z ", "Nov 26 05:09:19 h sysbench[7]: ", "bench-1  | ", "> "] {
        let text: String = SYSBENCH.lines().map(|line| format!("{prefix}{line}\n")).collect();
        assert_eq!(import(&text)[0].results, alone[0].results, "{prefix}");
    }
    let page = format!("# Results\n\nIt was fast.\n\n```\n{SYSBENCH}```\n");
    assert_eq!(import(&page)[0].results, alone[0].results);
}

#[test]
fn headings_of_a_page_name_its_systems() {
    let page = format!("# 16\n```\n{PGBENCH}```\n# 17\n```\n{PGBENCH}```\n");
    let systems = |is_named| -> Vec<String> {
        let imports = import_as(&page, "f", "f", is_named);
        imports.into_iter().flat_map(|import| import.results).map(|result| result.system).collect()
    };
    assert_eq!(systems(false), ["16", "17"]);
    assert_eq!(systems(true), ["f", "f"]);
}

/// Cases of the main benchmark of two texts, that is of their first results.
fn cases_of(texts: [&str; 2]) -> usize {
    let imports: Vec<Imported> = texts.iter().flat_map(|text| import(text)).collect();
    let main = imports[0].results[0].benchmark.clone();
    let of = |import: &Imported| Imported {
        results: import.results.iter().filter(|one| one.benchmark == main).cloned().collect(),
        ..import.clone()
    };
    let imports: Vec<Imported> = imports.iter().map(of).collect();
    formats::into_experiment("x", &imports).unwrap().plan.cases().len()
}

/// Texts with a line that changes what was measured, and another such line.
const UNLIKE: &[(&str, &str, &str)] = &[
    (DISKSPD, "block size: 8KiB", "block size: 64KiB"),
    (DISKSPD, "(read/write ratio: 50/50)", "(read/write ratio: 75/25)"),
    (DISKSPD, "using random I/O (alignment: 8KiB)", "using sequential I/O (stride: 8KiB)"),
    (DISKSPD, "operations per thread: 4", "operations per thread: 8"),
    (DISKSPD, "threads per file: 2", "threads per file: 4"),
    (DISKSPD, "thread count:\t\t2", "thread count:\t\t4"),
    (DISKSPD, "software cache disabled", "using software cache"),
    (DISKSPD, "writethrough on", "writethrough off"),
    (DISKSPD, "think time: 0ms", "think time: 5ms"),
    (DISKSPD, "path: 'iotest.dat'", "path: 'iotest.dat'\n\tpath: 'b.dat'"),
    (DISKSPD_XML, "<BlockSize>8192", "<BlockSize>4096"),
    (DISKSPD_XML, "<RequestCount>4", "<RequestCount>8"),
    (DISKSPD_XML, "<ThreadsPerFile>2", "<ThreadsPerFile>1"),
    (GO_TPC, "--warehouses 20", "--isolation 4 --warehouses 20"),
    (GO_TPC, "--warehouses 20", "--weight 100,0,0,0,0 --warehouses 20"),
    (YCSB, "-threads 16", "-threads 32"),
    (YCSB, "workloads/workloada", "workloads/workloadb"),
    (YCSB, "recordcount=1000", "recordcount=2000"),
    (YCSB, "-t\n", "-target 500 -t\n"),
    (YCSB, "[READ], Operations, 5010", "[READ], Operations, 95000"),
    (GO_YCSB, "\"recordcount\"=\"1000\"", "\"recordcount\"=\"2000\""),
    (GO_YCSB, "zipfian", "uniform"),
    (GO_YCSB, "\"fieldlength\"=\"100\"", "\"fieldlength\"=\"200\""),
    (GO_YCSB, "\"threadcount\"=\"16\"", "\"threadcount\"=\"32\""),
    (GO_YCSB, "workloada", "workloadb"),
    (GO_YCSB, "Count: 970", "Count: 97000"),
    (GO_TPC, "--warehouses 20", "--warehouses 40"),
    (GO_TPC, "-T 8", "-T 16"),
    (BENCHMARKSQL, "warehouses=10", "warehouses=20"),
    (BENCHMARKSQL, "terminals=4", "terminals=8"),
    (TPCC_MYSQL, "[warehouse]: 20", "[warehouse]: 40"),
    (TPCC_MYSQL, "[connection]: 8", "[connection]: 16"),
    (BENCHBASE, "\"terminals\": \"4\"", "\"terminals\": \"8\""),
    (BENCHBASE, "\"scalefactor\": \"1\"", "\"scalefactor\": \"2\""),
    (BENCHBASE, "TRANSACTION_SERIALIZABLE", "TRANSACTION_READ_COMMITTED"),
    (BENCHBASE, "\"tpcc\"", "\"ycsb\""),
    (FIO, "\"rw\": \"randread\"", "\"rw\": \"read\""),
    (FIO, "\"bs\": \"8k\"", "\"bs\": \"64k\""),
    (FIO, "\"ioengine\": \"psync\"", "\"ioengine\": \"libaio\""),
    (FIO, "\"size\": \"16M\"", "\"size\": \"1G\""),
    (FIO, "\"jobname\": \"rr\"", "\"jobname\": \"other\""),
    (FIO_TEXT, "rw=randrw, bs=(R) 4096B-4096B", "rw=rw, bs=(R) 4096B-4096B"),
    (FIO_TEXT, "ioengine=libaio, iodepth=32", "ioengine=libaio, iodepth=1"),
    (FIO_TEXT, "ioengine=libaio, iodepth=32", "ioengine=io_uring, iodepth=32"),
    (FIO_TEXT, "(groupid=0, jobs=4)", "(groupid=0, jobs=8)"),
    (PGBENCH, "number of clients: 1", "number of clients: 8"),
    (PGBENCH, "number of threads: 1", "number of threads: 2"),
    (PGBENCH, "scaling factor: 1", "scaling factor: 100"),
    (PGBENCH, "query mode: simple", "query mode: prepared"),
    (PGBENCH, "<builtin: select only>", "<builtin: simple update>"),
    (PGBENCH, "latency average", "average connection time = 1.2 ms\nlatency average"),
    (PGBENCH, "number of clients", "partition method: hash\npartitions: 4\nnumber of clients"),
    (SYSBENCH, "Number of threads: 4", "Number of threads: 8"),
    (SYSBENCH, "Prime numbers limit: 10000", "Prime numbers limit: 20000"),
    (SQLIO, "4 threads reading", "8 threads reading"),
    (SQLIO, "threads reading", "threads writing"),
    (SQLIO, "using 8KB random IOs", "using 64KB random IOs"),
    (SQLIO, "using 8KB random IOs", "using 8KB sequential IOs"),
    (SQLIO, "with 8 outstanding", "with 16 outstanding"),
    (MYSQLSLAP, "clients running queries: 400", "clients running queries: 500"),
    (MYSQLSLAP, "queries per client: 25", "queries per client: 50"),
    (MYSQLSLAP, "engine innodb", "engine myisam"),
    (HYPERFINE, "psql -f a.sql", "psql -f c.sql"),
    (CRITERION, "insert/1000", "insert/2000"),
    (TPROC_C, "Vuser 1:1 Active Virtual Users", "Vuser 1:8 Active Virtual Users"),
];

#[test]
fn one_changed_line_makes_another_case() {
    assert!(UNLIKE.len() >= 60, "{}", UNLIKE.len());
    for reader in READERS.iter().filter(|reader| matches!(reader.reads, Reads::Text(_))) {
        // ClickBench tells nothing of its load, and of a table each column is a key.
        let tells_nothing = ["clickbench", "tidy", "wide"].contains(&reader.name);
        let has_pair = UNLIKE.iter().any(|(text, ..)| (reader.recognises)(text));
        assert_ne!(tells_nothing, has_pair, "{}", reader.name);
    }
    for (text, from, to) in UNLIKE {
        assert!(text.contains(from), "{from}");
        let same = cases_of([text, text]);
        let main = |text: &str| import(text)[0].results[0].benchmark.clone();
        let changed = text.replacen(from, to, 1);
        let differs = main(text) != main(&changed) || cases_of([text, &changed]) > same;
        assert!(differs, "{from} -> {to}");
    }
    for (text, from, to) in [
        (DISKSPD, "duration: 60s", "duration: 30s"),
        (DISKSPD, "12.00 |    0.750", "13.00 |    0.770"),
        (YCSB, "Throughput(ops/sec), 2000.0", "Throughput(ops/sec), 2100.0"),
        (BENCHMARKSQL, "user=bench", "user=other"),
        (GO_YCSB, "\"operationcount\"=\"2000\"", "\"operationcount\"=\"9000\""),
        (GO_YCSB, "4711", "4712"),
        (BENCHBASE, "PostgreSQL 15.4", "PostgreSQL 16.1"),
    ] {
        assert!(text.contains(from), "{from}");
        assert_eq!(cases_of([text, text]), cases_of([text, &text.replacen(from, to, 1)]), "{from} -> {to}");
    }
}
