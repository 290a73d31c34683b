//! What others put into étalon's database or built on its tables, and claims that are lost.

use std::thread;
use std::time::{Duration, Instant};

use super::*;
use workloads::dataset::Tables;
use workloads::transactions::pgbench_tables;

of_both_products!(
    things_of_others_stay_and_are_named,
    an_event_named_as_a_table_stays,
    a_table_named_in_capitals_stays,
    changed_indexes_and_triggers_are_a_change,
    a_procedure_with_another_text_is_a_change,
    an_idle_claim_is_kept_alive_and_taken_again,
    servers_that_demand_a_key_get_a_marker,
);

const THINGS: [&str; 5] = [
    "CREATE TABLE etalon.notes (answer INT PRIMARY KEY)",
    "CREATE VIEW etalon.kept AS SELECT answer FROM etalon.notes",
    "CREATE VIEW shop.rich AS SELECT aid FROM etalon.pgbench_accounts WHERE abalance > 0",
    "CREATE PROCEDURE etalon.mine() SELECT 1",
    "INSERT INTO etalon.notes VALUES (42)",
];

fn are_there(server: &MySqlSystem) {
    assert_eq!(server.text("SELECT answer FROM etalon.kept"), "42");
    let views = "SELECT COUNT(*) FROM information_schema.views WHERE table_name IN ('rich', 'kept')";
    assert_eq!(server.text(views), "2");
    let routines = "SELECT COUNT(*) FROM information_schema.routines WHERE routine_name = 'mine'";
    assert_eq!(server.text(routines), "1");
}

fn things_of_others_stay_and_are_named() {
    let server = start(Connect::Tcp, &[]);
    server.control.close_session();
    server.run("CREATE DATABASE shop");
    let data = pgbench_tables(1);
    for is_given in [false, true] {
        if is_given {
            server.run("CREATE DATABASE etalon");
        }
        let system = open(&server.own_url(), &[], Consent::OwnOnly).unwrap();
        system.prepare(&data).unwrap();
        THINGS.iter().for_each(|sql| server.run(sql));
        // They disturb no one.
        system.prepare(&data).unwrap();
        are_there(&server);
        a_foreign_key_is_named(&server, &*system);
        an_index_is_a_change(&server, &*system);
        a_trigger_is_named(&server, &*system);
        let failure = system.drop_all().unwrap_err();
        assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
        for name in ["table etalon.notes", "view etalon.kept", "view shop.rich, which reads", "procedure etalon.mine"] {
            assert!(failure.cause.contains(name), "{name}: {failure}");
        }
        are_there(&server);
        let left = server.text(
            "SELECT GROUP_CONCAT(table_name ORDER BY 1) FROM information_schema.tables WHERE table_schema = 'etalon'",
        );
        assert_eq!(left, if is_given { "kept,notes" } else { "etalon_marker,kept,notes" });
        drop(system);
        server.run("DROP DATABASE etalon");
        server.run("DROP VIEW shop.rich");
    }
}

fn an_event_named_as_a_table_stays() {
    let server = start(Connect::Tcp, &[]);
    server.control.close_session();
    let system = open(&server.own_url(), &[], Consent::OwnOnly).unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    server.run("CREATE EVENT etalon.pgbench_tellers ON SCHEDULE EVERY 1 DAY DO SELECT 1");
    for _ in 0..2 {
        let failure = system.drop_all().unwrap_err();
        assert!(failure.cause.contains("event etalon.pgbench_tellers"), "{failure}");
        assert_eq!(server.text("SELECT COUNT(*) FROM information_schema.events WHERE event_schema = 'etalon'"), "1");
    }
}

fn a_table_named_in_capitals_stays() {
    let server = start(Connect::Tcp, &[]);
    if server.text("SELECT @@lower_case_table_names") != "0" {
        println!("skipped: names of tables do not differ by capitals");
        return;
    }
    server.control.close_session();
    let system = open(&server.own_url(), &[], Consent::OwnOnly).unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    server.run("CREATE TABLE etalon.PGBENCH_HISTORY (note INT PRIMARY KEY)");
    for _ in 0..2 {
        let failure = system.drop_all().unwrap_err();
        assert!(failure.cause.contains("table etalon.PGBENCH_HISTORY"), "{failure}");
        let left = "SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = 'etalon' AND LOWER(table_name) LIKE \
                    'pgbench%'";
        assert_eq!(server.text(left), "PGBENCH_HISTORY");
    }
}

