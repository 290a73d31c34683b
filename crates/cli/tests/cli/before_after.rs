//! One server before and after a change that étalon makes and undoes: an index is faster, and nothing of it is left, however
//! the experiment ends. And one under two settings.
//!
//! Every run of the tests kills three experiments; `ETALON_KILLS` says how many, `ETALON_SEED` draws other moments.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

use crate::scene::{Ran, Scene, ran};
use crate::server::ROLE;
use crate::server_changes::{Database, fresh_postgres, mariadb, mariadb_sql, psql, wait_until};

const MAKE: &str = "CREATE INDEX by_customer ON orders (customer)";
const DROP: &str = "DROP INDEX by_customer";
const SHORT: [&str; 4] = ["--set", "schedule.duration=300ms", "--set", "schedule.warmup=50ms"];

/// A database with orders of 5,000 customers.
struct Place {
    url: String,
    /// Runs statements; fails where one does.
    sql: Box<dyn Fn(&str)>,
    drop: &'static str,
}

impl Place {
    /// The index is not there: it can be made.
    #[track_caller]
    fn has_nothing_left(&self) {
        (self.sql)(MAKE);
        (self.sql)(self.drop);
    }
}

fn orders(numbers: &str) -> String {
    format!(
        "CREATE TABLE orders AS SELECT i AS id, (i * 7919) % 5000 AS customer, i % 1000 AS amount FROM ({numbers}) AS n"
    )
}

fn sqlite(scene: &Scene) -> Place {
    let path = scene.path().join("shop.db");
    let url = format!("sqlite:{}", path.display());
    let sql = move |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    sql(&orders("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) SELECT i FROM n"));
    Place { url, sql: Box::new(sql), drop: DROP }
}

fn postgres() -> Place {
    let server = fresh_postgres();
    let url = format!("postgres://{ROLE}@127.0.0.1:{}/a?sslmode=disable", server.port);
    let sql = move |sql: &str| {
        // The whole server, which ends with the place.
        let server: &Database = &server;
        psql(server.port, "a", sql);
    };
    sql(&orders("SELECT i FROM generate_series(1, 30000) AS i"));
    sql("VACUUM ANALYZE orders");
    Place { url, sql: Box::new(sql), drop: DROP }
}

fn mariadb_place() -> Place {
    let server = mariadb();
    let url = format!("mariadb://t@127.0.0.1:{}/a?ssl-mode=disabled", server.port);
    let sql = move |sql: &str| mariadb_sql(&server, &format!("USE a; {sql}"));
    sql(&orders("SELECT seq AS i FROM seq_1_to_30000"));
    Place { url, sql: Box::new(sql), drop: "DROP INDEX by_customer ON orders" }
}

fn scene() -> Scene {
    let scene = Scene::new();
    fs::create_dir(scene.path().join("sql")).unwrap();
    scene.write("sql/of-customer.sql", "SELECT count(*), sum(amount) FROM orders WHERE customer = 4711;\n");
    scene.write("of.sql", "SELECT count(*), sum(amount) FROM orders WHERE customer = 4711;\n");
    scene
}

