//! The processes of this machine that listen at an address.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::path::PathBuf;

/// The address of a server that étalon did not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listener {
    Tcp { host: String, port: u16 },
    Socket(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts {
    Elsewhere,
    /// Their process numbers: with all their descendants they are the server.
    Here(Vec<u32>),
    /// It is on this machine, for the reason.
    Unknown(String),
}

/// Finds which process of this machine listens there.
pub(super) fn find_listener(listener: &Listener) -> Whereabouts {
    let addresses = match listener {
        Listener::Socket(_) => Vec::new(),
        Listener::Tcp { host, port } => match (host.as_str(), *port).to_socket_addrs() {
            Ok(found) => found.filter(|address| is_own(address.ip())).collect(),
            Err(cause) => return Whereabouts::Unknown(format!("the address of {host} is not known: {cause}")),
        },
    };
    if addresses.is_empty() && matches!(listener, Listener::Tcp { .. }) {
        return Whereabouts::Elsewhere;
    }
    match os::owners(listener, &addresses) {
        Ok(pids) => Whereabouts::Here(pids),
        Err(reason) => Whereabouts::Unknown(reason),
    }
}

/// What a process answers to, `port 5432` or `socket /run/x/.s.PGSQL.5432`, or the service or container that it belongs to.
pub(super) fn served_by(pid: u32) -> Option<String> {
    os::served_by(pid)
}

/// A socket can be bound to a machine's own addresses only.
fn is_own(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind(SocketAddr::new(address, 0)).is_ok()
}

#[cfg(not(target_os = "linux"))]
mod os {
    use super::{Listener, SocketAddr};

    /// Fails: the listening process is found on Linux only.
    pub(super) fn owners(_: &Listener, _: &[SocketAddr]) -> Result<Vec<u32>, String> {
        Err("which process listens is found out on Linux only".to_owned())
    }

    /// The socket at which a process listens: not known here.
    pub(super) fn served_by(_: u32) -> Option<String> {
        None
    }
}

#[cfg(target_os = "linux")]
mod os {
    use std::path::{Path, PathBuf};

    use super::{Listener, SocketAddr, UnixListener, all_listening, listening_at, unit_of, unix_listeners};
    use crate::files::read_inode;
    use crate::system::text;

    /// They hand connections on to a server that is not among their children.
    const FORWARDERS: [&str; 13] = [
        "docker-proxy",
        "rootlessport",
        "slirp4netns",
        "pasta",
        "haproxy",
        "socat",
        "ssh",
        "envoy",
        "nginx",
        "pgbouncer",
        "pgcat",
        "proxysql",
        "maxscale",
    ];

    /// The processes that hold the listening socket.
    pub(super) fn owners(listener: &Listener, addresses: &[SocketAddr]) -> Result<Vec<u32>, String> {
        let holders = match listener {
            Listener::Socket(path) => holders_of_file(path)?,
            Listener::Tcp { .. } => {
                let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| text::read(table).unwrap_or_default());
                let sockets: Vec<u64> = tables.iter().flat_map(|table| listening_at(table, addresses)).collect();
                if sockets.is_empty() { None } else { Some(holders_of(&sockets)?) }
            }
        };
        let Some(holders) = holders else {
            return Err("no process of this network namespace listens there".to_owned());
        };
        // A service manager that made the socket holds it, too.
        let pids: Vec<u32> = holders.into_iter().filter(|&pid| pid != 1).collect();
        if pids.is_empty() {
            return Err("the process that listens there belongs to another user, or to another container".to_owned());
        }
        let names = pids.iter().filter_map(|&pid| Some(crate::system::os::process(pid).ok()?.name));
        match names.into_iter().find(|name| FORWARDERS.contains(&&**name)) {
            Some(forwarder) => Err(format!("{} hands the connections on", &*forwarder)),
            None => Ok(pids),
        }
    }

    /// `None`: no process listens there. The kernel's table has each socket's path as its server has written it: by another
    /// link, relative to a folder of the server's, or as it is in a container.
    fn holders_of_file(path: &Path) -> Result<Option<Vec<u32>>, String> {
        let Ok(Some(wanted)) = read_inode(path) else { return Ok(None) };
        let name = std::fs::canonicalize(path).ok();
        let name = name.as_deref().unwrap_or(path).file_name();
        let mut listeners = unix_listeners(&text::read("/proc/net/unix")?);
        listeners.retain(|listener| listener.path.file_name() == name);
        let (mut is_there, mut found) = (false, Vec::new());
        for UnixListener { inode, path } in listeners {
            let holders = holders_of(&[inode])?;
            let is_same = |place: PathBuf| read_inode(&place).is_ok_and(|found| found == Some(wanted));
            let is_seen_by_holder = holders.iter().any(|pid| {
                let seen = if path.is_absolute() { "root" } else { "cwd" };
                let relative = path.strip_prefix("/").unwrap_or(&path);
                is_same(PathBuf::from(format!("/proc/{pid}/{seen}")).join(relative))
            });
            if is_seen_by_holder || (path.is_absolute() && is_same(path.clone())) {
                is_there = true;
                found.extend(holders);
            }
        }
        Ok(is_there.then_some(found))
    }

    /// Sockets of a process of another user are not seen, its control group is.
    pub(super) fn served_by(pid: u32) -> Option<String> {
        let own = sockets_of(pid);
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| text::read(table).unwrap_or_default());
        let listening = tables.iter().flat_map(|table| all_listening(table));
        let port = listening.filter(|(_, inode)| own.contains(inode)).map(|(port, _)| port).min();
        port.map(|port| format!("port {port}"))
            .or_else(|| unix_socket_of(&own))
            .or_else(|| unit_of(&text::read(format!("/proc/{pid}/cgroup")).ok()?))
    }

    /// The Unix socket at which one of these inodes listens.
    fn unix_socket_of(own: &[u64]) -> Option<String> {
        let listeners = unix_listeners(&text::read("/proc/net/unix").ok()?);
        let listener = listeners.into_iter().find(|listener| own.contains(&listener.inode))?;
        Some(format!("socket {}", listener.path.display()))
    }

    /// The inodes of a process's sockets, if they may be seen.
    fn sockets_of(pid: u32) -> Vec<u64> {
        let Ok(files) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
        let links = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        links.filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()).collect()
    }

    /// The processes that have one of these sockets open.
    fn holders_of(sockets: &[u64]) -> Result<Vec<u32>, String> {
        let wanted: Vec<String> = sockets.iter().map(|inode| format!("socket:[{inode}]")).collect();
        let processes = crate::system::os::processes()?.into_iter();
        let holders = processes.filter_map(|entry| {
            let files = std::fs::read_dir(format!("/proc/{}/fd", entry.pid)).ok()?;
            let mut links = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
            let holds = links.any(|link| link.to_str().is_some_and(|link| wanted.iter().any(|one| one == link)));
            holds.then_some(entry.pid)
        });
        Ok(holders.collect())
    }
}

