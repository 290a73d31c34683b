//! fio's JSON: what version 3.33 wrote, shortened.

#![cfg(test)]

use formats::fio::{FioDocument, import_documents, read_documents};
use formats::{Imported, ImportedResult, into_experiment};
use model::metric::FAILED_SHARE;
use model::{Measurement, Reading, Value};
use proptest::prelude::*;

const NOTE: &str = include_str!("data/fio/note.json");
const GROUPS: &str = include_str!("data/fio/groups.json");
/// Every fifth read of 4 KiB failed with EIO, under `continue_on_error=all`.
const FAILING: &str = include_str!("data/fio/failing.json");
/// A full device; a process that a limit of its file size killed, of which the JSON says no error; options that fio refused.
const ENDED: &str = include_str!("data/fio/ended.json");
const PLUS: &str = include_str!("data/fio/plus.json");

fn reading(measurements: &[Measurement], id: &str) -> Reading {
    measurements.iter().find(|m| m.metric.id == id).map(|m| m.reading.clone()).unwrap()
}

/// Of each result its job, its direction, and why it failed.
fn failures(import: &Imported) -> Vec<(String, Option<String>)> {
    let name = |one: &ImportedResult| format!("{} {}", one.keys["job"], one.keys["op"]);
    let reason = |one: &ImportedResult| one.dropped.as_ref().map(|(_, reason)| reason.clone());
    import.results.iter().map(|one| (name(one), reason(one))).collect()
}

#[test]
fn a_note_in_front_of_the_json_is_kept() {
    let documents = read_documents(NOTE.as_bytes()).unwrap();
    let [document] = documents.as_slice() else { panic!("{documents:?}") };
    assert!(document.note.starts_with("note: both iodepth"));
    assert_eq!((document.line, document.version.as_deref()), (2, Some("fio-3.33")));
    let job = &document.jobs[0];
    let read = job.read.as_ref().unwrap();
    assert_eq!((job.name.as_str(), read.ios, read.iops, &job.write), ("rr", 14_731, Some(14_716.283_716), &None));
    let completion = read.completion.as_ref().unwrap();
    assert_eq!((completion.min_ns, completion.max_ns, completion.samples), (862.0, 16_425_819.0, 14_731));
    assert!(completion.percentiles.contains(&(50.0, 82_432.0)));
    let without = read_documents(NOTE.replace(r#""N": 14731"#, r#""N": 0"#).as_bytes()).unwrap();
    assert_eq!(without[0].jobs[0].read.as_ref().unwrap().completion, None, "no sample is no latency of 0");
    let imported = import_documents(&documents, "disk", "a.json");
    let result = &imported.results[0];
    assert_eq!(result.keys["bs"], Value::Text("8k".to_owned()));
    assert_eq!((result.keys["iodepth"].clone(), result.elapsed_s), (Value::Int(8), Some(1.001)));
    assert_eq!(reading(&result.measurements, "completion_p50"), Reading::Value(82.432));
    assert!(imported.notes[0].contains("queue depth"));
}

#[test]
fn directions_are_results_of_their_own_of_failed_jobs_too() {
    let imported = import_documents(&read_documents(GROUPS.as_bytes()).unwrap(), "disk", "a.json");
    let of = |name: &str, reason: Option<&str>| (name.to_owned(), reason.map(str::to_owned));
    let ended = Some("job b ended with error 22");
    assert_eq!(failures(&imported), [of("a read", None), of("a write", None), of("b write", ended)]);
    assert_eq!(imported.notes, ["fio said: b: you need to specify size=", "1 of 3 results are of runs that failed"]);
    let bandwidth = reading(&imported.results[0].measurements, "bandwidth");
    assert_eq!(bandwidth, Reading::Value(86_842_565.0 / 1_048_576.0));
}

#[test]
fn what_an_error_or_a_signal_ended_keeps_its_place() {
    let documents = read_documents(ENDED.as_bytes()).unwrap();
    assert_eq!((documents[0].jobs[0].error, documents[1].jobs[0].error), (28, 0), "a signal is no error to fio");
    let imported = import_documents(&documents, "disk", "a.json");
    let failures = failures(&imported);
    assert_eq!(failures[0], ("full write".to_owned(), Some("job full ended with error 28".to_owned())));
    assert_eq!(failures[1].0, "lim write");
    assert!(failures[1].1.as_ref().unwrap().ends_with("got signal=25"), "{failures:?}");
    assert!(imported.results.iter().all(|one| one.measurements.is_empty()));
    assert!(imported.notes.contains(&"fio said behind its last document: fio: failed parsing bs=foo".to_owned()));
    // One of three repetitions fails: the third keeps its number.
    let good = ENDED.replace("\"error\": 28", "\"error\": 0").replace("got signal", "got");
    let text = format!("{good}{ENDED}{good}").replace("\"lim\"", "\"full\"");
    let text = text.replace(",\n    \"fallocate\": \"none\"", "");
    let experiment =
        into_experiment("x", &[import_documents(&read_documents(text.as_bytes()).unwrap(), "a", "b")]).unwrap();
    let places: Vec<(u32, bool)> =
        experiment.runs.iter().map(|(planned, record)| (planned.round, record.reason.is_some())).collect();
    assert_eq!(places, [(0, false), (1, false), (2, true), (3, true), (4, false), (5, false)]);
}

#[test]
fn a_jobs_own_processor_time_and_whole_latency_are_read() {
    let of = |options: &str| {
        let text = format!(
            r#"{{"fio version": "fio-3.33", "jobs": [{{"jobname": "a", "job options": {{{options}}}, "usr_cpu": 10.0,
            "sys_cpu": 40.0, "read": {{"total_ios": 50000, "iops": 50000.0, "bw_bytes": 1.0, "runtime": 1000, "lat_ns":
            {{"min": 1, "max": 9, "mean": 5, "N": 50000, "percentile": {{"50.000000": 120000, "99.000000": 900000}}}}}}}}]}}"#
        );
        import_documents(&read_documents(text.as_bytes()).unwrap(), "disk", "a.json").results.remove(0).measurements
    };
    let alone = of("");
    assert_eq!(reading(&alone, "cpu_per_io"), Reading::Value(10.0));
    assert_eq!(reading(&alone, "latency_p50"), Reading::Value(120.0));
    assert_eq!(reading(&alone, "latency_p99"), Reading::Value(900.0));
    let of_clones = of(r#""numjobs": "2""#);
    assert!(of_clones.iter().all(|m| m.metric.id != "cpu_per_io"), "a mean of two threads is of neither");
}

