//! A text of each format, as its tool writes it, with figures made up for these tests.

pub const GO_TPC: &str = "./go-tpc tpcc -H h -P 4000 --warehouses 20 -T 8 run\n\
    [Current] PAYMENT - Takes(s): 6.9, Count: 5, TPM: 43.7, Sum(ms): 22.0, Avg(ms): 4.4, 50th(ms): 4.2\nFinished\n\
    [Summary] NEW_ORDER - Takes(s): 60.0, Count: 450, TPM: 450.0, Sum(ms): 9000.0, Avg(ms): 20.0, 50th(ms): 18.9, 90th(ms): 29.4, 95th(ms): 33.6, 99th(ms): 41.9, 99.9th(ms): 50.3, Max(ms): 52.1\n\
    [Summary] NEW_ORDER_ERR - Takes(s): 60.0, Count: 50, TPM: 50.0, Sum(ms): 5.0, Avg(ms): 0.1, 90th(ms): 0.5\n\
    [Summary] PAYMENT - Takes(s): 60.0, Count: 500, TPM: 500.0, Sum(ms): 2500.0, Avg(ms): 5.0, 50th(ms): 4.7, 90th(ms): 7.3, 99th(ms): 9.4\n\
    tpmC: 450.0, tpmTotal: 950.0, efficiency: 28.2%\n";

pub const BENCHMARKSQL: &str = "14:40:50,100 [main] INFO   jTPCC : Term-00, \n\
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

pub const TPCC_MYSQL: &str = "***************************************\n*** ###easy### TPC-C Load Generator ***\n\
    option p with value 'topsecret'\n<Parameters>\n     [server]: h\n       [pass]: topsecret\n  [warehouse]: 20\n [connection]: 8\n\
    [rampup]: 10 (sec.)\n    [measure]: 1200 (sec.)\n\nRAMP-UP TIME.(10 sec.)\n\nMEASURING START.\n\n\
    10, trx: 11204, 95%: 5.681, 99%: 6.864, max_rt: 17.443, 11206|15.114, 1121|1.739, 1120|17.696, 1120|20.223\n\
    STOPPING THREADS........\n\n<Raw Results>\n  [0] sc:1100 lt:100  rt:0  fl:0 avg_rt: 3.9 (5)\n  [1] sc:1300 lt:10  rt:2  fl:5 avg_rt: 1.0 (5)\n\
    in 60 sec.\n\n<Raw Results2(sum ver.)>\n  [0] sc:1101  lt:100  rt:0  fl:0 \n\n<Constraint Check> (all must be [OK])\n [transaction percentage]\n\
    Payment: 43.48% (>=43.0%) [OK]\n [response time (at least 90% passed)]\n      New-Order: 83.45%  [NG] *\n\n<TpmC>\n                 1200.000 TpmC\n";

pub const YCSB: &str = "Command line: -db site.ycsb.db.JdbcClient -P workloads/workloada -threads 16 -p recordcount=1000 -t\n\
    YCSB Client 0.17.0\n\nLoading workload...\nStarting test.\n\
    [OVERALL], RunTime(ms), 5000\n[OVERALL], Throughput(ops/sec), 2000.0\n[TOTAL_GCS_PS_Scavenge], Count, 2\n\
    [READ], Operations, 5010\n[READ], AverageLatency(us), 476.5\n[READ], MinLatency(us), 192\n[READ], MaxLatency(us), 33887\n\
    [READ], 95thPercentileLatency(us), 665\n[READ], 99thPercentileLatency(us), 875\n[READ], Return=OK, 5010\n[READ], 0, 4000\n[READ], >1000, 3\n\
    [UPDATE], Operations, 4990\n[UPDATE], AverageLatency(us), 900.0\n[UPDATE], 99thPercentileLatency(us), 1800\n[UPDATE], Return=OK, 4940\n[UPDATE], Return=ERROR, 50\n\
    [CLEANUP], Operations, 16\n[CLEANUP], AverageLatency(us), 12.0\n";

