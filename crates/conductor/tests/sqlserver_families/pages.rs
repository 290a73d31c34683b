//! Page inserts.

use model::Reading;

use super::{Part, Shared, number, plan, reading, row, why_not};
use crate::experiment::conduct;
use crate::tds_server::{Asked, Encryption, Reply, Server, error, result};

#[derive(Default)]
pub struct Pages {
    inserted: u64,
    /// Loses the connection at this insert, once.
    fails_over_at: Option<u64>,
    refuses_counters: bool,
    /// Lacks the counters of files and of tables, as a PostgreSQL that speaks TDS.
    stands_in: bool,
    refuses_backup: bool,
}

impl Part for Pages {
    fn batch(&mut self, sql: &str) -> Option<Reply> {
        let n = self.inserted;
        if sql.starts_with("CREATE TABLE TIO") {
            self.inserted = 0;
        } else if sql.starts_with("INSERT INTO TIO") {
            if self.fails_over_at == Some(n) {
                self.fails_over_at = None;
                return Some(error(
                    976,
                    1,
                    14,
                    "The target database, 'etalon', is participating in an availability group.",
                ));
            }
            self.inserted += 1;
        } else if self.stands_in && sql.contains("sys.dm_") {
            return Some(error(33_557_097, 1, 16, "relation \"sys.dm_x\" does not exist"));
        } else if sql == "SELECT COUNT(*) FROM TIO" || sql.contains("SUM(row_count)") {
            return Some(number(n * 8));
        } else if sql.contains("SUM(used_page_count)") {
            return Some(number((n * 8 + 3) * 8192));
        } else if sql.contains("sys.dm_io_virtual_file_stats") {
            if self.refuses_counters {
                return Some(error(300, 1, 14, "VIEW SERVER STATE permission was denied on object 'server'."));
            }
            // They include the making of the files: 211 reads and so on, as published.
            let columns = ["#type", "name", "#r", "#rb", "#rs", "#w", "#wb", "#ws"];
            let data = [0, 211, 11_067_392, 392, 97 + n, (97 + n) * 65_536, 3 * (97 + n)];
            let log = [1, 180, 1_757_184, 96, 495 + 2 * n, (495 + 2 * n) * 36_864, 4 * (495 + 2 * n)];
            let texts = [data, log].map(|one| one.map(|value| value.to_string()));
            let rows: Vec<Vec<Option<&str>>> = texts
                .iter()
                .map(|one| {
                    let name = if one[0] == "0" { "etalon" } else { "etalon_log" };
                    [&one[0], name].into_iter().chain(one[1..].iter().map(String::as_str)).map(Some).collect()
                })
                .collect();
            let rows: Vec<&[Option<&str>]> = rows.iter().map(Vec::as_slice).collect();
            return Some(Reply::Tokens(result(&columns, &rows)));
        } else if sql.contains("SUM(CAST(size AS bigint)) * 8192") {
            return Some(number(8_388_608));
        } else if sql.contains("BACKUP DATABASE @own") && self.refuses_backup {
            return Some(error(262, 1, 14, "BACKUP DATABASE permission denied in database 'etalon'."));
        } else {
            return None;
        }
        Some(row(&[""], &[""]))
    }
}

const BENCHMARK: &str = "workload = \"pages\"\nstatements = 40";

#[test]
fn counters_are_differences_and_the_published_totals_stand_beside_them() {
    let (server, part) = Shared::serve(Pages::default());
    let outcome = conduct(&plan(&server, "recovery = \"full\"", BENCHMARK));
    assert_eq!(part.look().inserted, 40);
    assert_eq!(outcome.value("statements"), 40.0);
    assert_eq!(outcome.value("writes/data"), 40.0);
    assert_eq!(outcome.value("writes_total/data"), 137.0);
    assert_eq!(outcome.value("reads/log"), 0.0, "the reads are the making of the file");
    assert_eq!(outcome.value("reads_total/log"), 180.0);
    assert_eq!(outcome.value("avg_write/log"), 4.0);
    assert_eq!(outcome.value("wait_per_commit/log"), 8.0);
    assert_eq!(outcome.value("log_per_commit"), 2.0 * 36_864.0);
    assert_eq!(outcome.value("write_stall/log.etalon_log"), 320.0);
    assert_eq!(outcome.value("file_size/data"), 8_388_608.0);
    assert!(why_not(outcome.store(), "os_write_bytes/processes").contains("not on this host"));
    let asked = super::batches_with(&server, &[" TIO ", "'TIO'", "dm_io_virtual", "@own", "CHECKPOINT", "RECOVERY"]);
    insta::assert_snapshot!("pages", asked);
    assert!(!server.database().exists, "nothing of étalon's is left");
}

