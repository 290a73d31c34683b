//! What étalon did not write commands no terminal, and results that stdout does not take are an error.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::thread;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::scene::{Scene, ran, sim_plan};

/// Clears the screen, sets the title and the clipboard, goes back to the line's start, and is one C1 code and one reversal.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;t\u{7}\u{1b}]52;c;eA==\u{7}\rx\u{9b}31m\u{202e}";
const SHORT: &str = "rounds = 1\nwarmup = \"0s\"\nduration = \"100ms\"";

fn is_unsafe(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || ('\u{202a}'..='\u{202e}').contains(&c)
}

#[track_caller]
fn assert_clean(scene: &Scene, args: &[&str]) -> String {
    let ran = scene.etalon(args);
    for (stream, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        let found = text.lines().find(|line| line.contains(is_unsafe));
        assert!(found.is_none(), "{args:?}: {stream}: {found:?}");
    }
    format!("{}{}", ran.stdout, ran.stderr)
}

/// A store of `sim:`, in which every text is made hostile that no check refuses.
fn edited_store(scene: &Scene) -> String {
    scene.write("p.toml", &sim_plan("", "", SHORT)).etalon(&["run", "p.toml"]).says(0, &[]);
    let store = scene.store();
    let rows = Connection::open(&store).unwrap();
    let json = Value::from(HOSTILE).to_string();
    let escaped = json.trim_matches('"');
    let name: String = rows.query_row("SELECT name FROM experiment", [], |row| row.get(0)).unwrap();
    let plan: String = rows.query_row("SELECT plan_json FROM experiment", [], |row| row.get(0)).unwrap();
    let plan = plan.replacen(&format!("\"name\":\"{name}\""), &format!("\"name\":\"{name}{escaped}\""), 1);
    let edit =
        "UPDATE experiment SET command = ?1, plan_text = ?1, etalon_version = ?1, plan_path = ?1, plan_json = ?2";
    rows.execute(edit, [HOSTILE, &plan]).unwrap();
    drop(rows);
    store.display().to_string()
}

#[test]
fn verbs_print_nothing_that_commands_a_terminal() {
    let scene = Scene::new();
    let store = edited_store(&scene);
    let table = format!(
        "system,metric,repetition,unit,direction,value\n\"a{HOSTILE}\",\"p50{HOSTILE}\",1,\"ms{HOSTILE}\",lower,1\n\
         \"b{HOSTILE}\",\"p50{HOSTILE}\",1,\"ms{HOSTILE}\",lower,2\n"
    );
    scene.write("t.csv", &table);
    assert_clean(&scene, &["import", "tidy", "t.csv", "-o", "t.etalon"]);
    scene.write("bad.csv", &format!("system,metric,value\n{HOSTILE},p50,{HOSTILE}\n"));
    assert_clean(&scene, &["import", "tidy", "bad.csv", "-o", "bad.etalon"]);
    for store in [store.as_str(), "t.etalon"] {
        assert!(!assert_clean(&scene, &["show", store]).is_empty());
        for verb in ["compare", "gate", "report", "resume", "extend"] {
            assert_clean(&scene, &[verb, store]);
            assert_clean(&scene, &["--json", verb, store]);
        }
        assert_clean(&scene, &["compare", store, "--markdown"]);
        assert_clean(&scene, &["compare", store, "--metrics", "all", "--runs"]);
        assert_clean(&scene, &["--json", "show", store]);
        assert_clean(&scene, &["plan", "p.toml", "--pilot", store]);
    }
    let in_toml = HOSTILE.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect::<String>();
    let plan = sim_plan("", "", SHORT).replace("\"points\"", &format!("\"points{in_toml}\""));
    scene.write("q.toml", &format!("name = \"q{in_toml}\"\n{plan}"));
    for args in [&["plan", "q.toml"][..], &["--json", "plan", "q.toml"], &["run", "q.toml", "-o", "q"]] {
        assert_clean(&scene, args);
    }
    scene.write("r.toml", &plan.replace("select-only", &format!("no{in_toml}")));
    assert_clean(&scene, &["plan", "r.toml"]);
    assert_clean(&scene, &["audit", "t.csv"]);
    for args in [
        &["run", HOSTILE][..],
        &["show", HOSTILE],
        &["compare", HOSTILE],
        &["init", HOSTILE],
        &["sqlio", HOSTILE],
        &["import", "sqlio", HOSTILE, "-o", "x"],
        &["report", HOSTILE],
        &["export", HOSTILE],
        &["resume", HOSTILE],
        &["doctor", HOSTILE],
        &[HOSTILE],
    ] {
        assert_clean(&scene, args);
    }
}