pub const GO_YCSB: &str = "./bin/go-ycsb run mysql -P workloads/workloada -p mysql.password=topsecret --threads 16\n\
    ***************** properties *****************\n\"recordcount\"=\"1000\"\n\"mysql.password\"=\"4711\"\n\"readproportion\"=\"0.5\"\n\
    \"operationcount\"=\"2000\"\n\"requestdistribution\"=\"zipfian\"\n\"fieldlength\"=\"100\"\n\"threadcount\"=\"16\"\n\
    **********************************************\n\
    READ   - Takes(s): 10.0, Count: 400, OPS: 40.0, Avg(us): 9000, Min(us): 1, Max(us): 9, 50th(us): 8000, 90th(us): 9, 95th(us): 9, 99th(us): 9, 99.9th(us): 9, 99.99th(us): 9\n\
    **********************************************\nRun finished, takes 1m0.5s\n\
    READ   - Takes(s): 60.4, Count: 1010, OPS: 16.7, Avg(us): 2628, Min(us): 328, Max(us): 174433, 50th(us): 2100, 90th(us): 5003, 95th(us): 8003, 99th(us): 15007, 99.9th(us): 174975, 99.99th(us): 174975\n\
    TOTAL  - Takes(s): 60.4, Count: 1980, OPS: 32.8, Avg(us): 42628, Min(us): 328, Max(us): 217830, 50th(us): 9000, 90th(us): 90000, 95th(us): 98000, 99th(us): 150007, 99.9th(us): 174975, 99.99th(us): 174975\n\
    UPDATE - Takes(s): 60.1, Count: 970, OPS: 16.1, Avg(us): 83150, Min(us): 12893, Max(us): 217830, 50th(us): 80000, 90th(us): 97000, 95th(us): 99000, 99th(us): 215000, 99.9th(us): 217830, 99.99th(us): 217830\n\
    UPDATE_ERROR - Takes(s): 60.1, Count: 20, OPS: 0.3, Avg(us): 50000, Min(us): 1, Max(us): 9, 50th(us): 9, 90th(us): 9, 95th(us): 9, 99th(us): 9, 99.9th(us): 9, 99.99th(us): 9\n";

pub const MYSQLSLAP: &str = "mysqlslap: [Warning] Using a password on the command line interface can be insecure.\nBenchmark\n\
    \tRunning for engine innodb\n\tAverage number of seconds to run all queries: 1.002 seconds\n\tMinimum number of seconds to run all queries: 0.963 seconds\n\
    \tMaximum number of seconds to run all queries: 1.109 seconds\n\tNumber of clients running queries: 400\n\tAverage number of queries per client: 25\n\n\
    Benchmark\n\tAverage number of seconds to run all queries: 2.500 seconds\n\tNumber of clients running queries: 800\n\tAverage number of queries per client: 12\n";

pub const BENCHBASE: &str = r#"{
    "Start timestamp (milliseconds)": 1700000000000, "Current Timestamp (milliseconds)": 1700000060000,
    "Elapsed Time (nanoseconds)": 60000000000, "DBMS Type": "POSTGRES", "DBMS Version": "PostgreSQL 15.4", "Benchmark Type": "tpcc",
    "Final State": "DONE", "Measured Requests": 6000, "isolation": "TRANSACTION_SERIALIZABLE", "scalefactor": "1", "terminals": "4",
    "Latency Distribution": { "95th Percentile Latency (microseconds)": 9000, "Maximum Latency (microseconds)": 41000,
        "Median Latency (microseconds)": 3000, "Minimum Latency (microseconds)": 400, "25th Percentile Latency (microseconds)": 2000,
        "90th Percentile Latency (microseconds)": 7000, "99th Percentile Latency (microseconds)": 15000,
        "75th Percentile Latency (microseconds)": 5000, "Average Latency (microseconds)": 3900 },
    "Throughput (requests/second)": 100.0, "Goodput (requests/second)": 99.0
}"#;

pub const CLICKBENCH: &str = r#"{ "system": "PostgreSQL", "date": "2026-01-02", "machine": "c6a.4xlarge", "cluster_size": 1, "tags": ["row-oriented"],
    "load_time": 1012, "data_size": 76875726848, "result": [ [10.5, 2.25, 2.5], [null, null, null], [3, 1, 1.5] ] }"#;

pub const HYPERFINE: &str = r#"{ "results": [
    { "command": "psql -f a.sql", "mean": 0.15, "stddev": 0.05, "median": 0.15, "user": 0.1, "system": 0.0, "min": 0.1, "max": 0.2,
      "times": [0.1, 0.2], "exit_codes": [0, 0] },
    { "command": "psql -f b.sql", "mean": 0.3, "stddev": null, "median": 0.3, "user": 0.1, "system": 0.0, "min": 0.3, "max": 0.3,
      "times": [0.3, 0.4], "exit_codes": [0, 3] } ] }"#;

pub const CRITERION: &str = r#"{"reason":"benchmark-complete","id":"insert/1000","unit":"ns","mean":{"estimate":7.0,"unit":"ns"},"median":{"estimate":6.0}}"#;

