//! Stream sockets of either kind, connected with a time limit.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
#[cfg(unix)]
use std::time::Instant;

/// Longest wait for a connection without a look at whether to go on.
#[cfg(unix)]
const CONNECT_SLICE: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub enum Socket {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

/// When a silent TCP connection is given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vigilance {
    /// Longest time for unacknowledged data (Linux).
    pub user_timeout: Option<Duration>,
    /// Silence before probing; `None` never.
    pub keepalive_idle: Option<Duration>,
    /// Time between probes.
    pub keepalive_interval: Option<Duration>,
    /// Unanswered probes before giving up.
    pub keepalive_retries: Option<u32>,
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Socket {
        Socket::Tcp(stream)
    }
}

#[cfg(unix)]
impl From<UnixStream> for Socket {
    fn from(stream: UnixStream) -> Socket {
        Socket::Unix(stream)
    }
}

impl Socket {
    /// Connects to the first of a host's addresses that answers, each within `timeout`. Sets `TCP_NODELAY`. Fails with
    /// [`io::ErrorKind::Interrupted`] soon after `go_on` has said no.
    pub fn connect_tcp(
        host: &str,
        port: u16,
        timeout: Duration,
        vigilance: Vigilance,
        go_on: &dyn Fn() -> bool,
    ) -> io::Result<Socket> {
        let mut last = None;
        for address in (host, port).to_socket_addrs()? {
            match connect_while(&address, timeout, go_on) {
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => return Err(cause),
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    set_keepalive(&stream, vigilance)?;
                    return Ok(Socket::Tcp(stream));
                }
                Err(cause) => last = Some(cause),
            }
        }
        Err(last.unwrap_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the host name has no address")))
    }

    /// Waits up to `timeout` for a server whose queue is full. Fails with [`io::ErrorKind::Interrupted`] soon after `go_on`
    /// has said no.
    #[cfg(unix)]
    pub fn connect_unix(path: &Path, timeout: Duration, go_on: &dyn Fn() -> bool) -> io::Result<Socket> {
        let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None)?;
        // On Linux a connect obeys the write timeout.
        socket.set_write_timeout(Some(timeout.min(CONNECT_SLICE)))?;
        let address = socket2::SockAddr::unix(path)?;
        let started = Instant::now();
        loop {
            match socket.connect(&address).map_err(|cause| (cause.kind(), cause)) {
                Ok(()) => break,
                Err((io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock, _)) if !go_on() => {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                Err((io::ErrorKind::Interrupted, _)) => {}
                Err((io::ErrorKind::WouldBlock, _)) if started.elapsed() < timeout => {}
                Err((io::ErrorKind::WouldBlock, _)) => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody took the connection"));
                }
                Err((_, cause)) => return Err(cause),
            }
        }
        socket.set_write_timeout(None)?;
        Ok(Socket::Unix(UnixStream::from(std::os::fd::OwnedFd::from(socket))))
    }

    /// Fails: there are no Unix sockets here.
    #[cfg(not(unix))]
    pub fn connect_unix(path: &Path, _timeout: Duration, _go_on: &dyn Fn() -> bool) -> io::Result<Socket> {
        Err(io::Error::new(io::ErrorKind::Unsupported, format!("no Unix sockets here: {}", path.display())))
    }

    /// A connection within this process, by which another thread can wake a reactor.
    #[cfg(unix)]
    pub fn pair() -> io::Result<(Socket, Socket)> {
        UnixStream::pair().map(|(one, other)| (Socket::Unix(one), Socket::Unix(other)))
    }

    /// Makes a connection within this process, by which another thread can wake a reactor.
    #[cfg(not(unix))]
    pub fn pair() -> io::Result<(Socket, Socket)> {
        let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
        let one = TcpStream::connect(listener.local_addr()?)?;
        one.set_nodelay(true)?;
        loop {
            let (other, from) = listener.accept()?;
            // Another process may have connected first.
            if from == one.local_addr()? {
                other.set_nodelay(true)?;
                return Ok((Socket::Tcp(one), Socket::Tcp(other)));
            }
        }
    }

    /// Limits blocking reads and writes; `None` lifts the limit.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout)),
            #[cfg(unix)]
            Socket::Unix(stream) => stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout)),
        }
    }

    pub(super) fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_nonblocking(true),
            #[cfg(unix)]
            Socket::Unix(stream) => stream.set_nonblocking(true),
        }
    }

    /// Both directions: the peer sees the end, and receives here end too.
    pub(super) fn shut_down(&self) {
        // It may no longer be connected.
        let _ = match self {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Both),
            #[cfg(unix)]
            Socket::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

/// The system waits for the peer, and étalon looks at `go_on` between slices of that wait.
#[cfg(unix)]
fn connect_while(address: &SocketAddr, timeout: Duration, go_on: &dyn Fn() -> bool) -> io::Result<TcpStream> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let domain = socket2::Domain::for_address(*address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, Some(socket2::Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    match socket.connect(&(*address).into()) {
        Err(cause) if !is_under_way(&cause) => return Err(cause),
        _ => {}
    }
    let started = Instant::now();
    loop {
        let left = timeout.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "connection timed out"));
        }
        let slice = left.min(CONNECT_SLICE);
        let slice = Timespec { tv_sec: slice.as_secs() as _, tv_nsec: slice.subsec_nanos() as _ };
        match poll(&mut [PollFd::new(&socket, PollFlags::OUT)], Some(&slice)) {
            Ok(0) | Err(rustix::io::Errno::INTR) if !go_on() => return Err(io::ErrorKind::Interrupted.into()),
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => break,
            Err(cause) => return Err(cause.into()),
        }
    }
    if let Some(cause) = socket.take_error()? {
        return Err(cause);
    }
    socket.set_nonblocking(false)?;
    Ok(socket.into())
}

