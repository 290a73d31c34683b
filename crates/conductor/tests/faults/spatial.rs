//! The spatial suite.

use load::datum::Datum;
use model::Value;

use super::faulty::Tamper;
use super::{Fault, all_are_found, run, sent, sqlite};

const FAIR: Tamper = Tamper::NONE;

/// Changes the statements that begin so, which must hold what is changed.
fn change(sql: &str, head: &str, from: &str, to: &str) -> Vec<String> {
    if !sql.starts_with(head) {
        return vec![sql.to_owned()];
    }
    assert!(sql.contains(from), "no `{from}` in `{sql:.200}`");
    vec![sql.replacen(from, to, 1)]
}

/// Changes a query by a piece of it, wherever it is asked for.
fn change_query(sql: &str, from: &str, to: &str) -> Vec<String> {
    vec![sql.replace(from, to)]
}

/// All but the last row of an insert.
fn without_last_row(sql: &str) -> String {
    let end = sql.rfind(",(").unwrap();
    sql[..end].to_owned()
}

const SEARCH: &str = "p.rowid IN (SELECT rowid FROM SpatialIndex WHERE f_table_name = 'pt' AND search_frame = c.g)";

static FAULTS: [Fault; 14] = [
    sent(
        "a point that is not loaded",
        |sql, _| vec![if sql.starts_with("INSERT INTO pt") { without_last_row(sql) } else { sql.to_owned() }],
        "`pt` was to hold the rows 1 to 200, and holds 199, 1 to 199",
    ),
    sent(
        "a shape that is skipped where only cells are asked for",
        |sql, _| vec![if sql.starts_with("INSERT INTO shape") { without_last_row(sql) } else { sql.to_owned() }],
        "`shape` was to hold the rows 1 to 4",
    ),
    sent(
        "a point too many",
        |sql, _| {
            let more = if sql.starts_with("INSERT INTO pt") { ",(999,ST_GeomFromText('POINT(1 1)', -1))" } else { "" };
            vec![format!("{sql}{more}")]
        },
        "`pt` was to hold the rows 1 to 200, and holds 201, 1 to 999",
    ),
    sent(
        "tables that are left empty",
        |sql, _| vec![if sql.starts_with("INSERT INTO") { "SELECT 1".to_owned() } else { sql.to_owned() }],
        "`cell` was to hold the rows 1 to 16, and holds 0",
    ),
    sent(
        "a load that is rolled back",
        |sql, _| vec![if sql == "COMMIT" { "ROLLBACK".to_owned() } else { sql.to_owned() }],
        "`cell` was to hold the rows 1 to 16, and holds 0",
    ),
    sent(
        "an index that is not made",
        |sql, _| vec![if sql.contains("CreateSpatialIndex('road'") { "SELECT 1".to_owned() } else { sql.to_owned() }],
        "3 tables were to have a spatial index, and 2 have one",
    ),
    sent(
        "an index that is not used",
        |sql, _| change_query(sql, SEARCH, "1"),
        "elapsed/S4-inside: wrong answer: the engine ran it without its spatial index",
    ),
    sent(
        "a geometry in another place",
        |sql, _| change(sql, "INSERT INTO pt", "(1,ST_GeomFromText('POINT(", "(1,ST_GeomFromText('POINT(1"),
        "wrong answer: ",
    ),
    sent(
        "a line of another class",
        |sql, _| change(sql, "INSERT INTO road", "(1,", "(1,1+"),
        "elapsed/S3-length: wrong answer",
    ),
    sent(
        "the answer of another table",
        |sql, _| change_query(sql, "FROM cell c CROSS JOIN pt p", "FROM shape c CROSS JOIN pt p"),
        "elapsed/S4-inside: wrong answer: ",
    ),
    sent(
        "a query of fewer rows",
        |sql, _| change_query(sql, "WHERE p.id <= 500", "WHERE p.id <= 50"),
        "elapsed/S10-knn: wrong answer: points: expected 200, got 50",
    ),
    Fault {
        what: "an answer that is wrong once it is timed",
        tamper: Tamper {
            answer: |sql, rows, asked| {
                if asked == 0 || !is_touch(sql) {
                    return rows;
                }
                rows.into_iter().map(|row| row.into_iter().map(off_by_one).collect()).collect()
            },
            ..FAIR
        },
        said: "elapsed/S5-touch: wrong answer: pairs: expected",
    },
    Fault {
        what: "executions that never reach the engine",
        tamper: Tamper { remembers: true, ..FAIR },
        said: "3 executions were timed, and a session of the engine ran 0",
    },
    Fault {
        what: "a query without an answer",
        tamper: Tamper { answer: |sql, rows, _| if is_touch(sql) { Vec::new() } else { rows }, ..FAIR },
        said: "elapsed/S5-touch: wrong answer: 2 values were expected, 0 came",
    },
];

fn is_touch(sql: &str) -> bool {
    sql.starts_with("SELECT") && sql.contains("ST_Touches")
}

fn off_by_one(datum: Datum) -> Datum {
    match datum {
        Datum::Int(number) => Datum::Int(number + 1),
        other => other,
    }
}

#[test]
fn faults_of_the_spatial_suite_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let plan = sqlite(&folder, &[("synchronous", "OFF")]);
    let keys = [
        ("side", Value::Int(4)),
        ("queries", Value::Text("all".to_owned())),
        ("executions", Value::Int(3)),
        ("cold", Value::Bool(false)),
    ];
    all_are_found(&FAULTS, "elapsed/suite", |tamper| run(&plan, tamper, "spatial", &keys));
}
