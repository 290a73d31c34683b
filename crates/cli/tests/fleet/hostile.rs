//! A hostile conductor with a valid key against a live agent.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use conductor::Registry;
use conductor::site::Inspection;
use fleet::bus::{Bus, INBOX, Results};
use fleet::protocol::{Answer, Ask, Reply, Request, SentCase, VERSION, subject_prefix};
use fleet::{Server, TextId, TextPiece};
use load::error::{Failure, FailureKind};
use model::plan::{Changes, PrivateServer};
use model::{Case, Plan, SystemPlan, Value, VolumePlan};
use sha2::{Digest as _, Sha256};
use workloads::dataset::Tables;
use workloads::system::Part;

use crate::nats::Nats;
use crate::scene::Scene;

const PATIENCE: Duration = Duration::from_secs(120);
/// In the agent's environment; must never leave it.
pub const SECRET: &str = "the-agents-own-password";
const NAME: &str = "victim";

pub struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn agent(scene: &Scene, nats: &Nats, flags: &[&str]) -> Agent {
    let log = scene.path().join("agent.log");
    let url = nats.url();
    let mut args = vec!["agent", "--nats", &url, "--name", NAME];
    args.extend(flags);
    let mut command = scene.command(&args);
    for variable in ["PGPASSWORD", "MYSQL_PWD", "SQLCMDPASSWORD"] {
        command.env(variable, SECRET);
    }
    command.env("HOSTILE_URL", "postgres://u@127.0.0.2:9/db");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log).unwrap());
    let mut agent = Agent(command.spawn().unwrap());
    let deadline = Instant::now() + PATIENCE;
    while !fs::read_to_string(&log).unwrap().contains(" serves") {
        let ended = agent.0.try_wait().unwrap();
        assert!(ended.is_none() && Instant::now() < deadline, "{}", fs::read_to_string(&log).unwrap());
        std::thread::sleep(Duration::from_millis(20));
    }
    agent
}

/// Holds the conductor's key.
pub struct Conductor {
    bus: Arc<Bus>,
    job: u64,
    /// The stream that agents publish to.
    _results: Results,
}

impl Conductor {
    pub fn new(nats: &Nats) -> Conductor {
        let server = Server { url: nats.url(), ..Server::default() };
        let bus = Arc::new(Bus::connect(&server, "hostile", INBOX).unwrap());
        let results = bus.open_experiment_results("hostile").unwrap();
        Conductor { bus, job: 0, _results: results }
    }

    fn ask(&mut self, ask: Ask) -> Result<Answer, Failure> {
        self.job += 1;
        let deadline = Instant::now() + PATIENCE;
        let mut ask = ask;
        loop {
            let request = Request {
                version: VERSION.to_owned(),
                session: "hostile".to_owned(),
                experiment: "hostile".to_owned(),
                lease_ms: 60_000,
                job: self.job,
                ask: ask.clone(),
            };
            let subject = format!("{}.{}", subject_prefix(NAME), ask.verb());
            let payload = serde_json::to_vec(&request).unwrap();
            let answer = self.bus.request(&subject, payload, Duration::from_secs(20)).unwrap();
            match serde_json::from_slice(&answer).unwrap() {
                Reply::Done(answer) => return Ok(answer),
                Reply::Failed(failure) => return Err(failure),
                Reply::Working(_) => {
                    assert!(Instant::now() < deadline, "{ask:?} does not end");
                    ask = Ask::Renew { of: Some(self.job) };
                }
            }
        }
    }

    pub fn open(&mut self, system: &SystemPlan) -> Result<Answer, Failure> {
        self.ask(Ask::Open { system: system.clone(), part: Part::Whole, tables: Tables::Own })
    }

