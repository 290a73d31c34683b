//! Lanes on a real server: values, error classes, recovery.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use super::*;
use crate::dataset::Datum;
use crate::lane::{ErrorClass, KeptRow, Lane, OpError, Outcome, Submitted};
use crate::workloads::transactions::{Rows, StatementOp};

/// Both ways of sending and receiving.
pub(super) const WAYS: [Choice; 2] = [Choice::Auto, Choice::Poller];

/// A lane with blocking callers.
struct Probe(NativeLane);

/// Opens and uses a lane.
fn with_lane(target: &MySqlTarget, way: Choice, clients: usize, sql: &[&str], walk: impl FnOnce(&mut Probe)) {
    let sql: Vec<String> = sql.iter().map(|text| (*text).to_owned()).collect();
    let (session, endpoint) = (target.session.clone(), target.endpoint.clone());
    let open = move || session.open_lane(&endpoint, &sql).map_err(|error| error.op_error(&endpoint));
    let opened = (0..clients).map(|_| open().unwrap()).collect();
    let mut probe = Probe(NativeLane::new(way, opened, Arc::new(open)).unwrap());
    walk(&mut probe);
    probe.0.close();
}

impl Probe {
    fn recover(&mut self, client: usize) -> Result<(), OpError> {
        let begun = self.0.recover(client);
        self.await_end(client, begun.map_or(Submitted::Queued, Submitted::Done))
    }

    fn reconnect(&mut self, client: usize) -> Result<(), OpError> {
        let begun = self.0.reconnect(client);
        self.await_end(client, begun.map_or(Submitted::Queued, Submitted::Done))
    }

    fn kept(&self, client: usize) -> &[KeptRow] {
        self.0.kept_rows(client)
    }

    fn execute(&mut self, client: usize, op: &StatementOp) -> Result<(), OpError> {
        let submitted = self.0.submit(client, op);
        self.await_end(client, submitted)
    }

    fn await_end(&mut self, client: usize, submitted: Submitted) -> Result<(), OpError> {
        let outcome = match submitted {
            Submitted::Done(outcome) => outcome,
            Submitted::Queued => {
                let mut ended = Vec::new();
                while ended.is_empty() {
                    self.0.flush();
                    self.0.reap(u64::MAX, &mut ended);
                }
                assert_eq!((ended.len(), ended[0].client), (1, client));
                ended.remove(0).outcome
            }
            other => panic!("{other:?}"),
        };
        match outcome {
            Outcome::Ok => Ok(()),
            Outcome::Failed(error) => Err(error),
        }
    }

    fn submit(&mut self, client: usize, statement: usize, parameters: &[Datum]) -> Result<(), OpError> {
        let parameters = parameters.to_vec();
        self.execute(client, &StatementOp { statement, parameters, ..StatementOp::default() })
    }

    fn keep(&mut self, statement: usize, parameters: &[Datum]) -> Result<(), OpError> {
        let parameters = parameters.to_vec();
        self.execute(0, &StatementOp { statement, parameters, rows: Rows::Keep, ..StatementOp::default() })
    }

    fn ask(&mut self, text: &str, rows: Rows) -> Result<(), OpError> {
        self.execute(0, &StatementOp { text: text.to_owned(), rows, ..StatementOp::default() })
    }
}

fn class(result: Result<(), OpError>) -> ErrorClass {
    result.unwrap_err().class
}

fn text(text: &'static str) -> Datum {
    Datum::Text(text.into())
}

pub(super) fn every_kind_of_value_arrives(target: &MySqlTarget, way: Choice) {
    target.run("DROP TABLE IF EXISTS kinds");
    target.run(
        "CREATE TABLE kinds (a SMALLINT, b INT, c BIGINT, d DOUBLE, e TEXT, f CHAR(5), g DECIMAL(9,2), h DATETIME, i FLOAT, \
         j BIGINT UNSIGNED, k DATE, l TIME(3), m VARBINARY(4))",
    );
    let sql = [
        "INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        "SELECT * FROM kinds WHERE a IS NOT NULL",
        "SELECT COUNT(*) AS n FROM kinds WHERE a IS NULL AND h IS NULL AND m IS NULL",
    ];
    let row = [
        Datum::Int(1),
        Datum::Int(-2),
        Datum::Int(1 << 40),
        Datum::Double(0.5),
        text("é'\\"),
        text("x"),
        Datum::Double(1.25),
        text("2001-02-03 04:05:06"),
        Datum::Double(0.1),
        text("18446744073709551615"),
        text("1999-12-31"),
        text("-12:13:14.5"),
        text("ab"),
    ];
    let mut expected = row.to_vec();
    expected[6] = text("1.25");
    expected[11] = text("-12:13:14.500000");
    with_lane(target, way, 1, &sql, |lane| {
        lane.submit(0, 0, &row).unwrap();
        lane.submit(0, 0, &vec![Datum::Null; 13]).unwrap();
        let error = lane.submit(0, 0, &[&[Datum::Int(1 << 20)], &row[1..]].concat()).unwrap_err();
        assert_eq!(error.class, ErrorClass::Statement, "{error:?}");
        assert!(lane.submit(0, 0, &row[1..]).unwrap_err().message.contains("parameters"));
        // The second time the server may omit columns.
        for _ in 0..2 {
            lane.keep(1, &[]).unwrap();
            let [result] = lane.kept(0) else { panic!("{:?}", lane.kept(0)) };
            assert_eq!(result.columns.join(""), "abcdefghijklm");
            assert_eq!((result.rows, &result.values), (1, &expected));
        }
        lane.keep(2, &[]).unwrap();
        assert_eq!(lane.kept(0)[0].values, [Datum::Int(1)]);
    });
}

