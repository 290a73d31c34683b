//! Logs that MariaDB and MySQL wrote, replayed on two databases: an index that is missing, a row that differs, statements that
//! always fail, and answers that change by themselves.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::capture::mariadb_answer;
use crate::releases::folders_of;
use crate::replay::{class_name, count, rows, store_in};
use crate::scene::Scene;
use crate::server_changes::{Database, mariadb, mariadb_command, mariadb_sql, mysql, wait_until};

const CLIENTS: usize = 3;
const TRANSACTIONS: usize = 10;

/// A server, with the engine's name in its URL.
type Server = (&'static str, Database);

fn servers() -> Vec<Server> {
    let mysqls = folders_of("mysql").into_iter().map(|folder| ("mysql", mysql(&folder)));
    [("mariadb", mariadb())].into_iter().chain(mysqls).collect()
}

/// Makes the orders in both databases.
fn make_orders(server: &Database) {
    for database in ["a", "b"] {
        let digits = "(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 \
                      UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)";
        mariadb_sql(
            server,
            &format!(
                "USE {database}; CREATE TABLE orders (id INT PRIMARY KEY, customer INT, amount INT, day INT); \
                 INSERT INTO orders SELECT id, (id * 7919) % 5000, id % 1000, id % 30 FROM \
                 (SELECT a.d * 10000 + b.d * 1000 + c.d * 100 + e.d * 10 + f.d AS id FROM \
                 {digits} a, {digits} b, {digits} c, {digits} e, {digits} f) ids WHERE id BETWEEN 1 AND 50000; \
                 CREATE INDEX by_customer ON orders (customer); ANALYZE TABLE orders"
            ),
        );
    }
}

/// What a client sends: two classes that read, three that do not, one that fails, and one that is never the same.
fn traffic(client: usize) -> String {
    let mut sent = String::new();
    for n in 0..TRANSACTIONS {
        let customer = (client * TRANSACTIONS + n) * 97 % 4000 + 1;
        let _ = write!(
            sent,
            "SELECT count(*), sum(amount)\n  FROM orders\n  WHERE customer = {customer};\n\
             SELECT day, count(*), sum(amount) FROM orders WHERE id <= 300 GROUP BY day ORDER BY day;\n\
             BEGIN;\nUPDATE orders SET amount = amount WHERE id = {customer};\nCOMMIT;\n\
             SELECT nothing FROM nowhere WHERE id = {customer};\nSELECT UUID() AS drawn FROM orders WHERE id = {n} + 1;\n"
        );
    }
    sent
}

/// Sends the traffic while a log is on, and copies what the server wrote.
fn logged_traffic(scene: &Scene, server: &Database, on: &str, off: &str, file: &str) {
    mariadb_sql(server, on);
    mariadb_sql(server, "SELECT 1 AS without_database");
    for client in 0..CLIENTS {
        let mut sender = mariadb_command(server);
        sender.args(["--force", "a"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut sender = sender.spawn().unwrap();
        sender.stdin.take().unwrap().write_all(traffic(client).as_bytes()).unwrap();
        sender.wait().unwrap();
    }
    let said = mariadb_answer(server, &format!("SELECT @@datadir, {file}"));
    let words: Vec<&str> = said.split_whitespace().collect();
    let log = Path::new(words[0]).join(words[1]);
    // A statement is logged behind its answer.
    wait_until("the log", || fs::read_to_string(&log).is_ok_and(|log| log.contains(&format!("@@datadir, {file}"))));
    mariadb_sql(server, off);
    fs::copy(&log, scene.path().join("server.log")).unwrap();
    scene.etalon(&["capture", "server.log", "-o", "shop.capture"]).says(0, &[]);
}

fn slow_logged_traffic(scene: &Scene, server: &Database) {
    let on = "SET GLOBAL long_query_time = 0, GLOBAL slow_query_log = ON";
    logged_traffic(scene, server, on, "SET GLOBAL slow_query_log = OFF", "@@slow_query_log_file");
}

fn systems((engine, server): &Server) -> [String; 2] {
    let url = |database: &str| format!("{engine}://t@127.0.0.1:{}/{database}?ssl-mode=disabled", server.port);
    [format!("old={}", url("a")), format!("new={}", url("b"))]
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_slow_log_is_replayed_and_the_lost_index_is_first() {
    for server in servers() {
        let scene = Scene::new();
        make_orders(&server.1);
        slow_logged_traffic(&scene, &server.1);
        mariadb_sql(&server.1, "DROP INDEX by_customer ON b.orders");
        let [old, new] = systems(&server);
        let ran = scene.etalon(&["run", &old, &new, "shop.capture", "--pace", "none", "--quiet", "-o", "out"]);
        ran.says(0, &[]);
        let all = rows(&scene, "out", &[]);
        let judged: Vec<&Value> = all.iter().filter(|row| row["role"] == "primary").collect();
        let by_customer = class_name(&scene, "where customer = ?");
        assert_eq!(judged[1]["metric"], format!("elapsed/{by_customer}").as_str(), "{}", ran.stdout);
        assert_eq!(judged[1]["verdict"], "slower", "{}", ran.stdout);
        let (uuid, nowhere) = (class_name(&scene, "uuid()"), class_name(&scene, "from nowhere"));
        let text = on_one_line(&ran.stdout);
        assert!(text.contains(&format!("the answer to {uuid} changes from run to run on A")), "{text}");
        assert!(!text.contains("another answer") && !text.contains("answers differ"), "{text}");
        // It failed in the capture, too, though the log does not say so.
        assert!(text.contains(&format!("30 of 30 executions of {nowhere} failed, as they may have")), "{text}");
        assert!(!all.iter().any(|row| row["metric"] == format!("elapsed/{nowhere}").as_str()), "{text}");
        assert_eq!(scene.etalon(&["gate", store_in(&scene, "out").to_str().unwrap()]).code, 1);
        let counts = rows(&scene, "out", &["--metrics", "captured,executed,skipped"]);
        let sent = (CLIENTS * TRANSACTIONS) as u64;
        // MySQL's log names a database when it is another one than before, so that the last question seems to be of `a`.
        let last = u64::from(server.0 == "mysql");
        assert_eq!(count(&counts, "executed"), 4 * sent + last, "{counts:?}");
        assert_eq!(count(&counts, "skipped/writes"), sent);
        assert_eq!(count(&counts, "skipped/transaction"), 2 * sent);
        let skipped = counts.iter().filter(|row| row["metric"].as_str().unwrap().starts_with("skipped/"));
        let skipped: u64 = skipped.map(|row| count(&counts, row["metric"].as_str().unwrap())).sum();
        assert_eq!(count(&counts, "executed") + skipped, count(&counts, "captured"));
    }
}

#[test]
fn a_changed_row_is_found_and_an_unstable_class_is_no_failure() {
    for server in servers() {
        let scene = Scene::new();
        make_orders(&server.1);
        slow_logged_traffic(&scene, &server.1);
        let [old, new] = systems(&server);
        let run = |folder: &str| {
            let short = ["run", &old, &new, "shop.capture", "--quiet", "--rounds", "3", "--pace", "none", "-o", folder];
            let ran = scene.etalon(&short);
            ran.says(0, &[]);
            on_one_line(&ran.stdout)
        };
        let uuid = class_name(&scene, "uuid()");
        let text = run("alike");
        assert!(
            text.contains(&format!("the answer to {uuid} changes from run to run on A"))
                && !text.contains("another answer"),
            "{text}"
        );
        let gate = scene.etalon(&["gate", store_in(&scene, "alike").to_str().unwrap()]);
        assert!(gate.stdout.contains(" 0 failed") && gate.stdout.contains("1 unstable"), "{}", gate.stdout);
        mariadb_sql(&server.1, "UPDATE b.orders SET amount = amount + 1 WHERE id = 69");
        let by_day = class_name(&scene, "group by day");
        let text = run("other");
        assert!(text.contains(&format!("{by_day} gives another answer")), "{text}");
        // A statement that fails on one side alone is another answer, whichever side it is.
        mariadb_sql(
            &server.1,
            "UPDATE b.orders SET amount = amount - 1 WHERE id = 69; ALTER TABLE b.orders RENAME COLUMN day TO days",
        );
        let text = run("failing");
        assert!(text.contains(&format!("{by_day} gives another answer")) && text.contains("(failed)"), "{text}");
        let gate = scene.etalon(&["gate", store_in(&scene, "failing").to_str().unwrap()]);
        assert_eq!(gate.code, 1, "{}", gate.stdout);
    }
}

#[test]
fn a_general_log_is_replayed_in_its_order() {
    for server in servers() {
        let scene = Scene::new();
        make_orders(&server.1);
        let on = "SET GLOBAL general_log = ON";
        logged_traffic(&scene, &server.1, on, "SET GLOBAL general_log = OFF", "@@general_log_file");
        let shown: Value = serde_json::from_str(&scene.etalon(&["show", "shop.capture", "--json"]).stdout).unwrap();
        assert_eq!(shown["source"], "general log", "{shown}");
        assert_eq!(shown["without_duration"], shown["executions"], "{shown}");
        mariadb_sql(&server.1, "UPDATE b.orders SET amount = amount + 1 WHERE id = 69");
        let [old, new] = systems(&server);
        let ran = scene.etalon(&[
            "run",
            &old,
            &new,
            "shop.capture",
            "--quiet",
            "--rounds",
            "2",
            "--pace",
            "none",
            "-o",
            "out",
        ]);
        ran.says(0, &[]);
        let by_day = class_name(&scene, "group by day");
        let text = on_one_line(&ran.stdout);
        assert!(text.contains(&format!("{by_day} gives another answer")), "{text}");
        let counts = rows(&scene, "out", &["--metrics", "executed,executions"]);
        let sent = (CLIENTS * TRANSACTIONS) as u64;
        assert_eq!(count(&counts, "executed"), 4 * sent, "{counts:?}");
        assert_eq!(count(&counts, &format!("executions/{by_day}")), sent);
    }
}
