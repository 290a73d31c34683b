//! A system that changes while an experiment runs has no verdict, whatever the runs measured.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::scene::Scene;
use crate::server::{ROLE, as_server_user, programs};
use crate::until_sure::measured;

/// The longest time that a server or a round may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "{what} takes too long");
        thread::sleep(Duration::from_millis(50));
    }
}

#[track_caller]
fn done(command: Command) {
    answer(command, &[]).unwrap_or_else(|said| panic!("{said}"));
}

/// What a client prints, or what it says when it fails.
pub fn answer(mut command: Command, arguments: &[&str]) -> Result<String, String> {
    let output = command.args(arguments).current_dir("/").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{command:?}: {said}"))
}

/// Gives the command that starts a server with these settings.
type Start = Box<dyn Fn(&[&str]) -> Command>;

/// A server of the test's, which is restarted with other arguments.
pub struct Database {
    folder: tempfile::TempDir,
    pub port: u16,
    process: Child,
    /// Ends it at once, with all sessions.
    signal: &'static str,
    start: Start,
    is_ready: Box<dyn Fn() -> bool>,
}

impl Database {
    pub fn restart(&mut self, settings: &[&str]) {
        self.stop(self.signal);
        self.process = (self.start)(settings).spawn().unwrap();
        wait_until("a restart", || (self.is_ready)());
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    fn stop(&mut self, signal: &str) {
        if self.process.try_wait().unwrap().is_some() {
            return;
        }
        let _ = Command::new("kill").args([signal, &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.stop("-KILL");
    }
}

fn folder_of(user: &str) -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("etalon-private-").tempdir().unwrap();
    if host::process::is_root() {
        host::process::chown(folder.path(), &host::process::user_by_name(user).unwrap()).unwrap();
    }
    folder
}

pub fn psql_command(port: u16, database: &str) -> Command {
    let mut command = Command::new("psql");
    command.args(["-X", "-q", "-h", "127.0.0.1", "-p", &port.to_string(), "-U", ROLE, "-d", database]);
    command
}

pub fn psql(port: u16, database: &str, sql: &str) {
    let mut command = psql_command(port, database);
    command.args(["-c", sql]);
    done(command);
}

/// Starts PostgreSQL on a folder that `make` fills.
fn postgres(make: impl FnOnce(&Path)) -> Database {
    let folder = folder_of("postgres");
    let data = folder.path().join("data");
    make(&data);
    let (port, log, sockets) = (free_port(), folder.path().join("log"), folder.path().to_owned());
    let start = move |settings: &[&str]| {
        let mut command = as_server_user(&programs().join("postgres"));
        command.arg("-D").arg(&data).arg("-k").arg(&sockets).args(["-p", &port.to_string(), "-h", "127.0.0.1"]);
        ["autovacuum=off"].iter().chain(settings).for_each(|setting| {
            command.args(["-c", setting]);
        });
        command
            .current_dir("/")
            .stdout(Stdio::null())
            .stderr(File::options().create(true).append(true).open(&log).unwrap());
        command
    };
    let is_ready = move || {
        let mut command = Command::new(programs().join("pg_isready"));
        command.args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()]).status().unwrap().success()
    };
    let process = start(&[]).spawn().unwrap();
    wait_until("the start of PostgreSQL", is_ready);
    Database { folder, port, process, signal: "-INT", start: Box::new(start), is_ready: Box::new(is_ready) }
}