#[test]
fn bins_become_a_histogram() {
    let documents = read_documents(PLUS.as_bytes()).unwrap();
    assert_eq!(documents[0].jobs[0].read.as_ref().unwrap().completion.as_ref().unwrap().bins.len(), 5);
    assert_eq!(import_documents(&documents, "disk", "a.json").results[0].series.len(), 1);
}

#[test]
fn clones_of_a_job_are_one_result_and_documents_repetitions() {
    let text = r#"{"fio version":"fio-3.1","jobs":[
        {"jobname":"j","read":{"total_ios":10,"iops":5.0,"bw_bytes":1048576,"lat_ns":{"N":1,"min":1,"max":9,"mean":2}}},
        {"jobname":"j","read":{"total_ios":10,"iops":7.0,"bw_bytes":1048576,"lat_ns":{"N":3,"min":1,"max":8,"mean":6}}},
        {"jobname":"bad","error":5,"read":{"total_ios":10,"iops":7.0}}]}
"#;
    let twice = format!("{text}some words\n{text}");
    let documents = read_documents(twice.as_bytes()).unwrap();
    assert_eq!(documents.iter().map(|document| document.line).collect::<Vec<_>>(), [1, 6]);
    let imported = import_documents(&documents, "disk", "a.json");
    assert_eq!(imported.results.len(), 4);
    let measurements = &imported.results[0].measurements;
    assert_eq!(reading(measurements, "iops"), Reading::Value(12.0));
    assert_eq!(reading(measurements, "latency_mean"), Reading::Value(0.005));
    assert!(matches!(reading(measurements, "completion_p99"), Reading::Unavailable(_)));
    assert_eq!(failures(&imported)[1], ("bad read".to_owned(), Some("job bad ended with error 5".to_owned())));
    assert_eq!(into_experiment("x", &[imported]).unwrap().plan.schedule.rounds, 2);
}

#[test]
fn what_failed_on_the_way_is_a_share_and_ranks_behind_all() {
    let imported = import_documents(&read_documents(FAILING.as_bytes()).unwrap(), "disk", "a.json");
    assert_eq!(imported.notes, [""; 0], "fio went on after the error that stands as the job's");
    let [reads, writes] = imported.results.as_slice() else { panic!("{:?}", imported.results) };
    let of = |one: &ImportedResult, id: &str| reading(&one.measurements, id);
    assert_eq!(of(reads, FAILED_SHARE), Reading::Value(100.0 * 99.0 / 496.0), "99 of 496 reads have no latency");
    assert_eq!(of(writes, FAILED_SHARE), Reading::Value(0.0), "only reads failed");
    assert_eq!(of(reads, "iops"), Reading::Value(12_717.948_718 * 397.0 / 496.0), "fio's rate is of all it issued");
    assert_eq!(of(writes, "iops"), Reading::Value(13_538.461_538));
    let Reading::Value(p50) = of(reads, "completion_p50") else { panic!("a median") };
    assert!((p50 / 75.264 - 1.0).abs() < 0.002, "the 248th of 397 that succeeded, and not fio's 73.216: {p50}");
    assert_eq!(of(writes, "completion_p50"), Reading::Value(3.28));
    let among = "it lies among the 99 of 496 (19.96 %) that did not succeed";
    assert_eq!(of(reads, "completion_p90"), Reading::unavailable(among));
    assert_eq!((reads.series[0].errors, writes.series[0].errors), (99, 0));
}

