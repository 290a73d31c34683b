//! What a plan may reach through this process: everything for its own user, on an agent only what was named at its
//! start.
//!
//! Code asks here right before using an address, path, program or setting, in the form in which it is used: an engine
//! asks with its own parser's address.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use model::Value;
use model::plan::{PrivateServer, setting_fault};

use load::error::{Failure, FailureKind};

/// What a plan may reach.
#[derive(Clone, Debug, Default)]
pub enum Permits {
    /// Everything that this process's user may do.
    #[default]
    All,
    Named(Arc<NamedPermits>),
}

#[derive(Clone, Debug, Default)]
pub struct NamedPermits {
    addresses: Vec<Address>,
    servers: Vec<Server>,
    folders: Vec<PathBuf>,
    logins: Logins,
}

/// A place that connections may be made to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Address {
    /// `None` is any port.
    Tcp(String, Option<u16>),
    Socket(PathBuf),
}

/// Private servers of an engine, maybe only from a folder of programs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Server {
    engine: String,
    programs: Option<PathBuf>,
}

/// Logins at allowed servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Logins {
    /// Can neither run programs nor reach files on the server's host.
    #[default]
    Plain,
    Any,
}

/// Command line flags.
pub const ALLOW: &str = "--allow";
pub const ALLOW_SERVER: &str = "--allow-server";
pub const ALLOW_DIR: &str = "--allow-dir";
/// For logins that can do more than a plan needs.
pub const ALLOW_ANY_LOGIN: &str = "--allow-any-login";

/// Makes the failure that an agent was not started with a permission; names the flag that would grant it.
fn not_permitted(tried: String, flag: impl std::fmt::Display) -> Failure {
    let cause = "whoever started the agent did not allow it";
    Failure::new(FailureKind::Permission, tried, cause).with_hint(format!("start the agent with `{flag}`"))
}

impl NamedPermits {
    /// Allows connections to `HOST`, `HOST:PORT`, or the path of a Unix socket.
    pub fn allow_address(&mut self, written: &str) -> Result<(), String> {
        self.addresses.push(Address::parse(written)?);
        Ok(())
    }

    /// Allows private servers of this engine, from programs in this folder.
    pub fn allow_server(&mut self, engine: &str, programs: Option<&Path>) -> Result<(), String> {
        let programs = programs.map(canonical_folder).transpose()?;
        self.servers.push(Server { engine: engine.to_owned(), programs });
        Ok(())
    }

    /// Allows files below this folder.
    pub fn allow_folder(&mut self, folder: &Path) -> Result<(), String> {
        self.folders.push(canonical_folder(folder)?);
        Ok(())
    }

    /// Sets which logins are allowed.
    pub fn allow_logins(&mut self, logins: Logins) {
        self.logins = logins;
    }

    /// Lists what is allowed, for a message.
    pub fn describe(&self) -> Vec<String> {
        let addresses = self.addresses.iter().map(Address::address_text);
        let folders = self.folders.iter().map(|folder| format!("the folder {}", folder.display()));
        let logins = (self.logins == Logins::Any).then(|| "any login".to_owned());
        addresses
            .chain(self.servers.iter().map(|server: &Server| match &server.programs {
                Some(folder) => format!("servers of {} by {}", server.engine, folder.display()),
                None => format!("servers of {}", server.engine),
            }))
            .chain(folders)
            .chain(logins)
            .collect()
    }
}

/// Resolves the links in a folder's path; fails if it is no folder.
fn canonical_folder(folder: &Path) -> Result<PathBuf, String> {
    let found = folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))?;
    if found.is_dir() { Ok(found) } else { Err(format!("{} is no folder", folder.display())) }
}

impl Address {
    /// Parses `HOST`, `HOST:PORT`, or the path of a Unix socket.
    fn parse(written: &str) -> Result<Address, String> {
        if written.starts_with('/') {
            let socket = resolve_links(Path::new(written)).ok_or_else(|| format!("`{written}` cannot be looked at"))?;
            return Ok(Address::Socket(socket));
        }
        let (host, port) = match written.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, rest)) => (host, Some(parse_port(written, rest.strip_prefix(':').unwrap_or_default())?)),
            None if written.parse::<IpAddr>().is_ok() => (written, None),
            None => match written.split_once(':') {
                Some((host, text)) => (host, Some(parse_port(written, text)?)),
                None => (written, None),
            },
        };
        if host.is_empty() || !host.chars().all(|c| c.is_alphanumeric() || "-._:".contains(c)) {
            return Err(format!("`{written}` is neither HOST, HOST:PORT nor the path of a socket"));
        }
        Ok(Address::Tcp(host.to_owned(), port))
    }

    /// Text of the address, as `--allow` takes it.
    fn address_text(&self) -> String {
        match self {
            Address::Tcp(host, None) => host.clone(),
            Address::Tcp(host, Some(port)) => host_and_port(host, *port),
            Address::Socket(path) => path.display().to_string(),
        }
    }
}