pub fn fresh_postgres() -> Database {
    let server = postgres(|data| {
        let mut command = as_server_user(&programs().join("initdb"));
        let usual = ["--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "--username", ROLE, "-D"];
        command.args(usual).arg(data);
        done(command);
    });
    for database in ["a", "b"] {
        psql(server.port, "postgres", &format!("CREATE DATABASE {database}"));
    }
    server
}

pub fn mariadb() -> Database {
    mariadb_with(&[])
}

/// A server that starts with these options.
pub fn mariadb_with(options: &[&str]) -> Database {
    my_server(which_mariadbd(), options, |data| {
        let mut install = Command::new("mariadb-install-db");
        install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        install.args(my_user()).arg(format!("--datadir={}", data.display()));
        install
    })
}

/// Starts MySQL by the programs of a folder.
pub fn mysql(programs: &str) -> Database {
    let program = Path::new(programs).join("mysqld");
    my_server(program.clone(), &[], |data| {
        let mut install = Command::new(program);
        install.args(["--no-defaults", "--initialize-insecure"]).args(my_user());
        install.arg(format!("--datadir={}", data.display()));
        install
    })
}

fn my_user() -> &'static [&'static str] {
    if host::process::is_root() { &["--user=mysql"] } else { &[] }
}

/// Starts MySQL or MariaDB on a folder that `install` fills.
fn my_server(program: PathBuf, options: &[&str], install: impl FnOnce(&Path) -> Command) -> Database {
    let folder = folder_of("mysql");
    let data = folder.path().join("data");
    // A server that starts removes what others have in a folder for temporary files that it shares with them.
    let temporary = folder.path().to_owned();
    let mut installation = install(&data);
    installation.env("TMPDIR", &temporary);
    done(installation);
    let (port, socket) = (free_port(), folder.path().join("socket"));
    let start = move |settings: &[&str]| {
        let mut command = Command::new(&program);
        command.arg("--no-defaults").args(my_user()).arg(format!("--datadir={}", data.display()));
        command.arg(format!("--socket={}", socket.display())).args(settings).env("TMPDIR", &temporary);
        command.args(["--bind-address=127.0.0.1", "--port", &port.to_string()]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let is_ready = move || TcpStream::connect(("127.0.0.1", port)).is_ok();
    let process = start(options).spawn().unwrap();
    wait_until("the start of a server", is_ready);
    let server =
        Database { folder, port, process, signal: "-TERM", start: Box::new(start), is_ready: Box::new(is_ready) };
    mariadb_sql(
        &server,
        "CREATE DATABASE a; CREATE DATABASE b; CREATE USER t@'127.0.0.1' IDENTIFIED BY ''; GRANT ALL ON *.* TO t@'127.0.0.1'",
    );
    server
}

fn which_mariadbd() -> PathBuf {
    let folders = ["/usr/sbin", "/usr/bin", "/usr/libexec"].map(PathBuf::from);
    folders.into_iter().map(|folder| folder.join("mariadbd")).find(|path| path.exists()).unwrap()
}

pub fn mariadb_command(server: &Database) -> Command {
    let socket = server.folder.path().join("socket");
    let mut command = Command::new("mariadb");
    command.args(["--no-defaults", "-u", "root", "--socket"]).arg(socket);
    command
}

pub fn mariadb_sql(server: &Database, sql: &str) {
    let mut command = mariadb_command(server);
    command.args(["-e", sql]);
    done(command);
}

/// The store, once it is there.
pub fn store_in(scene: &Scene) -> Option<PathBuf> {
    let paths = fs::read_dir(scene.path().join("s")).ok()?.map_while(|entry| Some(entry.ok()?.path()));
    paths.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "etalon"))
}

fn changed(scene: &Scene, a: &str, b: &str, change: impl FnOnce()) -> String {
    changed_under(scene, "SELECT 1;\n", (a, b), change)
}

