//! Lanes on a real server: values, error classes, recovery.

use std::thread;
use std::time::Duration;

use super::*;
use crate::server::testing::lane::{class, kept, text, with_lane};
use load::datum::Datum;
use load::lane::ErrorClass;
use workloads::transactions::{Rows, StatementOp};

pub(super) fn every_kind_of_value_arrives(system: &MySqlSystem, way: Choice) {
    system.run("DROP TABLE IF EXISTS kinds");
    system.run(
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
    with_lane(system, way, 1, &sql, |lane| {
        lane.submit(0, 0, &row).unwrap();
        lane.submit(0, 0, &vec![Datum::Null; 13]).unwrap();
        let error = lane.submit(0, 0, &[&[Datum::Int(1 << 20)], &row[1..]].concat()).unwrap_err();
        assert_eq!(error.class, ErrorClass::Statement, "{error:?}");
        assert!(lane.submit(0, 0, &row[1..]).unwrap_err().message.contains("parameters"));
        // The second time the server may omit columns.
        for _ in 0..2 {
            lane.keep(0, 1, &[]).unwrap();
            let [result] = lane.kept(0) else { panic!("{:?}", lane.kept(0)) };
            assert_eq!(result.columns.join(""), "abcdefghijklm");
            assert_eq!((result.rows, &result.values), (1, &expected));
        }
        lane.keep(0, 2, &[]).unwrap();
        assert_eq!(lane.kept(0)[0].values, [Datum::Int(1)]);
    });
}

pub(super) fn errors_have_classes_and_a_way_back(system: &MySqlSystem, way: Choice) {
    system.run("DROP TABLE IF EXISTS child, pairs");
    system.run("CREATE TABLE pairs (k INT PRIMARY KEY, v INT)");
    system.run("CREATE TABLE child (k INT, FOREIGN KEY (k) REFERENCES pairs (k))");
    system.run("INSERT INTO pairs VALUES (1, 0), (2, 0)");
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
    with_lane(system, way, 2, &sql, |lane| {
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
        assert_eq!(system.text("SELECT GROUP_CONCAT(CONCAT(k, ':', v) ORDER BY k) FROM pairs"), "1:1,2:0");

        lane.submit(0, 0, &[]).unwrap();
        lane.submit(0, 4, &int(1)).unwrap();
        lane.submit(1, 5, &[]).unwrap();
        assert_eq!(class(lane.submit(1, 4, &int(1))), ErrorClass::LockTimeout);
        lane.recover(1).unwrap();
        lane.submit(0, 1, &[]).unwrap();
    });
}

fn int(number: i64) -> [Datum; 1] {
    [Datum::Int(number)]
}

pub(super) fn a_connection_that_is_killed_is_lost_and_made_anew(system: &MySqlSystem, way: Choice) {
    with_lane(system, way, 2, &["SELECT 1", "SELECT SLEEP(20)", "SELECT CONNECTION_ID() AS id"], |lane| {
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
                system.run(&format!("KILL CONNECTION {first}"));
            });
            assert_eq!(class(lane.submit(0, 1, &[])), ErrorClass::ConnectionLost);
        });
        system.run(&format!("KILL CONNECTION {}", numbers[1]));
        assert_eq!(class(lane.submit(1, 0, &[])), ErrorClass::ConnectionLost);
        assert_eq!(lane.recover(0).err(), None, "no transaction was open");
        assert_eq!(class(lane.submit(0, 0, &[])), ErrorClass::ConnectionLost);
        for client in [0, 1, 1, 0, 0, 0, 1] {
            lane.reconnect(client).unwrap();
            lane.submit(client, 0, &[]).unwrap();
        }
    });
}

pub(super) fn the_last_row_of_each_result_is_kept(system: &MySqlSystem, way: Choice) {
    with_lane(system, way, 1, &[], |lane| {
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
    system.run("DROP PROCEDURE IF EXISTS two");
    system.run("CREATE PROCEDURE two(n INT) BEGIN SELECT n AS x; SELECT n + 1 AS y, 'é' AS z; END");
    let sql = ["CALL two(?)", "SELECT ? + 1 AS x, REPEAT('y', 100000) AS y"];
    with_lane(system, way, 1, &sql, |lane| {
        for n in [5, 6] {
            lane.keep(0, 0, &[Datum::Int(n)]).unwrap();
            let results = lane.kept(0);
            assert_eq!(results.len(), 3, "{results:?}");
            assert_eq!((results[0].columns.join(","), &results[0].values[0]), ("x".to_owned(), &Datum::Int(n)));
            assert_eq!(results[1].columns, ["y", "z"]);
            assert_eq!(results[1].values, [Datum::Int(n + 1), text("é")]);
            lane.keep(0, 1, &[Datum::Int(41)]).unwrap();
            assert_eq!(lane.kept(0)[0].values[0], Datum::Int(42));
            assert!(matches!(&lane.kept(0)[0].values[1], Datum::Text(long) if long.len() == 100_000));
        }
    });
}

pub(super) fn columns_that_change_are_noticed(system: &MySqlSystem, way: Choice) {
    system.run("DROP TABLE IF EXISTS changing");
    system.run("CREATE TABLE changing (a INT)");
    system.run("INSERT INTO changing VALUES (7)");
    with_lane(system, way, 1, &["SELECT * FROM changing"], |lane| {
        lane.keep(0, 0, &[]).unwrap();
        assert_eq!(lane.kept(0)[0].values, [Datum::Int(7)]);
        system.run("ALTER TABLE changing MODIFY a VARCHAR(10), ADD b BIGINT DEFAULT 8");
        for _ in 0..2 {
            lane.keep(0, 0, &[]).unwrap();
            assert_eq!(lane.kept(0)[0].values, [text("7"), Datum::Int(8)]);
            assert_eq!(lane.kept(0)[0].columns, ["a", "b"]);
        }
    });
}