/// Parses a port, 1 to 65,535; `written` is the whole address, for the message.
fn parse_port(written: &str, text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(format!("`{written}`: `{text}` is no port")),
    }
}

/// Joins host and port; an IPv6 address gets brackets.
fn host_and_port(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Whether two hosts are the same address in any notation, or the same name.
///
/// Names are not resolved, and other forms that resolvers read as numbers, such as `127.2`, count as names.
fn is_same_host(one: &str, other: &str) -> bool {
    match (one.parse::<IpAddr>(), other.parse::<IpAddr>()) {
        (Ok(one), Ok(other)) => one.to_canonical() == other.to_canonical(),
        (Err(_), Err(_)) => one.eq_ignore_ascii_case(other),
        _ => false,
    }
}

/// Resolves a path's links as far as it exists; `None` for dangling links and paths that go back up.
fn resolve_links(path: &Path) -> Option<PathBuf> {
    if path.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    let whole = std::path::absolute(path).ok()?;
    let there = whole.ancestors().find(|ancestor| ancestor.symlink_metadata().is_ok())?;
    let rest = whole.strip_prefix(there).ok()?;
    let found = there.canonicalize().ok()?;
    Some(if rest.as_os_str().is_empty() { found } else { found.join(rest) })
}

impl Permits {
    /// Whether a plan may reach only what was named, as on an agent.
    pub fn are_bounded(&self) -> bool {
        matches!(self, Permits::Named(_))
    }

    /// Fails if a plan may not connect to this host and port.
    pub fn check_connect(&self, host: &str, port: u16) -> Result<(), Failure> {
        let Permits::Named(named) = self else { return Ok(()) };
        if named.addresses.iter().any(|address| match address {
            Address::Tcp(allowed, at) => is_same_host(allowed, host) && at.is_none_or(|at| at == port),
            Address::Socket(_) => false,
        }) {
            return Ok(());
        }
        let wanted = host_and_port(host, port);
        Err(not_permitted(format!("reach `{wanted}`"), format!("{ALLOW} {wanted}")))
    }

    /// Fails if a plan may not connect to this Unix socket.
    pub fn check_socket(&self, socket: &Path) -> Result<(), Failure> {
        let Permits::Named(named) = self else { return Ok(()) };
        let found = resolve_links(socket).map(Address::Socket);
        if found.is_some_and(|found| named.addresses.contains(&found)) {
            return Ok(());
        }
        let wanted = socket.display();
        Err(not_permitted(format!("reach the socket `{wanted}`"), format!("{ALLOW} {wanted}")))
    }

    /// Fails if a plan may not use a file; returns its path with links resolved.
    pub fn check_path(&self, path: &Path) -> Result<PathBuf, Failure> {
        let Permits::Named(named) = self else { return Ok(path.to_owned()) };
        let found = resolve_links(path).filter(|found| named.folders.iter().any(|folder| found.starts_with(folder)));
        found.ok_or_else(|| {
            let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
            not_permitted(format!("use the path `{}`", path.display()), format!("{ALLOW_DIR} {}", folder.display()))
        })
    }

    /// Fails if a name leads out of a system's folder to where a plan may not reach; the opener asks for its path.
    pub fn check_name(&self, name: &str) -> Result<(), Failure> {
        let path = Path::new(name);
        let is_inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if is_inside { Ok(()) } else { self.check_path(path).map(|_| ()) }
    }

    /// Fails if a plan may not start a private server; returns the folder of its programs, if one was given.
    ///
    /// A private server by one of the engine's `words`; `safe` settings are allowed on other hosts. Returns the folder
    /// of its programs, if given.
    ///
    /// # Errors
    /// It was not allowed; the plan names programs; or a setting could reach beyond the server's own data.
    pub fn check_private_server(
        &self,
        server: &PrivateServer,
        words: &[&str],
        settings: &BTreeMap<String, Value>,
        safe: &[&str],
    ) -> Result<Option<String>, Failure> {
        let Permits::Named(named) = self else { return Ok(server.bin_dir.clone()) };
        let engine = &server.engine;
        let tried = format!("start a private server of `{engine}`");
        let Some(allowed) =
            named.servers.iter().find(|allowed| allowed.engine == *engine && words.contains(&engine.as_str()))
        else {
            return Err(not_permitted(tried, format!("{ALLOW_SERVER} {engine}")));
        };
        if let Some(folder) = &server.bin_dir {
            let cause =
                format!("the plan names its programs by `bin_dir = \"{folder}\"`, and an agent runs only its own");
            return Err(Failure::new(FailureKind::Permission, tried, cause).with_hint(format!(
                "leave `bin_dir` out, and start the agent with `{ALLOW_SERVER} {engine}={folder}`"
            )));
        }
        self.check_settings(settings, safe)?;
        Ok(allowed.programs.as_ref().map(|folder| folder.display().to_string()))
    }

    /// Fails if a plan on an agent sets a setting that is not among the `safe` names, or whose value names a path.
    pub fn check_settings(&self, settings: &BTreeMap<String, Value>, safe: &[&str]) -> Result<(), Failure> {
        if !self.are_bounded() {
            return Ok(());
        }
        for (name, value) in settings {
            if let Some(fault) = setting_fault(name, value) {
                return Err(Failure::new(FailureKind::Permission, format!("set `{}`", name.escape_debug()), fault));
            }
            let plain = name.to_ascii_lowercase().replace('-', "_");
            let is_path = value.to_string().contains(['/', '\\']);
            if safe.contains(&plain.as_str()) && !is_path {
                continue;
            }
            let cause = if is_path {
                "its value names a path, and no plan does so on an agent"
            } else {
                "it is not among the settings that a plan may have on an agent: those concern the server's speed \
                          and its own data"
            };
            return Err(Failure::new(FailureKind::Permission, format!("set `{name}` to `{value}`"), cause).with_hint(
                "leave it out; or start the server on its host by hand, with what it needs, and name its `url`, which \
                 `--allow HOST:PORT` permits",
            ));
        }
        Ok(())
    }

    /// Fails if a URL option that names a file, by the names in `named`, leads where a plan may not reach.
    pub fn check_option_files<'a>(
        &self,
        options: impl IntoIterator<Item = (&'a str, &'a str)>,
        named: &[&str],
    ) -> Result<(), Failure> {
        if !self.are_bounded() {
            return Ok(());
        }
        // Engines accept other separators and capitals.
        let of_files = options.into_iter().filter(|(key, _)| named.iter().any(|name| bare_key(name) == bare_key(key)));
        of_files
            .filter(|(_, file)| *file != "system")
            .try_for_each(|(_, file)| self.check_path(Path::new(file)).map(|_| ()))
    }

    /// Fails on an agent, which must not restore the backup of a server that is not its own.
    pub fn check_foreign_restore(&self, tried: &str) -> Result<(), Failure> {
        if !self.are_bounded() {
            return Ok(());
        }
        let cause = "an agent restores nothing but backups of private servers: others bring code along that would run on \
                     its host";
        Err(Failure::new(FailureKind::Permission, tried, cause).with_hint(
            "use a private server, which `--allow-server ENGINE` permits; or run the benchmark without `host`",
        ))
    }

    /// Fails on an agent if a login can run programs, reach files on the server's host or connect from it.
    ///
    /// `how` names the alternative.
    pub fn refuse_strong_login(&self, login: &str, power: &str, how: &str) -> Result<(), Failure> {
        match self {
            Permits::Named(named) if named.logins == Logins::Plain => {
                let cause = format!(
                    "the login {power}, so that a plan could run programs, reach files on the server's host or \
                     connect from it, which whoever started the agent did not allow"
                );
                Err(Failure::new(FailureKind::Permission, format!("work as `{login}`"), cause)
                    .with_hint(format!("{how}; or start the agent with `{ALLOW_ANY_LOGIN}`")))
            }
            _ => Ok(()),
        }
    }
}