#[test]
fn percentiles_of_successes_alone_are_none_of_all() {
    // As `json` has it: without bins.
    let mut documents = read_documents(FAILING.as_bytes()).unwrap();
    let job = &mut documents[0].jobs[0];
    for latency in [&mut job.read, &mut job.write].into_iter().flatten().filter_map(|one| one.completion.as_mut()) {
        latency.bins.clear();
    }
    let p50s = |documents: &[FioDocument]| {
        let imported = import_documents(documents, "disk", "a.json");
        imported.results.iter().map(|one| reading(&one.measurements, "completion_p50")).collect::<Vec<_>>()
    };
    let why = "some failed, and it is printed of what succeeded alone".to_owned();
    assert_eq!(p50s(&documents), [Reading::unavailable(&why), Reading::Value(3.28)]);
    // Where an operation lacks its latency for another reason it is not known which direction failed.
    documents[0].jobs[0].write.as_mut().unwrap().completion.as_mut().unwrap().samples -= 1;
    assert_eq!(p50s(&documents), [Reading::unavailable(&why), Reading::unavailable(why)]);
    let imported = import_documents(&documents, "disk", "a.json");
    assert!(
        imported.results.iter().all(|one| reading(&one.measurements, FAILED_SHARE) == Reading::Value(9900.0 / 1024.0))
    );
    assert!(imported.results.iter().all(|one| matches!(reading(&one.measurements, "iops"), Reading::Unavailable(_))));
    // An error of another kind than the first has ended the job.
    documents[0].jobs[0].error = 28;
    let ended = Some("job j ended with error 28".to_owned());
    let imported = import_documents(&documents, "disk", "a.json");
    assert_eq!(failures(&imported), [("j read".to_owned(), ended.clone()), ("j write".to_owned(), ended)]);
}

#[test]
fn what_is_not_fios_is_refused_with_its_line() {
    for (text, message) in [
        ("", "there is no JSON document of fio in it"),
        ("fio: failed\n", "there is no JSON document of fio in it"),
        ("a\n{\n \"jobs\": [\n", "line 4: the JSON ends in the middle"),
        ("{\n \"x\" 1}", "line 2, column 6: this is no JSON: expected `:` at line 2 column 6"),
        ("\n{\"a\": 1}", "line 2: the JSON has no \"jobs\": it is not fio's"),
    ] {
        assert_eq!(read_documents(text.as_bytes()).unwrap_err().to_string(), message, "{text:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        let _ = read_documents(&bytes);
        let _ = read_documents(&[b"{", &bytes[..]].concat());
    }

    #[test]
    fn no_damage_makes_it_panic(cut in 0..6000_usize, junk in "[0-9e{}\\[\\],\": -]{0,8}") {
        for text in [NOTE, GROUPS, PLUS, FAILING] {
            let mut damaged = text.to_owned();
            damaged.insert_str(cut.min(text.len()), &junk);
            if let Ok(documents) = read_documents(damaged.as_bytes()) {
                let _ = into_experiment("x", &[import_documents(&documents, "a", "b")]);
            }
        }
    }
}

const SHORT: &str = r#"{ "fio version": "fio-3.16", "global options": { "ioengine": "libaio" },
 "jobs": [ { "jobname": "t", "groupid": 0, "error": 0, "elapsed": 31,
  "job options": { "rw": "randread", "bs": "4k", "iodepth": "1", "runtime": "30", "filename": "/dev/sda" },
  "read": { "bw_bytes": 4096000, "iops": 1000.0, "runtime": 30000, "total_ios": 30000,
   "clat_ns": { "min": 100000, "max": 9000000, "mean": 990000.0, "percentile": { "99.000000": 3000000 } },
   "lat_ns": { "min": 101000, "max": 9001000, "mean": 1000000.0 } } } ] }
"#;

