//! HammerDB's jobs in the layouts of its manual (versions 4.6 to 6.0), with figures made up for this test.

#![cfg(test)]

use formats::hammerdb::{HammerDbResult, import_output, read_output};
use formats::into_experiment;
use model::{Reading, Value};
use proptest::prelude::*;

/// What the manual's scripts print: the console, then timings, counts and the result from the repository.
const SCRIPT: &str = "HammerDB CLI v6.0\nCopyright © HammerDB Ltd hosted by tpc.org 2019-2026\nType \"help\" for a list of commands\n\
    SETTING CONFIGURATION\nDatabase set to MariaDB\nVuser 2:RUNNING\n0 MariaDB tpm\n\
    Vuser 1:12 Active Virtual Users configured\nVuser 1:TEST RESULT : System achieved 51234 NOPM from 118765 MariaDB TPM\n\
    Vuser 1:FINISHED SUCCESS\nALL VIRTUAL USERS COMPLETE\n\
    TRANSACTION RESPONSE TIMES\n{\n  \"NEWORD\": {\n    \"elapsed_ms\": \"414691.5\",\n    \"calls\": \"256170\",\n    \
    \"min_ms\": \"0.586\",\n    \"avg_ms\": \"5.765\",\n    \"max_ms\": \"108.5\",\n    \"p99_ms\": \"13.25\",\n    \
    \"p95_ms\": \"9.75\",\n    \"p50_ms\": \"5.5\",\n    \"sd\": \"2437.527\",\n    \"ratio_pct\": \"52.308\"\n  },\n  \
    \"SLEV\": {\n    \"calls\": \"25600\",\n    \"avg_ms\": \"2.125\"\n  }\n}\n\n\
    TRANSACTION COUNT\n{\"MariaDB tpm\": {\n    \"2026-04-14 17:09:41\": \"0\",\n    \"2026-04-14 17:09:51\": \"118196\"\n  }}\n\n\
    HAMMERDB RESULT\n[\n  \"67FD3345479A03E263133311\",\n  \"2026-04-14 17:09:41\",\n  \
    \"12 Active Virtual Users configured\",\n  \
    \"TEST RESULT : System achieved 51234 NOPM from 118765 MariaDB TPM\"\n]\n";

const SESSION: &str = "hammerdb>jobs result\n[\n  [\n    \"67FD3345479A03E263133311\",\n    \"2026-04-14 17:09:41\",\n    \
    \"8 Active Virtual Users configured\",\n    \"TEST RESULT : System achieved 400 NOPM from 900 SQL Server TPM\"\n  ],\n  [\n    \
    \"67FD3345479A03E263133322\",\n    \"2026-04-14 18:09:41\",\n    \"8 Active Virtual Users configured\",\n    \
    \"TEST RESULT : System achieved 410 NOPM from 920 SQL Server TPM\"\n  ],\n  [\n    \"67FD3345479A03E263133333\",\n    \
    \"Jobid has no test result\"\n  ]\n]\nhammerdb>jobs 67FD3345479A03E263133322 timing\n{\n  \"NEWORD\": {\n    \
    \"calls\": \"9\",\n    \"avg_ms\": \"1.5\"\n  }\n}\nhammerdb>jobs 67FD3345479A03E263133311 timing 2\n{\n  \"NEWORD\": {\n    \
    \"calls\": \"4\",\n    \"avg_ms\": \"7.5\"\n  }\n}\n";

/// The report that `save` writes is one line.
fn report(id: &str, nopm: u32) -> String {
    format!(
        "{{\"schema\":\"hammerdb-job-report-v1\",\"job\":{{\"jobid\":\"{id}\",\"hdb_version\":\"6.0\",\"database\":\"PostgreSQL\",\
         \"database_display\":\"PostgreSQL\",\"benchmark\":\"TPROC-C\"}},\"benchmark_config\":{{\"warehouses\":100,\
         \"virtual_users\":16,\"rampup_minutes\":2,\"duration_minutes\":5}},\"result\":{{\"type\":\"tproc_c_result\",\
         \"active_virtual_users\":16,\"nopm\":{nopm},\"tpm\":98765}},\"response_times\":{{\"type\":\"boxplot\",\
         \"unit\":\"milliseconds\",\"rows\":[{{\"name\":\"NEWORD\",\"calls\":12,\"avg_ms\":3.5,\"p99_ms\":9.25}}]}}}}\n"
    )
}