    /// Tries to open a system for both purposes; returns the refusal.
    pub fn refused(&mut self, system: &SystemPlan) -> Failure {
        let load = self.ask(Ask::Open { system: system.clone(), part: Part::Load, tables: Tables::None });
        assert!(load.is_err(), "{system:?} was opened for load");
        self.open(system).err().unwrap_or_else(|| panic!("{system:?} was opened"))
    }

    fn send(&mut self, name: &str, text: &str) -> BTreeMap<String, TextId> {
        let hex: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let id: TextId = serde_json::from_value(hex.into()).unwrap();
        let packed = packed(text.as_bytes());
        self.ask(Ask::Text(TextPiece { text: id.clone(), number: 0, of: 1, packed })).unwrap();
        BTreeMap::from([(name.to_owned(), id)])
    }

    /// Runs a script's transaction once on an open system.
    fn run(&mut self, system: &SystemPlan, script: &str) -> Result<(), Failure> {
        let texts = self.send("evil.sql", script);
        let plan = parse(
            "[systems.s]\nurl = \"sim:\"\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"evil.sql\"\n\
             protocol = \"simple\"\n[schedule]\nrounds = 1\nwarmup = \"0s\"\ntransactions = 1\n",
        );
        let case = SentCase { case: Case { system: system.name.clone(), ..plan.cases()[0].clone() }, texts };
        let (system, schedule) = (system.name.clone(), plan.schedule.clone());
        self.ask(Ask::Tables { system: system.clone(), case: case.clone() })?;
        self.ask(Ask::Whole { system, case, schedule, seed: 1, inspection: Inspection::Quick }).map(|_| ())
    }
}

fn packed(bytes: &[u8]) -> String {
    use base64::Engine as _;
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packer, bytes).unwrap();
    base64::engine::general_purpose::STANDARD.encode(packer.finish().unwrap())
}

fn parse(text: &str) -> Plan {
    let catalog = Registry::built_in().catalog();
    Plan::parse(text, "hostile.toml", &Changes::default(), &catalog, 1).unwrap_or_else(|errors| panic!("{errors}")).0
}

pub fn at(engine: &str, url: &str) -> SystemPlan {
    SystemPlan { name: "s".to_owned(), engine: engine.to_owned(), url: url.to_owned(), ..SystemPlan::default() }
}

fn private(engine: &str, settings: &[(&str, &str)]) -> SystemPlan {
    let server = PrivateServer { engine: engine.to_owned(), ..PrivateServer::default() };
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), Value::Text((*value).to_owned())));
    SystemPlan { server: Some(server), settings: settings.collect(), ..at(engine, "") }
}

fn change_mode(mode: &str, path: &Path) {
    assert!(std::process::Command::new("chmod").arg(mode).arg(path).status().unwrap().success());
}

fn contents(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.metadata().unwrap();
        found.push((entry.path(), kind.len()));
        if kind.is_dir() {
            found.extend(contents(&entry.path()));
        }
    }
    found.sort();
    found
}

#[test]
fn an_agent_without_flags_reaches_nothing() {
    let nats = Nats::open();
    let scene = Scene::new();
    let _agent = agent(&scene, &nats, &[]);
    let mut conductor = Conductor::new(&nats);
    let folder = scene.path().display();
    for (system, flag) in [
        (at("postgres", "postgres://u@127.0.0.1:5432/db"), "--allow 127.0.0.1:5432"),
        (at("postgres", "postgres://u@localhost/db"), "--allow localhost:5432"),
        (at("postgres", "postgres://u@/db?host=/run/postgresql"), "--allow /run/postgresql/.s.PGSQL.5432"),
        (at("mysql", "mysql://u@[::1]:3306/"), "--allow [::1]:3306"),
        (at("mysql", "mysql://u@localhost/?socket=/run/s"), "--allow /run/s"),
        (at("sqlserver", "mssql://sa@127.0.0.1/"), "--allow 127.0.0.1:1433"),
        (at("sqlite", &format!("sqlite:{folder}/x.db")), "--allow-dir "),
        (at("disk", &format!("disk:{folder}/blocks")), "--allow-dir "),
        (private("postgres", &[]), "--allow-server postgres"),
        (private("mariadb", &[]), "--allow-server mariadb"),
    ] {
        let refused = conductor.refused(&system);
        assert_eq!(refused.kind, FailureKind::Permission, "{system:?}: {refused}");
        let hint = refused.hint.clone().unwrap_or_default();
        assert!(hint.contains(flag), "{system:?}: {refused}; {hint}");
        assert!(!format!("{refused:?}").contains(SECRET));
    }
    assert!(!scene.path().join("x.db").exists() && !scene.path().join("blocks").exists());
    let listed = scene.etalon(&["agents", "--nats", &nats.url()]);
    assert!(listed.stdout.contains("allows plans nothing"), "{}", listed.stdout);
}

