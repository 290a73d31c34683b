//! Backups and restores.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use conductor::{ExperimentEnd, Registry};
use load::datum::Datum;
use load::error::FailureKind;
use load::observer::Silent;
use model::{Length, OnError, Order, Plan, Schedule};
use workloads::dataset::RowRule;
use workloads::step::{self, StepContext};
use workloads::system::{Consent, OpenRequest};
use workloads::workload::{Action, Grants, Task};

use super::{Part, Shared, batches_with, number, plan, reason, row, why_not, word};
use crate::experiment::{attempt, conduct};
use crate::tds_server::{Asked, Reply, Server, error, info, result};

/// What goes wrong in the middle of a backup.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    DiskFull,
    /// The connection ends, once.
    Lost,
    /// The server says nothing until the backup is cancelled.
    Silent,
    /// A row of the restored database differs.
    Damaged,
    /// The backup's file stays.
    FileStays,
    /// The file does not begin as a backup does, and so is not recognised.
    FileCutShort,
}

/// A server that backs up a database of known rows.
pub(super) struct Vault {
    rule: RowRule,
    rows: u64,
    /// The note of the first row, once it was changed, and as it was when the backup was taken.
    note: Option<String>,
    note_in_copy: Option<String>,
    fault: Fault,
    takes: Duration,
    sysadmin: bool,
    may_govern: bool,
    copy: bool,
    in_copy: bool,
    files: Vec<String>,
    label: String,
    encrypted: bool,
    cpu_ms: u64,
    /// Subject of the certificate in `master`.
    certificate: Option<String>,
    master_key: bool,
    governed: bool,
    flag: bool,
    classifier: &'static str,
    /// How often the governor reports that a session of the group is still there.
    clinging: u32,
}

const BENCHMARK: &str = "workload = \"backup\"\nsize_mib = 2\nwhere = \"server\"";

fn task() -> Task {
    let text = format!("[systems.x]\nurl = \"sim:\"\n[[benchmarks]]\n{BENCHMARK}\n[schedule]\nduration = \"1s\"\n");
    let registry = Registry::built_in();
    let changes = model::plan::Changes::default();
    let (plan, _) = Plan::parse(&text, "test.toml", &changes, &registry.catalog(), 1).unwrap_or_else(|e| panic!("{e}"));
    registry.workload("backup").unwrap().make_task(&plan.cases()[0].point, &Grants::default()).unwrap()
}

impl Vault {
    pub(super) fn new() -> Vault {
        let table = task().dataset.tables[0].clone();
        Vault {
            rule: Arc::clone(&table.row),
            rows: table.rows,
            note: None,
            note_in_copy: None,
            fault: Fault::None,
            takes: Duration::ZERO,
            sysadmin: true,
            may_govern: true,
            copy: false,
            in_copy: false,
            files: Vec::new(),
            label: String::new(),
            encrypted: false,
            cpu_ms: 0,
            certificate: None,
            master_key: false,
            governed: false,
            flag: false,
            classifier: "",
            clinging: 0,
        }
    }

    fn with(fault: Fault) -> Vault {
        Vault { fault, ..Vault::new() }
    }

    /// A server whose backups take this long.
    pub(super) fn taking(takes: Duration) -> Vault {
        Vault { takes, ..Vault::new() }
    }

    fn page(&self, after: u64) -> Reply {
        let mut texts = Vec::new();
        for index in after..self.rows.min(after + 2_000) {
            let mut values = Vec::new();
            (self.rule)(index, &mut values);
            let mut row: Vec<String> = values
                .iter()
                .map(|datum| match datum {
                    Datum::Int(number) => number.to_string(),
                    Datum::Text(text) => text.to_string(),
                    other => panic!("{other:?}"),
                })
                .collect();
            if self.fault == Fault::Damaged && self.in_copy && index == 3_000 {
                row[2] = "damaged".to_owned();
            }
            let note = if self.in_copy { &self.note_in_copy } else { &self.note };
            if let (0, Some(note)) = (index, note) {
                row[3].clone_from(note);
            }
            texts.push(row);
        }
        let rows: Vec<Vec<Option<&str>>> =
            texts.iter().map(|row| row.iter().map(|value| Some(value.as_str())).collect()).collect();
        let rows: Vec<&[Option<&str>]> = rows.iter().map(Vec::as_slice).collect();
        Reply::Tokens(result(&["#id", "#kind", "body", "note"], &rows))
    }