fn arguments<'a>(place: &'a Place, more: &[&'a str]) -> Vec<&'a str> {
    let words: [&str; 8] = ["run", &place.url, "--change", MAKE, "--undo", place.drop, "-o", "s"];
    let rounds = if more.contains(&"--rounds") { [].as_slice() } else { &["--rounds", "6"] };
    [&words, &SHORT[..], rounds, more].concat()
}

fn stores(scene: &Scene) -> Vec<PathBuf> {
    let entries = fs::read_dir(scene.path().join("s")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "etalon")).collect()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn is_faster(ended: &Ran) {
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let text = words(&ended.stdout);
    // Runs of a third of a second may leave nothing sure on a busy machine.
    let is_unsure = text.contains("busy machine") && !text.contains(" slower");
    assert!(text.contains("before") && (text.contains(" faster") || is_unsure), "{text}");
    assert!(!text.contains("changed") && !ended.stderr.contains("changed during"), "{text}{}", ended.stderr);
}

#[test]
fn an_index_is_made_and_dropped_on_three_engines() {
    let scene = scene();
    for place in [sqlite(&scene), postgres(), mariadb_place()] {
        let ended = scene.etalon(&arguments(&place, &["sql"]));
        is_faster(&ended);
        assert!(words(&ended.stdout).contains("the plan of of-customer differs"), "{}", ended.stdout);
        place.has_nothing_left();
        is_faster(&scene.etalon(&arguments(&place, &["--script", "of.sql", "-c", "1"])));
        place.has_nothing_left();
    }
}

#[test]
fn two_settings_of_one_server_are_its_two_sides() {
    let scene = scene();
    let own = sqlite(&scene);
    let run = |url: &str, more: &[&str]| {
        let words = [&["run", url, "sql", "--rounds", "6", "-o", "settings"], &SHORT[..], more].concat();
        scene.etalon(&words)
    };
    let ended = run(&own.url, &["--set-a", "cache_size=10", "--set-b", "cache_size=10000"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let text = words(&ended.stdout);
    assert!(text.contains("A = cache_size=10, B = cache_size=10000"), "{text}");
    assert!(text.contains("differs: setting.cache_size (10 | 10000)"), "{text}");
    let server = postgres();
    (server.sql)(MAKE);
    let ended = run(&server.url, &["--set-b", "enable_indexscan=off", "--set-b", "enable_bitmapscan=off"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let text = words(&ended.stdout);
    assert!(text.contains("A as-it-is: PostgreSQL"), "{text}");
    assert!(text.contains("enable_bitmapscan (on | off)") && text.contains("enable_indexscan (on | off)"), "{text}");
    assert!(text.contains(" slower") && text.contains(" other plan"), "{text}");
    (server.sql)("DO $$ BEGIN ASSERT current_setting('enable_indexscan') = 'on'; END $$");
    let typed = "--change \"ALTER SYSTEM SET checkpoint_timeout = '10min'; SELECT pg_reload_conf()\" --undo";
    run(&server.url, &["--set-b", "checkpoint_timeout=10min"]).says(2, &["only in the server's configuration", typed]);
    let typed = "`etalon run postgres --set-b shared_buffers=1GB`";
    run(&server.url, &["--set-b", "shared_buffers=1GB"]).says(2, &["only at the server's start", typed]);
    let typed = "--change \"SET GLOBAL innodb_io_capacity = 300\" --undo \"SET GLOBAL innodb_io_capacity = 200\"";
    run(&mariadb_place().url, &["--set-b", "innodb_io_capacity=300"]).says(2, &["GLOBAL variable", typed]);
    for (more, said) in [
        (&["--set-a", "a"][..], "write it as `--set-a a=VALUE`"),
        (&["--set-a", "a=1", "--aa"], "cannot be used with"),
        (&["--set-a", "a=1", "--set-b", "a=1"], "both sides would be one system"),
        (&["--set-b", "a=1", "--set-b", "a=2"], "gives `a` twice, 1 and 2"),
        (&["--set-a", "a=1", "--change", "x", "--undo", "y"], "both say what A and B differ in"),
        (&["sqlite:x.db", "sqlite:y.db", "--set-a", "a=1"], "3 systems are named"),
    ] {
        run(&own.url, more).says(2, &[said]);
    }
    scene.etalon(&["run", "quickstart", "--set-a", "a=1"]).says(2, &["`--set systems.NAME.settings.KEY=VALUE`"]);
}

#[test]
fn tables_of_etalon_come_back_without_the_change() {
    let scene = scene();
    let place = postgres();
    let change = ["--change", "CREATE INDEX own ON pgbench_accounts (abalance)", "--undo", "DROP INDEX own"];
    let count = "SELECT count(*) FROM pgbench_accounts WHERE abalance = 7;\n";
    scene.write("count.sql", count);
    let load = ["--script", "count.sql", "-c", "1", "--scale", "1", "-o", "own"];
    let args = [&["run", &place.url, "--rounds", "6"][..], &change, &load, &SHORT].concat();
    is_faster(&scene.etalon(&args));
    (place.sql)("DO $$ BEGIN ASSERT to_regnamespace('etalon') IS NULL; END $$");
}

#[test]
fn ctrl_c_and_errors_leave_nothing() {
    let scene = scene();
    let place = postgres();
    let child = scene.start(&arguments(&place, &["sql", "--rounds", "60"]));
    wait_until("a change", || is_changed(&scene));
    thread::sleep(Duration::from_millis(300));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ended = ran(child.wait_with_output().unwrap());
    ended.says(130, &["stopping: étalon ends what runs", "etalon resume"]);
    // Waiting for the server as it was goes on behind Ctrl-C, for its last look would say a change that is none.
    assert!(!ended.stderr.contains("system `"), "{}", ended.stderr);
    place.has_nothing_left();
    assert!(!is_changed(&scene));
    scene.write("wrong.sql", "SELECT nothing FROM orders;\n");
    let ended = scene.etalon(&arguments(&place, &["--script", "wrong.sql"]));
    assert_ne!(ended.code, 0, "{}", ended.stdout);
    place.has_nothing_left();
}

#[test]
fn a_change_that_fails_is_undone_and_an_index_of_that_name_stays() {
    let scene = scene();
    let place = postgres();
    (place.sql)(MAKE);
    let ended = scene.etalon(&arguments(&place, &["sql"]));
    ended
        .says(3, &["cannot make the change of `after`", "by_customer", "nothing of it was made, so nothing is undone"]);
    (place.sql)(DROP);
    let second = [&arguments(&place, &["sql"])[..], &["--change", "CREATE INDEX other ON nowhere (id)"]].concat();
    let ended = scene.etalon(&second);
    ended.says(3, &["cannot make the change of `after`", "nowhere", "what was made of it is undone"]);
    place.has_nothing_left();
    (place.sql)(MAKE);
    let twice = ["run", &place.url, "sql", "--change", "CREATE INDEX mine ON orders (amount)", "--change", MAKE];
    let undo = ["--undo", "DROP INDEX mine", "--undo", DROP, "-o", "s"];
    let ended = scene.etalon(&[&twice[..], &undo, &SHORT].concat());
    ended.says(3, &["cannot make the change of `after`", "by_customer", "what was made of it is undone"]);
    (place.sql)("CREATE INDEX mine ON orders (amount); DROP INDEX mine");
    (place.sql)(DROP);
}

#[test]
fn a_setting_that_no_new_session_has_is_no_change() {
    let scene = scene();
    let place = postgres();
    for (make, undo) in [
        // The server does not read its files again.
        ("ALTER SYSTEM SET work_mem = '256kB'", "ALTER SYSTEM RESET work_mem"),
        // It takes effect with a restart.
        (
            "ALTER SYSTEM SET max_connections = 77; SELECT pg_reload_conf()",
            "ALTER SYSTEM RESET max_connections; SELECT pg_reload_conf()",
        ),
    ] {
        let line = ["run", &place.url, "sql", "--change", make, "--undo", undo, "-o", "s"];
        let ended = scene.etalon(&[&line[..], &SHORT].concat());
        ended.says(1, &["every setting is as before", "the change is undone", "pg_reload_conf()", "restart"]);
        place.has_nothing_left();
    }
}

#[test]
fn what_etalon_changed_is_expected_and_what_others_change_is_not() {
    let scene = scene();
    let place = postgres();
    scene.write("off.sql", "ALTER SYSTEM SET work_mem = '256kB'; SELECT pg_reload_conf();");
    scene.write("on.sql", "ALTER SYSTEM RESET work_mem; SELECT pg_reload_conf();");
    let change = ["run", &place.url, "sql", "--change", "@off.sql", "--undo", "on.sql", "-o", "s"];
    let args = [&change[..], &SHORT].concat();
    let ended = scene.etalon(&args);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let text = words(&ended.stdout);
    assert!(!text.contains("settings_read") && !ended.stderr.contains("read its settings"), "{text}{}", ended.stderr);
    assert!(!ended.stderr.contains("changed during"), "{}", ended.stderr);
    (place.sql)("DO $$ BEGIN ASSERT current_setting('work_mem') = '4MB'; END $$");
    fs::remove_dir_all(scene.path().join("s")).unwrap();
    let child = scene.start(&arguments(&place, &["sql", "--rounds", "12"]));
    wait_until("two rounds", || stores(&scene).first().is_some_and(|store| measured(store) > 3));
    (place.sql)("CREATE INDEX of_others ON orders (amount)");
    let ended = ran(child.wait_with_output().unwrap());
    assert!(ended.stderr.contains("changed during the experiment"), "{}", ended.stderr);
    assert!(ended.stderr.contains("indexes_and_triggers"), "{}", ended.stderr);
    place.has_nothing_left();
}

#[test]
fn an_undo_that_undoes_nothing_leaves_no_verdict() {
    let scene = scene();
    for (place, make) in [
        (postgres(), "ALTER TABLE orders SET (fillfactor = 50)"),
        (mariadb_place(), "ALTER TABLE orders ADD COLUMN more int"),
        (sqlite(&scene), "ALTER TABLE orders ADD COLUMN more int"),
    ] {
        let nothing = "UPDATE orders SET amount = amount WHERE id = -1";
        let line = ["run", &place.url, "sql", "--change", make, "--undo", nothing, "-o", "s"];
        let ended = scene.etalon(&[&line[..], &SHORT].concat());
        let said = [words(&ended.stdout), words(&ended.stderr)].concat();
        assert!(said.contains("changed during the experiment"), "{make}: {said}");
        assert!(!said.contains("faster") && !said.contains("equivalent"), "{make}: {said}");
    }
}

fn measured(store: &Path) -> usize {
    let runs = store::Store::open_read_only(store).and_then(|store| store.runs());
    runs.unwrap_or_default().iter().filter(|run| run.state == model::RunState::Measured).count()
}

fn is_changed(scene: &Scene) -> bool {
    let changes = |path: &PathBuf| store::Store::open_read_only(path).and_then(|store| store.read_changes());
    stores(scene).iter().any(|path| changes(path).is_ok_and(|changes| !changes.is_empty()))
}

#[test]
fn what_a_killed_run_left_is_undone_by_resume() {
    let number = |variable| std::env::var(variable).ok().map(|text| text.parse::<u64>().unwrap());
    let kills = number("ETALON_KILLS").unwrap_or(3);
    let mut seed = number("ETALON_SEED").unwrap_or(1);
    let scene = scene();
    let place = postgres();
    // An index that takes a while, so that some are killed while they make it.
    (place.sql)("INSERT INTO orders SELECT id + 100000, customer, amount FROM orders; ANALYZE orders");
    let mut left = 0;
    for kill in 0..kills {
        let mut child = scene.start(&arguments(&place, &["sql", "--quiet"]));
        wait_until("a change", || is_changed(&scene));
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        thread::sleep(Duration::from_millis((seed >> 33) % 2_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let store = stores(&scene).pop().unwrap().display().to_string();
        if is_changed(&scene) {
            left += 1;
            let again = scene.etalon(&arguments(&place, &["sql"]));
            again.says(2, &["is still made in this server", "etalon resume s/", "--undo-only"]);
        }
        if kill % 2 == 0 {
            scene.etalon(&["resume", &store, "--undo-only"]).says(0, &[]);
        } else {
            is_faster(&scene.etalon(&["resume", &store]));
        }
        place.has_nothing_left();
        assert!(!is_changed(&scene));
        fs::remove_dir_all(scene.path().join("s")).unwrap();
    }
    eprintln!("{kills} kills, {left} of them with the change made: nothing left");
}

/// Each making has the server read its settings again, which is no change by others.
#[test]
fn a_setting_that_was_made_again_is_undone_after_a_kill() {
    let scene = scene();
    let place = postgres();
    scene.write("off.sql", "ALTER SYSTEM SET work_mem = '256kB'; SELECT pg_reload_conf();");
    scene.write("on.sql", "ALTER SYSTEM RESET work_mem; SELECT pg_reload_conf();");
    let change = ["run", &place.url, "sql", "--change", "@off.sql", "--undo", "on.sql", "-o", "s", "--rounds", "30"];
    let mut child = scene.start(&[&change[..], &SHORT].concat());
    wait_until("a change that is made again", || {
        stores(&scene).first().is_some_and(|store| measured(store) > 3) && is_changed(&scene)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let store = stores(&scene).pop().unwrap().display().to_string();
    scene.etalon(&["resume", &store, "--undo-only"]).says(0, &[]);
    (place.sql)("DO $$ BEGIN ASSERT current_setting('work_mem') = '4MB'; END $$");
}

#[test]
fn what_others_made_since_is_not_undone() {
    let scene = scene();
    let place = postgres();
    let is_known = |path: &PathBuf| {
        let store = store::Store::open_read_only(path).unwrap();
        store.read_changes().unwrap().iter().any(|change| {
            change.state == store::ChangeState::Made && store.facts().unwrap().contains_key(&change.system)
        })
    };
    // Some are killed while they undo it.
    let killed = (0..20).find_map(|_| {
        let mut child = scene.start(&arguments(&place, &["sql", "--quiet", "--rounds", "30"]));
        wait_until("a change that is made", || stores(&scene).iter().any(is_known));
        child.kill().unwrap();
        child.wait().unwrap();
        let store = stores(&scene).pop().unwrap();
        let left = is_known(&store).then(|| store.display().to_string());
        if left.is_none() {
            scene.etalon(&["resume", &store.display().to_string(), "--undo-only"]).says(0, &[]);
            fs::remove_dir_all(scene.path().join("s")).unwrap();
        }
        left
    });
    let store = killed.expect("an étalon is killed while its change is made");
    let name = MAKE.split_whitespace().nth(2).unwrap();
    (place.sql)(&format!("DROP INDEX {name}; CREATE INDEX {name} ON orders (amount, id)"));
    let resume = ["resume", &store, "--undo-only"];
    scene.etalon(&resume).says(3, &["indexes_and_triggers", "others have changed it since", "étalon undoes nothing"]);
    (place.sql)(&format!("DROP INDEX {name}"));
    scene.etalon(&resume).says(0, &["no longer made"]);
    scene.etalon(&resume).says(0, &["nothing is to be undone"]);
    place.has_nothing_left();
}

#[test]
fn a_change_without_its_undo_is_refused_with_the_line_to_type() {
    let scene = Scene::new();
    let line = ["run", "sqlite:x.db", "--change", MAKE];
    let undo = "--undo 'SQL that undoes it'";
    scene.etalon(&line).says(2, &["only if it can undo the change", "etalon run sqlite:x.db --change", undo]);
    let kept = MAKE.replace("INDEX", "INDEX IF NOT EXISTS");
    let line = ["run", "sqlite:x.db", "--change", &kept, "--undo", DROP];
    scene
        .etalon(&line)
        .says(2, &["has `IF NOT EXISTS`, so that `undo` may not bring back", "leave `IF NOT EXISTS` out"]);
    for (nothing, why) in [
        ("SET enable_indexscan = off", "sets only its own session"),
        ("set @@session.sort_buffer_size = 1", "sets only its own session"),
        ("BEGIN", "begins a transaction that it does not commit"),
        ("START TRANSACTION;", "begins a transaction that it does not commit"),
    ] {
        let line = line.map(|word| if word == kept { nothing } else { word });
        scene.etalon(&line).says(2, &[why]);
    }
    let line = ["run", "sqlite:x.db", "--change", MAKE, "--undo", "SELECT 1"];
    scene.etalon(&line).says(2, &["only reads, so it undoes nothing"]);
    scene.etalon(&["run", "sqlite:x.db", "--undo", DROP]).says(2, &["undoes a change, and none is named"]);
    let two = ["run", "sqlite:x.db", "sqlite:y.db", "--change", MAKE, "--undo", DROP];
    scene.etalon(&two).says(2, &["compares one server before and after it, and 2 are named"]);
    scene.etalon(&["run", "quickstart", "--change", MAKE, "--undo", DROP]).says(2, &["is a plan", "`undo = [\"…\"]`"]);
    let made = scene.etalon(&["init", "shop=sqlite:x.db", "--change", MAKE, "--undo", DROP, "-o", "-"]);
    let keys = "[systems.shop-after]\n# Where it is.\nurl = \"sqlite:x.db\"\n# Made before runs of";
    assert!(made.stdout.contains(keys) && made.stdout.contains(&format!("change = [\"{MAKE}\"]")), "{}", made.stdout);
    scene.write("p.toml", &made.stdout);
    let plan = scene.etalon(&["plan", "p.toml"]).stdout;
    assert!(plan.contains(&format!("    change: {MAKE}\n    undo: {DROP}\n")), "{plan}");
    let said = words(&plan);
    assert!(said.contains("étalon changes the database sqlite:x.db before runs of `shop-after`"), "{plan}");
    scene.write("p.toml", &made.stdout.replace("[systems.shop-before]\n# Where it is.\nurl = \"sqlite:x.db\"\n", ""));
    let alone = scene.etalon(&["plan", "p.toml"]);
    alone.says(2, &["no system is the same server without it", "the change is undone for its runs"]);
}