#[test]
fn what_cannot_be_allowed_is_said_at_once() {
    let scene = Scene::new();
    for (flag, value, words) in [
        ("--allow", "db:x", "`x` is no port"),
        ("--allow", "/", "--allow-dir DIR"),
        ("--allow-server", "oracle", "it starts those of"),
        ("--allow-server", "postgres=/no/such/folder", "/no/such/folder"),
        ("--allow-dir", "/no/such/folder", "make the folder"),
    ] {
        let refused = scene.etalon(&["agent", "--nats", "nats://127.0.0.1:1", "--name", NAME, flag, value]);
        assert!(refused.code == 2 && refused.stderr.contains(words), "{flag} {value}: {}", refused.stderr);
    }
}

/// An allowed folder, one beside it, and programs that leave a mark if run.
struct Grounds {
    scene: Scene,
    inside: PathBuf,
    outside: PathBuf,
    canary: PathBuf,
    programs: PathBuf,
}

impl Grounds {
    fn new() -> Grounds {
        let scene = Scene::new();
        let at = |name: &str| scene.path().join(name);
        let (inside, outside, programs, canary) = (at("inside"), at("outside"), at("programs"), at("canary"));
        for folder in [&inside, &outside, &programs] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(outside.join("secret"), SECRET).unwrap();
        // The folder's mode must not be what stops a server.
        change_mode("0755", scene.path());
        change_mode("0777", &outside);
        for name in ["initdb", "postgres", "mysqld", "mariadbd", "mariadb-install-db"] {
            let program = programs.join(name);
            fs::write(&program, format!("#!/bin/sh\ntouch {}\nexit 1\n", canary.display())).unwrap();
            change_mode("0755", &program);
        }
        assert!(
            std::process::Command::new("ln")
                .arg("-s")
                .args([&outside, &inside.join("link")])
                .status()
                .unwrap()
                .success()
        );
        Grounds { scene, inside, outside, canary, programs }
    }

    /// Nothing was run, and nothing outside was written or removed.
    fn are_untouched(&self, after: &str) {
        assert!(!self.canary.exists(), "{after}: a program was run");
        assert_eq!(contents(&self.outside), [(self.outside.join("secret"), SECRET.len() as u64)], "{after}");
    }
}