pub const SQLIO: &str = "sqlio v1.5.SG\n4 threads reading for 60 secs from file E:\\t.dat\n\tusing 8KB random IOs\n\
    \tenabling multiple I/Os per thread with 8 outstanding\n\tbuffering set to use hardware disk cache (but not file cache)\n\
    initialization done\nCUMULATIVE DATA:\nthroughput metrics:\nIOs/sec:   421.88\nMBs/sec:     3.29\nlatency metrics:\n\
    Min_Latency(ms): 0\nAvg_Latency(ms): 75\nMax_Latency(ms): 1523\n";

pub const DISKSPD: &str = "\nCommand Line: diskspd -b8K -d60 -o4 -t2 -r -w50 -L -Sh iotest.dat\n\nInput parameters:\n\n\ttimespan:   1\n\t-------------\n\
    \tduration: 60s\n\twarm up time: 5s\n\tcool down time: 0s\n\tmeasuring latency\n\trandom seed: 0\n\tpath: 'iotest.dat'\n\t\tthink time: 0ms\n\
    \t\tburst size: 0\n\t\tsoftware cache disabled\n\t\thardware write cache disabled, writethrough on\n\t\tperforming mix test (read/write ratio: 50/50)\n\
    \t\tblock size: 8KiB\n\t\tusing random I/O (alignment: 8KiB)\n\t\tnumber of outstanding I/O operations per thread: 4\n\t\tthreads per file: 2\n\
    \t\tusing I/O Completion Ports\n\t\tIO priority: normal\n\nSystem information:\n\n\tcomputer name: X\n\nResults for timespan 1:\n\
    *******************************************************************************\n\nactual test time:\t60.01s\nthread count:\t\t2\nproc count:\t\t4\n\n\
    CPU |  Usage |  User  |  Kernel |  Idle\n-------------------------------------------\n   0|   3.12%|   0.52%|    2.60%|  96.88%\n-------------------------------------------\navg.|   4.50%|   0.52%|    2.60%|  95.50%\n\n\
    Total IO\nthread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file\n------------------------------------------------------------------------------\n\
    \x20    0 |       163840 |           20 |       0.50 |      20.00 |    1.000 |     0.500 | iotest.dat (1GiB)\n------------------------------------------------------------------------------\ntotal:         163840 |           20 |       0.50 |      20.00 |    1.000 |     0.500\n\n\
    Read IO\nthread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file\ntotal:          98304 |           12 |       0.30 |      12.00 |    0.750 |     0.500\n\n\
    Write IO\nthread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file\ntotal:          65536 |            8 |       0.20 |       8.00 |    1.375 |     0.500\n\n\n\ntotal:\n\
    \x20 %-ile |  Read (ms) | Write (ms) | Total (ms)\n----------------------------------------------\n    min |      0.100 |      0.200 |      0.100\n   50th |      0.700 |      1.300 |      0.900\n   99th |      1.900 |      2.900 |      2.500\n\
    3-nines |      2.100 |      3.100 |      3.100\n    max |      2.200 |      3.200 |      3.200\n";

pub const DISKSPD_XML: &str = "<Results><System><ComputerName>X</ComputerName></System><Profile><Progress>0</Progress><TimeSpans><TimeSpan><Duration>60</Duration><Warmup>5</Warmup>\
    <Targets><Target><Path>a.dat</Path><BlockSize>8192</BlockSize><Random>8192</Random><WriteRatio>0</WriteRatio><RequestCount>4</RequestCount><ThreadsPerFile>2</ThreadsPerFile></Target></Targets></TimeSpan></TimeSpans></Profile>\
    <TimeSpan><TestTimeSeconds>10.00</TestTimeSeconds><ThreadCount>2</ThreadCount><CpuUtilization><CPU><Id>0</Id><UsagePercent>3</UsagePercent></CPU><Average><UsagePercent>4.5</UsagePercent></Average></CpuUtilization>\
    <Latency><AverageReadMilliseconds>0.75</AverageReadMilliseconds><Bucket><Percentile>50</Percentile><ReadMilliseconds>0.7</ReadMilliseconds></Bucket><Bucket><Percentile>99</Percentile><ReadMilliseconds>1.9</ReadMilliseconds></Bucket></Latency>\
    <Thread><Id>0</Id><Target><Path>a.dat</Path><BytesCount>819200</BytesCount><IOCount>100</IOCount><ReadBytes>819200</ReadBytes><ReadCount>100</ReadCount><WriteBytes>0</WriteBytes><WriteCount>0</WriteCount></Target></Thread>\
    <Thread><Id>1</Id><Target><Path>a.dat</Path><ReadBytes>819200</ReadBytes><ReadCount>100</ReadCount><WriteBytes>0</WriteBytes><WriteCount>0</WriteCount></Target></Thread></TimeSpan></Results>";