/// Runs an experiment of two systems, changes one after its second round, and gives what `compare` says. Each round has both.
pub fn changed_under(scene: &Scene, script: &str, (a, b): (&str, &str), change: impl FnOnce()) -> String {
    scene.write("one.sql", script).write(
        "p.toml",
        &format!(
            "[systems.a]\nurl = \"{a}\"\n[systems.b]\nurl = \"{b}\"\n[[benchmarks]]\nworkload = \"transactions\"\n\
             script = \"one.sql\"\nclients = 1\ntables = \"none\"\n[schedule]\nrounds = 6\non_error = \"continue\"\n\
             warmup = \"100ms\"\nduration = \"500ms\"\n"
        ),
    );
    let mut child = scene.start(&["run", "p.toml", "-o", "s"]);
    let is_second_round_done =
        || store_in(scene).is_some_and(|store| measured(&store).iter().filter(|(round, _)| *round == 1).count() == 2);
    wait_until("the second round", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended before the change");
        is_second_round_done()
    });
    change();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    let store = store_in(scene).unwrap();
    let compared = scene.etalon(&["compare", store.to_str().unwrap()]);
    let gate = scene.etalon(&["gate", store.to_str().unwrap()]);
    assert_ne!(gate.code, 0, "a gate passed: {}{}", gate.stdout, gate.stderr);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = words(&compared.stdout);
    for verdict in ["equivalent", "faster", "slower", "inconclusive"] {
        assert!(!told.contains(&format!(" {verdict} ")), "{verdict}: {}\n{said}", compared.stdout);
    }
    told
}

#[track_caller]
pub fn assert_told(told: &str, texts: &[&str]) {
    for text in texts {
        assert!(told.contains(text), "`{text}` is missing: {told}");
    }
}