/// Disallowed addresses, and files named by a URL.
fn addresses(port: u16, grounds: &Grounds) -> Vec<SystemPlan> {
    let out = grounds.outside.display();
    let pg = |rest: &str| at("postgres", &format!("postgres://u@{}", rest.replace("PORT", &port.to_string())));
    let my = |rest: &str| at("mysql", &format!("mysql://u@{}", rest.replace("PORT", &port.to_string())));
    vec![
        pg("localhost:PORT/db?%68ost=127.2"),
        pg("127.0.0.1:PORT/db?%68ost=127.2"),
        pg("127.0.0.1:PORT/db?hostaddr=127.0.0.2"),
        pg("127.0.0.1:PORT/db?hostaddr=127.0.0.1,127.0.0.2"),
        pg("127.0.0.1,127.0.0.2:PORT/db"),
        pg("127.0.0.1:PORT/db?connect_timeout%3D1%20host=127.2"),
        pg("127.0.0.1:PORT/db?connect_timeout=1%27%20host=%27127.2"),
        pg("127.2:PORT/db"),
        pg("2130706434:PORT/db"),
        pg("[::ffff:127.0.0.2]:PORT/db"),
        pg("127.0.0.1@127.0.0.2:PORT/db"),
        pg("127.0.0.1:PORT/db?port=1"),
        pg("/db?host=/tmp"),
        pg(&format!("127.0.0.1:PORT/db?passfile={out}/secret")),
        pg(&format!("127.0.0.1:PORT/db?sslmode=verify-ca&%73slrootcert={out}/secret")),
        my("127.0.0.1:PORT/?ho%73t=127.2"),
        my("localhost/?socket=/run/mysqld/mysqld.sock"),
        my(&format!("127.0.0.1:PORT/?ssl_ca={out}/secret")),
        at("sqlserver", &format!("mssql://sa@127.0.0.1,{port}/?Host=127.2")),
        SystemPlan { engine: String::new(), ..at("", "env:HOSTILE_URL") },
    ]
}

/// Private servers that would run a plan's commands.
fn servers(grounds: &Grounds) -> Vec<SystemPlan> {
    let touch = format!("touch {}", grounds.canary.display());
    let log = format!("{}/log", grounds.outside.display());
    let own_programs = |engine: &str| {
        let system = private(engine, &[]);
        let bin_dir = Some(grounds.programs.display().to_string());
        SystemPlan { server: system.server.map(|server| PrivateServer { bin_dir, ..server }), ..system }
    };
    let postgres = [
        ("archive_command", &*touch),
        ("restore_command", &touch),
        ("ssl_passphrase_command", &touch),
        ("Archive-Command", &touch),
        ("shared_preload_libraries", "x"),
        ("local_preload_libraries", "x"),
        ("dynamic_library_path", "x"),
        ("log_directory", "x"),
        ("data_directory", "x"),
        ("unix_socket_directories", "x"),
        ("external_pid_file", "x"),
        ("include", "x"),
        ("wal_level", "logical"),
        ("WAL_LEVEL", "logical"),
        ("wal-level", "logical"),
        ("work_mem", "/x"),
    ];
    let mariadb = [
        ("init_connect", "SELECT 1"),
        ("init-file", "x"),
        ("plugin-dir", "x"),
        ("plugin_load_add", "x"),
        ("secure_file_priv", ""),
        ("general_log_file", "x"),
        ("innodb_data_home_dir", "x"),
        ("loose_skip_grant_tables", "1"),
        ("log_bin", &log),
    ];
    let of_another = SystemPlan { engine: "postgres".to_owned(), ..private("mariadb", &[]) };
    let settings = postgres.iter().map(|set| private("postgres", &[*set]));
    let settings = settings.chain(mariadb.iter().map(|set| private("mariadb", &[*set])));
    settings.chain([own_programs("postgres"), own_programs("mariadb"), of_another]).collect()
}

/// Paths out of the allowed folder, and settings of what is in it.
fn paths(grounds: &Grounds) -> Vec<SystemPlan> {
    let (inside, out) = (grounds.inside.display(), grounds.outside.display());
    let volume = |image: String| {
        let volume =
            VolumePlan { image, size_bytes: 64 << 20, fs: "ext4".to_owned(), block_bytes: 4096, cluster_bytes: 4096 };
        SystemPlan { volume: Some(volume), ..at("disk", "") }
    };
    let set = |name: &str, value: &str| SystemPlan {
        settings: BTreeMap::from([(name.to_owned(), Value::Text(value.to_owned()))]),
        ..at("sqlite", &format!("sqlite:{inside}/own.db"))
    };
    vec![
        at("sqlite", &format!("sqlite:{out}/x.db")),
        at("sqlite", &format!("sqlite:{inside}/../outside/x.db")),
        at("sqlite", &format!("sqlite:{inside}/link/x.db")),
        at("sqlite", "sqlite:x.db"),
        at("sqlite", &format!("sqlite:file:{out}/x.db")),
        set("temp_store_directory", "x"),
        set("writable_schema", "ON"),
        at("disk", &format!("disk:{out}")),
        at("disk", &format!("disk:{inside}/link/blocks")),
        at("disk", "disk:/dev/null"),
        volume(format!("{out}/image")),
        volume(format!("{inside}/../outside/image")),
    ]
}