pub const TPROC_H: &str = "HammerDB CLI v4.9\nVuser 1:Executing Query 5 (1 of 2)\nVuser 1:query 5 completed in 18.98 seconds\n\
    Vuser 1:query 12 completed in 12.5 seconds\nVuser 1:Completed 1 query set(s) in 32 seconds\n\
    Vuser 1:Geometric mean of query times returning rows (2) is 15.40292\nVuser 1:FINISHED SUCCESS\nALL VIRTUAL USERS COMPLETE\n";

pub const TPROC_C: &str = "HammerDB CLI v4.12\nVuser 1:RUNNING\nTimestamp 1 @ Fri Jan 18 12:15:37 MST 2026\n\
    Timer: 1 minutes elapsed\nVuser 1:Beginning rampup time of 2 minutes\nVuser 2:RUNNING\n\
    Vuser 2:Processing 10000000 transactions with output suppressed...\nVuser 1:Rampup 1 minutes complete ...\n\
    Vuser 1:Rampup complete, Taking start Transaction Count.\nVuser 1:Timing test period of 5 in minutes\n\
    Vuser 1:1  ...,\nVuser 1:Test complete, Taking end Transaction Count.\nVuser 1:1 Active Virtual Users configured\n\
    Vuser 1:TEST RESULT : System achieved 51234 NOPM from 117500 PostgreSQL TPM\n\
    Vuser 1:Gathering timing data from Active Virtual Users...\nHammerdb Time Profile Report @ now\n\
    +-+-+-+-+-+-+-+-+\n>>>>> VIRTUAL USER 2 : ELAPSED TIME : 120522ms\n>>>>> PROC: NEWORD\n\
    CALLS: 9\tMIN: 1.0ms\tAVG: 2.0ms\tMAX: 3.0ms\tTOTAL: 18.0ms\nP99: 3.0ms\tP95: 3.0ms\tP50: 2.0ms\tSD: 0.5ms\tRATIO: 50.0%\n\
    >>>>> SUMMARY OF 2 ACTIVE VIRTUAL USERS : MEDIAN ELAPSED TIME : 127146ms\n>>>>> PROC: NEWORD\n\
    CALLS: 3427\tMIN: 1.730ms\tAVG: 36.332ms\tMAX: 1220.165ms\tTOTAL: 124508.229ms\n\
    P99: 210.118ms\tP95: 104.921ms\tP50: 19.126ms\tSD: 49.6ms\tRATIO: 48.9%\n\
    Vuser 1:FINISHED SUCCESS\nVuser 2:FINISHED SUCCESS\nALL VIRTUAL USERS COMPLETE\n\
    runtimer returned after 60 seconds\n";

pub const WIDE: &str = "Threads,TPS,Latency (ms),engine\n8,\"1,200.5\",3.1,a\n8,1300,n/a,b\n";

pub const PGBENCH: &str = "transaction type: <builtin: select only>\nscaling factor: 1\nquery mode: simple\nnumber of clients: 1\nnumber of threads: 1\n\
    number of transactions actually processed: 10/10\nlatency average = 1.000 ms\ntps = 100.000000 (without initial connection time)\n";

pub const SYSBENCH: &str = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nRunning the test with following options:\nNumber of threads: 4\n\nPrime numbers limit: 10000\n\nThreads started!\n\n\
    CPU speed:\n    events per second:  1000.00\n\nGeneral statistics:\n    total time:                          10.0000s\n    total number of events:              10000\n";

pub const FIO: &str = include_str!("../data/fio/plus.json");

pub const FIO_TEXT: &str = include_str!("../data/fio/text.txt");

pub const TIDY: &str = "system,clients,metric,unit,value\na,1,throughput,tx/s,10\nb,1,throughput,tx/s,12\n";

/// Samples of the readers of text, by name.
pub fn samples() -> Vec<(&'static str, String)> {
    let sample = |name: &'static str, text: &str| (name, text.to_owned());
    vec![
        sample("go-tpc", GO_TPC),
        sample("go-ycsb", GO_YCSB),
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
        sample("hammerdb", TPROC_C),
        sample("fio", FIO_TEXT),
        sample("fio", FIO),
        sample("wide", WIDE),
        sample("pgbench", PGBENCH),
        sample("sysbench", SYSBENCH),
        sample("criterion", CRITERION),
        sample("sqlio", SQLIO),
        sample("tidy", TIDY),
    ]
}