/// A change while an experiment runs, and what the comparison says of it.
type Change<'a> = (&'a str, Box<dyn FnMut() + 'a>, &'a [&'a str]);

/// Runs an experiment for each kind of change.
fn each_change(a: &str, b: &str, changes: Vec<Change<'_>>) {
    let count = changes.len();
    for (kind, mut change, texts) in changes {
        let told = changed(&Scene::new(), a, b, &mut change);
        eprintln!("{kind}: no verdict");
        assert_told(&told, texts);
    }
    eprintln!("{count} kinds of change, 0 verdicts");
}

#[test]
fn a_postgresql_whose_tables_change_has_no_verdict() {
    let server = fresh_postgres();
    let run = |sql: &str| psql(server.port, "b", sql);
    run("CREATE TABLE t (x int PRIMARY KEY); CREATE TABLE other (x int PRIMARY KEY)");
    each_change(
        &postgres_url(server.port, "a"),
        &postgres_url(server.port, "b"),
        vec![
            (
                "tables that take each other's names",
                Box::new(|| run("ALTER TABLE t RENAME TO was; ALTER TABLE other RENAME TO t")),
                &["B changed", "2 indexes"],
            ),
            (
                "a foreign key",
                Box::new(|| run("ALTER TABLE was ADD FOREIGN KEY (x) REFERENCES t")),
                &["B changed", "2 indexes"],
            ),
        ],
    );
}

#[test]
fn a_postgresql_that_changes_has_no_verdict() {
    let server = RefCell::new(fresh_postgres());
    let (port, other) = (server.borrow().port, fresh_postgres());
    let reload = |setting: &str| {
        psql(port, "postgres", &format!("ALTER SYSTEM SET {setting}"));
        psql(port, "postgres", "SELECT pg_reload_conf()");
    };
    let restart = |settings: &[&str]| server.borrow_mut().restart(settings);
    each_change(
        &postgres_url(port, "a"),
        &postgres_url(port, "b"),
        vec![
            (
                "a reload, which both sides see",
                Box::new(|| reload("synchronous_commit = off")),
                &["setting.synchronous_commit was `on` and is `off`", "changed between the rounds 2 and 3"],
            ),
            (
                "a setting that is as before when it is read again",
                Box::new(|| {
                    reload("synchronous_commit = on");
                    reload("synchronous_commit = off");
                }),
                &["instance.settings_read"],
            ),
            (
                "a database's own setting",
                Box::new(|| psql(port, "postgres", "ALTER DATABASE b SET work_mem = '64kB'")),
                &["B changed", "setting.work_mem", "a and b are one server: they differ in what"],
            ),
            (
                "a function",
                Box::new(|| psql(port, "b", "CREATE FUNCTION price() RETURNS int LANGUAGE sql AS 'SELECT 1'")),
                &["B changed", "1 functions"],
            ),
            (
                "a trigger on what is made",
                Box::new(|| {
                    psql(port, "b", "CREATE FUNCTION e() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'");
                    psql(port, "b", "CREATE EVENT TRIGGER made ON ddl_command_end EXECUTE FUNCTION e()");
                }),
                &["B changed", "database.event_triggers was `none` and is `made`"],
            ),
            ("durability at a restart", Box::new(|| restart(&["fsync=off"])), &["setting.fsync was `on` and is `off`"]),
            ("a restart", Box::new(|| restart(&["fsync=off"])), &["instance.started"]),
            (
                "memory at a restart",
                Box::new(|| restart(&["fsync=off", "shared_buffers=16MB"])),
                &["setting.shared_buffers was `128MB` and is `16MB`"],
            ),
            (
                "read only",
                Box::new(|| reload("default_transaction_read_only = on")),
                &["setting.default_transaction_read_only was `off` and is `on`"],
            ),
        ],
    );
    let address = Address::new([port]);
    each_change(
        &postgres_url(address.port, "a"),
        &postgres_url(address.port, "b"),
        vec![("another server", Box::new(|| address.move_to(other.port)), &["instance.system_identifier"])],
    );
}

fn is_in_memory(folder: &Path) -> bool {
    host::disk::filesystem_of(folder).is_ok_and(|found| found.backing == host::disk::Backing::Memory)
}

/// What `compare` says of two systems with a table `t (x int)`, which have no verdict.
fn compared_inserts(a: &str, b: &str) -> String {
    let scene = Scene::new();
    scene.write("insert.sql", "INSERT INTO t VALUES (1);\n").write(
        "p.toml",
        &format!(
            "[systems.a]\nurl = \"{a}\"\n[systems.b]\nurl = \"{b}\"\n[[benchmarks]]\nworkload = \"transactions\"\n\
             script = \"insert.sql\"\nclients = 1\ntables = \"none\"\n[schedule]\nrounds = 6\nwarmup = \"100ms\"\n\
             duration = \"1s\"\n"
        ),
    );
    let run = scene.etalon(&["run", "p.toml", "-o", "s"]);
    let store = store_in(&scene).unwrap_or_else(|| panic!("{}", run.stderr));
    let compared = scene.etalon(&["compare", store.to_str().unwrap()]);
    let told = compared.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for verdict in ["equivalent", "faster", "slower", "inconclusive"] {
        assert!(!told.contains(&format!(" {verdict} ")), "{verdict}: {}", compared.stdout);
    }
    assert_ne!(scene.etalon(&["gate", store.to_str().unwrap()]).code, 0);
    told
}

pub fn postgres_url(port: u16, database: &str) -> String {
    format!("postgres://{ROLE}@127.0.0.1:{port}/{database}?sslmode=disable")
}

/// It is as before when the server is asked what it is.
#[test]
fn a_setting_that_the_load_alone_has_is_a_change() {
    let server = fresh_postgres();
    let ask = |sql: &str| answer(psql_command(server.port, "postgres"), &["-Atc", sql]).unwrap();
    let while_it_connects = || {
        ask(&format!("ALTER ROLE {ROLE} SET enable_indexscan = off"));
        let since = ask("SELECT clock_timestamp()");
        let is_loaded = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT 1%' AND backend_start > '{}'",
            since.trim()
        );
        wait_until("a load", || ask(&is_loaded).trim() != "0");
        ask(&format!("ALTER ROLE {ROLE} RESET enable_indexscan"));
    };
    let (a, b) = (postgres_url(server.port, "a"), postgres_url(server.port, "b"));
    let told = changed(&Scene::new(), &a, &b, while_it_connects);
    assert_told(&told, &["setting.enable_indexscan was `on` and is `off`"]);
}