/// What a server says of itself comes from elsewhere.
#[test]
fn an_error_text_of_a_server_commands_no_terminal() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Answers every login as PostgreSQL refuses one.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut asked = [0; 1024];
            let count = stream.read(&mut asked).unwrap_or(0);
            if count == 8 {
                // A question for TLS, which this server has not.
                let _ = stream.write_all(b"N").and_then(|()| stream.read(&mut asked));
            }
            let fields = format!("SFATAL\0VFATAL\0C28000\0M{HOSTILE}\0\0");
            let length = (fields.len() as u32 + 4).to_be_bytes();
            let _ = stream.write_all(&[b"E", &length[..], fields.as_bytes()].concat());
        }
    });
    let scene = Scene::new();
    let url = format!("postgres://me:x@127.0.0.1:{port}/bench");
    for verb in ["run", "doctor"] {
        let said = assert_clean(&scene, &[verb, &url]);
        assert!(said.contains("\u{fffd}[2J"), "{verb}: {said}");
    }
}

/// A NATS server that knows one agent, which describes itself by hostile texts.
fn hostile_bus() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || serve_bus(stream));
        }
    });
    port
}

fn serve_bus(mut stream: TcpStream) -> Option<()> {
    let info = json!({
        "name": HOSTILE, "version": HOSTILE, "os": HOSTILE, "cores": 2, "machine": HOSTILE, "allow": [HOSTILE], "experiment": HOSTILE
    });
    let pings = [json!({ "metadata": { "agent": "here" } }), json!({ "metadata": { "agent": HOSTILE } })];
    stream
        .write_all(b"INFO {\"server_id\":\"x\",\"version\":\"2.10.0\",\"max_payload\":1048576,\"headers\":true}\r\n")
        .ok()?;
    let mut lines = BufReader::new(stream.try_clone().ok()?);
    let mut subscribed: Vec<(String, String)> = Vec::new();
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["PING"] => stream.write_all(b"PONG\r\n").ok()?,
            ["SUB", subject, .., id] => subscribed.push(((*subject).to_owned(), (*id).to_owned())),
            ["PUB" | "HPUB", subject, reply, .., bytes] => {
                lines.read_exact(&mut vec![0; bytes.parse::<usize>().ok()? + 2]).ok()?;
                let is_it = |(to, _): &&(String, String)| *to == *reply || reply.starts_with(to.trim_end_matches('*'));
                let Some((_, id)) = subscribed.iter().find(is_it) else { continue };
                let answers: &[Value] =
                    if subject.starts_with("$SRV.PING") { &pings } else { std::slice::from_ref(&info) };
                for answer in answers {
                    let answer = answer.to_string();
                    stream.write_all(format!("MSG {reply} {id} {}\r\n{answer}\r\n", answer.len()).as_bytes()).ok()?;
                }
            }
            _ => {}
        }
    }
}

#[test]
fn an_agent_commands_no_terminal() {
    let scene = Scene::new();
    let url = format!("nats://127.0.0.1:{}", hostile_bus());
    for args in [&["agents", "--nats", &url][..], &["--json", "agents", "--nats", &url]] {
        let said = assert_clean(&scene, args);
        assert!(said.contains("[2J") && said.matches("52;c").count() >= 5, "{args:?}: {said}");
        // Only the agent whose name can be part of a subject is asked.
        assert!(!said.contains("no agent answers"), "{said}");
    }
}

/// Ended with the test.
struct Busy(Vec<Child>);

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Any user chooses the names of processes.
#[test]
fn a_process_name_commands_no_terminal() {
    let scene = Scene::new();
    let program = scene.path().join("\u{1b}[2J\u{9b}31m\rx");
    std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
    // Busy compilers next to it take their shares.
    let start = |_| std::process::Command::new(&program).args(["-c", "while :; do :; done"]).spawn().unwrap();
    let _busy = Busy((0..8).map(start).collect());
    let is_told = (0..10).any(|_| {
        let said = assert_clean(&scene, &["doctor"]);
        assert_clean(&scene, &["--json", "doctor"]);
        said.contains("[2J")
    });
    assert!(is_told, "doctor names other processes");
}

/// An import takes off what begins with an escape, not the control sequence of one character.
#[test]
fn data_keep_their_bytes_where_no_terminal_reads_them() {
    let scene = Scene::new();
    scene.write("t.csv", "system,metric,repetition,value,note\na,p50,1,-1,=1+1\nb,p50,1,2,\"\u{9b}2J\"\n");
    scene.etalon(&["import", "tidy", "t.csv", "-o", "t"]).says(0, &[]);
    let table = scene.etalon(&["export", "t.etalon"]).stdout;
    assert!(table.contains("'=1+1") && table.contains("\u{9b}2J") && table.contains(",-1\n"), "{table}");
    let raw = scene.etalon(&["export", "t.etalon", "--raw"]).stdout;
    assert!(raw.contains(",=1+1,") && !raw.contains('\''), "{raw}");
}