#[test]
fn what_a_script_prints_is_one_job() {
    let output = read_output(SCRIPT.as_bytes());
    assert_eq!(output.version.as_deref(), Some("6.0"));
    let [job] = output.jobs.as_slice() else { panic!("{output:?}") };
    assert_eq!((job.outcome, job.virtual_users), (HammerDbResult::Orders { nopm: 51_234.0, tpm: 118_765.0 }, Some(12)));
    assert_eq!((job.line, job.id.as_deref()), (9, Some("67FD3345479A03E263133311")));
    assert_eq!(job.timings.iter().map(|timing| timing.name.as_str()).collect::<Vec<_>>(), ["NEWORD", "SLEV"]);
    let strange: Vec<(u64, &str)> = output.not_understood.iter().map(|line| (line.line, line.text.as_str())).collect();
    assert_eq!(strange, [(4, "SETTING CONFIGURATION")]);
    let imported = import_output(&output, "a", "out.txt");
    let result = &imported.results[0];
    let reading = |id: &str| result.measurements.iter().find(|m| m.metric.id == id).map(|m| m.reading.clone());
    assert_eq!(reading("nopm"), Some(Reading::Value(51_234.0)));
    assert_eq!(reading("response_p99/NEWORD"), Some(Reading::Value(13_250.0)), "microseconds, as everywhere");
    assert_eq!(reading("response_mean/SLEV"), Some(Reading::Value(2_125.0)));
    assert_eq!(reading("response_p99/SLEV"), None, "what was not printed is not there");
    assert_eq!(result.keys["virtual_users"], Value::Int(12));
    assert_eq!(imported.facts["a"].get("server.product"), Some("MariaDB"));
    assert!(imported.unknown.contains(&"the number of warehouses".to_owned()));
    assert!(into_experiment("x", &[imported]).is_ok());
}

#[test]
fn scripts_one_after_the_other_keep_their_timings() {
    let second = SCRIPT.replace("51234", "52000").replace("133311", "133322").replace("\"5.765\"", "\"6.5\"");
    let output = read_output(format!("{SCRIPT}{second}").as_bytes());
    let means: Vec<f64> = output.jobs.iter().map(|job| job.timings[0].figures["avg_ms"]).collect();
    assert_eq!((output.jobs.len(), means), (2, vec![5.765, 6.5]));
    let experiment = into_experiment("x", &[import_output(&output, "a", "out.txt")]).unwrap();
    assert_eq!(experiment.plan.schedule.rounds, 2, "two jobs of one configuration are repetitions");
}

#[test]
fn a_session_tells_by_its_commands_what_is_of_which_job() {
    let output = read_output(SESSION.as_bytes());
    assert_eq!((output.jobs.len(), output.without_result.len()), (2, 1));
    let imported = import_output(&output, "a", "b");
    assert!(imported.results[2].dropped.is_some(), "{imported:?}");
    let runs = into_experiment("x", &[imported]).unwrap().runs;
    assert_eq!(
        runs.iter().map(|(planned, _)| (planned.round, planned.case)).collect::<Vec<_>>(),
        [(0, 0), (1, 0), (2, 0)]
    );
    assert_eq!(output.jobs[0].timings, []);
    assert_eq!(output.jobs[1].timings[0].figures["avg_ms"], 1.5);
    assert_eq!(output.jobs[0].database.as_deref(), Some("SQL Server"));
    let strange: Vec<&str> = output.not_understood.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(strange, ["timings of one user"]);
}