#[test]
fn commits_that_a_trigger_lets_off_the_log_have_no_verdict() {
    let server = fresh_postgres();
    if is_in_memory(server.folder.path()) {
        return println!("skipped: the folders of tests are in memory");
    }
    for database in ["a", "b"] {
        psql(server.port, database, "CREATE TABLE t (x int)");
    }
    let lets_off = "CREATE FUNCTION fast() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM set_config('synchronous_commit', \
                    'off', true); RETURN NEW; END$$; CREATE TRIGGER fast BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fast()";
    psql(server.port, "b", lets_off);
    let told = compared_inserts(&postgres_url(server.port, "a"), &postgres_url(server.port, "b"));
    assert_told(&told, &["unequal durability: A is durable, B is delayed", "delayed commits in 6 of 6 runs of B"]);
}

/// Only the server's process has the mount.
#[test]
fn a_log_that_its_server_alone_has_in_memory_has_no_verdict() {
    let (plain, mut server) = (fresh_postgres(), fresh_postgres());
    if is_in_memory(server.folder.path()) {
        return println!("skipped: the folders of tests are in memory");
    }
    for server in [&plain, &server] {
        psql(server.port, "a", "CREATE TABLE t (x int)");
    }
    server.stop(server.signal);
    let log = server.folder.path().join("data/pg_wal");
    let script = "mount -t tmpfs -o mode=777 none \"$0\" && cp -a \"$0.disk/.\" \"$0\" && exec \"$@\"";
    let start = (server.start)(&[]);
    let mut unshare = Command::new("unshare");
    unshare.args(["-m", "sh", "-c", script]).arg(&log).arg(start.get_program()).args(start.get_args());
    fs::rename(&log, log.with_extension("disk")).unwrap();
    fs::create_dir(&log).unwrap();
    server.process = unshare.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the start of PostgreSQL", || (server.is_ready)() || server.process.try_wait().unwrap().is_some());
    if server.process.try_wait().unwrap().is_some() {
        return println!("skipped: nothing may be mounted");
    }
    psql(server.port, "a", "CREATE ROLE clerk LOGIN; GRANT INSERT ON t TO clerk; GRANT CREATE ON DATABASE a TO clerk");
    // One role may ask for the data folder, and the other one may not.
    for role in [ROLE, "clerk"] {
        let b = postgres_url(server.port, "a").replacen(ROLE, role, 1);
        let told = compared_inserts(&postgres_url(plain.port, "a"), &b);
        assert_told(&told, &["unequal durability: A is durable, B is memory"]);
    }
}

#[test]
fn a_mariadb_that_changes_has_no_verdict() {
    let server = RefCell::new(mariadb());
    let (port, other) = (server.borrow().port, mariadb());
    let url = |port: u16, database: &str| format!("mariadb://t@127.0.0.1:{port}/{database}?ssl-mode=disabled");
    let set = |setting: &str| mariadb_sql(&server.borrow(), &format!("SET GLOBAL {setting}"));
    mariadb_sql(&server.borrow(), "CREATE DATABASE shop; CREATE TABLE shop.t (x INT, KEY x (x))");
    each_change(
        &url(port, "a"),
        &url(port, "b"),
        vec![
            (
                "durability",
                Box::new(|| set("innodb_flush_log_at_trx_commit = 0")),
                &["setting.innodb_flush_log_at_trx_commit was `1` and is `0`"],
            ),
            (
                "a function",
                Box::new(|| mariadb_sql(&server.borrow(), "CREATE FUNCTION b.f() RETURNS INT RETURN 1")),
                &["changed", "1 routines"],
            ),
            (
                "an index of another database that is no longer used",
                Box::new(|| mariadb_sql(&server.borrow(), "ALTER TABLE shop.t ALTER INDEX x IGNORED")),
                &["changed", "1 columns of indexes"],
            ),
            ("a setting of its I/O", Box::new(|| set("innodb_io_capacity = 999")), &["setting.innodb_io_capacity"]),
            ("memory", Box::new(|| set("innodb_buffer_pool_size = 16777216")), &["setting.innodb_buffer_pool_size"]),
            ("read only", Box::new(|| set("read_only = 1")), &["setting.read_only"]),
            (
                "its priority",
                Box::new(|| {
                    let pid = server.borrow().pid().to_string();
                    Command::new("renice").args(["-n", "10", "-p", &pid]).status().unwrap();
                }),
                &["server.cpu_share was `cores", "nice 10`"],
            ),
            (
                "durability at a restart",
                Box::new(|| server.borrow_mut().restart(&["--innodb-doublewrite=0"])),
                &["setting.innodb_doublewrite"],
            ),
            ("a restart", Box::new(|| server.borrow_mut().restart(&["--innodb-doublewrite=0"])), &["instance.started"]),
        ],
    );
    let address = Address::new([port]);
    each_change(
        &url(address.port, "a"),
        &url(address.port, "b"),
        vec![("another server", Box::new(|| address.move_to(other.port)), &["changed between the rounds 2 and 3"])],
    );
}