#[test]
fn latencies_are_read_where_fio_prints_no_count() {
    let with = SHORT.replace("\"min\": 1", "\"N\": 30000, \"min\": 1");
    let figures = |text: &str| {
        import_documents(&read_documents(text.as_bytes()).unwrap(), "a", "a.json").results.remove(0).measurements
    };
    assert_eq!(figures(SHORT), figures(&with));
    for id in ["latency_mean", "completion_p99"] {
        assert!(figures(SHORT).iter().any(|one| one.metric.id == id), "{id}");
    }
    let unmeasured = SHORT.replace("9000000", "0").replace("9001000", "0");
    assert!(!figures(&unmeasured).iter().any(|one| one.metric.id == "latency_mean"), "it was disabled");
}

#[test]
fn one_changed_option_makes_two_cases() {
    let cases = |from: &str, to: &str| {
        assert!(SHORT.contains(from), "{from}");
        let text = format!("{SHORT}{}", SHORT.replacen(from, to, 1));
        let imported = import_documents(&read_documents(text.as_bytes()).unwrap(), "a", "a.json");
        into_experiment("x", &[imported]).unwrap().plan.cases().len()
    };
    for (from, to) in [
        ("randread", "read"),
        ("\"4k\"", "\"8k\""),
        ("\"iodepth\": \"1\"", "\"iodepth\": \"8\""),
        ("libaio", "psync"),
        ("\"jobname\": \"t\"", "\"jobname\": \"u\""),
        ("\"runtime\": \"30\"", "\"thinktime\": \"100\""),
        ("\"runtime\": \"30\"", "\"random_distribution\": \"zipf:1.2\""),
        ("\"runtime\": \"30\"", "\"fsync_on_close\": \"1\""),
    ] {
        assert_eq!(cases(from, to), 2, "{from} -> {to}");
    }
    for (from, to) in [
        ("\"4k\"", "\"4096B\""),
        ("/dev/sda", "/dev/nvme0n1"),
        ("\"runtime\": \"30\"", "\"runtime\": \"60\""),
        ("1000.0", "1001.0"),
    ] {
        assert_eq!(cases(from, to), 1, "{from} -> {to}");
    }
}

#[test]
fn a_jobs_size_and_that_of_its_files_are_two_options() {
    let of =
        |file_size: &str| SHORT.replace("\"rw\"", &format!("\"size\": \"10G\", \"filesize\": \"{file_size}\", \"rw\""));
    let documents = read_documents((of("100G") + &of("64M")).as_bytes()).unwrap();
    let imported = import_documents(&documents, "a", "a.json");
    assert_eq!(into_experiment("x", &[imported]).unwrap().plan.cases().len(), 2);
}

#[test]
fn rates_that_were_asked_for_are_not_judged() {
    let ids = |text: &str| -> Vec<String> {
        let imported = import_documents(&read_documents(text.as_bytes()).unwrap(), "a", "a.json");
        imported.results[0]
            .measurements
            .iter()
            .map(|one| one.metric.id.clone())
            .filter(|id| id.ends_with("iops"))
            .collect()
    };
    assert_eq!(ids(SHORT), ["iops"]);
    assert_eq!(ids(&SHORT.replacen("\"runtime\": \"30\"", "\"rate_iops\": \"1000,\"", 1)), ["limited_iops"]);
    assert_eq!(
        ids(&SHORT.replacen("\"runtime\": \"30\"", "\"rate\": \"0\", \"rate_iops\": \"9\"", 1)),
        ["limited_iops"]
    );
    for unlimited in ["0", ",1000"] {
        let option = format!("\"rate_iops\": \"{unlimited}\"");
        assert_eq!(ids(&SHORT.replacen("\"runtime\": \"30\"", &option, 1)), ["iops"], "reads: {unlimited}");
    }
}

/// What fio prints without `--output-format`, shortened.
const TEXT: &str = include_str!("data/fio/text.txt");

fn read_input(text: &str) -> formats::reader::Found {
    let formats::reader::Reads::Text(read) = formats::fio::READER.reads else { panic!("fio's output is a text") };
    let options = formats::Options::default();
    read(&formats::reader::Input {
        system: "disk",
        is_named: false,
        source: "a.txt",
        below: "a.txt",
        text,
        options: &options,
    })
    .unwrap()
}

/// What a key and a metric of each result are.
fn cases(text: &str, key: &str, metric: &str) -> Vec<(String, Reading)> {
    let results = read_input(text).imported.results;
    results.iter().map(|one| (one.keys[key].to_string(), reading(&one.measurements, metric))).collect()
}

