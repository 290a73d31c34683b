//! Every reader of the registry: recognised by itself, its figures, its cases, what is foreign to it.

#![cfg(test)]

use formats::reader::READERS;
use formats::recognise::{Text, read};
use formats::{Imported, ImportedResult, Options};
use model::Reading;

fn import_as(text: &str, source: &str, system: &str, is_named: bool) -> Vec<Imported> {
    let options = Options::default();
    let text = Text { text, source, system, is_named, reader: None, options: &options };
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

const GO_TPC: &str = "./go-tpc tpcc -H h -P 4000 --warehouses 20 -T 8 run\n\
    [Current] PAYMENT - Takes(s): 6.9, Count: 5, TPM: 43.7, Sum(ms): 22.0, Avg(ms): 4.4, 50th(ms): 4.2\nFinished\n\
    [Summary] NEW_ORDER - Takes(s): 60.0, Count: 450, TPM: 450.0, Sum(ms): 9000.0, Avg(ms): 20.0, 50th(ms): 18.9, 90th(ms): 29.4, 95th(ms): 33.6, 99th(ms): 41.9, 99.9th(ms): 50.3, Max(ms): 52.1\n\
    [Summary] NEW_ORDER_ERR - Takes(s): 60.0, Count: 50, TPM: 50.0, Sum(ms): 5.0, Avg(ms): 0.1, 90th(ms): 0.5\n\
    [Summary] PAYMENT - Takes(s): 60.0, Count: 500, TPM: 500.0, Sum(ms): 2500.0, Avg(ms): 5.0, 50th(ms): 4.7, 90th(ms): 7.3, 99th(ms): 9.4\n\
    tpmC: 450.0, tpmTotal: 950.0, efficiency: 28.2%\n";

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

const BENCHMARKSQL: &str = "14:40:50,100 [main] INFO   jTPCC : Term-00, \n\
    14:40:50,101 [main] INFO   jTPCC : Term-00,      BenchmarkSQL v5.0\n\
    14:40:50,102 [main] INFO   jTPCC : Term-00, db=postgres\n\
    14:40:50,102 [main] INFO   jTPCC : Term-00, user=bench\n\
    14:40:50,103 [main] INFO   jTPCC : Term-00, warehouses=10\n14:40:50,103 [main] INFO   jTPCC : Term-00, terminals=4\n\
    Term-00, Running Average tpmTOTAL: 295.26    Current tpmTOTAL: 9780    Memory Usage: 6MB / 30MB          14:45:50,798 [Thread-1] INFO   jTPCC : Term-00, \n\
    14:45:50,800 [Thread-1] INFO   jTPCC : Term-00, Measured tpmC (NewOrders) = 132.85\n\
    14:45:50,804 [Thread-1] INFO   jTPCC : Term-00, Measured tpmTOTAL = 295.07\n\
    14:45:50,811 [Thread-1] INFO   jTPCC : Term-00, Session Start     = 2026-03-01 14:40:50\n\
    14:45:50,812 [Thread-1] INFO   jTPCC : Term-00, Session End       = 2026-03-01 14:45:50\n\
    14:45:50,813 [Thread-1] INFO   jTPCC : Term-00, Transaction Count = 147\n";

#[test]
fn benchmarksql_gives_both_rates_and_its_properties() {
    let results = import_with("benchmarksql", BENCHMARKSQL);
    assert_eq!(results.len(), 1);
    assert_eq!((figure(&results[0], "nopm"), figure(&results[0], "tpm")), (132.85, 295.07));
    assert_eq!((key(&results[0], "warehouses"), key(&results[0], "terminals")), ("10".into(), "4".into()));
    assert!(!results[0].keys.contains_key("user"));
}

const TPCC_MYSQL: &str = "***************************************\n*** ###easy### TPC-C Load Generator ***\n\
    option p with value 'topsecret'\n<Parameters>\n     [server]: h\n       [pass]: topsecret\n  [warehouse]: 20\n [connection]: 8\n\
    [rampup]: 10 (sec.)\n    [measure]: 1200 (sec.)\n\nRAMP-UP TIME.(10 sec.)\n\nMEASURING START.\n\n\
    10, trx: 11204, 95%: 5.681, 99%: 6.864, max_rt: 17.443, 11206|15.114, 1121|1.739, 1120|17.696, 1120|20.223\n\
    STOPPING THREADS........\n\n<Raw Results>\n  [0] sc:1100 lt:100  rt:0  fl:0 avg_rt: 3.9 (5)\n  [1] sc:1300 lt:10  rt:2  fl:5 avg_rt: 1.0 (5)\n\
    in 60 sec.\n\n<Raw Results2(sum ver.)>\n  [0] sc:1101  lt:100  rt:0  fl:0 \n\n<Constraint Check> (all must be [OK])\n [transaction percentage]\n\
    Payment: 43.48% (>=43.0%) [OK]\n [response time (at least 90% passed)]\n      New-Order: 83.45%  [NG] *\n\n<TpmC>\n                 1200.000 TpmC\n";

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

const YCSB: &str = "Command line: -db site.ycsb.db.JdbcClient -P workloads/workloada -threads 16 -p recordcount=1000 -t\n\
    YCSB Client 0.17.0\n\nLoading workload...\nStarting test.\n\
    [OVERALL], RunTime(ms), 5000\n[OVERALL], Throughput(ops/sec), 2000.0\n[TOTAL_GCS_PS_Scavenge], Count, 2\n\
    [READ], Operations, 5010\n[READ], AverageLatency(us), 476.5\n[READ], MinLatency(us), 192\n[READ], MaxLatency(us), 33887\n\
    [READ], 95thPercentileLatency(us), 665\n[READ], 99thPercentileLatency(us), 875\n[READ], Return=OK, 5010\n[READ], 0, 4000\n[READ], >1000, 3\n\
    [UPDATE], Operations, 4990\n[UPDATE], AverageLatency(us), 900.0\n[UPDATE], 99thPercentileLatency(us), 1800\n[UPDATE], Return=OK, 4940\n[UPDATE], Return=ERROR, 50\n\
    [CLEANUP], Operations, 16\n[CLEANUP], AverageLatency(us), 12.0\n";

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
}