    fn back_up(&mut self, sql: &str) -> Reply {
        match self.fault {
            Fault::DiskFull => {
                let text = "Write on \"x.bak\" failed: 112(There is not enough space on the disk.)";
                return error(3202, 1, 16, text);
            }
            Fault::Lost => {
                self.fault = Fault::None;
                return Reply::Close;
            }
            Fault::Silent => return Reply::Silence,
            _ => {}
        }
        let literals = |before: &str| -> Vec<String> {
            sql.split(before).skip(1).filter_map(|rest| Some(rest.split('\'').next()?.to_owned())).collect()
        };
        self.note_in_copy.clone_from(&self.note);
        self.files = literals("DISK = N'");
        self.label = literals("NAME = N'")[0].clone();
        self.encrypted = sql.contains("ENCRYPTION (");
        self.cpu_ms += 70;
        let words = "BACKUP DATABASE successfully processed 512 pages in 0.125 seconds (32.000 MB/sec).";
        let percents = (1..=10).map(|tenth| info(3211, &format!("{} percent processed.", tenth * 10)));
        let said = percents.chain([info(3014, words), crate::tds_server::touched(0)]).collect::<Vec<_>>().concat();
        Reply::Later(self.takes, said)
    }

    fn in_master(&mut self, sql: &str) -> Reply {
        for part in ["CREATE MASTER KEY", "CREATE CERTIFICATE", "DROP CERTIFICATE", "DROP MASTER KEY"] {
            if sql.contains(part) {
                match part {
                    "CREATE MASTER KEY" => self.master_key = true,
                    "CREATE CERTIFICATE" => {
                        let subject = sql.split("SUBJECT = N''").nth(1).and_then(|rest| rest.split("''").next());
                        self.certificate = subject.map(str::to_owned);
                    }
                    "DROP CERTIFICATE" => self.certificate = None,
                    _ => self.master_key = false,
                }
            }
        }
        let settles = sql.contains("IF EXISTS (SELECT 1 FROM sys.dm_resource_governor_workload_groups");
        if sql.contains("CREATE WORKLOAD GROUP") {
            self.governed = true;
        } else if settles && self.governed && self.clinging > 0 {
            self.clinging -= 1;
            return error(10_904, 1, 16, "There are active sessions in workload groups being dropped.");
        } else if settles {
            self.governed = false;
        }
        Reply::Tokens(crate::tds_server::touched(0))
    }

    fn history(&self) -> Reply {
        let columns = ["name", "#backup_size", "#compressed_backup_size", "key_algorithm", "compression_algorithm"];
        let algorithm = self.encrypted.then_some("aes_256");
        Reply::Tokens(result(
            &columns,
            &[&[Some(self.label.as_str()), Some("4194304"), Some("1048576"), algorithm, Some("MS_XPRESS")]],
        ))
    }
}