#[test]
fn what_leads_elsewhere_is_refused_before_anything_starts() {
    let nats = Nats::open();
    let grounds = Grounds::new();
    // A listener notices every connection, and passwords sent to it.
    let allowed = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = allowed.local_addr().unwrap().port();
    let elsewhere = TcpListener::bind(("127.0.0.2", port)).unwrap();
    allowed.set_nonblocking(true).unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let (address, inside) = (format!("127.0.0.1:{port}"), grounds.inside.display().to_string());
    let flags =
        ["--allow", &address, "--allow-dir", &inside, "--allow-server", "postgres", "--allow-server", "mariadb"];
    let _agent = agent(&grounds.scene, &nats, &flags);
    let mut conductor = Conductor::new(&nats);
    let before = contents(&grounds.inside);
    let hostile = [addresses(port, &grounds), servers(&grounds), paths(&grounds)].concat();
    for system in &hostile {
        let refused = conductor.refused(system);
        let is_refusal = matches!(refused.kind, FailureKind::Permission | FailureKind::Plan);
        assert!(is_refusal, "{system:?}: {refused}");
        assert!(!format!("{refused:?}").contains(SECRET), "{refused:?}");
        grounds.are_untouched(&format!("{system:?}"));
    }
    println!("{} hostile systems, as many refusals", hostile.len());
    // Nobody was connected to, so no password was sent.
    assert!(elsewhere.accept().is_err() && allowed.accept().is_err());
    assert_eq!(contents(&grounds.inside), before);
}

#[test]
fn cases_that_lead_out_of_their_folder_are_refused() {
    let nats = Nats::open();
    let grounds = Grounds::new();
    let inside = grounds.inside.display().to_string();
    let _agent = agent(&grounds.scene, &nats, &["--allow-dir", &inside]);
    let mut conductor = Conductor::new(&nats);
    let (disk, sqlite) = (at("disk", &format!("disk:{inside}")), at("sqlite", &format!("sqlite:{inside}/own.db")));
    let out = grounds.outside.display();
    for targets in ["../outside/x".to_owned(), format!("{out}/x"), "link/x".to_owned(), format!("{out}/secret")] {
        conductor.open(&disk).unwrap();
        let plan = parse(&format!(
            "[systems.s]\nurl = \"disk:x\"\n[[benchmarks]]\nworkload = \"disk\"\ntargets = \"{targets}\"\nsize_mb = 1\n\
             op = \"write\"\n"
        ));
        let case = SentCase { case: plan.cases()[0].clone(), texts: BTreeMap::new() };
        let refused = conductor.ask(Ask::Tables { system: "s".to_owned(), case }).unwrap_err();
        assert_eq!(refused.kind, FailureKind::Permission, "{targets}: {refused}");
        grounds.are_untouched(&targets);
    }
    conductor.ask(Ask::Close { system: "s".to_owned() }).unwrap();
    conductor.open(&sqlite).unwrap();
    for folder in [out.to_string(), format!("{inside}/link"), format!("{inside}/../outside")] {
        let plan = parse(&format!(
            "[systems.s]\nurl = \"sqlite:x.db\"\n[[benchmarks]]\nworkload = \"backup\"\nsize_mib = 1\nfolder = \
             \"{folder}\"\n[schedule]\nrounds = 1\n"
        ));
        let case = SentCase { case: plan.cases()[0].clone(), texts: BTreeMap::new() };
        let (system, schedule) = ("s".to_owned(), plan.schedule.clone());
        let refused =
            conductor.ask(Ask::Whole { system, case, schedule, seed: 1, inspection: Inspection::Quick }).unwrap_err();
        assert_eq!(refused.kind, FailureKind::Permission, "{folder}: {refused}");
        grounds.are_untouched(&folder);
    }
}