/// Strips a key's separators, and turns it to lower case.
fn bare_key(key: &str) -> String {
    key.to_ascii_lowercase().replace(['_', '-', ' '], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(change: impl FnOnce(&mut NamedPermits)) -> Permits {
        let mut named = NamedPermits::default();
        change(&mut named);
        Permits::Named(Arc::new(named))
    }

    #[test]
    fn nothing_is_allowed_that_was_not_named() {
        let nothing = permits(|_| {});
        for host in ["localhost", "127.0.0.1", "::1", "127.2", "db"] {
            let refused = nothing.check_connect(host, 5432).unwrap_err();
            assert_eq!(refused.kind, FailureKind::Permission);
            assert!(refused.hint.unwrap().contains("--allow "), "{host}");
        }
        assert!(nothing.check_socket(Path::new("/run/x/.s.PGSQL.5432")).is_err());
        assert!(nothing.check_path(Path::new("/")).is_err() && nothing.check_path(Path::new("x")).is_err());
        assert!(Permits::All.check_connect("db", 1).is_ok() && Permits::All.check_path(Path::new("/")).is_ok());
    }

    #[test]
    fn addresses_are_compared_as_they_are_connected_to() {
        let permits = permits(|named| {
            for written in ["127.0.0.1:5432", "Db.Example:3306", "10.0.0.7", "[::1]:5432", "fe80::1"] {
                named.allow_address(written).unwrap();
            }
        });
        for (host, port) in [
            ("127.0.0.1", 5432),
            ("::ffff:127.0.0.1", 5432),
            ("db.example", 3306),
            ("10.0.0.7", 1),
            ("0:0:0:0:0:0:0:1", 5432),
            ("fe80::1", 9),
        ] {
            assert!(permits.check_connect(host, port).is_ok(), "{host}:{port}");
        }
        for (host, port) in [
            ("127.0.0.1", 5433),
            ("127.2", 5432),
            ("127.0.0.01", 5432),
            ("2130706433", 5432),
            ("0x7f.1", 5432),
            ("localhost", 5432),
            ("127.0.0.1,10.0.0.8", 5432),
            ("db.example.", 3306),
            ("db", 3306),
            ("", 5432),
            ("127.0.0.2", 5432),
        ] {
            assert!(permits.check_connect(host, port).is_err(), "{host}:{port}");
        }
    }

    #[test]
    fn what_is_no_address_cannot_be_allowed() {
        for wrong in
            ["", ":5432", "db:", "db:0", "db:70000", "db:x", "a,b:1", "a b", "[::1]5x", "[::1]5432", "postgres://db"]
        {
            assert!(NamedPermits::default().allow_address(wrong).is_err(), "{wrong}");
        }
        assert!(NamedPermits::default().allow_folder(Path::new("/no/such/folder")).is_err());
    }

    #[test]
    fn a_bin_dir_of_a_plan_is_refused_and_the_agents_own_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let permits = permits(|named| named.allow_server("toy", Some(folder.path())).unwrap());
        let none = BTreeMap::new();
        let taken = permits.check_private_server(&server("toy", None), &["toy"], &none, &[]).unwrap();
        assert_eq!(taken, Some(folder.path().canonicalize().unwrap().display().to_string()));
        let refused =
            permits.check_private_server(&server("toy", Some("/tmp/evil")), &["toy"], &none, &[]).unwrap_err();
        assert!(refused.hint.unwrap().contains("--allow-server toy="), "{}", refused.cause);
        let refused = permits.check_private_server(&server("other", None), &["other"], &none, &[]).unwrap_err();
        assert!(refused.hint.unwrap().contains("--allow-server other"), "{}", refused.cause);
        // An engine starts only its own servers.
        assert!(permits.check_private_server(&server("toy", None), &["other"], &none, &[]).is_err());
    }

    fn server(engine: &str, bin_dir: Option<&str>) -> PrivateServer {
        PrivateServer { engine: engine.to_owned(), bin_dir: bin_dir.map(str::to_owned), ..PrivateServer::default() }
    }

    #[test]
    fn settings_are_those_that_are_safe_and_name_no_path() {
        let permits = permits(|_| {});
        assert!(permits.check_settings(&settings("Buffer-Size", "64M"), &["buffer_size"]).is_ok());
        assert!(permits.check_settings(&settings("buffer_size", "../x"), &["buffer_size"]).is_err());
        let refused = permits.check_settings(&settings("command", "touch x"), &["buffer_size"]).unwrap_err();
        assert!(refused.tried.contains("`command`") && refused.hint.is_some());
        assert!(Permits::All.check_settings(&settings("command", "touch x"), &[]).is_ok());
    }

    fn settings(name: &str, value: &str) -> BTreeMap<String, Value> {
        BTreeMap::from([(name.to_owned(), Value::Text(value.to_owned()))])
    }

    fn link(from: &Path, to: &Path) {
        assert!(std::process::Command::new("ln").arg("-s").args([from, to]).status().unwrap().success());
    }

    #[test]
    fn paths_are_those_behind_links() {
        let whole = tempfile::tempdir().unwrap();
        let (inside, outside) = (whole.path().join("in"), whole.path().join("out"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("secret"), "x").unwrap();
        link(&outside, &inside.join("link"));
        link(&outside.join("not-there"), &inside.join("dangling"));
        link(&outside.join("secret"), &inside.join("file"));
        link(&inside, &whole.path().join("way-in"));
        let permits = permits(|named| named.allow_folder(&whole.path().join("way-in")).unwrap());
        let found = permits.check_path(&inside.join("new/deep.db")).unwrap();
        assert_eq!(found, inside.canonicalize().unwrap().join("new/deep.db"));
        assert!(permits.check_path(&whole.path().join("way-in/x")).is_ok());
        for wrong in ["link", "link/x", "link/secret", "dangling", "dangling/x", "file", "../out/x", "x/../../out"] {
            let refused = permits.check_path(&inside.join(wrong)).unwrap_err();
            assert!(refused.hint.unwrap().contains("--allow-dir "), "{wrong}");
        }
        assert!(permits.check_path(&whole.path().join("in2")).is_err());
        assert!(permits.check_path(&outside).is_err());
        assert!(permits.check_path(Path::new("in")).is_err(), "a path from the agent's own folder on");
    }
}
