//! Spatial queries.

use std::collections::HashMap;

use engines::sqlserver::spatial::Spatial;
use workloads::spatial::dialect::SpatialDialect as _;
use workloads::spatial::{Country, Expected, ExpectedValue, PointSpread, Query, expected_answers};

use super::{Part, Shared, batches_with, number, plan, why_not};
use crate::experiment::conduct;
use crate::tds_server::{Reply, Server, error, info, result};

const COUNTRY: Country = Country { side: 6, seed: 1, spread: PointSpread::Uniform };

/// Knows the answers, and reports 7 ms of CPU time after each statement.
pub(super) struct Atlas {
    answers: HashMap<String, (Query, Vec<Expected>)>,
    wrong: Option<Query>,
    refused: Option<Query>,
    telling: bool,
}

impl Atlas {
    pub(super) fn new() -> Atlas {
        let dialect = Spatial;
        let all: Vec<Query> = Query::all().collect();
        let text = |query: Query| dialect.query_text(query, 0).unwrap();
        let answers = expected_answers(COUNTRY, &all).into_iter().map(|(query, answer)| (text(query), (query, answer)));
        Atlas { answers: answers.collect(), wrong: None, refused: None, telling: false }
    }
}

const TIMES: &str = "\r\n SQL Server Execution Times:\r\n   CPU time = 7 ms,  elapsed time = 9 ms.";

impl Part for Atlas {
    fn batch(&mut self, sql: &str) -> Option<Reply> {
        if sql == "SET STATISTICS TIME ON" {
            self.telling = true;
            return None;
        }
        if let Some(table) = sql.strip_prefix("SELECT count(*), min(id), max(id) FROM ") {
            let rows = [("cell", "36"), ("road", "9"), ("pt", "450"), ("shape", "9")];
            let rows = rows.into_iter().find(|(name, _)| *name == table).map(|(_, rows)| rows);
            return Some(Reply::Tokens(result(&["", "", ""], &[&[rows, Some("1"), rows]])));
        }
        if sql.contains("sys.spatial_indexes") {
            return Some(number(3));
        }
        let (query, answer) = self.answers.get(sql)?;
        if self.refused == Some(*query) {
            return Some(error(
                6522,
                1,
                16,
                "24144: This operation cannot be completed because the instance is not valid.",
            ));
        }
        let value = |one: &Expected| match one.value {
            ExpectedValue::Exact(value) => value.to_string(),
            ExpectedValue::Near(value) | ExpectedValue::Rounded { with_8: value, .. } => value.to_string(),
        };
        let mut values: Vec<String> = answer.iter().map(value).collect();
        if self.wrong == Some(*query) {
            values[0] = "1".to_owned();
        }
        let values: Vec<Option<&str>> = values.iter().map(|value| Some(value.as_str())).collect();
        let rows = result(&vec![""; values.len()], &[&values]);
        // The server reports it before the end of the statement.
        let told = if self.telling { info(3612, TIMES) } else { Vec::new() };
        Some(Reply::Tokens([told, rows].concat()))
    }
}

const BENCHMARK: &str = "workload = \"spatial\"\nside = 6\nruns = 3\nqueries = \"all\"";

#[test]
fn the_suite_is_asked_in_t_sql_and_every_answer_is_judged() {
    let (server, _part) = Shared::serve(Atlas::new());
    let outcome = conduct(&plan(&server, "", BENCHMARK));
    assert_eq!((outcome.value("answers_right"), outcome.value("answers_asked")), (15.0, 15.0));
    assert!(outcome.value("elapsed/S8-union") > 0.0 && outcome.value("published/suite") > 0.0);
    let is = |metric: &str, ms: f64| assert!((outcome.value(metric) - ms).abs() < 1e-6, "{metric}");
    is("session_cpu/S4-inside", 7.0);
    is("session_cpu/suite", 105.0);
    assert!(why_not(outcome.store(), "cold/S4-inside").contains("started itself"));
    let words = ["CREATE TABLE cell", "CREATE TABLE pt", "SPATIAL INDEX", "STATISTICS", "BEGIN TRAN", "COMMIT"];
    insta::assert_snapshot!("spatial", batches_with(&server, &words));
    // 36 cells, 9 roads, 450 points, 9 shapes.
    let points = server.batches().iter().filter(|sql| sql.starts_with("INSERT INTO pt VALUES (")).count();
    assert_eq!(points, 1);
}

#[test]
fn several_clients_are_told_their_cpu_time_together() {
    let (server, _part) = Shared::serve(Atlas::new());
    let outcome =
        conduct(&plan(&server, "", "workload = \"spatial\"\nside = 6\nruns = 2\nqueries = \"S2\"\nclients = 3"));
    assert!((outcome.value("session_cpu/S2-area") - 21.0).abs() < 1e-6);
}

#[test]
fn wrong_answers_and_refusals_are_shown_and_not_timed() {
    let (server, _part) =
        Shared::serve(Atlas { wrong: Some(Query::PointsInCells), refused: Some(Query::ClippedRoads), ..Atlas::new() });
    let outcome = conduct(&plan(&server, "", BENCHMARK));
    assert_eq!(outcome.value("answers_right"), 13.0);
    assert!(why_not(outcome.store(), "elapsed/S4-inside").starts_with("wrong answer"));
    let refused = why_not(outcome.store(), "session_cpu/S7-clip");
    assert!(refused.contains("failed: ") && refused.contains("24144"), "{refused}");
    assert!(why_not(outcome.store(), "elapsed/suite").contains("no total without S4"));
}

#[test]
fn a_server_without_geometries_says_so_of_every_query() {
    let refused = error(33_557_097, 1, 16, "'GEOMETRY datatype' is not currently supported in Babelfish");
    let server = Server::answering("g geometry NOT NULL", refused);
    let outcome = conduct(&plan(&server, "", BENCHMARK));
    for metric in ["elapsed/suite", "elapsed/S1-valid", "elapsed/S15-text"] {
        let reason = why_not(outcome.store(), metric);
        assert!(reason.contains("unsupported") && reason.contains("GEOMETRY"), "{metric}: {reason}");
    }
    assert!(!server.database().exists, "nothing of étalon's is left");
}