/// Inodes in `/proc/net/tcp` or `tcp6` that listen at one of the addresses, or at all.
#[cfg(any(target_os = "linux", test))]
fn listening_at(table: &str, addresses: &[SocketAddr]) -> Vec<u64> {
    let is_there = |found: &SocketAddr| {
        let ip = found.ip();
        addresses.iter().any(|address| {
            found.port() == address.port() && (ip.is_unspecified() || ip.to_canonical() == address.ip().to_canonical())
        })
    };
    listeners_of(table).filter(|(address, _)| is_there(address)).map(|(_, inode)| inode).collect()
}

/// Port and inode of all that listens.
#[cfg(any(target_os = "linux", test))]
fn all_listening(table: &str) -> Vec<(u16, u64)> {
    listeners_of(table).map(|(address, inode)| (address.port(), inode)).collect()
}

/// Address and inode of each listener in `/proc/net/tcp` or `tcp6`.
#[cfg(any(target_os = "linux", test))]
fn listeners_of(table: &str) -> impl Iterator<Item = (SocketAddr, u64)> {
    /// TCP_LISTEN in the kernel's tcp_states.h.
    const LISTEN: &str = "0A";
    table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (ip, port) = fields.get(1)?.split_once(':')?;
        let address = SocketAddr::new(ip_of(ip)?, u16::from_str_radix(port, 16).ok()?);
        (*fields.get(3)? == LISTEN).then(|| Some((address, fields.get(9)?.parse().ok()?)))?
    })
}