impl Vault {
    /// Answers what only an administrator asks.
    fn administer(&mut self, sql: &str) -> Option<Reply> {
        let done = || Some(Reply::Tokens(crate::tds_server::touched(0)));
        let flag = |on: bool| if on { "1" } else { "0" };
        Some(match sql {
            _ if sql.starts_with("EXEC master.sys.xp_delete_file") => {
                let any = sql.starts_with("EXEC master.sys.xp_delete_files");
                if self.fault != Fault::FileStays && (any || self.fault != Fault::FileCutShort) {
                    self.files.retain(|file| !sql.contains(file.as_str()));
                }
                return done();
            }
            _ if sql.starts_with("EXEC master.sys.xp_fileexist") => {
                let is_there = self.files.iter().any(|file| sql.contains(file.as_str()));
                row(&["#", "#", "#"], &[flag(is_there), "0", "1"])
            }
            _ if sql.starts_with("DBCC TRACESTATUS(3042") => {
                row(&["#TraceFlag", "#Status", "#Global", "#Session"], &["3042", flag(self.flag), flag(self.flag), "0"])
            }
            _ if sql.starts_with("DBCC TRACEON(3042, -1)") => {
                self.flag = true;
                return done();
            }
            _ if sql.starts_with("DBCC TRACEOFF(3042, -1)") => {
                self.flag = false;
                return done();
            }
            _ if sql.contains("master.sys.certificates") => match &self.certificate {
                Some(subject) => word(subject),
                None => Reply::Tokens(result(&[""], &[])),
            },
            _ if sql.contains("##MS_DatabaseMasterKey##") => number(u8::from(self.master_key)),
            _ if sql.contains("encryption_state") => number(3),
            _ if sql.contains("sys.resource_governor_configuration") && sql.starts_with("SELECT") => {
                row(&["#", ""], &["0", self.classifier])
            }
            _ if sql.starts_with("SELECT COUNT(*) FROM sys.resource_governor") => number(0),
            _ if sql.starts_with("EXEC master.sys.sp_executesql") => self.in_master(sql),
            _ => return None,
        })
    }
}