#[cfg(unix)]
fn is_under_way(cause: &io::Error) -> bool {
    cause.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error())
        || cause.kind() == io::ErrorKind::WouldBlock
}

/// Connects within a time; `_go_on` is not asked here.
#[cfg(not(unix))]
fn connect_while(address: &SocketAddr, timeout: Duration, _go_on: &dyn Fn() -> bool) -> io::Result<TcpStream> {
    TcpStream::connect_timeout(address, timeout)
}

/// Sets how a lost connection is noticed.
fn set_keepalive(stream: &TcpStream, vigilance: Vigilance) -> io::Result<()> {
    let socket = socket2::SockRef::from(stream);
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if vigilance.user_timeout.is_some() {
        socket.set_tcp_user_timeout(vigilance.user_timeout)?;
    }
    let Some(idle) = vigilance.keepalive_idle else { return Ok(()) };
    let mut keepalive = socket2::TcpKeepalive::new().with_time(idle);
    if let Some(interval) = vigilance.keepalive_interval {
        keepalive = keepalive.with_interval(interval);
    }
    let Some(retries) = vigilance.keepalive_retries else { return socket.set_tcp_keepalive(&keepalive) };
    match socket.set_tcp_keepalive(&keepalive.clone().with_retries(retries)) {
        // Wine, and Windows before 2017, probe ten times and cannot be asked for another number.
        Err(_) if cfg!(windows) => socket.set_tcp_keepalive(&keepalive),
        set => set,
    }
}

impl Read for &Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => (&*stream).read(into),
            #[cfg(unix)]
            Socket::Unix(stream) => (&*stream).read(into),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => (&*stream).write(bytes),
            #[cfg(unix)]
            Socket::Unix(stream) => (&*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for Socket {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        match self {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }
}

#[cfg(unix)]
impl std::os::fd::AsRawFd for Socket {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        use std::os::fd::AsFd;
        self.as_fd().as_raw_fd()
    }
}

#[cfg(windows)]
impl std::os::windows::io::AsSocket for Socket {
    fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
        match self {
            Socket::Tcp(stream) => stream.as_socket(),
        }
    }
}

#[cfg(windows)]
impl std::os::windows::io::AsRawSocket for Socket {
    fn as_raw_socket(&self) -> std::os::windows::io::RawSocket {
        match self {
            Socket::Tcp(stream) => stream.as_raw_socket(),
        }
    }
}