/// Has another connection do what it may have to wait for.
fn on_file(path: &Path, sql: &str) {
    let file = rusqlite::Connection::open(path).unwrap();
    wait_until(sql, || file.execute_batch(sql).is_ok());
}

#[test]
fn a_sqlite_file_that_changes_has_no_verdict() {
    let make = |path: &Path| on_file(path, "CREATE TABLE t (x); INSERT INTO t VALUES (1)");
    let becomes = |path: &Path, pragma: &str, value: &str| {
        let file = rusqlite::Connection::open(path).unwrap();
        let is_set = || {
            file.execute_batch(&format!("PRAGMA {pragma} = {value}; VACUUM")).is_ok()
                && file
                    .query_row(&format!("PRAGMA {pragma}"), [], |row| {
                        Ok(row
                            .get_ref(0)?
                            .as_str()
                            .map(str::to_owned)
                            .unwrap_or_else(|_| row.get::<_, i64>(0).unwrap().to_string()))
                    })
                    .is_ok_and(|now| now == value)
        };
        wait_until(pragma, is_set);
    };
    let replace = |name: &'static str| {
        move |folder: &Path| {
            make(&folder.join("other.db"));
            fs::rename(folder.join("other.db"), folder.join(name)).unwrap();
        }
    };
    type Change<'a> = Box<dyn Fn(&Path) + 'a>;
    let changes: Vec<(&str, Change<'_>, &[&str])> = vec![
        ("replaced", Box::new(replace("b.db")), &["B changed between the rounds 2 and 3", "instance.file_created"]),
        ("the baseline replaced", Box::new(replace("a.db")), &["A changed", "instance.file_created"]),
        (
            "removed and made again",
            Box::new(|folder| {
                fs::remove_file(folder.join("b.db")).unwrap();
                make(&folder.join("b.db"));
            }),
            &["B changed", "instance.file_created"],
        ),
        (
            "its journal",
            Box::new(|folder| becomes(&folder.join("b.db"), "journal_mode", "wal")),
            &["B changed", "journal_mode"],
        ),
        (
            "its pages",
            Box::new(|folder| becomes(&folder.join("b.db"), "page_size", "512")),
            &["B changed", "page_size"],
        ),
        (
            "its vacuum",
            Box::new(|folder| becomes(&folder.join("b.db"), "auto_vacuum", "1")),
            &["B changed", "auto_vacuum"],
        ),
    ];
    for (kind, change, texts) in changes {
        let scene = Scene::new();
        ["a.db", "b.db"].iter().for_each(|name| make(&scene.path().join(name)));
        let told = changed(&scene, "sqlite:a.db", "sqlite:b.db", || change(scene.path()));
        println!("{kind}: no verdict");
        assert_told(&told, texts);
    }
}