#[test]
fn text_gives_rates_latencies_and_conditions() {
    let found = read_input(TEXT);
    assert!(found.not_understood.is_empty(), "{:?}", found.not_understood);
    let results = &found.imported.results;
    let of = |at: usize, id: &str| reading(&results[at].measurements, id);
    assert_eq!(
        results.iter().map(|one| one.keys["job"].to_string()).collect::<Vec<_>>(),
        ["mixed", "mixed", "old", "terse"]
    );
    assert_eq!((of(0, "iops"), of(1, "iops")), (Reading::Value(25_200.0), Reading::Value(4_801.0)));
    assert_eq!(of(1, "bandwidth"), Reading::Value(18.8));
    assert_eq!((of(0, "completion_p99"), of(1, "completion_p50")), (Reading::Value(1_500.0), Reading::Value(12.608)));
    assert_eq!((of(0, "latency_mean"), of(2, "latency_max")), (Reading::Value(632.5), Reading::Value(1_805_800.0)));
    assert_eq!((of(2, "iops"), of(3, "iops")), (Reading::Value(170.0), Reading::Value(1_000.0)));
    assert_eq!((of(3, "completion_p99"), of(3, "latency_mean")), (Reading::Value(900.0), Reading::Value(410.0)));
    let key = |at: usize, name: &str| results[at].keys[name].to_string();
    assert_eq!((key(0, "bs").as_str(), key(0, "numjobs").as_str(), key(0, "iodepth").as_str()), ("4k", "4", "32"));
    assert_eq!(key(2, "bs"), "512-64K/512-64K/512-64K");
    assert_eq!(reading(&results[0].measurements, FAILED_SHARE), Reading::Value(0.0));
    // fio began again: a repetition, and no clones side by side.
    let results = read_input(&format!("{TEXT}{TEXT}")).imported.results;
    assert_eq!(results.len(), 8);
    assert_eq!(reading(&results[4].measurements, "iops"), Reading::Value(25_200.0));
}

