//! Runs the commands of a transcript: in a folder of their own, with a known environment.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use host::process::{ServerProcess, ServerSpec, StopSignal};
use snapbox::Redactions;

use super::reader::Postgres;
use crate::requirements;

/// Longest time for one command.
const TIME_LIMIT: Duration = Duration::from_secs(180);

/// How long a command has to leave by itself once asked to.
const GRACE: Duration = Duration::from_secs(10);

/// How long a command in the background may take until it says that it is ready.
const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// What a command in the background says when it is: nats-server, and an agent.
const READY: [&str; 2] = ["ready", " serves"];

/// The port that documents name, since readers know it; here a free one stands in its place.
const NATS_PORT: &str = "127.0.0.1:4222";

/// What the commands of a transcript inherit; everything else is scrubbed.
const INHERITED: [&str; 6] = ["PATH", "SystemRoot", "TMPDIR", "TEMP", "USER", "LD_LIBRARY_PATH"];

/// What a command did.
pub struct Outcome {
    /// `None` when a signal or the time limit ended it.
    pub exit: Option<i32>,
    /// stdout and stderr as one, in the order in which they were written.
    pub output: String,
}

impl Outcome {
    /// Writes the exit code, or why there is none.
    pub fn exit_text(&self) -> String {
        match self.exit {
            Some(code) => code.to_string(),
            None => format!("none: ended by a signal, or after the limit of {} s", TIME_LIMIT.as_secs()),
        }
    }
}

/// Where the commands of one document run.
pub struct Sandbox {
    /// Their working directory.
    pub folder: PathBuf,
    /// Text that is replaced in output: the folder's name.
    pub redactions: Redactions,
    home: PathBuf,
    etalon: PathBuf,
    time_limit: Duration,
    /// What runs until the document ends, the youngest last.
    background: Vec<ServerProcess>,
    /// What stands for [`NATS_PORT`], once something was started there.
    nats: Option<String>,
    /// The reader's own PostgreSQL, once `psql` was run.
    postgres: Option<Postgres>,
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Agents before the server that they are at.
        while self.background.pop().is_some() {}
    }
}

impl Sandbox {
    /// Makes the working directory and a home within `parent`.
    pub fn new(parent: &Path, etalon: &Path) -> Result<Self> {
        let parent = fs::canonicalize(parent)?;
        let (folder, home) = (parent.join("work"), parent.join("home"));
        fs::create_dir(&folder)?;
        fs::create_dir(&home)?;
        let mut redactions = Redactions::new();
        redactions.insert("[CWD]", folder.clone())?;
        Ok(Self {
            folder,
            redactions,
            home,
            etalon: etalon.to_owned(),
            time_limit: TIME_LIMIT,
            background: Vec::new(),
            nats: None,
            postgres: None,
        })
    }

    /// Replaces the documents' ports in a text by those of here.
    pub fn localize(&self, text: &str) -> String {
        self.port_pairs().fold(text.to_owned(), |text, (documented, here)| text.replace(documented, here))
    }

    /// Replaces the ports of here in a text by those of the documents.
    fn as_documented(&self, text: String) -> String {
        self.port_pairs().fold(text, |text, (documented, here)| text.replace(here, documented))
    }

