//! A test's own network: a bridge and hosts.
//!
//! Each host is a network namespace held by a process that waits for the end of its standard input. The kernel removes
//! a namespace and its links with the last process, so nothing is left however the test ends. This machine's own
//! network is not touched.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};

/// First three bytes; invisible outside.
const NETWORK: [u8; 3] = [10, 213, 0];
const BRIDGE: &str = "lan";

/// End its processes before dropping it.
pub struct Lan {
    hub: Space,
    hosts: Vec<Host>,
}

pub struct Host {
    pub name: String,
    pub address: Ipv4Addr,
    space: Space,
    port: String,
}

struct Space {
    holder: Child,
}

impl Lan {
    pub fn new(names: &[&str]) -> Result<Lan, String> {
        if !host::process::is_root() {
            return Err("network namespaces take root".to_owned());
        }
        let hub = Space::new()?;
        hub.ip(&["link", "add", BRIDGE, "type", "bridge"])?;
        hub.ip(&["link", "set", BRIDGE, "up"])?;
        let mut lan = Lan { hub, hosts: Vec::new() };
        for (index, name) in names.iter().enumerate() {
            let host = lan.plug_in(name, u8::try_from(index + 1).unwrap())?;
            lan.hosts.push(host);
        }
        Ok(lan)
    }

    /// [`Lan::new`], or `None` with a message.
    pub fn or_skip(names: &[&str]) -> Option<Lan> {
        Lan::new(names).map_err(|reason| println!("skipped: {reason}")).ok()
    }

    fn plug_in(&self, name: &str, number: u8) -> Result<Host, String> {
        let space = Space::new()?;
        let [a, b, c] = NETWORK;
        let address = Ipv4Addr::new(a, b, c, number);
        let port = format!("port{number}");
        let holder = space.holder.id().to_string();
        self.hub.ip(&["link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", &holder])?;
        self.hub.ip(&["link", "set", &port, "master", BRIDGE, "up"])?;
        space.ip(&["addr", "add", &format!("{address}/24"), "dev", "eth0"])?;
        space.ip(&["link", "set", "eth0", "up"])?;
        Ok(Host { name: name.to_owned(), address, space, port })
    }

    pub fn host(&self, name: &str) -> &Host {
        self.hosts.iter().find(|host| host.name == name).unwrap_or_else(|| panic!("there is no host {name}"))
    }

    /// Packets from and to the host are lost.
    pub fn cut(&self, name: &str) {
        self.hub.ip(&["link", "set", &self.host(name).port, "down"]).unwrap();
    }

    pub fn mend(&self, name: &str) {
        self.hub.ip(&["link", "set", &self.host(name).port, "up"]).unwrap();
    }

    /// Delays what is sent to a host.
    pub fn delay(&self, name: &str, delay_ms: u32) -> Result<(), String> {
        let delay = format!("{delay_ms}ms");
        let port = &self.host(name).port;
        self.hub.run("tc", &["qdisc", "replace", "dev", port, "root", "netem", "delay", &delay])
    }

    /// Limits a host's rate and delays the excess accordingly.
    pub fn throttle(&self, name: &str, mbit_per_s: u32) -> Result<(), String> {
        let rate = format!("{mbit_per_s}mbit");
        let port = &self.host(name).port;
        let words =
            ["qdisc", "replace", "dev", port, "root", "tbf", "rate", &rate, "burst", "16kb", "latency", "500ms"];
        self.hub.run("tc", &words)
    }
}

impl Lan {
    /// Undoes [`Lan::delay`] and [`Lan::throttle`].
    pub fn free(&self, name: &str) {
        self.hub.run("tc", &["qdisc", "del", "dev", &self.host(name).port, "root"]).unwrap();
    }
}

impl Host {
    /// Command prefix to run on this host.
    pub fn enter(&self) -> Vec<OsString> {
        self.space.enter()
    }

    pub fn command(&self, program: impl Into<OsString>) -> Command {
        self.space.command(program)
    }
}