#[test]
fn version_2_and_clients_give_the_same_figures() {
    let old = r#"{"fio version": "fio-2.2.10", "jobs": [{"jobname": "a", "groupid": 0, "error": 0, "read": {"io_bytes": 4096, "bw": 1024,
        "iops": 256.5, "runtime": 1000, "total_ios": 256, "clat": {"min": 10, "max": 90, "mean": 20.5, "percentile": {"50.000000": 19, "99.000000": 80, "0.00": 0}},
        "lat": {"min": 11, "max": 91, "mean": 21.5}}}]}"#;
    let imported = import_documents(&read_documents(old.as_bytes()).unwrap(), "disk", "a.json");
    let of = |id: &str| reading(&imported.results[0].measurements, id);
    assert_eq!((of("iops"), of("bandwidth")), (Reading::Value(256.5), Reading::Value(1.0)));
    assert_eq!((of("completion_p99"), of("latency_mean")), (Reading::Value(80.0), Reading::Value(21.5)));
    let job = |name: &str, iops: u32| {
        format!(
            r#"{{"jobname": "{name}", "groupid": 0, "error": 0, "read": {{"iops": {iops}, "bw_bytes": 4096, "runtime": 1000, "total_ios": 9}}}}"#
        )
    };
    let clients = format!(
        r#"{{"fio version": "fio-3.33", "client_stats": [{}, {}, {}]}}"#,
        job("a", 10),
        job("a", 20),
        job("All clients", 30)
    );
    let imported = import_documents(&read_documents(clients.as_bytes()).unwrap(), "disk", "a.json");
    assert_eq!(imported.results.len(), 1, "clients are jobs side by side, and their sum is none");
    assert_eq!(reading(&imported.results[0].measurements, "iops"), Reading::Value(30.0));
    let with_latency = |ns: u32| {
        let latency = format!(
            r#""clat_ns": {{"N": 9, "min": 1, "max": 90000, "mean": 5, "percentile": {{"99.000000": {ns}}}}}, "iops""#
        );
        move |json: String| json.replace("\"iops\"", &latency)
    };
    let [a, b, all] = [("a", 10, 7000), ("a", 20, 9000), ("All clients", 30, 8000)]
        .map(|(name, iops, ns)| with_latency(ns)(job(name, iops)));
    let p99 = |clients: String| {
        let imported = import_documents(&read_documents(clients.as_bytes()).unwrap(), "disk", "a.json");
        reading(&imported.results[0].measurements, "completion_p99")
    };
    let whole = p99(format!(r#"{{"fio version": "fio-3.33", "client_stats": [{a}, {b}, {all}]}}"#));
    assert_eq!(whole, Reading::Value(8.0), "fio merged the percentiles of its clients");
    let of_other_jobs = p99(format!(
        r#"{{"fio version": "fio-3.33", "client_stats": [{a}, {b}, {}, {all}]}}"#,
        b.replace("\"a\"", "\"z\"")
    ));
    assert!(matches!(of_other_jobs, Reading::Unavailable(_)), "the sum is of other jobs, too: {of_other_jobs:?}");
}

fn definition(group: u32, size: &str) -> String {
    format!(
        "t: (g={group}): rw=randread, bs=(R) {size}-{size}, (W) {size}-{size}, (T) {size}-{size}, ioengine=libaio, iodepth=8\n"
    )
}

fn text_result(group: u32, jobs: u32, iops: u32) -> String {
    format!(
        "t: (groupid={group}, jobs={jobs}): err= 0: pid=7: Mon Nov  2 10:00:00 2026\n  read: IOPS={iops}, BW=4.00MiB/s (4.19MB/s)(40.0MiB/10001msec)\n     issued rwts: total={}0,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n",
        iops
    )
}

fn text_run(definitions: &[String], results: &[String]) -> String {
    format!(
        "{}fio-3.33\nStarting 2 processes\n\n{}\nRun status group 0 (all jobs):\n   READ: bw=4.00MiB/s\n",
        definitions.concat(),
        results.concat()
    )
}

#[test]
fn text_jobs_of_one_name_have_their_own_options() {
    let of = |size: &str, iops: f64| (size.to_owned(), Reading::Value(iops));
    let small_and_large = [definition(0, "4096B"), definition(1, "64.0KiB")];
    let run = text_run(&small_and_large, &[text_result(0, 1, 900), text_result(1, 1, 60)]);
    let expected = [of("4k", 900.0), of("64k", 60.0), of("4k", 900.0), of("64k", 60.0)];
    assert_eq!(cases(&format!("{run}{run}"), "bs", "iops"), expected, "of two groups");
    // fio was stopped before it printed results: the next run has definitions of its own.
    let stopped = text_run(&[definition(0, "512B")], &[]);
    assert_eq!(cases(&format!("{stopped}{run}"), "bs", "iops"), expected[..2]);
    let of_one_group = [definition(0, "4096B"), definition(0, "64.0KiB")];
    let run = text_run(&of_one_group, &[text_result(0, 1, 900), text_result(0, 1, 60)]);
    assert_eq!(cases(&format!("{run}{run}"), "bs", "iops"), expected, "of one group, by their order");
    // One result of both, and clones of an unknown number: neither is of one size.
    let both = text_run(&of_one_group, &[text_result(0, 2, 960)]);
    assert_eq!(cases(&both, "bs", "iops"), [of("4k + 64k", 960.0)]);
    let clones = [definition(0, "4096B"), "...\n".to_owned(), definition(0, "64.0KiB"), "...\n".to_owned()];
    let results = [text_result(0, 1, 900), text_result(0, 1, 900), text_result(0, 1, 60), text_result(0, 1, 60)];
    assert_eq!(cases(&text_run(&clones, &results), "bs", "iops"), [of("4k + 64k", 1920.0)]);
    let alike = [definition(0, "4096B"), "...\n".to_owned()];
    assert_eq!(cases(&text_run(&alike, &results[..2]), "bs", "iops"), [of("4k", 1800.0)]);
}

#[test]
fn json_jobs_of_unlike_options_are_not_added() {
    let job = |options: &str, iops: u32, kib: u32| {
        format!(
            r#"{{"jobname": "t", "groupid": 0, "job options": {{{options}}}, "read": {{"iops": {iops}, "bw": {}, "runtime": 1000, "total_ios": {iops}}}}}"#,
            iops * kib
        )
    };
    let run = |jobs: &[String]| format!(r#"{{"fio version": "fio-3.28", "jobs": [{}]}}"#, jobs.join(", "));
    let of = |size: &str, iops: f64| (size.to_owned(), Reading::Value(iops));
    let (small, large) = (job(r#""bs": "4k""#, 900, 4), job(r#""bs": "64k""#, 60, 64));
    let unlike = run(&[small.clone(), large.clone(), small.clone()]);
    assert_eq!(cases(&unlike, "bs", "iops"), [of("4k", 1800.0), of("64k", 60.0)]);
    let written_otherwise = job(r#""bs": "4096", "filename": "b""#, 800, 4);
    assert_eq!(cases(&run(&[small.clone(), written_otherwise]), "bs", "iops"), [of("4k", 1700.0)]);
    // Versions that list the options of the first clone alone.
    let without = run(&[small, job("", 700, 4), large, job("", 50, 64)]);
    assert_eq!(cases(&without, "bs", "iops"), [of("4k", 1600.0), of("64k", 110.0)]);
}

#[test]
fn terse_lines_have_the_mean_block_size_as_a_key() {
    let terse = TEXT.lines().find(|line| line.starts_with("3;fio")).unwrap();
    let larger = terse.replacen(";4000;4000;1000;", ";64000;64000;1000;", 1);
    let of = |size: &str| (size.to_owned(), Reading::Value(1_000.0));
    let both = format!("{terse}\n{larger}\n");
    assert_eq!(cases(&both, "mean_bs", "iops"), [of("4k"), of("64k")]);
    let said = |text: &str| read_input(text).imported.unknown.iter().any(|what| what.contains("mean block size"));
    assert!(said(terse), "the options are not known");
    let run = text_run(&[definition(0, "4096B")], &[text_result(0, 1, 900)]);
    assert!(!said(&run));
    // Text without the lines in front of it.
    let headless = text_run(&[], &[text_result(0, 2, 1_024)]);
    assert!(said(&headless));
    assert_eq!(cases(&headless, "mean_bs", "iops"), [("4k".to_owned(), Reading::Value(1_024.0))]);
}

#[test]
fn text_bandwidth_is_one_in_all_units() {
    let of = |rate: &str| {
        let result = text_result(0, 1, 1_024).replace("4.00MiB/s (4.19MB/s)", rate);
        cases(&text_run(&[definition(0, "4096B")], &[result]), "bs", "bandwidth").remove(0).1
    };
    for rate in ["4.00MiB/s (4.19MB/s)", "4.19MB/s (4.00MiB/s)", "32.0Mibit/s (33.6Mbit/s)", "33.6Mbit/s (32.0Mibit/s)"]
    {
        assert_eq!(of(rate), Reading::Value(4.0), "{rate}");
    }
}

/// A terse line of version 3: a job `t` of reads of 4 KiB, its part of the bandwidth in percent, and the use of a disk.
fn terse(iops: u32, ms: u32, share: u32, disk: &str) -> String {
    let zeros = |count: usize| vec!["0"; count].join(";");
    let kib = iops * 4;
    let percentiles = vec!["50.000000%=300"; 20].join(";");
    format!(
        "3;fio-3.33;t;0;0;{};{kib};{iops};{ms};{};{};{};300.5;10.0;{percentiles};91;960;310.5;10.0;1;1;{share}.000000%;1.0;0.0;\
         {};5.0%;15.0%;100;0;10;{};{};{}{disk}\n",
        u64::from(kib) * u64::from(ms) / 1000,
        zeros(4),
        100 - ms / 1000,
        900 + ms / 1000,
        zeros(41),
        zeros(7),
        zeros(10),
        zeros(12),
    )
}

const DISK: [&str; 2] = [";vda;435;1;0;0;61;0;61;1.60%", ";vda;877;1;0;0;99;0;99;1.90%"];

#[test]
fn terse_lines_of_clones_are_one_result() {
    let clones =
        format!("{}{}{}", terse(100, 1001, 33, DISK[0]), terse(110, 1005, 33, DISK[0]), terse(90, 1002, 33, DISK[0]));
    assert_eq!(cases(&clones, "numjobs", "iops"), [("3".to_owned(), Reading::Value(300.0))]);
    let again = format!("{clones}{}", clones.replace(DISK[0], DISK[1]));
    assert_eq!(cases(&again, "numjobs", "iops").len(), 2, "another use of the disk is another call");
    let bare = format!("{}{}", terse(100, 1001, 50, ""), terse(110, 1005, 50, ""));
    assert_eq!(
        cases(&bare, "numjobs", "iops"),
        [("2".to_owned(), Reading::Value(210.0))],
        "without disks by their parts"
    );
    let rounds = |text: &str| {
        let imported = read_input(text).imported;
        into_experiment("x", &[imported]).unwrap().plan.schedule.rounds
    };
    assert_eq!(rounds(&format!("{}{}", terse(100, 1001, 100, ""), terse(110, 1001, 100, ""))), 2, "two whole runs");
    assert_eq!(rounds(&format!("{}{}", terse(100, 1001, 0, ""), terse(110, 1001, 0, ""))), 1, "nothing shows it");
    let unlike = format!("{}{}", terse(300, 1001, 100, DISK[0]), terse(100, 1001, 100, DISK[1]));
    assert_eq!(rounds(&unlike), 1, "of rw=read and of rw=randread, as far as can be said");
    assert!(!read_input(&terse(100, 1001, 100, DISK[0])[..300]).not_understood.is_empty(), "it is cut off");
}

#[test]
fn only_the_last_of_status_interval_counts_in_text() {
    let interval = |iops, ms| terse(iops, ms, 100, DISK[usize::from(ms > 2000)]);
    let run = format!("{}{}{}{}", interval(200, 1900), interval(201, 3900), interval(202, 5900), interval(199, 6001));
    let found = read_input(&run).imported;
    assert_eq!(found.results.len(), 1, "{:?}", found.results);
    assert_eq!(reading(&found.results[0].measurements, "iops"), Reading::Value(199.0));
    assert!(found.notes[0].starts_with("3 documents of --status-interval"), "{:?}", found.notes);
    let result = |iops: u32, ms: u32| text_result(0, 1, iops).replace("10001msec", &format!("{ms}msec"));
    let status =
        "\nRun status group 0 (all jobs):\n   READ: bw=4.00MiB/s\n\nDisk stats (read/write):\n  vda: ios=133/18\n\n";
    let head = text_run(&[definition(0, "4096B")], &[]);
    let run = format!("{head}{}{status}{}{status}{}{status}", result(202, 835), result(201, 1835), result(199, 2001));
    assert_eq!(cases(&run, "bs", "iops"), [("4k".to_owned(), Reading::Value(199.0))]);
    // Containers give each process the same number: the lines in front of it show another run.
    assert_eq!(cases(&format!("{run}{run}"), "bs", "iops").len(), 2);
    let other = format!("{head}{}{status}{}{status}", result(202, 835), result(201, 1835).replace("pid=7", "pid=9"));
    assert_eq!(cases(&other, "job", "iops").len(), 2, "another process is another run");
}

#[test]
fn text_of_clients_has_the_options_and_adds_the_rates() {
    let head = "hostname=vm, be=0, 64-bit, os=Linux, arch=x86-64, fio=fio-3.33, flags=1\n";
    let defined = format!("<vm> {}<vm> Starting 1 process\n", definition(0, "4096B"));
    let status =
        "\nRun status group 0 (all jobs):\n   READ: bw=4.00MiB/s\n\nDisk stats (read/write):\n  vda: ios=133/18\n";
    let one = |pid: u32| format!("{}{status}", text_result(0, 1, 150).replace("pid=7", &format!("pid={pid}")));
    let sum = text_result(0, 2, 300).replace("t: (", "All clients: (");
    let two = format!("{head}{head}{defined}{defined}Jobs: 2 (f=2)<vm> \n<vm> \n{}{}{sum}", one(8), one(9));
    let found = read_input(&two);
    assert!(found.not_understood.is_empty(), "{:?}", found.not_understood);
    assert_eq!(cases(&two, "clients", "iops"), [("2".to_owned(), Reading::Value(300.0))]);
    assert_eq!(found.imported.version.as_deref(), Some("3.33"));
    let alone = format!("{head}{defined}{}", one(8));
    let deeper = alone.replace("iodepth=8", "iodepth=32");
    assert_eq!(
        cases(&format!("{alone}{deeper}"), "iodepth", "iops").iter().map(|one| one.0.as_str()).collect::<Vec<_>>(),
        ["8", "32"]
    );
    let keys = &read_input(&alone).imported.results[0].keys;
    assert!(!keys.contains_key("clients"), "{keys:?}");
}

#[test]
fn documents_of_the_same_time_are_no_repetitions() {
    let document = |ended_ms: u64, runtime: u32, ios: u32| {
        format!(
            r#"{{"fio version": "fio-3.33", "timestamp_ms": {ended_ms}, "jobs": [{{"jobname": "a", "groupid": 0, "elapsed": 11,
            "job options": {{"rw": "read"}}, "read": {{"total_ios": {ios}, "iops": {}, "bw_bytes": 1, "runtime": {runtime}}}}}]}}"#,
            f64::from(ios) * 1e3 / f64::from(runtime)
        ) + "\n"
    };
    let rounds = |text: &str| {
        let imported = import_documents(&read_documents(text.as_bytes()).unwrap(), "a", "a.json");
        (imported.results.len(), into_experiment("x", &[imported]).unwrap().plan.schedule.rounds)
    };
    let of = |documents: &[(u64, u32, u32)]| {
        rounds(&documents.iter().map(|(ended, runtime, ios)| document(*ended, *runtime, *ios)).collect::<String>())
    };
    assert_eq!(of(&[(1_000_000, 10_001, 2000), (1_000_200, 10_001, 1500)]), (2, 1), "of two hosts");
    assert_eq!(of(&[(1_000_000, 10_001, 2000), (1_000_200, 10_002, 2900)]), (2, 1), "of two hosts, with more");
    assert_eq!(of(&[(1_000_000, 10_001, 2000), (1_020_000, 10_001, 2100)]), (2, 2), "one after the other");
    assert_eq!(of(&[(1_000_000, 5_001, 2000), (1_005_000, 10_001, 4100)]), (1, 1), "of one run");
}