    /// Pairs each address that documents name with the one that stands for it.
    fn port_pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let nats = self.nats.as_deref().map(|here| (NATS_PORT, here));
        let postgres = self.postgres.as_ref().map(|server| (Postgres::DOCUMENTED, server.address()));
        nats.into_iter().chain(postgres)
    }

    /// Runs one command, split into words. One that ends with `&` goes on until the document ends.
    pub fn run_words(&mut self, words: &[String]) -> Result<Outcome> {
        if let Some(("&", words)) = words.split_last().map(|(last, words)| (last.as_str(), words)) {
            return self.start_background(words);
        }
        let Some((program, arguments)) = words.split_first() else {
            bail!("no command after `$`");
        };
        let shell = ["|", ">", ">>", "<", "&&", "||", ";", "&"];
        if let Some(word) = arguments.iter().find(|w| shell.contains(&w.as_str())) {
            bail!("there is no shell here, so `{word}` means nothing");
        }
        match program.as_str() {
            "etalon" => self.run_foreground(&self.etalon, arguments),
            "cat" | "ls" => self.run_foreground(Path::new(program), arguments),
            "timeout" => self.run_foreground(Path::new(program), &self.with_etalon(arguments)),
            "psql" => {
                if self.postgres.is_none() {
                    self.postgres = Some(Postgres::start()?);
                }
                self.run_foreground(&requirements::POSTGRES.sibling_path("psql")?, arguments)
            }
            other => bail!(
                "`{other}` is not run here, only etalon, psql, timeout, cat and ls: mark the block console,no-run"
            ),
        }
    }

    /// Replaces `etalon` in a program's arguments by the path of the one that is tested.
    fn with_etalon(&self, arguments: &[String]) -> Vec<String> {
        let path = self.etalon.to_string_lossy();
        arguments.iter().map(|word| if word == "etalon" { path.clone().into_owned() } else { word.clone() }).collect()
    }

    /// Starts a command in the background and waits until it says that it is ready. What else it says is not compared.
    fn start_background(&mut self, words: &[String]) -> Result<Outcome> {
        let Some((name, arguments)) = words.split_first() else { bail!("no command before `&`") };
        let program = match name.as_str() {
            "etalon" => self.etalon.clone(),
            "nats-server" => {
                let free = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
                self.nats = Some(free.to_string());
                requirements::NATS.program_path()?
            }
            other => bail!("`{other} &` is not run here, only nats-server and etalon: mark the block console,no-run"),
        };
        let log = self.home.join(format!("background-{}", self.background.len()));
        let mut arguments: Vec<String> = arguments.iter().map(|word| self.localize(word)).collect();
        if let (Some(nats), "nats-server") = (&self.nats, name.as_str()) {
            let (address, port) = nats.rsplit_once(':').unwrap_or_default();
            arguments.extend(["--addr", address, "--port", port].map(str::to_owned));
        }
        let spec = ServerSpec::new(&program, &log).with_args(&arguments).in_folder(&self.folder);
        let spec = spec.with_env("HOME", &self.home).with_env("NO_COLOR", "1").end_signal(StopSignal::Fast);
        let mut process = ServerProcess::spawn(spec)?;
        let deadline = Instant::now() + READY_TIMEOUT;
        while !says_that_it_is_ready(&fs::read_to_string(&log).unwrap_or_default()) {
            if process.has_ended()?.is_some() || Instant::now() >= deadline {
                bail!("`{name} &` did not say that it is ready:\n{}", process.log_tail(20));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.background.push(process);
        Ok(Outcome { exit: Some(0), output: String::new() })
    }

    /// Runs a command to its end or the time limit; returns its exit code and output.
    fn run_foreground(&self, program: &Path, arguments: &[String]) -> Result<Outcome> {
        // A file rather than a pipe: a server that outlives the command would keep a pipe open.
        let output = self.home.join("output");
        let file = File::create(&output)?;
        let mut command = Command::new(program);
        command
            .args(arguments.iter().flat_map(|word| expand_pattern(&self.folder, &self.localize(word))))
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .env_clear();
        for name in INHERITED {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.env("HOME", &self.home);
        for (name, value) in
            [("NO_COLOR", "1"), ("TERM", "dumb"), ("COLUMNS", "80"), ("TZ", "UTC"), ("LC_ALL", "C.UTF-8")]
        {
            command.env(name, value);
        }
        let mut child = command.spawn().with_context(|| format!("starting {}", program.display()))?;
        let status = wait_or_kill(&mut child, self.time_limit)?;
        let output = String::from_utf8_lossy(&fs::read(&output)?).into_owned();
        Ok(Outcome { exit: status.and_then(|status| status.code()), output: self.as_documented(output) })
    }
}

/// Tests whether a log has one of the words of a server that is ready.
fn says_that_it_is_ready(text: &str) -> bool {
    READY.iter().any(|word| text.contains(word))
}

/// Lists the files that a word with a `*` in its last part names, in order; the word itself if there are none.
fn expand_pattern(folder: &Path, word: &str) -> Vec<String> {
    let start = word.rfind('/').map_or(0, |slash| slash + 1);
    let (parent, pattern) = word.split_at(start);
    let Some((before, after)) = pattern.split_once('*') else { return vec![word.to_owned()] };
    let entries = fs::read_dir(folder.join(parent)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<String> = names
        .filter(|name| name.strip_prefix(before).is_some_and(|rest| rest.ends_with(after)))
        .map(|name| format!("{parent}{name}"))
        .collect();
    found.sort();
    if found.is_empty() { vec![word.to_owned()] } else { found }
}

/// Waits for a child until `limit`, then asks it to leave, then kills it; `None` when it took too long.
fn wait_or_kill(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    if let Some(status) = wait_until(child, Instant::now() + limit)? {
        return Ok(Some(status));
    }
    // An interrupted étalon removes the servers that it started; a killed one cannot.
    let id = child.id().to_string();
    let asked = Command::new("kill").args(["-INT", &id]).status();
    if asked.is_ok_and(|status| status.success()) {
        wait_until(child, Instant::now() + GRACE)?;
    }
    // Fails only if it has left by now.
    let _ = child.kill();
    child.wait()?;
    Ok(None)
}

/// Waits for a child until a deadline; `None` if it has not ended by then.
fn wait_until(child: &mut Child, deadline: Instant) -> Result<Option<ExitStatus>> {
    loop {
        let status = child.try_wait()?;
        if status.is_some() || Instant::now() >= deadline {
            return Ok(status);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_takes_too_long_is_ended() {
        let root = tempfile::tempdir().unwrap();
        let mut sandbox = Sandbox::new(root.path(), Path::new("/bin/sleep")).unwrap();
        sandbox.time_limit = Duration::from_millis(50);
        let outcome = sandbox.run_words(&["etalon".into(), "60".into()]).unwrap();
        assert_eq!(outcome.exit, None);
    }

    #[test]
    fn the_environment_is_scrubbed_and_the_streams_are_one() {
        let root = tempfile::tempdir().unwrap();
        let mut sandbox = Sandbox::new(root.path(), Path::new("/bin/sh")).unwrap();
        let script = "echo out; echo err >&2; echo $CARGO_PKG_NAME $NO_COLOR $COLUMNS; exit 4";
        let words = ["etalon", "-c", script].map(str::to_owned);
        let outcome = sandbox.run_words(&words).unwrap();
        assert_eq!(outcome.output, "out\nerr\n1 80\n");
        assert_eq!(outcome.exit, Some(4));
    }

    #[test]
    fn a_command_in_the_background_is_ready_first_and_ends_with_the_document() {
        let root = tempfile::tempdir().unwrap();
        let mut sandbox = Sandbox::new(root.path(), Path::new("/bin/sh")).unwrap();
        sandbox.run_words(&in_background("sleep 0.2; echo $$ > pid; echo ready; exec sleep 60")).unwrap();
        let pid = fs::read_to_string(sandbox.folder.join("pid")).unwrap();
        let process = PathBuf::from(format!("/proc/{}", pid.trim()));
        let is_shown = Path::new("/proc/self").exists();
        assert!(process.exists() || !is_shown);
        let failed = sandbox.run_words(&in_background("echo broken")).map(|_| ()).unwrap_err().to_string();
        assert!(failed.contains("did not say that it is ready:\nbroken"), "{failed}");
        drop(sandbox);
        assert!(!process.exists());
    }

    fn in_background(script: &str) -> [String; 4] {
        ["etalon", "-c", script, "&"].map(str::to_owned)
    }

    #[test]
    fn a_server_is_started_on_a_free_port_that_documents_call_by_its_usual_name() {
        let root = tempfile::tempdir().unwrap();
        let mut sandbox = Sandbox::new(root.path(), Path::new("/bin/sh")).unwrap();
        sandbox.run_words(&["nats-server", "--jetstream", "--store_dir", "stream", "&"].map(str::to_owned)).unwrap();
        let own = sandbox.localize("127.0.0.1:4222");
        assert_ne!(own, "127.0.0.1:4222");
        assert!(std::net::TcpStream::connect(&own).is_ok());
        let echo = ["etalon", "-c", "echo nats://127.0.0.1:4222; test 127.0.0.1:4222 != 127.0.0.1:\"4222\""];
        let outcome = sandbox.run_words(&echo.map(str::to_owned)).unwrap();
        assert_eq!((outcome.output.as_str(), outcome.exit), ("nats://127.0.0.1:4222\n", Some(0)));
    }

    #[test]
    fn a_star_names_the_files_that_are_there() {
        let root = tempfile::tempdir().unwrap();
        let mut sandbox = Sandbox::new(root.path(), Path::new("/bin/echo")).unwrap();
        for name in ["x-2.db", "x-1.db", "x.html"] {
            fs::write(sandbox.folder.join(name), "").unwrap();
        }
        let words = ["etalon", "x-*.db", "y-*.db", "benchmarks.*.clients=1"].map(str::to_owned);
        let outcome = sandbox.run_words(&words).unwrap();
        assert_eq!(outcome.output, "x-1.db x-2.db y-*.db benchmarks.*.clients=1\n");
    }

    #[test]
    fn timeout_runs_the_tested_etalon() {
        let root = tempfile::tempdir().unwrap();
        let mut sandbox = Sandbox::new(root.path(), Path::new("/bin/echo")).unwrap();
        let outcome = sandbox.run_words(&["timeout", "60", "etalon", "run"].map(str::to_owned)).unwrap();
        assert_eq!((outcome.output.as_str(), outcome.exit), ("run\n", Some(0)));
    }

    #[test]
    fn psql_finds_a_server_where_documents_say() {
        let root = tempfile::tempdir().unwrap();
        let mut sandbox = Sandbox::new(root.path(), Path::new("/bin/echo")).unwrap();
        let query = ["psql", "-Atc", "SELECT current_user", "postgres://me@127.0.0.1:5432/postgres"];
        let outcome = sandbox.run_words(&query.map(str::to_owned)).unwrap();
        assert_eq!((outcome.output.as_str(), outcome.exit), ("me\n", Some(0)));
        let address = sandbox.localize("127.0.0.1:5432");
        assert_ne!(address, "127.0.0.1:5432");
        let echoed = sandbox.run_words(&["etalon", "127.0.0.1:5432"].map(str::to_owned)).unwrap();
        assert_eq!(echoed.output, "127.0.0.1:5432\n");
        drop(sandbox);
        assert!(std::net::TcpStream::connect(address).is_err());
    }
}