/// The innermost service or container in `/proc/PID/cgroup`.
#[cfg(any(target_os = "linux", test))]
fn unit_of(groups: &str) -> Option<String> {
    let parts = groups.lines().flat_map(|line| line.rsplit('/'));
    parts.into_iter().find_map(|part| match part.strip_suffix(".service") {
        // The user's own session is no service.
        Some(name) if !name.starts_with("user@") => Some(format!("service {part}")),
        _ => {
            let id = part.strip_suffix(".scope").unwrap_or(part);
            let id = id.rsplit('-').next().filter(|id| id.len() == 64 && id.bytes().all(|b| b.is_ascii_hexdigit()))?;
            Some(format!("container {}", &id[..12]))
        }
    })
}

/// Words of four bytes in the machine's own order.
#[cfg(any(target_os = "linux", test))]
fn ip_of(hex: &str) -> Option<IpAddr> {
    let word = |index: usize| Some(u32::from_str_radix(hex.get(index * 8..index * 8 + 8)?, 16).ok()?.to_ne_bytes());
    match hex.len() {
        8 => Some(IpAddr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            Some(IpAddr::from(<[u8; 16]>::try_from(words.concat()).ok()?))
        }
        _ => None,
    }
}

/// A socket that accepts connections.
#[cfg(any(target_os = "linux", test))]
#[derive(Debug, PartialEq, Eq)]
struct UnixListener {
    /// The socket's inode, not that of its file.
    inode: u64,
    /// Relative to the server's folder unless it is absolute.
    path: PathBuf,
}