/// /dev/full takes nothing.
#[test]
fn verbs_say_that_stdout_did_not_take_their_results() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan("", "", SHORT)).etalon(&["run", "p.toml"]).says(0, &[]);
    let store = scene.store().display().to_string();
    let store = store.as_str();
    scene.write("t.csv", "system,metric,repetition,value,kind\na,p50,1,1,\na,p50,,1.0,printed\n");
    let verbs: &[&[&str]] = &[
        &["run", "p.toml", "-o", "other"],
        &["resume", store],
        &["extend", store, "--rounds", "1"],
        &["plan", "p.toml"],
        &["compare", store],
        &["compare", store, "--markdown"],
        &["gate", store],
        &["export", store],
        &["export", store, "--format", "json"],
        &["report", store, "-o", "-"],
        &["--json", "report", store],
        &["init", "sqlite:a.db", "-o", "-"],
        &["audit", "t.csv"],
        &["list"],
        &["show", store],
        &["show", "quickstart"],
        &["doctor"],
        &["schema"],
        &["completions", "bash"],
        &["man"],
        &["--help"],
        &["--version"],
        &["run", "--help"],
    ];
    for args in verbs {
        let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else {
            return println!("skipped: there is no /dev/full");
        };
        let output = scene.command(args).stdout(Stdio::from(full)).stderr(Stdio::piped()).output().unwrap();
        let ran = ran(output);
        assert_eq!(ran.code, 3, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("cannot write to stdout: No space left"), "{args:?}: {}", ran.stderr);
    }
    // A reader that has had enough is no error.
    let mut child = scene.command(&["list", "--all"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    ran(child.wait_with_output().unwrap()).says(0, &[]);
}

#[test]
fn a_full_disk_keeps_no_draft_of_what_was_not_written() {
    let scene = Scene::new();
    scene.write(
        "t.csv",
        &(0..400).fold("system,metric,repetition,value\n".to_owned(), |text, n| format!("{text}a,m{n},1,1\n")),
    );
    scene.etalon(&["import", "tidy", "t.csv", "-o", "t"]).says(0, &[]);
    let Some(disk) = crate::bad_input::SmallDisk::mount(scene.path(), "size=8k") else {
        return eprintln!("skipped: mounting takes root");
    };
    let out = |name: &str| disk.0.join(name).display().to_string();
    for args in [
        &["report", "t.etalon", "-o", &out("x.html")][..],
        &["export", "t.etalon", "-o", &out("x.csv")],
        &["export", "t.etalon", "--format", "json", "-o", &out("x.json")],
        &["import", "tidy", "t.csv", "-o", &out("x")],
    ] {
        scene.etalon(args).says(3, &["error: "]);
        assert_eq!(fs::read_dir(&disk.0).unwrap().count(), 0, "{args:?}");
    }
}

#[test]
fn what_is_no_script_is_recognised_at_once() {
    let scene = Scene::new();
    for (name, said) in [("big", "bytes of 0"), ("big.sql", "bytes of 0"), ("big.toml", "bytes of 0")] {
        let began = std::time::Instant::now();
        fs::File::create(scene.path().join(name)).unwrap().set_len(1 << 40).unwrap();
        let words: &[&str] =
            if name == "big.toml" { &["run", name] } else { &["run", "sqlite:a.db", "--script", name] };
        scene.etalon(words).says(2, &[said]);
        assert!(began.elapsed().as_secs() < 20, "{name}");
    }
    scene.write("long.sql", &"-- a\n".repeat(4 << 20));
    scene.etalon(&["run", "sqlite:a.db", "--script", "long.sql"]).says(2, &["longer than 16 MiB"]);
    scene.write("bom.sql", "\u{feff}SELECT 1;\n");
    scene.etalon(&["plan", "sqlite:a.db", "--script", "bom.sql"]).says(0, &[]);
}

#[test]
fn the_gate_breaks_no_word_on_a_terminal() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan("", "service_us=210", SHORT));
    scene.etalon(&["run", "p.toml"]).says(0, &[]);
    let store = scene.store();
    let gate = scene.command(&["gate"]);
    let line = format!("exec {} gate {}", gate.get_program().to_str().unwrap(), store.display());
    let mut script = std::process::Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(scene.path());
    script.env("COLUMNS", "80").env("NO_COLOR", "1").env("SHELL", "/bin/sh").stdin(Stdio::null());
    let Ok(output) = script.output() else {
        eprintln!("skipped: there is no `script`");
        return;
    };
    let seen = ran(output).stdout;
    let answer = seen.split("error:").next().unwrap();
    assert!(answer.contains("not compared") && answer.contains("gate "), "{seen}");
    assert!(answer.lines().all(|line| line.trim_end().chars().count() <= 80), "{seen}");
}