#[test]
fn what_the_login_may_not_see_is_not_available_and_the_rest_is_measured() {
    let (server, _part) = Shared::serve(Pages { refuses_counters: true, refuses_backup: true, ..Pages::default() });
    let outcome = conduct(&plan(&server, "", BENCHMARK));
    assert!(outcome.value("commits") > 0.0);
    for metric in ["writes/log", "avg_write/data", "writes_total/data", "log_per_commit"] {
        let reason = why_not(outcome.store(), metric);
        assert!(reason.contains("VIEW SERVER STATE") && reason.contains("GRANT"), "{metric}: {reason}");
    }
    let marks = outcome.store().marks().unwrap();
    assert!(marks.iter().any(|(_, mark)| mark.detail.contains("BACKUP DATABASE permission denied")), "{marks:?}");
}

/// Rows are counted, what is missing is reported, and no permission is suggested that would not help.
#[test]
fn a_server_that_stands_in_for_a_sql_server_is_measured_as_far_as_it_goes() {
    let (server, _part) = Shared::serve(Pages { stands_in: true, ..Pages::default() });
    let outcome = conduct(&plan(&server, "", BENCHMARK));
    assert!(outcome.value("commits") > 0.0);
    for metric in ["writes/log", "avg_write/data", "row_size"] {
        let reason = why_not(outcome.store(), metric);
        assert!(reason.contains("does not exist") && !reason.contains("GRANT"), "{metric}: {reason}");
    }
    let marks = outcome.store().marks().unwrap();
    assert!(marks.iter().any(|(_, mark)| mark.detail.contains("fills a page is not known")), "{marks:?}");
    assert!(!server.database().exists);
}

#[test]
fn a_failover_in_mid_run_repeats_the_run() {
    let (server, part) = Shared::serve(Pages { fails_over_at: Some(25), ..Pages::default() });
    let outcome = conduct(&plan(&server, "", BENCHMARK));
    assert_eq!(part.look().inserted, 40);
    let runs = outcome.store().runs().unwrap();
    let states: Vec<_> = runs.iter().map(|run| (run.attempt, run.state)).collect();
    assert_eq!(states, [(1, model::RunState::Failed), (2, model::RunState::Measured)]);
    assert!(runs[0].reason.as_ref().unwrap().contains("976"), "{:?}", runs[0].reason);
}

#[test]
fn without_a_checkpoint_there_is_no_elapsed_time() {
    let part = std::sync::Mutex::new(Pages::default());
    let script = move |asked: &Asked| match asked {
        Asked::Batch(sql) if sql == "CHECKPOINT" => {
            Some(error(262, 1, 14, "CHECKPOINT permission denied in database 'etalon'."))
        }
        Asked::Batch(sql) => part.lock().unwrap().batch(sql),
        _ => None,
    };
    let server = Server::start(Encryption::None, std::sync::Arc::new(script));
    let outcome = conduct(&plan(&server, "", BENCHMARK));
    assert!(why_not(outcome.store(), "elapsed").contains("CHECKPOINT permission denied"));
    assert!(matches!(reading(outcome.store(), "insert"), Reading::Value(_)));
}

/// PostgreSQL and SQL Server in one plan and one report.
#[test]
fn two_servers_stand_side_by_side_in_one_report() {
    let (server, _part) = Shared::serve(Pages::default());
    let plan = format!(
        "[systems.postgres]\nserver = {{ engine = \"postgres\" }}\n[systems.sqlserver]\nurl = \"{}\"\n[[benchmarks]]\n\
         workload = \"pages\"\nstatements = 40\n[schedule]\nrounds = 2\nwarmup = \"0s\"\nduration = \"1s\"\n",
        server.url()
    );
    let outcome = conduct(&plan);
    let evidence = report::Evidence::read_store(outcome.store()).unwrap();
    let set = report::compare(&evidence, &report::Options::default()).unwrap();
    let text = report::text::render_set(&set, &report::text::TextOptions::default());
    assert!(text.contains("A = postgres, B = sqlserver"), "{text}");
    assert!(text.contains("commits") && text.contains("Microsoft's written approval"), "{text}");
    let published = report::pages::FAMILY.render_for_terminal(&evidence, None, 200).unwrap();
    for words in ["results for postgres: 2 runs", "results for sqlserver: 2 runs", "since the files were opened"] {
        assert!(published.contains(words), "{words}: {published}");
    }
}
