//! A headless Chromium with one page, driven over the DevTools protocol.

use std::fs::{self, File};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::{Message, WebSocket};

use crate::requirements;

/// How long Chromium may take to start and to answer anything.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Chromium, ended when this is dropped, its profile removed.
pub struct Browser {
    child: Child,
    socket: WebSocket<TcpStream>,
    session: Option<String>,
    last_id: u64,
    events: Vec<Value>,
    problems: Vec<String>,
    // After `child`, so that nobody writes into it any more when it is removed.
    _folder: TempDir,
}

impl Browser {
    /// Starts it with a profile of its own and opens an empty page.
    ///
    /// # Errors
    ///
    /// When there is no Chromium or it does not answer.
    pub fn start() -> Result<Self> {
        let program = requirements::CHROMIUM.path()?;
        let folder = tempfile::Builder::new().prefix("etalon-shots-").tempdir()?;
        let profile = folder.path().join("profile");
        let log = folder.path().join("log");
        let mut command = Command::new(&program);
        command
            .arg(format!("--user-data-dir={}", profile.display()))
            .args([
                "--headless",
                "--remote-debugging-port=0",
                "--disable-gpu",
                "--hide-scrollbars",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?);
        if host::process::is_root() {
            // Chromium refuses to run as root with its sandbox; the page is a file of our own.
            command.arg("--no-sandbox");
        }
        let mut child = command.arg("about:blank").spawn().with_context(|| program.display().to_string())?;
        let socket = match connect(&mut child, &profile) {
            Ok(socket) => socket,
            Err(error) => {
                // Fails only if it has left by now.
                let _ = child.kill();
                child.wait()?;
                let said = fs::read_to_string(&log).unwrap_or_default();
                return Err(error.context(format!("{}\n{said}", program.display())));
            }
        };
        let mut browser = Self {
            child,
            socket,
            session: None,
            last_id: 0,
            events: Vec::new(),
            problems: Vec::new(),
            _folder: folder,
        };
        browser.open_page()?;
        Ok(browser)
    }

    fn open_page(&mut self) -> Result<()> {
        let page = self.call("Target.createTarget", json!({"url": "about:blank"}))?;
        let attached = self.call("Target.attachToTarget", json!({"targetId": page["targetId"], "flatten": true}))?;
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            self.call(domain, json!({}))?;
        }
        Ok(())
    }

    /// Calls one method and returns its result.
    ///
    /// # Errors
    ///
    /// When Chromium refuses it or does not answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        let mut request = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(request.to_string())).context(method.to_owned())?;
        loop {
            let mut answer = self.read().with_context(|| method.to_owned())?;
            if answer["id"] != id {
                self.keep(answer);
            } else if let Some(error) = answer.get("error") {
                bail!("{method}: {error}");
            } else {
                return Ok(answer["result"].take());
            }
        }
    }

    /// Opens `url` and waits until it has loaded.
    ///
    /// # Errors
    ///
    /// When it does not.
    pub fn open(&mut self, url: &str) -> Result<()> {
        self.events.clear();
        let answer = self.call("Page.navigate", json!({"url": url}))?;
        if let Some(error) = answer.get("errorText") {
            bail!("{url}: {error}");
        }
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.read().with_context(|| url.to_owned())?;
            self.keep(event);
        }
        Ok(())
    }

    /// The errors that pages reported since the start.
    pub fn problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
    }

    fn keep(&mut self, event: Value) {
        let parameters = &event["params"];
        let problem = match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => {
                let details = &parameters["exceptionDetails"];
                let thrown = &details["exception"]["description"];
                Some(thrown.as_str().or(details["text"].as_str()))
            }
            Some("Log.entryAdded") if parameters["entry"]["level"] == "error" => {
                Some(parameters["entry"]["text"].as_str())
            }
            _ => None,
        };
        if let Some(text) = problem {
            self.problems.push(text.unwrap_or("an error").to_owned());
        }
        self.events.push(event);
    }

    fn read(&mut self) -> Result<Value> {
        loop {
            if let Message::Text(text) = self.socket.read()? {
                return Ok(serde_json::from_str(&text)?);
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked, it ends its own children; killed, it leaves them writing into the profile.
        self.session = None;
        let asked = self.call("Browser.close", json!({}));
        if asked.is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// Connects to the port that Chromium writes into its profile.
fn connect(child: &mut Child, profile: &std::path::Path) -> Result<WebSocket<TcpStream>> {
    let deadline = Instant::now() + TIME_LIMIT;
    let (port, path) = loop {
        let text = fs::read_to_string(profile.join("DevToolsActivePort")).unwrap_or_default();
        if let Some((port, path)) = text.split_once('\n')
            && !path.is_empty()
        {
            break (port.to_owned(), path.trim().to_owned());
        }
        if let Some(status) = child.try_wait()? {
            bail!("ended while starting: {status}");
        }
        if Instant::now() > deadline {
            bail!("did not start within {} s", TIME_LIMIT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let address = format!("127.0.0.1:{port}");
    let stream = TcpStream::connect(&address).context("connecting")?;
    stream.set_read_timeout(Some(TIME_LIMIT))?;
    let (mut socket, _) =
        tungstenite::client(format!("ws://{address}{path}"), stream).map_err(|error| anyhow::anyhow!("{error}"))?;
    // A tall page in colour is larger than the library's default of 16 MiB a frame.
    socket.set_config(|config| {
        config.max_message_size = None;
        config.max_frame_size = None;
    });
    Ok(socket)
}