impl Part for Vault {
    fn batch(&mut self, sql: &str) -> Option<Reply> {
        let done = || Some(Reply::Tokens(crate::tds_server::touched(0)));
        Some(match sql {
            "SELECT CAST(SERVERPROPERTY('EngineEdition') AS int)" => number(3),
            "SELECT IS_SRVROLEMEMBER('sysadmin')" => number(u8::from(self.sysadmin)),
            "SELECT @@SPID" => number(51),
            "SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'CONTROL SERVER')" => number(u8::from(self.may_govern)),
            "SELECT scheduler_count FROM sys.dm_os_sys_info" => number(4),
            "USE [etalon_restored]" => {
                self.in_copy = true;
                return done();
            }
            "USE [etalon]" => {
                self.in_copy = false;
                return None;
            }
            _ if sql.contains("InstanceDefaultBackupPath") => word("/var/opt/mssql/backup"),
            _ if sql.contains("name = N'etalon_restored'") => number(u8::from(self.copy)),
            _ if sql.starts_with("BACKUP DATABASE") => self.back_up(sql),
            _ if sql.contains("FROM msdb.dbo.backupset WHERE name") => self.history(),
            _ if sql.starts_with("RESTORE FILELISTONLY") => {
                let rows: [&[Option<&str>]; 2] = [
                    &[Some("etalon"), Some("/var/opt/mssql/data/etalon.mdf")],
                    &[Some("etalon_log"), Some("/var/opt/mssql/data/etalon_log.ldf")],
                ];
                Reply::Tokens(result(&["LogicalName", "PhysicalName"], &rows))
            }
            _ if sql.starts_with("RESTORE DATABASE") => {
                (self.copy, self.cpu_ms) = (true, self.cpu_ms + 30);
                return done();
            }
            _ if sql.contains("DROP DATABASE [etalon_restored]") => {
                self.copy = false;
                return done();
            }
            _ if sql.contains("SELECT cpu_time FROM sys.dm_exec_sessions") => number(self.cpu_ms),
            // Compression threads count in the process's time, not the session's.
            _ if sql.contains("process_kernel_time_ms") => word(&format!("{}", self.cpu_ms as f64 * 10.0 / 1e3)),
            _ if sql.contains("total_cpu_usage_ms") && self.governed => number(self.cpu_ms * 9),
            _ if sql.contains("total_cpu_usage_ms") => Reply::Tokens(result(&["#"], &[])),
            _ if sql.contains("percent_complete") => number(50),
            _ if sql.contains("dm_os_enumerate_filesystem") => number(3_000_000),
            _ if sql.starts_with("UPDATE item SET note = '") => {
                self.note = sql.split('\'').nth(1).map(str::to_owned);
                Reply::Tokens(crate::tds_server::touched(1))
            }
            _ if sql.starts_with("SELECT TOP (2000) id") => {
                let after = sql.split("id > ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
                self.page(after.unwrap())
            }
            _ => return self.administer(sql),
        })
    }
}

fn keys(more: &str) -> String {
    format!("{BENCHMARK}\n{more}")
}

fn assert_nothing_is_left(part: &Vault) {
    assert!(!part.copy, "the restored database");
    assert_eq!(part.files, Vec::<String>::new(), "the backup's files");
    assert_eq!(part.certificate, None);
    assert!(!part.governed && !part.flag);
}

/// Masks the backup's label, which is random.
fn steady(text: &str, part: &Vault) -> String {
    text.replace(&part.label, "LABEL")
}

#[test]
fn a_backup_is_taken_restored_and_verified_by_the_server() {
    let (server, part) = Shared::serve(Vault::new());
    let outcome = conduct(&plan(&server, "", &keys("codec = \"ms_xpress\"\nstripes = 2\ntransfer_kib = 128")));
    let part = part.look();
    assert_eq!(outcome.value("backup_size"), 1_048_576.0, "as msdb has it");
    assert_eq!(outcome.value("source_size"), 4_194_304.0);
    assert_eq!(outcome.value("saving"), 75.0);
    assert_eq!(outcome.value("rows_verified"), part.rows as f64);
    assert!((outcome.value("backup_cpu/server") - 0.7).abs() < 1e-9, "all of the process");
    assert!((outcome.value("backup_cpu/session") - 0.07).abs() < 1e-9, "the session's own");
    assert!((outcome.value("restore_cpu/session") - 0.03).abs() < 1e-9);
    assert!((outcome.value("restore_cpu/server") - 0.3).abs() < 1e-9);
    assert_eq!(outcome.value("backup_pages"), 512.0);
    assert_eq!(outcome.value("backup_rate_told"), 32.0);
    assert_eq!(outcome.value("backup_peak_size"), 3_000_000.0, "the room that it took beforehand");
    assert!(outcome.value("verifyonly_time") >= 0.0 && outcome.value("backup_percent/100") > 0.0);
    assert_nothing_is_left(&part);
    let words = ["BACKUP", "RESTORE", "CHECKDB", "etalon_restored", "xp_", "SELECT TOP (2000)", "msdb", "[item]"];
    insta::assert_snapshot!("backup", steady(&batches_with(&server, &words), &part));
    let programs: Vec<String> = server.database().logins.iter().map(|(_, _, program)| program.clone()).collect();
    assert!(programs.contains(&"etalon-backup".to_owned()), "{programs:?}");
}

#[test]
fn one_that_is_thrown_away_takes_no_sysadmin_and_is_not_restored() {
    let (server, part) = Shared::serve(Vault { sysadmin: false, ..Vault::new() });
    let outcome = conduct(&plan(&server, "", &keys("codec = \"none\"\ndestination = \"nul\"")));
    assert!(outcome.value("backup_rate") > 0.0);
    for metric in ["restore_rate", "restore_cpu_per_gib", "rows_verified"] {
        assert!(why_not(outcome.store(), metric).contains("thrown away"), "{metric}");
    }
    assert!(batches_with(&server, &["BACKUP DATABASE"]).contains("TO DISK = 'NUL' WITH"));
    assert_nothing_is_left(&part.look());

    let (server, _part) = Shared::serve(Vault { sysadmin: false, ..Vault::new() });
    let (ended, outcome) = attempt(&plan(&server, "", &keys("codec = \"none\"")));
    assert!(matches!(ended, ExperimentEnd::Stopped { kind: FailureKind::Permission, .. }), "{ended:?}");
    assert!(reason(&outcome).contains("not remove them"));
    assert!(!server.batches().iter().any(|sql| sql.starts_with("BACKUP")));
}

/// The load goes on during the backup, and while what the backup leaves is removed.
#[test]
fn transactions_run_beside_a_backup_and_beside_one_that_is_governed() {
    let (server, part) = Shared::serve(Vault::taking(Duration::from_millis(700)));
    let load = "codec = \"none\"\nmethod = [\"none\", \"native\"]\nserver_cpu_percent = [0, 50]\nload = { script = \
                \"tpcb-like\", clients = 2, scale = 1 }";
    let outcome = conduct(&plan(&server, "", &keys(load)));
    let runs = outcome.store().runs().unwrap();
    assert_eq!(runs.len(), 3, "the load alone is one case");
    let measured = outcome.store().measurements().unwrap();
    for run in &runs {
        assert_eq!(run.state, model::RunState::Measured);
        let of = |metric: &str| {
            let found = measured.iter().find(|row| row.run_id == run.id && row.measurement.metric.id == metric);
            found.unwrap_or_else(|| panic!("there is no {metric}")).measurement.reading.clone()
        };
        assert!(matches!(of("throughput"), model::Reading::Value(rate) if rate > 0.0), "{:?}", of("throughput"));
        assert!(matches!(of("errors"), model::Reading::Value(0.0)));
        let rate = of("backup_rate");
        match run.planned.case {
            0 => assert!(
                matches!(&rate, model::Reading::Unavailable(why) if why.reason.contains("no backup")),
                "{rate:?}"
            ),
            _ => assert!(matches!(rate, model::Reading::Value(rate) if rate > 0.0), "{rate:?}"),
        }
    }
    let asked = server.database().log.clone();
    let place = |words: &str, from: usize| {
        let found = asked[from..].iter().position(|one| matches!(one, Asked::Batch(sql) if sql.contains(words)));
        from + found.unwrap_or_else(|| panic!("nothing is asked with `{words}`"))
    };
    // Transactions were sent and ended during the second backup, which is the governed one or the one before it.
    let begun = place("BACKUP DATABASE", 0);
    let ended = place("FROM msdb.dbo.backupset WHERE name", begun);
    let committed =
        asked[begun..ended].iter().filter(|one| matches!(one, Asked::Batch(sql) if sql.starts_with("COMMIT")));
    assert!(committed.count() > 2, "the load stood still");
    assert!(batches_with(&server, &["CREATE WORKLOAD GROUP"]).contains("etalon_backup"));
    assert_nothing_is_left(&part.look());
    assert!(!server.database().exists);
}

#[test]
fn a_codec_that_the_release_or_the_engine_lacks_is_not_available() {
    let (server, part) = Shared::serve(Vault::new());
    // As the plan that is for all engines asks.
    let all = "where = \"any\"\ncodec = [\"none\", \"gzip\", \"lz4\", \"zstd\", \"ms_xpress\"]";
    let outcome = conduct(&plan(&server, "", &keys(all).replace("where = \"server\"\n", "")));
    let runs = outcome.store().runs().unwrap();
    assert!(runs.iter().all(|run| run.state == model::RunState::Measured), "{runs:?}");
    let measured = outcome.store().measurements().unwrap();
    let of = |case: u32, metric: &str| {
        let run = runs.iter().find(|run| run.planned.case == case).unwrap();
        let found = measured.iter().find(|row| row.run_id == run.id && row.measurement.metric.id == metric);
        found.unwrap_or_else(|| panic!("case {case} has no {metric}")).measurement.reading.clone()
    };
    for metric in ["backup_rate", "backup_cpu_per_gib", "backup_size", "restore_rate", "restore_cpu_per_gib"] {
        for (case, words) in [(1, "ms_xpress, qat_deflate or zstd"), (2, "ms_xpress"), (3, "SQL Server 2025")] {
            let model::Reading::Unavailable(why) = of(case, metric) else { panic!("case {case} has a {metric}") };
            assert!(why.reason.contains(words), "{why}");
        }
        for case in [0, 4] {
            assert!(matches!(of(case, metric), model::Reading::Value(_)), "case {case} has no {metric}");
        }
    }
    let taken: Vec<String> = server.batches().into_iter().filter(|sql| sql.starts_with("BACKUP")).collect();
    assert_eq!(taken.len(), 2, "{taken:?}");
    assert!(taken.iter().any(|sql| sql.ends_with("NO_COMPRESSION")), "{taken:?}");
    assert!(taken.iter().any(|sql| sql.contains("ALGORITHM = MS_XPRESS")), "{taken:?}");
    assert_nothing_is_left(&part.look());

    let folder = tempfile::tempdir().unwrap();
    let outcome = conduct(&format!(
        "[systems.here]\nurl = \"sqlite:{}/x.db\"\n[[benchmarks]]\nworkload = \"backup\"\nsize_mib = 1\ncodec = \
         \"ms_xpress\"\n[schedule]\nrounds = 1\nwarmup = \"0s\"\nduration = \"1s\"\n",
        folder.path().display()
    ));
    assert!(why_not(outcome.store(), "backup_rate").contains("ms_xpress is a codec that some servers have"));
}

#[test]
fn a_server_that_stands_in_for_a_sql_server_has_no_backups() {
    let banner = "Babelfish for PostgreSQL with SQL Server Compatibility - 12.0.2000.8";
    let server = Server::answering("SELECT @@VERSION", word(banner));
    let outcome = conduct(&plan(&server, "", &keys("codec = [\"none\", \"ms_xpress\"]")));
    for metric in ["backup_rate", "backup_size", "restore_rate"] {
        assert!(why_not(outcome.store(), metric).contains("Babelfish for PostgreSQL has no BACKUP"), "{metric}");
    }
    assert!(!server.batches().iter().any(|sql| sql.starts_with("BACKUP")));
}

#[test]
fn what_the_engine_cannot_be_asked_for_is_said_before_anything_is_made() {
    for (more, words) in [
        ("codec = \"none\"\nmax_rate_mib_s = 5", "server_cpu_percent"),
        ("codec = \"none\"\nmethod = \"base-backup\"", "SQL Server"),
    ] {
        let (server, _part) = Shared::serve(Vault::new());
        let (ended, outcome) = attempt(&plan(&server, "", &keys(more)));
        assert!(matches!(ended, ExperimentEnd::Stopped { kind: FailureKind::Unsupported, .. }), "{ended:?}");
        assert!(reason(&outcome).contains(words), "{more}: {}", reason(&outcome));
        assert!(!server.batches().iter().any(|sql| sql.starts_with("BACKUP") || sql.contains("CREATE CERT")));
    }
    let folder = tempfile::tempdir().unwrap();
    for (more, words) in [("stripes = 3", "stripes"), ("destination = \"nul\"", "destination")] {
        let text = format!(
            "[systems.here]\nurl = \"sqlite:{}/x.db\"\n[[benchmarks]]\nworkload = \"backup\"\nsize_mib = 1\n{more}\n\
             [schedule]\nrounds = 1\nwarmup = \"0s\"\nduration = \"1s\"\n",
            folder.path().display()
        );
        let (ended, outcome) = attempt(&text);
        assert!(matches!(ended, ExperimentEnd::Stopped { kind: FailureKind::Unsupported, .. }), "{ended:?}");
        assert!(reason(&outcome).contains(words), "{more}: {}", reason(&outcome));
    }
}

#[test]
fn an_encrypted_database_and_an_encrypted_backup_take_keys_of_etalon_s_making() {
    let (server, part) = Shared::serve(Vault::new());
    let outcome = conduct(&plan(&server, "encryption = true", &keys("codec = \"ms_xpress\"\nencrypt_backup = true")));
    let part = part.look();
    assert!(part.encrypted);
    assert_nothing_is_left(&part);
    assert!(!part.master_key, "étalon made it, and removed it");
    let asked = batches_with(&server, &["MASTER KEY", "CERTIFICATE", "ENCRYPTION"]);
    let password = asked.split("PASSWORD = ''").nth(1).unwrap().split("''").next().unwrap().to_owned();
    assert!(password.len() >= 36, "{password}");
    let kept = std::fs::read(outcome.store().path()).unwrap();
    assert!(!kept.windows(password.len()).any(|window| window == password.as_bytes()), "it is in the store");
    insta::assert_snapshot!("encrypted", steady(&asked.replace(&password, "PASSWORD"), &part));
}

#[test]
fn a_master_key_and_a_certificate_of_somebody_else_s_are_left_alone() {
    let (server, part) = Shared::serve(Vault { master_key: true, ..Vault::new() });
    conduct(&plan(&server, "encryption = true", &keys("codec = \"none\"")));
    assert!(part.look().master_key);
    assert!(!batches_with(&server, &["MASTER KEY"]).contains("DROP MASTER KEY"));

    let stranger = Some("of the firm".to_owned());
    let (server, part) = Shared::serve(Vault { certificate: stranger.clone(), ..Vault::new() });
    let (ended, outcome) = attempt(&plan(&server, "", &keys("codec = \"none\"\nencrypt_backup = true")));
    assert!(matches!(ended, ExperimentEnd::Stopped { kind: FailureKind::NotOurs, .. }), "{ended:?}");
    assert!(reason(&outcome).contains("étalon did not make"));
    assert_eq!(part.look().certificate, stranger);
}

#[test]
fn the_resource_governor_limits_a_backup_and_is_left_as_it_was() {
    let (server, part) = Shared::serve(Vault::new());
    let outcome = conduct(&plan(&server, "", &keys("codec = \"ms_xpress\"\nserver_cpu_percent = 50")));
    assert!((outcome.value("backup_cpu/workload_group") - 0.63).abs() < 1e-9);
    assert_nothing_is_left(&part.look());
    insta::assert_snapshot!("governor", batches_with(&server, &["RESOURCE", "WORKLOAD", "resource_governor"]));

    // The server notices a moment late that the backup's session has ended.
    let (server, part) = Shared::serve(Vault { clinging: 3, ..Vault::new() });
    conduct(&plan(&server, "", &keys("codec = \"none\"\nserver_cpu_percent = 50")));
    assert_nothing_is_left(&part.look());
    assert_eq!(part.look().clinging, 0);

    for (vault, kind, words) in [
        (Vault { may_govern: false, ..Vault::new() }, FailureKind::Permission, "may not change the resource governor"),
        (Vault { classifier: "firm_sorter", ..Vault::new() }, FailureKind::NotOurs, "classifier function of its own"),
    ] {
        let (server, _part) = Shared::serve(vault);
        let (ended, outcome) = attempt(&plan(&server, "", &keys("codec = \"none\"\nserver_cpu_percent = 50")));
        assert!(matches!(ended, ExperimentEnd::Stopped { kind: told, .. } if told == kind), "{ended:?}");
        assert!(reason(&outcome).contains(words), "{}", reason(&outcome));
        assert!(!server.batches().iter().any(|sql| sql.contains("CREATE RESOURCE POOL")));
    }
}

#[test]
fn the_trace_flag_is_on_for_the_backup_alone() {
    let (server, part) = Shared::serve(Vault::new());
    conduct(&plan(&server, "", &keys("codec = \"ms_xpress\"\npreallocate = false")));
    let asked = server.batches();
    let place = |words: &str| asked.iter().position(|sql| sql.starts_with(words)).unwrap();
    assert!(place("DBCC TRACEON(3042") < place("BACKUP DATABASE"));
    assert!(place("BACKUP DATABASE") < place("DBCC TRACEOFF(3042"));
    assert_nothing_is_left(&part.look());
    // A flag that was on before stays on.
    let (server, part) = Shared::serve(Vault { flag: true, ..Vault::new() });
    conduct(&plan(&server, "", &keys("codec = \"ms_xpress\"\npreallocate = false")));
    assert!(part.look().flag && !server.batches().iter().any(|sql| sql.contains("TRACEOFF")));
}

#[test]
fn what_goes_wrong_is_one_message_and_nothing_is_left() {
    for (fault, kind, words) in [
        (Fault::DiskFull, FailureKind::DiskFull, "not enough space"),
        (Fault::Damaged, FailureKind::Verification, "and the original"),
        (Fault::FileStays, FailureKind::Other, "it is still there"),
    ] {
        let (server, part) = Shared::serve(Vault::with(fault));
        let (ended, outcome) = attempt(&plan(&server, "", &keys("codec = \"none\"")));
        assert!(matches!(ended, ExperimentEnd::Stopped { kind: told, .. } if told == kind), "{ended:?}");
        assert!(reason(&outcome).contains(words), "{}", reason(&outcome));
        let part = part.look();
        assert!(!part.copy && (part.files.is_empty() || fault == Fault::FileStays));
        assert!(!server.database().exists, "étalon's database is dropped");
    }
    let (server, part) = Shared::serve(Vault::with(Fault::FileCutShort));
    conduct(&plan(&server, "", &keys("codec = \"none\"")));
    assert_nothing_is_left(&part.look());
    let (server, part) = Shared::serve(Vault::with(Fault::Lost));
    let outcome = conduct(&plan(&server, "", &keys("codec = \"none\"")));
    let attempts = outcome.store().runs().unwrap().len();
    assert_eq!(attempts, 2, "the run is repeated");
    assert_nothing_is_left(&part.look());
}

#[test]
fn a_ctrl_c_ends_a_backup_that_says_nothing() {
    let (server, part) = Shared::serve(Vault::with(Fault::Silent));
    let text = plan(&server, "", &keys("codec = \"none\""));
    let registry = Registry::built_in();
    let changes = model::plan::Changes::default();
    let (plan, _) = Plan::parse(&text, "test.toml", &changes, &registry.catalog(), 1).unwrap_or_else(|e| panic!("{e}"));
    let system = registry.open_system(&OpenRequest::new(&plan.systems[0], Consent::OwnOnly)).unwrap();
    let task = registry.workload("backup").unwrap().make_task(&plan.cases()[0].point, &Grants::default()).unwrap();
    let Action::Step(procedure) = &task.action else { panic!("a backup is a step") };
    system.prepare(&task.dataset).unwrap();
    let schedule = Schedule {
        rounds: 1,
        warmup: Duration::ZERO,
        length: Length::Duration(Duration::from_secs(1)),
        order: Order::Interleaved,
        seed: 1,
        on_error: OnError::Stop,
        until_sure: None,
        caches: model::Caches::Warmed,
    };
    let interrupt = AtomicBool::new(false);
    let started = Instant::now();
    let (record, interrupted) = std::thread::scope(|scope| {
        let interrupted = scope.spawn(|| {
            let begun = || server.batches().iter().any(|sql| sql.starts_with("BACKUP"));
            // A machine with other work may take long to get there.
            while !begun() && started.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(20));
            }
            interrupt.store(true, Ordering::Relaxed);
            Instant::now()
        });
        let mut context = StepContext {
            system: &*system,
            schedule: &schedule,
            seed: 1,
            interrupt: &interrupt,
            observer: &mut Silent,
        };
        (step::run_step(&**procedure, &mut context), interrupted.join().unwrap())
    });
    assert_eq!(record.unwrap().state, model::RunState::Aborted);
    assert!(interrupted.elapsed() < Duration::from_secs(20));
    assert!(server.database().log.contains(&Asked::Attention), "the server was told");
    system.drop_all().unwrap();
    assert_nothing_is_left(&part.look());
}

/// Two systems at one server, plain and encrypted, are two databases.
#[test]
fn the_encrypted_twin_stands_in_one_plan() {
    let (server, part) = Shared::serve(Vault::new());
    let url = server.url();
    let text = format!(
        "[systems.plain]\nurl = \"{url}\"\n[systems.encrypted]\nurl = \"{url}\"\nsettings = {{ encryption = true }}\n\
         [[benchmarks]]\n{BENCHMARK}\ncodec = [\"none\", \"ms_xpress\"]\n[schedule]\nrounds = 1\nwarmup = \"0s\"\n\
         duration = \"1s\"\n"
    );
    let outcome = conduct(&text);
    assert_eq!(outcome.store().runs().unwrap().len(), 4);
    let made: BTreeMap<bool, usize> = server.batches().iter().filter(|sql| sql.starts_with("CREATE DATABASE")).fold(
        BTreeMap::new(),
        |mut all, sql| {
            *all.entry(sql.contains("ENCRYPTION KEY")).or_default() += 1;
            all
        },
    );
    assert!(made[&true] >= 3 && made[&false] > made[&true], "{made:?}");
    assert_nothing_is_left(&part.look());
}