/// Those with a file in `/proc/net/unix`: `Num RefCount Protocol Flags Type St Inode Path`, of which the path may have spaces.
#[cfg(any(target_os = "linux", test))]
fn unix_listeners(table: &str) -> Vec<UnixListener> {
    /// __SO_ACCEPTCON in the kernel's net.h.
    const ACCEPTS: &str = "00010000";
    let listeners = table.lines().skip(1).filter_map(|line| {
        let mut rest = line;
        let mut fields = [""; 7];
        for field in &mut fields {
            rest = rest.trim_start_matches(' ');
            (*field, rest) = rest.split_once(' ')?;
        }
        let is_file = !rest.is_empty() && !rest.starts_with('@');
        let inode = fields[6].parse().ok()?;
        (fields[3] == ACCEPTS && is_file).then(|| UnixListener { inode, path: rest.into() })
    });
    listeners.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
       0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 777 1 0 100 0 0 10 0\n\
       1: 00000000:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 888 1 0 100 0 0 10 0\n\
       2: 0100007F:1538 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 999 1 0 100 0 0 10 0\n";

    #[cfg(target_endian = "little")]
    #[test]
    fn listeners_are_found_by_address() {
        fn at(text: &str) -> Vec<SocketAddr> {
            vec![text.parse().unwrap()]
        }
        assert_eq!(listening_at(TCP, &at("127.0.0.1:5432")), [777]);
        assert_eq!(listening_at(TCP, &at("10.1.1.1:3306")), [888], "at all addresses");
        assert!(listening_at(TCP, &at("10.1.1.1:5432")).is_empty(), "at the loopback only");
        assert_eq!(ip_of("00000000000000000000000001000000"), Some("::1".parse().unwrap()));
        assert_eq!(ip_of("7F"), None);
    }

    #[test]
    fn services_and_containers_are_read_from_control_groups() {
        let id = "0123456789ab".repeat(6);
        let id = &id[..64];
        for (groups, unit) in [
            (
                "0::/system.slice/system-postgresql.slice/postgresql@15-main.service\n",
                Some("service postgresql@15-main.service"),
            ),
            (&*format!("0::/system.slice/docker-{id}.scope\n"), Some("container 0123456789ab")),
            (&*format!("12:cpu:/docker/{id}\n0::/\n"), Some("container 0123456789ab")),
            ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope\n", None),
            ("0::/\n", None),
        ] {
            assert_eq!(unit_of(groups).as_deref(), unit, "{groups}");
        }
    }

    #[test]
    fn paths_of_sockets_are_read_whole() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                     0000: 00000002 00000000 00010000 0001 01  4711 /run/my  x/.s.PGSQL.5432 \n\
                     0000: 00000003 00000000 00000000 0001 03  4712 /run/x/.s.PGSQL.5432\n\
                     0000: 00000002 00000000 00010000 0001 01  4714 @hidden\n\
                     0000: 00000003 00000000 00000000 0001 03 4713\n";
        let path = "/run/my  x/.s.PGSQL.5432 ".into();
        assert_eq!(unix_listeners(table), [UnixListener { inode: 4711, path }]);
    }

    /// A server knows its socket's folder by another path than étalon.
    #[cfg(target_os = "linux")]
    #[test]
    fn socket_is_found_by_any_path_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("with  spaces "), folder.path().join("link"));
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let (path, named) = (real.join(".s.PGSQL.5432"), folder.path().join("mysql.sock"));
        let _bound = std::os::unix::net::UnixListener::bind(&path).unwrap();
        std::os::unix::fs::symlink(&path, &named).unwrap();
        let here = Whereabouts::Here(vec![std::process::id()]);
        for way in [path, link.join(".s.PGSQL.5432"), named, folder.path().join("link/../link/.s.PGSQL.5432")] {
            assert_eq!(find_listener(&Listener::Socket(way.clone())), here, "{}", way.display());
        }
        let other = find_listener(&Listener::Socket(real.join(".s.PGSQL.5433")));
        assert!(matches!(other, Whereabouts::Unknown(reason) if reason.contains("no process")));
    }

    /// A server with `unix_socket_directories = '.'` names its socket so.
    #[cfg(target_os = "linux")]
    #[test]
    fn socket_is_found_where_the_server_names_it_by_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let program = "import os, socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind('own.sock'); s.listen(); \
                       open('ready', 'w').close(); sys.stdin.read()";
        let mut server = std::process::Command::new("python3");
        server.args(["-c", program]).current_dir(folder.path()).stdin(std::process::Stdio::piped());
        let Ok(mut server) = server.spawn() else {
            println!("skipped: python3 is not installed");
            return;
        };
        while !folder.path().join("ready").exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let found = find_listener(&Listener::Socket(folder.path().join("own.sock")));
        server.kill().unwrap();
        server.wait().unwrap();
        assert_eq!(found, Whereabouts::Here(vec![server.id()]));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_found_by_its_own_listener() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        fn at(host: &str, port: u16) -> Whereabouts {
            find_listener(&Listener::Tcp { host: host.to_owned(), port })
        }
        assert_eq!(at("localhost", port), Whereabouts::Here(vec![std::process::id()]));
        assert!(served_by(std::process::id()).is_some_and(|found| found.starts_with("port ")));
        // For documentation only: no one has it (RFC 5737).
        assert_eq!(at("192.0.2.7", port), Whereabouts::Elsewhere);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let _bound = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert_eq!(find_listener(&Listener::Socket(path)), Whereabouts::Here(vec![std::process::id()]));
        drop(listener);
        assert!(matches!(at("127.0.0.1", 1), Whereabouts::Unknown(reason) if reason.contains("no process")));
    }

    /// A container's port is held by a program that hands connections on.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_forwarder_is_not_taken_for_the_server() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::io::fcntl_setfd(&listener, rustix::io::FdFlags::empty()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let forwarder = folder.path().join("docker-proxy");
        std::os::unix::fs::symlink("/bin/sh", &forwarder).unwrap();
        let mut child = std::process::Command::new(forwarder).args(["-c", "sleep 5; true"]).spawn().unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let found = find_listener(&Listener::Tcp { host: "127.0.0.1".to_owned(), port });
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, Whereabouts::Unknown("docker-proxy hands the connections on".to_owned()));
    }
}