struct Scripts<'a> {
    /// These succeed, and prepare for the others.
    honest: &'a [&'a str],
    /// These try to escape the system.
    hostile: &'a [String],
    /// Each failure names one of these.
    words: &'a [&'a str],
}

fn try_scripts(grounds: &Grounds, conductor: &mut Conductor, system: &SystemPlan, scripts: &Scripts<'_>) {
    conductor.open(system).unwrap_or_else(|failure| panic!("{failure}"));
    for script in scripts.honest {
        conductor.run(system, &format!("{script}\n")).unwrap_or_else(|failure| panic!("{script}: {failure}"));
    }
    for script in scripts.hostile {
        let refused = conductor.run(system, &format!("{script}\n")).expect_err(script);
        let said = refused.cause.to_lowercase();
        println!("{script}: {said}");
        assert!(scripts.words.iter().any(|word| said.contains(word)), "{script}: {said}");
        grounds.are_untouched(script);
    }
    conductor.ask(Ask::Close { system: "s".to_owned() }).unwrap();
}

#[test]
fn scripts_on_a_private_postgres_reach_neither_programs_nor_files() {
    let nats = Nats::open();
    let grounds = Grounds::new();
    let _agent = agent(&grounds.scene, &nats, &["--allow-server", "postgres"]);
    let (out, canary) = (grounds.outside.display(), grounds.canary.display());
    let scripts = [
        format!("COPY (SELECT 1) TO PROGRAM 'touch {canary}';"),
        format!("COPY pgbench_history (filler) FROM PROGRAM 'touch {canary}; cat /proc/$PPID/environ';"),
        format!("COPY (SELECT 1) TO '{out}/x';"),
        format!("COPY pgbench_history (filler) FROM '{out}/secret';"),
        format!("SELECT lo_export(lo_from_bytea(0, 'x'), '{out}/x');"),
        format!("SELECT lo_import('{out}/secret');"),
        "SELECT pg_read_file('/proc/self/environ');".to_owned(),
        "SELECT pg_ls_dir('/');".to_owned(),
        format!("ALTER SYSTEM SET archive_command = 'touch {canary}';"),
        "SET session_preload_libraries = 'x';".to_owned(),
        "LOAD 'auto_explain';".to_owned(),
        "CREATE EXTENSION file_fdw;".to_owned(),
        "CREATE FUNCTION f() RETURNS int AS '/lib/x86_64-linux-gnu/libc.so.6', 'system' LANGUAGE c;".to_owned(),
        "SET SESSION AUTHORIZATION etalon_owner;".to_owned(),
        "SET ROLE etalon_owner;".to_owned(),
        "ALTER ROLE etalon SUPERUSER;".to_owned(),
        "GRANT pg_execute_server_program TO etalon;".to_owned(),
        format!("CREATE TABLESPACE t LOCATION '{out}';"),
        "SELECT pg_create_logical_replication_slot('s', 'x');".to_owned(),
    ];
    let honest = ["CREATE SCHEMA IF NOT EXISTS etalon;", "CREATE TABLE IF NOT EXISTS pgbench_history (filler text);"];
    // "Insufficient privilege", or what the log's level excludes.
    let scripts = Scripts { honest: &honest, hostile: &scripts, words: &["sqlstate 42501", "wal_level >= logical"] };
    try_scripts(&grounds, &mut Conductor::new(&nats), &private("postgres", &[("fsync", "off")]), &scripts);
}