fn changed_indexes_and_triggers_are_a_change() {
    let server = start(Connect::Tcp, &[]);
    server.run("CREATE DATABASE shop");
    server.run("CREATE TABLE shop.t (id INT, other INT)");
    let read = || {
        let mut client = server.open_client().unwrap();
        client.execute("USE shop").unwrap();
        facts::read_facts(&mut client, &server.endpoint, Tables::None).unwrap()
    };
    let mut before = read();
    for change in [
        "CREATE INDEX by_id ON shop.t (id)",
        "CREATE TRIGGER shop.noted BEFORE INSERT ON shop.t FOR EACH ROW SET @noted = 1",
        "DROP INDEX by_id ON shop.t",
    ] {
        server.run(change);
        let now = read();
        let names: Vec<String> = now.changes_since(&before).into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["instance.indexes_and_triggers"], "{change}");
        let sides: Vec<String> = now.differences_of_sides(&before).into_iter().map(|one| one.name).collect();
        assert_eq!(sides, ["schema"], "{change}");
        before = now;
    }
    // The same change of two tables.
    server.run("CREATE TABLE shop.u (id INT) ENGINE=InnoDB");
    server.run("CREATE TABLE shop.v (id INT) ENGINE=InnoDB");
    let both = read();
    server.run("ALTER TABLE shop.u ENGINE=MyISAM");
    server.run("ALTER TABLE shop.v ENGINE=MyISAM");
    let now = read();
    assert!(now.changes_since(&both).iter().any(|one| one.name == "instance.indexes_and_triggers"));
    assert!(now.differences_of_sides(&both).iter().any(|one| one.name == "schema"));
    server.run("DROP TABLE shop.u, shop.v");
    server.run("CREATE TABLE shop.parent (id INT PRIMARY KEY)");
    server.run("CREATE TABLE shop.child (id INT, KEY (id))");
    let without = read();
    server.run("ALTER TABLE shop.child ADD FOREIGN KEY (id) REFERENCES shop.parent (id)");
    assert_eq!(read().changes_since(&without).len(), 1, "a foreign key on an index that is there");
    server.run("DROP TABLE shop.child");
    server.run("DROP TABLE shop.parent");
    server.run("DROP TABLE shop.t");
    server.run("CREATE TABLE shop.t (id INT, other INT)");
    server.run("CREATE TRIGGER shop.noted BEFORE INSERT ON shop.t FOR EACH ROW SET @noted = 1");
    assert_eq!(read().differences_of_sides(&before), [], "two equal tables");
}

fn a_procedure_with_another_text_is_a_change() {
    let server = start(Connect::Tcp, &[]);
    server.control.close_session();
    let system = open(&server.own_url(), &[], Consent::OwnOnly).unwrap();
    let before = system.facts().unwrap();
    system.prepare(&testing::order_entry_procedures()).unwrap();
    assert_eq!(system.facts().unwrap().changes_since(&before), []);
    server.run("DROP PROCEDURE etalon.stock_level");
    server.run("CREATE PROCEDURE etalon.stock_level(w INT, d INT, least INT) BEGIN SELECT 0; END");
    let now = system.facts().unwrap();
    assert_eq!(now.get("instance.added_by_others"), Some("another text of procedure stock_level"));
    system.prepare(&testing::order_entry_procedures()).unwrap();
    assert_eq!(system.facts().unwrap().changes_since(&before), []);
}

fn a_foreign_key_is_named(server: &MySqlSystem, system: &dyn System) {
    server.run("CREATE TABLE shop.branch (b INT, CONSTRAINT fk_branch FOREIGN KEY (b) REFERENCES etalon.pgbench_branches (bid))");
    for failure in [system.prepare(&pgbench_tables(1)).unwrap_err(), system.drop_all().unwrap_err()] {
        assert_eq!(failure.kind, FailureKind::NotOurs, "{failure}");
        assert!(failure.cause.contains("fk_branch of table shop.branch"), "{failure}");
    }
    let keys = "SELECT COUNT(*) FROM information_schema.referential_constraints WHERE constraint_name = 'fk_branch'";
    assert_eq!(server.text(keys), "1");
    server.run("DROP TABLE shop.branch");
    system.prepare(&pgbench_tables(1)).unwrap();
}

