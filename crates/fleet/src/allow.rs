//! What an agent may reach: its own host, and what whoever started it allows by name.

use std::net::IpAddr;
use std::path::{Component, Path};

use engine::{Failure, FailureKind};
use model::SystemPlan;
use model::catalog::{EngineSpec, LeadsTo, Visibility};

/// Addresses, as `HOST` or `HOST:PORT`, and folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed(Vec<String>);

impl Allowed {
    /// What was named on the command line.
    pub fn new(named: Vec<String>) -> Allowed {
        Allowed(named)
    }

    /// The names.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Refuses a system that the agent may not touch. `system` has its URL, and `engine` is the one of it.
    ///
    /// # Errors
    /// What would have to be allowed.
    pub fn check(&self, system: &SystemPlan, engine: &EngineSpec) -> Result<(), Failure> {
        if system.server.is_some() || engine.visibility == Visibility::Hidden {
            // A private server is made and removed by étalon itself; what is hidden is simulated.
            return Ok(());
        }
        if let Some(volume) = &system.volume {
            return self.check_path(&volume.image);
        }
        let (_, rest) = system.url.split_once(':').unwrap_or_default();
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        if engine.leads_to == LeadsTo::Path {
            return self.check_path(rest.split('?').next().unwrap_or_default());
        }
        addresses(rest).iter().try_for_each(|(host, port)| self.check_address(host, port.as_deref()))
    }

    fn check_address(&self, host: &str, port: Option<&str>) -> Result<(), Failure> {
        if is_own_host(host) {
            return Ok(());
        }
        let full = port.map(|port| format!("{host}:{port}"));
        if self.0.iter().any(|name| name == host || Some(name) == full.as_ref()) {
            return Ok(());
        }
        let wanted = full.unwrap_or_else(|| host.to_owned());
        Err(refuse(&wanted))
    }

    fn check_path(&self, path: &str) -> Result<(), Failure> {
        let wanted = Path::new(path);
        let is_plain = wanted.is_absolute() && !wanted.components().any(|part| part == Component::ParentDir);
        let within = |name: &String| Path::new(name).is_absolute() && wanted.starts_with(name);
        if is_plain && self.0.iter().any(within) { Ok(()) } else { Err(refuse(path)) }
    }
}

fn refuse(wanted: &str) -> Failure {
    let cause = format!("whoever started the agent did not allow it to reach `{wanted}`");
    Failure::new(FailureKind::Permission, "use the system", cause)
        .hint(format!("start the agent with `--allow {wanted}`"))
}

fn is_own_host(host: &str) -> bool {
    let is_socket = host.is_empty() || host.starts_with('/');
    let is_loopback = || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    is_socket || host.eq_ignore_ascii_case("localhost") || is_loopback()
}

/// Every address that the part of a URL behind `//` names: in its authority, and in the options that drivers take.
fn addresses(rest: &str) -> Vec<(String, Option<String>)> {
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = before.split('/').next().unwrap_or_default();
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    let mut found: Vec<(String, Option<String>)> = hosts.split(',').map(split_port).collect();
    let decoded = |text: &str| text.replace("%2F", "/").replace("%2f", "/").replace("%3A", ":").replace("%3a", ":");
    let options: Vec<(&str, String)> =
        query.split('&').filter_map(|pair| pair.split_once('=')).map(|(key, value)| (key, decoded(value))).collect();
    let port = options.iter().find(|(key, _)| *key == "port").map(|(_, port)| port.clone());
    let is_host = |key: &str| matches!(key, "host" | "hostaddr" | "server" | "socket" | "unix_socket");
    for (_, value) in options.iter().filter(|(key, _)| is_host(key)) {
        found.extend(value.split(',').map(|host| (host.to_owned(), port.clone())));
    }
    for (host, _) in &mut found {
        *host = decoded(host);
    }
    found
}

fn split_port(text: &str) -> (String, Option<String>) {
    if let Some((host, port)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (host.to_owned(), port.strip_prefix(':').map(str::to_owned));
    }
    match text.rsplit_once(':') {
        Some((host, port)) => (host.to_owned(), Some(port.to_owned())),
        None => (text.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(allowed: &[&str], url: &str) -> bool {
        let catalog = engine::Registry::built_in().catalog();
        let engine = catalog.engine_of_url(url).unwrap();
        let system = SystemPlan { url: url.to_owned(), engine: engine.name.to_owned(), ..SystemPlan::default() };
        Allowed::new(allowed.iter().map(|name| (*name).to_owned()).collect()).check(&system, engine).is_ok()
    }

    #[test]
    fn its_own_host_is_allowed_and_others_by_name() {
        for own in [
            "postgres://u@localhost/db",
            "postgres://u@127.0.0.1:5433/db",
            "postgres://u@[::1]:5433/db",
            "postgres://u@/db?host=/run/postgresql",
            "postgres://u@%2Frun%2Fpostgresql/db",
            "sim:?service_us=10",
        ] {
            assert!(verdict(&[], own), "{own}");
        }
        for other in [
            "postgres://u@10.0.0.7:5432/db",
            "postgres://u@localhost@10.0.0.7/db",
            "postgres://u@localhost,10.0.0.7/db",
            "postgres://u@localhost/db?host=10.0.0.7",
            "postgres://u@localhost/db?hostaddr=10.0.0.7",
            "mysql://u@db/",
            "sqlite:/etc/x.db",
            "sqlite:///etc/x.db",
            "sqlite://etc/x.db",
            "sqlcipher:/etc/x.db",
            "disk:///srv",
            "disk:/srv",
        ] {
            assert!(!verdict(&[], other), "{other}");
        }
        assert!(verdict(&["10.0.0.7:5432"], "postgres://u@10.0.0.7:5432/db"));
        assert!(!verdict(&["10.0.0.7:5432"], "postgres://u@10.0.0.7:5433/db"));
        assert!(verdict(&["db"], "mysql://u@db:3306/"));
        assert!(verdict(&["/srv/bench"], "disk:/srv/bench/a"));
        assert!(verdict(&["/srv/bench"], "sqlite:///srv/bench/x.db"));
        assert!(!verdict(&["/srv/bench"], "sqlite://srv/bench/x.db"), "that one is below the agent's own folder");
        assert!(!verdict(&["/srv/bench"], "disk:/srv/bench/../x"));
        assert!(!verdict(&["/srv/bench"], "disk:/srv/bench2"));
    }
}