#[test]
fn scripts_on_a_private_mariadb_reach_neither_libraries_nor_files() {
    let nats = Nats::open();
    let grounds = Grounds::new();
    let _agent = agent(&grounds.scene, &nats, &["--allow-server", "mariadb"]);
    let (out, canary) = (grounds.outside.display(), grounds.canary.display());
    let scripts = [
        format!("SELECT 1 INTO OUTFILE '{out}/x';"),
        format!("SELECT 1 INTO DUMPFILE '{out}/x';"),
        format!("LOAD DATA INFILE '{out}/secret' INTO TABLE pgbench_history (filler);"),
        "LOAD DATA INFILE '/proc/self/environ' INTO TABLE pgbench_history (filler);".to_owned(),
        format!("LOAD DATA LOCAL INFILE '{out}/secret' INTO TABLE pgbench_history (filler);"),
        "SELECT 1 FROM mysql.user;".to_owned(),
        format!("SET GLOBAL general_log_file = '{out}/x';"),
        format!("SET GLOBAL init_connect = 'touch {canary}';"),
        "INSTALL SONAME 'ha_connect';".to_owned(),
        "CREATE FUNCTION f RETURNS STRING SONAME 'x.so';".to_owned(),
        "CREATE USER u IDENTIFIED BY 'x';".to_owned(),
        "GRANT FILE ON *.* TO CURRENT_USER;".to_owned(),
        "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.2');".to_owned(),
    ];
    let honest = ["CREATE DATABASE IF NOT EXISTS etalon;", "CREATE TABLE IF NOT EXISTS pgbench_history (filler TEXT);"];
    let scripts = Scripts { honest: &honest, hostile: &scripts, words: &["denied", "not allowed", "local"] };
    let (mut conductor, system) = (Conductor::new(&nats), private("mariadb", &[]));
    try_scripts(&grounds, &mut conductor, &system, &scripts);
    // Not guarded by privileges: the server skips the folder.
    conductor.open(&system).unwrap();
    conductor.run(&system, "CREATE DATABASE IF NOT EXISTS etalon;\n").unwrap();
    for script in [
        format!("CREATE TABLE IF NOT EXISTS x (a INT) ENGINE=InnoDB DATA DIRECTORY='{out}';\n"),
        format!("CREATE TABLE IF NOT EXISTS y (a INT) ENGINE=MyISAM DATA DIRECTORY='{out}' INDEX DIRECTORY='{out}';\n"),
        format!("CREATE TABLE IF NOT EXISTS z (a INT) ENGINE=Aria DATA DIRECTORY='{out}';\n"),
    ] {
        conductor.run(&system, &script).unwrap();
        grounds.are_untouched(&script);
    }
}

#[test]
fn scripts_on_an_allowed_sqlite_database_reach_no_other_file() {
    let nats = Nats::open();
    let grounds = Grounds::new();
    let inside = grounds.inside.display().to_string();
    let _agent = agent(&grounds.scene, &nats, &["--allow-dir", &inside]);
    let out = grounds.outside.display();
    let scripts = [
        format!("ATTACH '{out}/x.db' AS x;"),
        format!("ATTACH '{inside}/other.db' AS x;"),
        format!("VACUUM INTO '{out}/x.db';"),
        format!("PRAGMA temp_store_directory = '{out}';"),
        "PRAGMA writable_schema = ON;".to_owned(),
        format!("SELECT load_extension('{out}/secret');"),
    ];
    let system = at("sqlite", &format!("sqlite:{inside}/own.db"));
    let honest = ["CREATE TABLE IF NOT EXISTS t (a);", "VACUUM;", "PRAGMA journal_mode = WAL;"];
    let scripts = Scripts { honest: &honest, hostile: &scripts, words: &["authoriz"] };
    try_scripts(&grounds, &mut Conductor::new(&nats), &system, &scripts);
    assert!(!grounds.inside.join("other.db").exists());
}