fn an_index_is_a_change(server: &MySqlSystem, system: &dyn System) {
    let before = system.facts().unwrap();
    assert_eq!(before.get("instance.added_by_others"), Some("nothing"));
    server.run("CREATE INDEX advised ON etalon.pgbench_accounts (bid)");
    let now = system.facts().unwrap();
    assert_eq!(now.get("instance.added_by_others"), Some("index advised on pgbench_accounts"));
    server.run("DROP INDEX advised ON etalon.pgbench_accounts");
}

fn a_trigger_is_named(server: &MySqlSystem, system: &dyn System) {
    let before = system.facts().unwrap();
    server.run("CREATE TRIGGER etalon.noted AFTER DELETE ON etalon.pgbench_history FOR EACH ROW SET @noted = 1");
    let names = system.facts().unwrap().changes_since(&before).into_iter().map(|change| change.name);
    assert_eq!(names.collect::<Vec<_>>(), ["instance.added_by_others"]);
    for failure in [system.prepare(&pgbench_tables(1)).unwrap_err(), system.drop_all().unwrap_err()] {
        assert!(failure.cause.contains("trigger etalon.noted"), "{failure}");
    }
    assert_eq!(server.text("SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_name = 'noted'"), "1");
    server.run("DROP TRIGGER etalon.noted");
    system.prepare(&pgbench_tables(1)).unwrap();
}

/// Waits until `is_so`, for some seconds.
fn soon(is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(20), "it does not come");
        thread::sleep(Duration::from_millis(20));
    }
}

fn an_idle_claim_is_kept_alive_and_taken_again() {
    let server = start(Connect::Tcp, &[("wait_timeout", "1"), ("interactive_timeout", "1")]);
    server.control.close_session();
    let system = open(&server.own_url(), &[], Consent::OwnOnly).unwrap();
    system.prepare(&pgbench_tables(1)).unwrap();
    let holder = || server.text("SELECT IS_USED_LOCK('etalon')");
    let first = holder();
    assert!(!first.is_empty());
    thread::sleep(Duration::from_secs(2));
    assert_eq!(holder(), first);
    server.run(&format!("KILL CONNECTION {first}"));
    soon(|| !["", &first].contains(&holder().as_str()));
    system.check_claim().unwrap();
    // Another étalon comes in the moment in which it is lost.
    let mut rival = server.open_client().unwrap();
    rival.execute("SET SESSION wait_timeout = 1000").unwrap();
    let mut killer = server.open_client().unwrap();
    killer.execute(&format!("KILL CONNECTION {}", holder())).unwrap();
    assert_eq!(rival.query_first_value("SELECT GET_LOCK('etalon', 5)").unwrap(), "1");
    soon(|| system.check_claim().is_err_and(|failure| failure.kind == FailureKind::NotOurs));
    assert_eq!(system.prepare(&pgbench_tables(1)).unwrap_err().kind, FailureKind::NotOurs);
    rival.close_and_wait();
    soon(|| system.prepare(&pgbench_tables(1)).is_ok());
    system.drop_all().unwrap();
}

/// MySQL 8.0.13 and MariaDB 10.1 know such a variable.
fn servers_that_demand_a_key_get_a_marker() {
    let name = if product() == Product::MySql { "sql_require_primary_key" } else { "innodb_force_primary_key" };
    let server = start(Connect::Tcp, &[]);
    server.control.close_session();
    server.run(&format!("SET GLOBAL {name} = ON"));
    let system = open(&server.own_url(), &[], Consent::OwnOnly).unwrap();
    // A table of the user's own without a key is refused, and nothing stays.
    let mut data = Dataset { name: "keyless".to_owned(), ..Default::default() };
    data.afterwards.push("CREATE TABLE keyless (x INT)".to_owned());
    let failure = system.prepare(&data).unwrap_err();
    assert!(!failure.cause.contains("etalon_marker"), "{failure}");
    system.drop_all().unwrap();
    assert_eq!(server.text("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'etalon'"), "0");
}