/// Forwards connections to ports in turn: as an address that moves at a failover does, or a balancer.
pub struct Address {
    pub port: u16,
    targets: Arc<Mutex<VecDeque<u16>>>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Address {
    pub fn new(targets: impl Into<VecDeque<u16>>) -> Address {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address {
            port: listener.local_addr().unwrap().port(),
            targets: Arc::new(Mutex::new(targets.into())),
            open: Arc::default(),
        };
        let (targets, open) = (Arc::clone(&address.targets), Arc::clone(&address.open));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let port = {
                    let mut targets = targets.lock().unwrap();
                    targets.rotate_left(1);
                    *targets.back().unwrap()
                };
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                open.lock().unwrap().extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
                let ways = [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)];
                for (mut from, mut to) in ways {
                    thread::spawn(move || {
                        let _ = io::copy(&mut from, &mut to);
                        // The other end hears that this one has closed.
                        let _ = to.shutdown(Shutdown::Write);
                    });
                }
            }
        });
        address
    }

    pub fn move_to(&self, port: u16) {
        *self.targets.lock().unwrap() = [port].into();
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

pub fn standby_of(primary: &Database) -> Database {
    let port = primary.port.to_string();
    postgres(|data| {
        let mut command = as_server_user(&programs().join("pg_basebackup"));
        command.args(["-h", "127.0.0.1", "-p", &port, "-U", ROLE, "-R", "-c", "fast", "-D"]).arg(data);
        done(command);
    })
}

/// The address leads to a server that answers, and that nothing can be written to yet.
#[test]
fn run_waits_until_the_standby_is_promoted() {
    let mut primary = fresh_postgres();
    let standby = standby_of(&primary);
    let address = Address::new([primary.port]);
    let scene = Scene::new();
    let url = |port: u16| format!("postgres://{ROLE}@127.0.0.1:{port}/a?sslmode=disable");
    scene.write(
        "p.toml",
        &format!(
            "[systems.a]\nurl = \"{}\"\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"tpcb-like\"\nclients = 1\n\
             scale = 1\n[schedule]\nrounds = 4\nwarmup = \"100ms\"\nduration = \"500ms\"\n",
            url(address.port)
        ),
    );
    let planned = scene.etalon(&["plan", &url(standby.port)]);
    assert!(planned.stdout.contains("the server is a standby, and nothing can be written to it"), "{}", planned.stdout);
    let planned = scene.etalon(&["plan", "p.toml"]);
    assert!(planned.stdout.contains("valid") && !planned.stdout.contains("standby"), "{}", planned.stdout);
    let child = scene.start(&["run", "p.toml", "-o", "s"]);
    wait_until("the first round", || store_in(&scene).is_some_and(|store| !measured(&store).is_empty()));
    primary.stop("-KILL");
    address.move_to(standby.port);
    thread::sleep(Duration::from_secs(4));
    psql(standby.port, "postgres", "SELECT pg_promote()");
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(said.contains("waiting up to 30 s for system `a`"), "{said}");
    let rounds: std::collections::BTreeSet<_> =
        measured(&store_in(&scene).unwrap()).into_iter().map(|(round, _)| round).collect();
    assert_eq!(rounds.len(), 4, "{said}");
}

#[test]
fn a_failover_has_no_verdict() {
    let mut primary = fresh_postgres();
    let standby = standby_of(&primary);
    let address = Address::new([primary.port]);
    let url = |port: u16, name: &str| format!("postgres://{ROLE}@127.0.0.1:{port}/{name}?sslmode=disable");
    let told = changed(&Scene::new(), &url(address.port, "a"), &url(address.port, "b"), || {
        primary.stop("-KILL");
        psql(standby.port, "postgres", "SELECT pg_promote()");
        address.move_to(standby.port);
    });
    assert_told(&told, &["changed", "instance.timeline was `00000001` and is `00000002`"]);
}