pub(super) fn errors_have_classes_and_a_way_back(target: &MySqlTarget, way: Choice) {
    target.run("DROP TABLE IF EXISTS child, pairs");
    target.run("CREATE TABLE pairs (k INT PRIMARY KEY, v INT)");
    target.run("CREATE TABLE child (k INT, FOREIGN KEY (k) REFERENCES pairs (k))");
    target.run("INSERT INTO pairs VALUES (1, 0), (2, 0)");
    let sql = [
        "BEGIN",
        "COMMIT",
        "INSERT INTO pairs VALUES (?, ?)",
        "INSERT INTO child VALUES (?)",
        "UPDATE pairs SET v = v + 1 WHERE k = ?",
        "SET SESSION innodb_lock_wait_timeout = 1",
        "SIGNAL SQLSTATE '40001' SET MESSAGE_TEXT = 'once more'",
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'",
    ];
    let int = |n| [Datum::Int(n)];
    with_lane(target, way, 2, &sql, |lane| {
        assert_eq!(class(lane.submit(0, 2, &[Datum::Int(1), Datum::Null])), ErrorClass::Constraint);
        lane.recover(0).unwrap();
        assert_eq!(class(lane.submit(0, 3, &int(9))), ErrorClass::Constraint);
        // The server leaves the transaction open.
        lane.submit(0, 0, &[]).unwrap();
        lane.submit(0, 2, &[Datum::Int(3), Datum::Int(0)]).unwrap();
        assert_eq!(class(lane.submit(0, 7, &[])), ErrorClass::Statement);
        lane.recover(0).unwrap();
        assert_eq!(class(lane.submit(0, 6, &[])), ErrorClass::Serialization);
        lane.submit(0, 0, &[]).unwrap();
        lane.submit(0, 4, &int(1)).unwrap();
        lane.submit(0, 1, &[]).unwrap();
        assert_eq!(target.text("SELECT GROUP_CONCAT(CONCAT(k, ':', v) ORDER BY k) FROM pairs"), "1:1,2:0");

        lane.submit(0, 0, &[]).unwrap();
        lane.submit(0, 4, &int(1)).unwrap();
        lane.submit(1, 5, &[]).unwrap();
        assert_eq!(class(lane.submit(1, 4, &int(1))), ErrorClass::LockTimeout);
        lane.recover(1).unwrap();
        lane.submit(0, 1, &[]).unwrap();
    });
}

pub(super) fn one_of_two_in_a_deadlock_is_told(target: &MySqlTarget, way: Choice) {
    let both_hold = Barrier::new(2);
    let client = |first: i64, second: i64| {
        let mut result = Ok(());
        with_lane(target, way, 1, &["BEGIN", "COMMIT", "UPDATE pairs SET v = v + 1 WHERE k = ?"], |lane| {
            lane.submit(0, 0, &[]).unwrap();
            lane.submit(0, 2, &[Datum::Int(first)]).unwrap();
            both_hold.wait();
            result = lane.submit(0, 2, &[Datum::Int(second)]);
            match &result {
                Ok(()) => lane.submit(0, 1, &[]).unwrap(),
                Err(_) => lane.recover(0).unwrap(),
            }
        });
        result
    };
    let (a, b) = thread::scope(|scope| {
        let other = scope.spawn(|| client(2, 1));
        (client(1, 2), other.join().unwrap())
    });
    assert!(a.is_ok() != b.is_ok(), "{a:?} {b:?}");
    assert_eq!(class(a.and(b)), ErrorClass::Deadlock);
}