impl Space {
    fn new() -> Result<Space, String> {
        let mut command = Command::new("unshare");
        command.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let holder = command.spawn().map_err(|error| format!("unshare: {error}"))?;
        let mut space = Space { holder };
        // The echo comes through `cat`, so the namespace exists.
        let mut echo = [0];
        let asked = space.holder.stdin.as_mut().unwrap().write_all(b"x");
        if asked.and_then(|()| space.holder.stdout.as_mut().unwrap().read_exact(&mut echo)).is_err() {
            let mut reason = String::new();
            let _ = space.holder.stderr.as_mut().unwrap().read_to_string(&mut reason);
            return Err(format!("no network namespace here: {}", reason.trim()));
        }
        space.ip(&["link", "set", "lo", "up"])?;
        Ok(space)
    }

    fn enter(&self) -> Vec<OsString> {
        let holder = self.holder.id().to_string();
        ["nsenter", "--target", &holder, "--net", "--"].map(OsString::from).to_vec()
    }

    fn command(&self, program: impl Into<OsString>) -> Command {
        let words = self.enter();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(program.into());
        command
    }

    fn ip(&self, words: &[&str]) -> Result<(), String> {
        self.run("ip", words)
    }

    fn run(&self, program: &str, words: &[&str]) -> Result<(), String> {
        let tried = format!("{program} {}", words.join(" "));
        let output = self.command(program).args(words).output().map_err(|error| format!("{tried}: {error}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("{tried}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        }
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

/// A TCP server's first words, within a second.
fn greeting(from: &Host, to: Ipv4Addr, port: u16) -> Option<String> {
    let script = format!("exec 3<>/dev/tcp/{to}/{port} && head -n 1 <&3");
    let output = from.command("timeout").args(["1", "bash", "-c", &script]).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

#[test]
fn hosts_reach_each_other_until_the_cable_is_cut() {
    let Some(lan) = Lan::or_skip(&["client", "hub"]) else { return };
    let nats = crate::nats::Nats::start(crate::nats::Security::Open, crate::nats::Place::In(lan.host("hub")));
    assert_eq!(nats.url(), "nats://10.213.0.2:4222");
    let greet = || greeting(lan.host("client"), lan.host("hub").address, 4222);
    // A bridge takes a moment to forward a new port, and so does a busy machine.
    let greets = || (0..10).any(|_| greet().is_some_and(|text| text.starts_with("INFO {")));
    assert!(greets());
    lan.cut("client");
    assert_eq!(greet(), None);
    lan.mend("client");
    assert!(greets());
}

#[test]
fn a_link_is_slowed_down_where_the_kernel_can() {
    let Some(lan) = Lan::or_skip(&["a", "b"]) else { return };
    let queue = |host: &str| {
        let output = lan.hub.command("tc").args(["qdisc", "show", "dev", &lan.host(host).port]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    match lan.delay("a", 50) {
        Ok(()) => assert!(queue("a").contains("delay 50"), "{}", queue("a")),
        Err(reason) => println!("skipped: a delay: {reason}"),
    }
    match lan.throttle("b", 10) {
        Ok(()) => assert!(queue("b").contains("rate 10Mbit"), "{}", queue("b")),
        Err(reason) => return println!("skipped: a limited rate: {reason}"),
    }
    lan.free("b");
    assert!(!queue("b").contains("rate"), "{}", queue("b"));
}

#[test]
fn nothing_is_left_of_a_network_after_a_panic() {
    let Some(lan) = Lan::or_skip(&["a", "b"]) else { return };
    let holders: Vec<u32> = lan.hosts.iter().map(|host| host.space.holder.id()).chain([lan.hub.holder.id()]).collect();
    let alive = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    assert!(holders.iter().all(alive));
    let panicked = std::thread::spawn(move || {
        let _lan = lan;
        std::panic::resume_unwind(Box::new("the test's own"));
    });
    assert!(panicked.join().is_err());
    assert!(!holders.iter().any(alive));
}