#[test]
fn a_saved_report_tells_the_configuration() {
    let output = read_output(report("67FD3345479A03E263133344", 43_210).as_bytes());
    assert_eq!(output.not_understood, []);
    let imported = import_output(&output, "a", "hdb.json");
    let result = &imported.results[0];
    assert_eq!(result.measurements[0].reading, Reading::Value(43_210.0));
    assert_eq!((result.elapsed_s, result.keys["warehouses"].clone()), (Some(300.0), Value::Int(100)));
    assert_eq!(result.keys["virtual_users"], Value::Int(16));
    assert!(result.measurements.iter().any(|m| m.metric.id == "response_p99/NEWORD"));
    assert!(!imported.unknown.contains(&"the number of warehouses".to_owned()));
    let queries = "{\"schema\":\"hammerdb-job-report-v1\",\"job\":{\"jobid\":\"1\",\"benchmark\":\"TPROC-H\"},\
        \"benchmark_config\":{\"scale_factor\":1},\"result\":{\"type\":\"tproc_h_result\",\"queries\":22,\"query_sets\":1,\
        \"geomean_seconds\":\"0.5\",\"total_query_time_seconds\":21}}";
    let output = read_output(queries.as_bytes());
    assert_eq!(output.jobs[0].outcome, HammerDbResult::Queries { geomean_s: 0.5, total_s: 21.0 });
    let none = read_output("{\"schema\":\"hammerdb-job-report-v1\",\"result\":{}}".as_bytes());
    assert_eq!((none.jobs.len(), none.without_result.len()), (0, 1));
    let failed = report("67FD3345479A03E263133355", 1).replace("\"nopm\":1,\"tpm\":98765", "\"nopm\":null");
    let [one] = &read_output(failed.as_bytes()).without_result[..] else { panic!("{failed}") };
    assert_eq!((one.virtual_users, one.configuration["warehouses"].clone()), (Some(16), Value::Int(100)));
}

#[test]
fn the_console_alone_is_enough_in_both_wordings() {
    let console = "Vuser 1:4 Active Virtual Users configured\nVuser 1:TEST RESULT : System achieved 60501 SQL Server TPM at 13207 NOPM\n\
        Benchmark Run jobid=67FD28A55F8F03E223834333\nhello\n\
        Vuser 1:TEST RESULT : System achieved 5 NOPM from 9 PostgreSQL TPM\n";
    let output = read_output(console.as_bytes());
    assert_eq!(output.jobs.len(), 2);
    assert_eq!(output.jobs[0].outcome, HammerDbResult::Orders { nopm: 13_207.0, tpm: 60_501.0 });
    assert_eq!((output.jobs[0].virtual_users, output.jobs[1].virtual_users), (Some(4), None));
    assert_eq!(output.jobs[0].id.as_deref(), Some("67FD28A55F8F03E223834333"));
    assert_eq!(output.not_understood.iter().map(|line| line.line).collect::<Vec<_>>(), [4]);
}

#[test]
fn a_run_of_which_users_failed_is_no_result() {
    let result =
        "Vuser 1:4 Active Virtual Users configured\nVuser 1:TEST RESULT : System achieved 5 NOPM from 9 MariaDB TPM\n";
    let complete = "Vuser 1:FINISHED SUCCESS\nALL VIRTUAL USERS COMPLETE\n";
    let failed = "Vuser 3:FINISHED FAILED\n";
    let of = |text: &str| {
        let imported = import_output(&read_output(text.as_bytes()), "a", "b");
        imported.results.iter().map(|one| one.dropped.is_some()).collect::<Vec<_>>()
    };
    assert_eq!(of(&format!("{result}{complete}{result}{complete}")), [false, false]);
    assert_eq!(of(&format!("{failed}{result}{complete}{result}{complete}")), [true, false], "before the result");
    assert_eq!(of(&format!("{result}{failed}{complete}{result}{complete}")), [true, false], "behind it");
    assert_eq!(
        of(&format!("{result}{complete}{failed}{complete}{result}{complete}")),
        [false, true, false],
        "without one"
    );
    assert_eq!(of(&format!("{complete}{result}{complete}")), [false], "those that build a schema have no result");
    assert_eq!(of(&format!("{failed}{SCRIPT}")), [true], "the answer behind the console does not hide it");
}

#[test]
fn errors_of_virtual_users_are_counted_and_named() {
    let deadlock = "Vuser 2:Error in Virtual User 2: ERROR:  deadlock detected\n";
    let result = "Vuser 1:TEST RESULT : System achieved 51234 NOPM from 118765 PostgreSQL TPM\n";
    let text = format!("{deadlock}{result}{}ALL VIRTUAL USERS COMPLETE\n{result}", deadlock.replace('2', "3"));
    let imported = import_output(&read_output(text.as_bytes()), "a", "f");
    let note = "errors of virtual users: 2: ERROR:  deadlock detected (2 times)".to_owned();
    assert!(imported.notes.contains(&note), "{:?}", imported.notes);
    let with_errors: Vec<bool> = imported.results.iter().map(|result| result.notes.contains(&note)).collect();
    assert_eq!(with_errors, [true, false]);
}