const MYSQLSLAP: &str = "mysqlslap: [Warning] Using a password on the command line interface can be insecure.\nBenchmark\n\
    \tRunning for engine innodb\n\tAverage number of seconds to run all queries: 1.002 seconds\n\tMinimum number of seconds to run all queries: 0.963 seconds\n\
    \tMaximum number of seconds to run all queries: 1.109 seconds\n\tNumber of clients running queries: 400\n\tAverage number of queries per client: 25\n\n\
    Benchmark\n\tAverage number of seconds to run all queries: 2.500 seconds\n\tNumber of clients running queries: 800\n\tAverage number of queries per client: 12\n";

#[test]
fn mysqlslap_gives_a_result_for_each_block() {
    let results = import_with("mysqlslap", MYSQLSLAP);
    assert_eq!(results.len(), 2);
    assert_eq!((figure(&results[0], "elapsed_mean"), figure(&results[0], "elapsed_max")), (1.002, 1.109));
    assert_eq!((key(&results[0], "clients"), key(&results[0], "engine")), ("400".into(), "innodb".into()));
    assert_eq!(figure(&results[1], "elapsed_mean"), 2.5);
}

const BENCHBASE: &str = r#"{
    "Start timestamp (milliseconds)": 1700000000000, "Current Timestamp (milliseconds)": 1700000060000,
    "Elapsed Time (nanoseconds)": 60000000000, "DBMS Type": "POSTGRES", "DBMS Version": "PostgreSQL 15.4", "Benchmark Type": "tpcc",
    "Final State": "DONE", "Measured Requests": 6000, "isolation": "TRANSACTION_SERIALIZABLE", "scalefactor": "1", "terminals": "4",
    "Latency Distribution": { "95th Percentile Latency (microseconds)": 9000, "Maximum Latency (microseconds)": 41000,
        "Median Latency (microseconds)": 3000, "Minimum Latency (microseconds)": 400, "25th Percentile Latency (microseconds)": 2000,
        "90th Percentile Latency (microseconds)": 7000, "99th Percentile Latency (microseconds)": 15000,
        "75th Percentile Latency (microseconds)": 5000, "Average Latency (microseconds)": 3900 },
    "Throughput (requests/second)": 100.0, "Goodput (requests/second)": 99.0
}"#;

#[test]
fn benchbase_gives_its_summary_and_its_windows() {
    let results = import_with("benchbase", BENCHBASE);
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].benchmark, "benchbase tpcc");
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
    let results = import_with("benchbase", windows);
    assert_eq!((figure(&results[0], "throughput"), figure(&results[0], "response_mean")), (200.0, 1_750.0));
}

const CLICKBENCH: &str = r#"{ "system": "PostgreSQL", "date": "2026-01-02", "machine": "c6a.4xlarge", "cluster_size": 1, "tags": ["row-oriented"],
    "load_time": 1012, "data_size": 76875726848, "result": [ [10.5, 2.25, 2.5], [null, null, null], [3, 1, 1.5] ] }"#;

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

