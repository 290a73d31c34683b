//! Étalon's built-in plans, with a SQL Server in the place of their systems.

use std::time::Duration;

use conductor::ExperimentEnd;
use model::plan::{Changes, Form, NamedSystem};
use model::{Reading, RunState};

use super::backup::Vault;
use super::pages::Pages;
use super::spatial::Atlas;
use super::{Part, Shared};
use crate::experiment::attempt_changed;
use crate::tds_server::Reply;

/// A server that knows every family's statements.
struct All(Vault, Pages, Atlas);

impl Part for All {
    fn batch(&mut self, sql: &str) -> Option<Reply> {
        self.2.batch(sql).or_else(|| self.1.batch(sql)).or_else(|| self.0.batch(sql))
    }
}

/// A plan, the names of its systems to replace, and what it must ask of the server.
type BuiltIn<'a> = (&'a str, &'a str, &'a [&'a str], &'a [&'a str]);

const PLANS: [BuiltIn<'_>; 9] = [
    ("quickstart", include_str!("../../../../plans/quickstart.toml"), &["there"], &["pgbench_accounts"]),
    (
        "sqlserver-pages",
        include_str!("../../../../plans/sqlserver-pages.toml"),
        &["linux", "windows"],
        &["CREATE TABLE TIO", "sys.dm_io_virtual_file_stats"],
    ),
    ("pages-engines", include_str!("../../../../plans/pages-engines.toml"), &["there"], &["INSERT INTO TIO VALUES"]),
    ("spatial", include_str!("../../../../plans/spatial.toml"), &["linux", "windows"], &["GEOMETRY_AUTO_GRID"]),
    (
        "sqlserver-pages-and-spatial",
        include_str!("../../../../plans/sqlserver-pages-and-spatial.toml"),
        &["there"],
        &["INSERT INTO TIO VALUES", "GEOMETRY_AUTO_GRID"],
    ),
    (
        "backup-compression",
        include_str!("../../../../plans/backup-compression.toml"),
        &["there"],
        &["NO_COMPRESSION", "RESTORE DATABASE"],
    ),
    ("backup-engines", include_str!("../../../../plans/backup-engines.toml"), &["there"], &["NO_COMPRESSION"]),
    (
        "sqlserver-backup",
        include_str!("../../../../plans/sqlserver-backup.toml"),
        &["plain", "encrypted"],
        &["ALGORITHM = MS_XPRESS", "SET ENCRYPTION ON"],
    ),
    (
        "sqlserver-backup-load",
        include_str!("../../../../plans/sqlserver-backup-load.toml"),
        &["there"],
        &["ALGORITHM = MS_XPRESS", "CREATE WORKLOAD GROUP", "UPDATE pgbench_accounts"],
    ),
];

/// Long enough for transactions to run meanwhile.
const BACKUP: Duration = Duration::from_millis(300);

/// `etalon run PLAN --quick --system NAME=mssql://…`, with as few rows as the server knows.
#[test]
fn every_family_s_built_in_plan_runs_on_a_sql_server() {
    for (name, text, systems, asked) in PLANS {
        let (server, _part) = Shared::serve(All(Vault::taking(BACKUP), Pages::default(), Atlas::new()));
        let named = |name: &&str| NamedSystem { name: (*name).to_owned(), url: Some(server.url()) };
        let of_family = [
            ("workload = \"backup\"", "benchmarks.backup.size_mib", "2"),
            ("workload = \"pages\"", "benchmarks.pages.statements", "40"),
            ("workload = \"spatial\"", "benchmarks.spatial.side", "6"),
            ("workload = \"spatial\"", "benchmarks.spatial.runs", "3"),
        ];
        let set = of_family.into_iter().filter(|(family, ..)| text.contains(family));
        let changes = Changes {
            form: Form::Quick,
            systems: systems.iter().map(named).collect(),
            set: set.map(|(_, key, value)| (key.to_owned(), value.to_owned())).collect(),
        };
        let (ended, outcome) = attempt_changed(text, &changes);
        let runs = outcome.store().runs().unwrap();
        let reasons: Vec<_> = runs.iter().filter_map(|run| run.reason.clone()).collect();
        assert_eq!(ended, ExperimentEnd::Complete { failed: 0 }, "{name}: {reasons:?}");
        let measurements = outcome.store().measurements().unwrap();
        for run in &runs {
            assert_eq!(run.state, RunState::Measured, "{name}");
            let own = || measurements.iter().filter(|row| row.run_id == run.id).map(|row| &row.measurement);
            // Whatever is not there says why.
            let empty = |reading: &Reading| matches!(reading, Reading::Unavailable(why) if why.reason.is_empty());
            assert!(own().next().is_some() && !own().any(|one| empty(&one.reading)), "{name}");
        }
        let batches = server.database().log.iter().map(|asked| format!("{asked:?}\n")).collect::<String>();
        for words in asked {
            assert!(batches.contains(words), "{name} asks nothing with `{words}`");
        }
        assert!(!server.database().exists, "{name} leaves its database behind");
    }
}
