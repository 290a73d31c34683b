//! Some of the faults on servers, whose counts are others.

use model::{SystemPlan, Value};

use super::faulty::Tamper;
use super::{Fault, Keys, Planted, accusations, led_by, missed, procedure, sent, transactions};

const FAIR: Tamper = Tamper::NONE;

fn inserts(sql: &str, sent: impl FnOnce(&str) -> Vec<String>) -> Vec<String> {
    if sql.starts_with("INSERT INTO tio") { sent(sql) } else { vec![sql.to_owned()] }
}

fn in_one_transaction(sql: &str, end: &str) -> Vec<String> {
    if sql.contains(end) {
        return vec!["COMMIT".to_owned(), sql.to_owned()];
    }
    let begin = sql.starts_with("SET STATISTICS") || sql.starts_with("CREATE TABLE tio");
    [sql.to_owned()].into_iter().chain(begin.then(|| "BEGIN".to_owned())).collect()
}

static PAGES_OF_POSTGRESQL: [Fault; 4] = [
    sent("a row short", |sql, _| inserts(sql, |sql| vec![sql.replacen("(''), ", "", 1)]), "the server has 210"),
    sent(
        "a checkpoint that is not made",
        |sql, _| vec![if sql == "CHECKPOINT" { "SELECT 1" } else { sql }.to_owned()],
        "bytes of the run's log are behind it",
    ),
    sent(
        "rows of half a page",
        |sql, _| vec![if sql.starts_with("CREATE TABLE tio") { sql.replace("8000", "4000") } else { sql.to_owned() }],
        "of 50 rows by their number or place, the server has",
    ),
    sent(
        "commits that wait for nothing",
        |sql, number| led_by("SET synchronous_commit = off", sql, number),
        "the system's commits are durable",
    ),
];

static PAGES_OF_MARIADB: [Fault; 3] = [
    sent(
        "all statements in one transaction",
        |sql, _| in_one_transaction(sql, "innodb_log_checkpoint_now"),
        "30 commits made ",
    ),
    sent(
        "a checkpoint that is not made",
        |sql, _| vec![if sql.contains("innodb_log_checkpoint_now") { "SET @x = 1" } else { sql }.to_owned()],
        "bytes of the run's log are behind it",
    ),
    sent(
        "rows of half a page",
        |sql, _| inserts(sql, |sql| vec![sql.replace("16192", "9000").replace("8000", "4000")]),
        "bytes of filler",
    ),
];

static SPATIAL: [Fault; 2] = [
    sent(
        "an index that is not made",
        |sql, _| vec![if sql.contains("INDEX pt_g") { "SELECT 1" } else { sql }.to_owned()],
        "3 tables were to have a spatial index, and 2 have one",
    ),
    sent(
        "a load that is rolled back",
        |sql, _| vec![if sql == "COMMIT" { "ROLLBACK" } else { sql }.to_owned()],
        "`cell` was to hold the rows 1 to 16, and holds 0",
    ),
];

/// Those of the faults that a system misses, after a true run that is not accused.
fn missed_on(plan: &SystemPlan, all: &[Planted<'_>]) -> Vec<String> {
    let system = procedure::open(plan);
    let mut found = Vec::new();
    for (faults, workload, keys) in all {
        let run = |tamper| {
            let faulty = super::Faulty { inner: &*system, tamper };
            match *workload {
                "transactions" => transactions::run(&*system, tamper, keys),
                other => procedure::run(other, &faulty, keys),
            }
        };
        assert_eq!(accusations(&run(FAIR)), "", "a true run of {workload} on {}", plan.name);
        found.extend(missed(faults, run).into_iter().map(|fault| format!("{}: {fault}", plan.name)));
    }
    system.drop_all().unwrap();
    found
}

#[test]
fn faults_on_servers_are_found() {
    let pages: Keys<'_> = &[("statements", Value::Int(30))];
    let spatial: Keys<'_> = &[
        ("side", Value::Int(4)),
        ("queries", Value::Text("S2, S4".to_owned())),
        ("executions", Value::Int(2)),
        ("cold", Value::Bool(false)),
    ];
    let script: Keys<'_> = &[("script", Value::Text("tpcb-like".to_owned()))];
    // The balance of another account, and always the same account.
    let of_script = [&transactions::TPCB[3..4], &transactions::TPCB[5..6]];
    let postgres = procedure::private("postgres", None, &[]);
    let mariadb = procedure::private("mariadb", None, &[("innodb_page_size", "8k")]);
    let mut found = missed_on(
        &postgres,
        &[
            (&PAGES_OF_POSTGRESQL, "pages", pages),
            (&SPATIAL, "spatial", spatial),
            (of_script[0], "transactions", script),
            (of_script[1], "transactions", script),
        ],
    );
    found.extend(missed_on(
        &mariadb,
        &[
            (&PAGES_OF_MARIADB, "pages", pages),
            (&SPATIAL, "spatial", spatial),
            (of_script[0], "transactions", script),
            (of_script[1], "transactions", script),
        ],
    ));
    assert!(found.is_empty(), "{}", found.join("\n"));
}