const HYPERFINE: &str = r#"{ "results": [
    { "command": "psql -f a.sql", "mean": 0.15, "stddev": 0.05, "median": 0.15, "user": 0.1, "system": 0.0, "min": 0.1, "max": 0.2,
      "times": [0.1, 0.2], "exit_codes": [0, 0] },
    { "command": "psql -f b.sql", "mean": 0.3, "stddev": null, "median": 0.3, "user": 0.1, "system": 0.0, "min": 0.3, "max": 0.3,
      "times": [0.3, 0.4], "exit_codes": [0, 3] } ] }"#;

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
    let line = r#"{"reason":"benchmark-complete","id":"insert/1000","unit":"ns","mean":{"estimate":7.0,"unit":"ns"},"median":{"estimate":6.0}}"#;
    assert_eq!(figure(&import_with("criterion", line)[0], "time"), 7.0);
}

const DISKSPD: &str = "\nCommand Line: diskspd -b8K -d60 -o4 -t2 -r -w50 -L -Sh iotest.dat\n\nInput parameters:\n\n\ttimespan:   1\n\t-------------\n\
    \tduration: 60s\n\twarm up time: 5s\n\tcool down time: 0s\n\tmeasuring latency\n\trandom seed: 0\n\tpath: 'iotest.dat'\n\t\tthink time: 0ms\n\
    \t\tburst size: 0\n\t\tsoftware cache disabled\n\t\thardware write cache disabled, writethrough on\n\t\tperforming mix test (read/write ratio: 50/50)\n\
    \t\tblock size: 8KiB\n\t\tusing random I/O (alignment: 8KiB)\n\t\tnumber of outstanding I/O operations per thread: 4\n\t\tthreads per file: 2\n\
    \t\tusing I/O Completion Ports\n\t\tIO priority: normal\n\nSystem information:\n\n\tcomputer name: X\n\nResults for timespan 1:\n\
    *******************************************************************************\n\nactual test time:\t60.01s\nthread count:\t\t2\nproc count:\t\t4\n\n\
    CPU |  Usage |  User  |  Kernel |  Idle\n-------------------------------------------\n   0|   3.12%|   0.52%|    2.60%|  96.88%\n-------------------------------------------\navg.|   4.50%|   0.52%|    2.60%|  95.50%\n\n\
    Total IO\nthread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file\n------------------------------------------------------------------------------\n\
    \x20    0 |       163840 |           20 |       0.50 |      20.00 |    1.000 |     0.500 | iotest.dat (1GiB)\n------------------------------------------------------------------------------\ntotal:         163840 |           20 |       0.50 |      20.00 |    1.000 |     0.500\n\n\
    Read IO\nthread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file\ntotal:          98304 |           12 |       0.30 |      12.00 |    0.750 |     0.500\n\n\
    Write IO\nthread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file\ntotal:          65536 |            8 |       0.20 |       8.00 |    1.375 |     0.500\n\n\
    \x20 %-ile |  Read (ms) | Write (ms) | Total (ms)\n----------------------------------------------\n    min |      0.100 |      0.200 |      0.100\n   50th |      0.700 |      1.300 |      0.900\n   99th |      1.900 |      2.900 |      2.500\n\
    3-nines |      2.100 |      3.100 |      3.100\n    max |      2.200 |      3.200 |      3.200\n";

#[test]
fn diskspd_gives_reads_and_writes_apart() {
    let results = import_with("diskspd", DISKSPD);
    assert_eq!(results.iter().map(|result| key(result, "op")).collect::<Vec<_>>(), ["read", "write"]);
    assert_eq!((figure(&results[0], "iops"), figure(&results[1], "iops")), (12.0, 8.0));
    assert_eq!((figure(&results[0], "response_p99"), figure(&results[1], "response_max")), (1_900.0, 3_200.0));
    assert_eq!((key(&results[0], "block_size").as_str(), key(&results[0], "threads_per_file").as_str()), ("8k", "2"));
    assert!(!results[0].keys.keys().any(|name| name.contains("duration") || name.contains("path")));
}