#[test]
fn what_is_cut_or_strange_is_said_and_no_figure() {
    let cut = SCRIPT.rfind("\"TEST RESULT").unwrap();
    let only_json = &SCRIPT[SCRIPT.find("HAMMERDB RESULT").unwrap()..cut];
    let output = read_output(only_json.as_bytes());
    assert_eq!(output.jobs, []);
    assert!(!output.not_understood.is_empty());
    for text in ["{\"a\": 1}", "TEST RESULT : System achieved many NOPM from 1 X TPM", "Vuser 1:\n[ vurun ]", "[]"] {
        let output = read_output(text.as_bytes());
        assert_eq!(output.jobs, [], "{text}");
        assert!(text.starts_with("Vuser") || output.not_understood.len() == 1, "{text}: {output:?}");
    }
    assert_eq!(read_output(b"").jobs, []);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        let _ = read_output(&bytes);
        let _ = read_output(&[b"{", &bytes[..]].concat());
    }

    #[test]
    fn no_damage_makes_it_panic(cut in 0..2000_usize, junk in "[0-9e{}\\[\\],\": -]{0,8}") {
        for text in [SCRIPT, SESSION, &report("67FD3345479A03E263133344", 1)] {
            let at = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let mut damaged = text.to_owned();
            damaged.insert_str(at, &junk);
            let _ = into_experiment("x", &[import_output(&read_output(damaged.as_bytes()), "a", "b")]);
        }
    }
}

#[test]
fn what_the_console_sets_are_keys_and_places() {
    let run = |before: &str, settings: &str, nopm: u32| {
        format!(
            "{before}HammerDB CLI v4.9\n{settings}Vuser 1:4 Active Virtual Users configured\n\
             Vuser 1:TEST RESULT : System achieved {nopm} NOPM from 60057 PostgreSQL TPM\nVuser 1:FINISHED SUCCESS\n\
             ALL VIRTUAL USERS COMPLETE\n"
        )
    };
    let small = "Changed tpcc:pg_count_ware from 1 to 100 for PostgreSQL\nChanged tpcc:pg_storedprocs from true to false for PostgreSQL\n\
                 Changed tpcc:pg_pass from tpcc to topsecret for PostgreSQL\n";
    let large = "Value 1000 for tpcc:pg_count_ware is the same as existing value 1000, no change made\n\
                 Changed connection:pg_host from localhost to db2 for PostgreSQL\n";
    let text = [run("", small, 1), run("", large, 2), run(small, "", 3), run("", "", 4)].concat();
    let output = read_output(text.as_bytes());
    assert_eq!(output.not_understood, []);
    let imported = import_output(&output, "a", "out.txt");
    let warehouses: Vec<Option<&Value>> = imported.results.iter().map(|one| one.keys.get("warehouses")).collect();
    assert_eq!(warehouses, [Some(&Value::Int(100)), Some(&Value::Int(1000)), Some(&Value::Int(100)), None]);
    assert_eq!(imported.results[0].keys.get("storedprocs"), None, "what is off is no condition");
    assert_eq!(imported.results[1].places["host"], Value::Text("db2".to_owned()));
    assert!(!format!("{imported:?}").contains("topsecret"));
    let on = text.replacen("from true to false", "from false to true", 1);
    assert_eq!(import_output(&read_output(on.as_bytes()), "a", "b").results[0].keys["storedprocs"], Value::Bool(true));
    let queries = "Changed tpch:pg_scale_fact from 1 to 10 for PostgreSQL\nVuser 1:query 5 completed in 18.98 seconds\n\
                   Vuser 1:Geometric mean of query times returning rows (2) is 15.4\nALL VIRTUAL USERS COMPLETE\n";
    let imported = import_output(&read_output(format!("{small}{queries}").as_bytes()), "a", "b");
    assert_eq!(imported.results[0].keys["scale_factor"], Value::Int(10));
    assert!(!imported.results[0].keys.contains_key("warehouses"), "a setting of the other workload");
}