pub(super) fn a_connection_that_is_killed_is_lost_and_made_anew(target: &MySqlTarget, way: Choice) {
    with_lane(target, way, 2, &["SELECT 1", "SELECT SLEEP(20)", "SELECT CONNECTION_ID() AS id"], |lane| {
        let ids = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND db = 'etalon' AND user = \
                   'root' AND id > ";
        let mut numbers = Vec::new();
        for client in 0..2 {
            let op = StatementOp { statement: 2, rows: Rows::Keep, ..StatementOp::default() };
            lane.execute(client, &op).unwrap();
            let Datum::Int(number) = lane.kept(client)[0].values[0] else { panic!("{ids}") };
            numbers.push(number);
        }
        // Once while the client waits for an answer, once while it does not.
        let first = numbers[0];
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(200));
                target.run(&format!("KILL CONNECTION {first}"));
            });
            assert_eq!(class(lane.submit(0, 1, &[])), ErrorClass::ConnectionLost);
        });
        target.run(&format!("KILL CONNECTION {}", numbers[1]));
        assert_eq!(class(lane.submit(1, 0, &[])), ErrorClass::ConnectionLost);
        assert_eq!(lane.recover(0).err(), None, "no transaction was open");
        assert_eq!(class(lane.submit(0, 0, &[])), ErrorClass::ConnectionLost);
        for client in [0, 1, 1, 0, 0, 0, 1] {
            lane.reconnect(client).unwrap();
            lane.submit(client, 0, &[]).unwrap();
        }
    });
}

fn kept(columns: &[&str], rows: u64, values: &[Option<&'static str>]) -> KeptRow {
    let values = values.iter().map(|value| value.map_or(Datum::Null, text)).collect();
    KeptRow { rows, columns: columns.iter().map(|name| (*name).to_owned()).collect(), values }
}

pub(super) fn the_last_row_of_each_result_is_kept(target: &MySqlTarget, way: Choice) {
    with_lane(target, way, 1, &[], |lane| {
        for _ in 0..2 {
            let sql =
                "SELECT 1 AS a, NULL AS b; DO 1; SELECT 3 AS g UNION SELECT 4; SELECT 1 AS e FROM DUAL WHERE FALSE";
            lane.ask(sql, Rows::Keep).unwrap();
            let expected = [
                kept(&["a", "b"], 1, &[Some("1"), None]),
                kept(&[], 0, &[]),
                kept(&["g"], 2, &[Some("4")]),
                kept(&["e"], 0, &[]),
            ];
            assert_eq!(lane.kept(0), expected);
            lane.ask("SELECT 1; SELECT 2", Rows::Discard).unwrap();
        }
        assert_eq!(class(lane.ask("SELECT 1; SELECT nothing", Rows::Keep)), ErrorClass::Statement);
        // Local files are not given away.
        let refused = lane.ask("LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE pairs", Rows::Discard).unwrap_err();
        assert_eq!(refused.class, ErrorClass::Statement, "{refused:?}");
        lane.ask("end", Rows::Discard).unwrap();
    });
    target.run("DROP PROCEDURE IF EXISTS two");
    target.run("CREATE PROCEDURE two(n INT) BEGIN SELECT n AS x; SELECT n + 1 AS y, 'é' AS z; END");
    let sql = ["CALL two(?)", "SELECT ? + 1 AS x, REPEAT('y', 100000) AS y"];
    with_lane(target, way, 1, &sql, |lane| {
        for n in [5, 6] {
            lane.keep(0, &[Datum::Int(n)]).unwrap();
            let results = lane.kept(0);
            assert_eq!(results.len(), 3, "{results:?}");
            assert_eq!((results[0].columns.join(","), &results[0].values[0]), ("x".to_owned(), &Datum::Int(n)));
            assert_eq!(results[1].columns, ["y", "z"]);
            assert_eq!(results[1].values, [Datum::Int(n + 1), text("é")]);
            lane.keep(1, &[Datum::Int(41)]).unwrap();
            assert_eq!(lane.kept(0)[0].values[0], Datum::Int(42));
            assert!(matches!(&lane.kept(0)[0].values[1], Datum::Text(long) if long.len() == 100_000));
        }
    });
}

pub(super) fn columns_that_change_are_noticed(target: &MySqlTarget, way: Choice) {
    target.run("DROP TABLE IF EXISTS changing");
    target.run("CREATE TABLE changing (a INT)");
    target.run("INSERT INTO changing VALUES (7)");
    with_lane(target, way, 1, &["SELECT * FROM changing"], |lane| {
        lane.keep(0, &[]).unwrap();
        assert_eq!(lane.kept(0)[0].values, [Datum::Int(7)]);
        target.run("ALTER TABLE changing MODIFY a VARCHAR(10), ADD b BIGINT DEFAULT 8");
        for _ in 0..2 {
            lane.keep(0, &[]).unwrap();
            assert_eq!(lane.kept(0)[0].values, [text("7"), Datum::Int(8)]);
            assert_eq!(lane.kept(0)[0].columns, ["a", "b"]);
        }
    });
}