const DISKSPD_XML: &str = "<Results><System><ComputerName>X</ComputerName></System><Profile><Progress>0</Progress><TimeSpans><TimeSpan><Duration>60</Duration><Warmup>5</Warmup>\
    <Targets><Target><Path>a.dat</Path><BlockSize>8192</BlockSize><Random>8192</Random><WriteRatio>0</WriteRatio><RequestCount>4</RequestCount><ThreadsPerFile>2</ThreadsPerFile></Target></Targets></TimeSpan></TimeSpans></Profile>\
    <TimeSpan><TestTimeSeconds>10.00</TestTimeSeconds><ThreadCount>2</ThreadCount><CpuUtilization><CPU><Id>0</Id><UsagePercent>3</UsagePercent></CPU><Average><UsagePercent>4.5</UsagePercent></Average></CpuUtilization>\
    <Latency><AverageReadMilliseconds>0.75</AverageReadMilliseconds><Bucket><Percentile>50</Percentile><ReadMilliseconds>0.7</ReadMilliseconds></Bucket><Bucket><Percentile>99</Percentile><ReadMilliseconds>1.9</ReadMilliseconds></Bucket></Latency>\
    <Thread><Id>0</Id><Target><Path>a.dat</Path><BytesCount>819200</BytesCount><IOCount>100</IOCount><ReadBytes>819200</ReadBytes><ReadCount>100</ReadCount><WriteBytes>0</WriteBytes><WriteCount>0</WriteCount></Target></Thread>\
    <Thread><Id>1</Id><Target><Path>a.dat</Path><ReadBytes>819200</ReadBytes><ReadCount>100</ReadCount><WriteBytes>0</WriteBytes><WriteCount>0</WriteCount></Target></Thread></TimeSpan></Results>";

#[test]
fn diskspd_gives_the_same_of_its_xml() {
    let results = import_with("diskspd", DISKSPD_XML);
    assert_eq!(results.len(), 1, "nothing was written");
    assert_eq!(figure(&results[0], "iops"), 20.0);
    assert_eq!((figure(&results[0], "response_mean"), figure(&results[0], "response_p99")), (750.0, 1_900.0));
    assert_eq!((key(&results[0], "BlockSize").as_str(), key(&results[0], "RequestCount").as_str()), ("8k", "4"));
}

const TPROC_H: &str = "HammerDB CLI v4.9\nVuser 1:Executing Query 5 (1 of 2)\nVuser 1:query 5 completed in 18.98 seconds\n\
    Vuser 1:query 12 completed in 12.5 seconds\nVuser 1:Completed 1 query set(s) in 32 seconds\n\
    Vuser 1:Geometric mean of query times returning rows (2) is 15.40292\nVuser 1:FINISHED SUCCESS\nALL VIRTUAL USERS COMPLETE\n";

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
    let results = import_with("hammerdb", profile);
    assert_eq!((figure(&results[0], "response_mean/NEWORD"), figure(&results[0], "calls/NEWORD")), (36_332.0, 3427.0));
}

const WIDE: &str = "Threads,TPS,Latency (ms),engine\n8,\"1,200.5\",3.1,a\n8,1300,n/a,b\n";

fn wide(text: &str, mappings: &[&str]) -> Result<Vec<ImportedResult>, formats::FormatError> {
    let mappings = mappings.iter().map(|text| formats::tidy::wide::Mapping::read(text).unwrap()).collect();
    let options = Options { mappings, ..Options::default() };
    let asked = Text { text, source: "f", system: "s", is_named: false, reader: None, options: &options };
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

const PGBENCH: &str = "transaction type: <builtin: select only>\nscaling factor: 1\nquery mode: simple\nnumber of clients: 1\nnumber of threads: 1\n\
    number of transactions actually processed: 10/10\nlatency average = 1.000 ms\ntps = 100.000000 (without initial connection time)\n";
const SYSBENCH: &str = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nRunning the test with following options:\nNumber of threads: 4\n\nPrime numbers limit: 10000\n\nThreads started!\n\n\
    CPU speed:\n    events per second:  1000.00\n\nGeneral statistics:\n    total time:                          10.0000s\n    total number of events:              10000\n";

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

#[test]
fn one_changed_line_makes_another_case() {
    for (text, from, to) in [
        (DISKSPD, "block size: 8KiB", "block size: 64KiB"),
        (DISKSPD, "(read/write ratio: 50/50)", "(read/write ratio: 75/25)"),
        (DISKSPD, "using random I/O (alignment: 8KiB)", "using sequential I/O (stride: 8KiB)"),
        (DISKSPD, "operations per thread: 4", "operations per thread: 8"),
        (DISKSPD, "threads per file: 2", "threads per file: 4"),
        (DISKSPD, "software cache disabled", "using software cache"),
        (DISKSPD, "writethrough on", "writethrough off"),
        (DISKSPD, "think time: 0ms", "think time: 5ms"),
        (DISKSPD, "path: 'iotest.dat'", "path: 'iotest.dat'\n\tpath: 'b.dat'"),
        (DISKSPD_XML, "<BlockSize>8192", "<BlockSize>4096"),
        (DISKSPD_XML, "<RequestCount>4", "<RequestCount>8"),
        (DISKSPD_XML, "<ThreadsPerFile>2", "<ThreadsPerFile>1"),
        (YCSB, "-threads 16", "-threads 32"),
        (YCSB, "workloads/workloada", "workloads/workloadb"),
        (YCSB, "recordcount=1000", "recordcount=2000"),
        (YCSB, "-t\n", "-target 500 -t\n"),
        (YCSB, "[READ], Operations, 5010", "[READ], Operations, 95000"),
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
    ] {
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
        (BENCHBASE, "PostgreSQL 15.4", "PostgreSQL 16.1"),
    ] {
        assert!(text.contains(from), "{from}");
        assert_eq!(cases_of([text, text]), cases_of([text, &text.replacen(from, to, 1)]), "{from} -> {to}");
    }
}

const DOCUMENT: &str = include_str!("../../../docs/import.md");

#[test]
fn the_document_has_a_row_for_each_reader_and_no_other() {
    let table = DOCUMENT.split("| format | is |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let mut named: Vec<&str> = rows
        .flat_map(|line| line.split('|').nth(1).unwrap().split(','))
        .map(|name| name.trim().trim_matches('`'))
        .collect();
    let mut known: Vec<&str> = READERS.iter().map(|reader| reader.name).collect();
    named.sort_unstable();
    known.sort_unstable();
    assert_eq!(named, known);
}

#[test]
fn the_document_tells_what_becomes_of_each_line_of_sysbench() {
    let absent: Vec<&str> =
        formats::sysbench::FIGURES.into_iter().filter(|name| !DOCUMENT.contains(&format!("`{name}`"))).collect();
    assert!(absent.is_empty(), "{absent:?}");
}

/// Samples of the readers of text, by name.
fn samples() -> Vec<(&'static str, String)> {
    let sample = |name: &'static str, text: &str| (name, text.to_owned());
    vec![
        sample("go-tpc", GO_TPC),
        sample("benchmarksql", BENCHMARKSQL),
        sample("tpcc-mysql", TPCC_MYSQL),
        sample("ycsb", YCSB),
        sample("mysqlslap", MYSQLSLAP),
        sample("benchbase", BENCHBASE),
        sample("clickbench", CLICKBENCH),
        sample("hyperfine", HYPERFINE),
        sample("diskspd", DISKSPD),
        sample("diskspd", DISKSPD_XML),
        sample("hammerdb", TPROC_H),
        sample("fio", include_str!("data/fio/text.txt")),
        sample("fio", include_str!("data/fio/plus.json")),
        sample("wide", WIDE),
        sample("pgbench", PGBENCH),
        sample("sysbench", SYSBENCH),
    ]
}

#[test]
fn each_sample_is_recognised_by_its_own_reader_alone() {
    for (name, text) in samples() {
        let readers = READERS.iter().filter(|reader| (reader.recognises)(&text)).map(|reader| reader.name);
        assert_eq!(readers.collect::<Vec<_>>(), [name]);
    }
}

/// A generator of changes: small, fast and the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

/// Replaces, cuts, doubles and swaps pieces of a text.
fn damaged(text: &str, dice: &mut Dice) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=dice.roll(4) {
        let (at, length) = (dice.roll(bytes.len()), dice.roll(40));
        let end = (at + length).min(bytes.len());
        match dice.roll(5) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            3 => bytes.splice(at..end, *b"99999999999999999999e99").for_each(drop),
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = b"-:;,|{}[]<>\"\n 0\xFF"[dice.roll(16)]),
        }
        if bytes.is_empty() {
            break;
        }
    }
    formats::text::decode(&bytes)
}

#[test]
fn nothing_that_is_damaged_makes_a_reader_panic_or_hang() {
    let times: usize = std::env::var("ETALON_MUTATIONS").ok().and_then(|times| times.parse().ok()).unwrap_or(300);
    let options = Options::default();
    for (name, text) in samples() {
        let mut dice = Dice(7);
        for _ in 0..times {
            let text = damaged(&text, &mut dice);
            let began = std::time::Instant::now();
            let asked =
                Text { text: &text, source: "f", system: "a", is_named: false, reader: None, options: &options };
            if let Ok(found) = read(&asked) {
                let _ = formats::into_experiment("x", &found.imports);
            }
            // A busy machine may let it wait; what hangs does not end in this time either.
            assert!(began.elapsed().as_secs() < 10, "{name}: {text}");
        }
    }
}
