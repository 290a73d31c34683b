//! Every implementation against echo servers, and against peers that behave badly.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::clock::now_ns;

const MS: u64 = 1_000_000;

fn choices() -> Vec<Choice> {
    match Reactor::new(Choice::Ring, 1) {
        Ok(_) => vec![Choice::Ring, Choice::Poller],
        Err(error) => {
            println!("only the poller is tested: {error}");
            vec![Choice::Poller]
        }
    }
}

/// Echoes what comes until the stream ends.
fn echo(mut stream: impl Read + Write) {
    let mut buffer = vec![0; 50_000];
    while let Ok(bytes @ 1..) = stream.read(&mut buffer) {
        if stream.write_all(&buffer[..bytes]).is_err() {
            return;
        }
    }
}

fn unix_echo() -> Socket {
    let (here, there) = UnixStream::pair().unwrap();
    thread::spawn(move || echo(there));
    here.into()
}

fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (here, listener.accept().unwrap().0)
}

fn tcp_echo() -> Socket {
    let (here, there) = tcp_pair();
    thread::spawn(move || echo(there));
    here.into()
}

fn wait(reactor: &mut Reactor) -> Vec<Event> {
    let mut events = Vec::new();
    reactor.wait(now_ns() + 10_000 * MS, &mut events).unwrap();
    assert!(!events.is_empty(), "nothing happened");
    events
}

fn receive(reactor: &mut Reactor, token: Token, bytes: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < bytes {
        for event in wait(reactor) {
            assert_eq!(event, Event { token, kind: EventKind::Data });
            let piece = reactor.received(token);
            all.extend_from_slice(piece);
            let length = piece.len();
            reactor.consume(token, length);
        }
    }
    all
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 31 % 251) as u8).collect()
}

#[test]
fn messages_of_all_sizes_come_back() {
    for choice in choices() {
        for socket in [unix_echo(), tcp_echo()] {
            let mut reactor = Reactor::new(choice, 4).unwrap();
            let token = reactor.register(socket).unwrap();
            for bytes in [1, 40, 4_096, 16_384, 16_385, 300_000, 5_000_000] {
                let message = pattern(bytes);
                // In two parts: the second must not overtake the first.
                let (first, second) = message.split_at(bytes / 3);
                reactor.send(token, first);
                if bytes % 2 == 0 {
                    reactor.flush().unwrap();
                }
                reactor.send(token, second);
                assert!(receive(&mut reactor, token, bytes) == message, "{bytes} bytes, {}", reactor.kind());
            }
        }
    }
}

#[test]
fn bytes_that_are_left_are_kept_in_order() {
    for choice in choices() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let mut reactor = Reactor::new(choice, 1).unwrap();
        let token = reactor.register(here).unwrap();
        let mut expected = Vec::new();
        for round in 0..100u8 {
            there.write_all(&[round; 100]).unwrap();
            expected.extend_from_slice(&[round; 100]);
            while reactor.received(token).len() < expected.len() {
                wait(&mut reactor);
            }
            assert!(reactor.received(token) == expected, "round {round}");
            let taken = usize::from(round) % 130;
            reactor.consume(token, taken);
            expected.drain(..taken.min(expected.len()));
            assert!(reactor.received(token) == expected, "round {round}");
        }
    }
}

#[test]
fn a_peer_that_does_not_read_delays_no_other() {
    for choice in choices() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let mut reactor = Reactor::new(choice, 2).unwrap();
        let stuck = reactor.register(here).unwrap();
        let lively = reactor.register(unix_echo()).unwrap();
        let message = pattern(3_000_000);
        reactor.send(stuck, &message);
        for _ in 0..50 {
            reactor.send(lively, b"hello");
            assert_eq!(receive(&mut reactor, lively, 5), b"hello");
        }
        let reader = thread::spawn(move || {
            let mut all = vec![0; 3_000_005];
            there.read_exact(&mut all).unwrap();
            there.write_all(b"x").unwrap();
            (all, there)
        });
        reactor.send(stuck, b"after");
        receive(&mut reactor, stuck, 1);
        let (all, _there) = reader.join().unwrap();
        assert!(all[..3_000_000] == message && &all[3_000_000..] == b"after");
    }
}

#[test]
fn an_end_in_mid_response_is_reported_once_after_the_data() {
    for choice in choices() {
        for half in [Shutdown::Write, Shutdown::Both] {
            let (here, mut there) = tcp_pair();
            let mut reactor = Reactor::new(choice, 1).unwrap();
            let token = reactor.register(here).unwrap();
            reactor.send(token, b"question");
            reactor.flush().unwrap();
            let mut question = [0; 8];
            there.read_exact(&mut question).unwrap();
            there.write_all(b"half an ans").unwrap();
            there.shutdown(half).unwrap();
            let mut kinds: Vec<EventKind> = Vec::new();
            while kinds.last() != Some(&EventKind::Closed) {
                kinds.extend(wait(&mut reactor).iter().map(|event| event.kind));
            }
            assert_eq!(reactor.received(token), b"half an ans");
            assert_eq!(kinds.iter().filter(|kind| **kind != EventKind::Data).count(), 1);
            reactor.send(token, b"into the void");
            let mut events = Vec::new();
            reactor.wait(now_ns() + 20 * MS, &mut events).unwrap();
            assert_eq!(events, []);
            reactor.close(token);
            assert_eq!(reactor.received(token), b"");
        }
    }
}

#[test]
fn a_reset_is_an_end() {
    for choice in choices() {
        let (here, there) = tcp_pair();
        let mut reactor = Reactor::new(choice, 1).unwrap();
        let token = reactor.register(here).unwrap();
        reactor.send(token, b"unread");
        reactor.flush().unwrap();
        thread::sleep(Duration::from_millis(20));
        // Closing with unread bytes resets the connection.
        drop(there);
        let events = wait(&mut reactor);
        assert!(matches!(events[..], [Event { kind: EventKind::Error(_) | EventKind::Closed, .. }]), "{events:?}");
    }
}

#[test]
fn a_deadline_is_kept() {
    for choice in choices() {
        let mut reactor = Reactor::new(choice, 1).unwrap();
        let token = reactor.register(unix_echo()).unwrap();
        let mut events = Vec::new();
        for ms in [0, 3, 20] {
            let start = now_ns();
            reactor.wait(start + ms * MS, &mut events).unwrap();
            let took = now_ns() - start;
            assert!(took >= ms * MS && took < (ms + 500) * MS, "{took} ns instead of {ms} ms");
        }
        assert_eq!(events, []);
        // A deadline that has passed still takes what is there.
        reactor.send(token, b"x");
        reactor.flush().unwrap();
        thread::sleep(Duration::from_millis(50));
        reactor.wait(0, &mut events).unwrap();
        assert_eq!(events.len(), 1);
    }
}

/// Once warm, a ring answers a batch of requests by one entry; a poller waits, sends and receives.
#[test]
fn entries_into_the_kernel_are_counted() {
    for choice in choices() {
        let mut reactor = Reactor::new(choice, 2).unwrap();
        let token = reactor.register(unix_echo()).unwrap();
        turn(&mut reactor, token);
        let before = reactor.kernel_entries().unwrap();
        (0..100).for_each(|_| turn(&mut reactor, token));
        let entries = reactor.kernel_entries().unwrap() - before;
        match choice {
            // The answer may come during the submission, or after it with one more wait.
            Choice::Ring | Choice::Auto => assert!((100..=200).contains(&entries), "{entries}"),
            // On a busy machine a wait may end before its event.
            Choice::Poller => assert!((300..=310).contains(&entries), "{entries}"),
        }
        reactor.close(token);
        while !reactor.has_room() {
            reactor.wait(now_ns() + MS, &mut Vec::new()).unwrap();
        }
    }
}

fn turn(reactor: &mut Reactor, token: Token) {
    reactor.send(token, b"x");
    receive(reactor, token, 1);
}

#[test]
fn closing_is_seen_by_the_peer_and_frees_the_place() {
    for choice in choices() {
        let mut reactor = Reactor::new(choice, 2).unwrap();
        let mut events = Vec::new();
        for _ in 0..20 {
            let (here, mut there) = UnixStream::pair().unwrap();
            let token = reactor.register(here).unwrap();
            assert!(token.slot_index() < 2);
            reactor.wait(0, &mut events).unwrap();
            reactor.close(token);
            assert_eq!(there.read(&mut [0; 8]).unwrap(), 0);
            reactor.wait(now_ns() + 5 * MS, &mut events).unwrap();
        }
        assert_eq!(events, []);
        let (_keep, one) = UnixStream::pair().unwrap();
        let (_keep_too, two) = UnixStream::pair().unwrap();
        let (_more, three) = UnixStream::pair().unwrap();
        reactor.register(one).unwrap();
        reactor.register(two).unwrap();
        assert!(reactor.register(three).is_err());
    }
}

#[test]
fn the_end_of_a_reactor_closes_its_sockets_at_once() {
    for choice in choices() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let mut reactor = Reactor::new(choice, 1).unwrap();
        let token = reactor.register(here).unwrap();
        reactor.send(token, &pattern(1_000_000));
        reactor.flush().unwrap();
        let start = now_ns();
        drop(reactor);
        assert!(now_ns() - start < 1_000 * MS);
        there.set_nonblocking(true).unwrap();
        let mut rest = Vec::new();
        there.read_to_end(&mut rest).unwrap();
        assert!(pattern(1_000_000).starts_with(&rest));
    }
}

#[test]
fn thousands_of_connections() {
    let limit = crate::limits::raise_open_files().unwrap().soft.unwrap_or(20_000);
    // Both ends are in this process, next to other tests.
    let count = (limit.saturating_sub(500) / 2 - 100).min(4_000) as usize;
    for choice in choices() {
        let path = std::env::temp_dir().join(format!("etalon-reactor-{}-{choice:?}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        let mut reactor = Reactor::new(choice, count).unwrap();
        let mut peers = Vec::new();
        let tokens: Vec<Token> = (0..count)
            .map(|_| {
                let here = Socket::connect_unix(&path, Duration::from_secs(5), &|| true).unwrap();
                peers.push(listener.accept().unwrap().0);
                reactor.register(here).unwrap()
            })
            .collect();
        std::fs::remove_file(&path).unwrap();
        let server = thread::spawn(move || {
            for peer in peers.iter_mut().rev() {
                let mut number = [0; 8];
                peer.read_exact(&mut number).unwrap();
                peer.write_all(&number).unwrap();
            }
        });
        for token in &tokens {
            reactor.send(*token, &token.slot_index().to_be_bytes());
        }
        let mut ends = 0;
        let mut answers = 0;
        while ends < count {
            for event in wait(&mut reactor) {
                match event.kind {
                    EventKind::Data => {
                        assert_eq!(reactor.received(event.token), event.token.slot_index().to_be_bytes());
                        reactor.consume(event.token, 8);
                        answers += 1;
                    }
                    EventKind::Closed => ends += 1,
                    EventKind::Error(code) => panic!("{code}"),
                }
            }
        }
        assert_eq!(answers, count);
        server.join().unwrap();
        tokens.iter().for_each(|token| reactor.close(*token));
    }
}

#[test]
fn a_kernel_that_forbids_the_ring_gets_a_poller() {
    let forbidden = |_| Err("forbidden here".to_owned());
    let reactor = Reactor::with_ring(Choice::Auto, 1, forbidden).unwrap();
    assert_eq!(reactor.kind(), format!("{} (io_uring: forbidden here)", poller::NAME));
    let error = Reactor::with_ring(Choice::Ring, 1, forbidden).unwrap_err();
    assert_eq!(error.to_string(), "cannot use io_uring: forbidden here");
    assert!(Reactor::new(Choice::Poller, 1).unwrap().kind().starts_with(poller::NAME));
    println!("{}", Reactor::new(Choice::Auto, 1).unwrap().kind());
}

#[test]
fn more_answers_than_buffers_all_arrive() {
    // 1,000 sockets that answer at once find 256 buffers: the others are asked for again.
    for choice in choices() {
        let mut reactor = Reactor::new(choice, 1_000).unwrap();
        let pairs: Vec<(Token, UnixStream)> = (0..1_000)
            .map(|_| {
                let (here, there) = UnixStream::pair().unwrap();
                (reactor.register(here).unwrap(), there)
            })
            .collect();
        let mut events = Vec::new();
        reactor.wait(0, &mut events).unwrap();
        for (_, there) in &pairs {
            (&*there).write_all(b"now").unwrap();
        }
        let mut seen = 0;
        while seen < 1_000 {
            for event in wait(&mut reactor) {
                assert_eq!(event.kind, EventKind::Data);
                assert_eq!(reactor.received(event.token), b"now");
                reactor.consume(event.token, 3);
                seen += 1;
            }
        }
    }
}

/// An address at which nothing answers at all is left as soon.
#[test]
fn a_connection_that_is_not_taken_is_left_at_an_interrupt() {
    let began = Instant::now();
    // A queue of one is full with two.
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&"127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap().into()).unwrap();
    listener.listen(0).unwrap();
    let port = listener.local_addr().unwrap().as_socket().unwrap().port();
    let mut taken = Vec::new();
    let left = loop {
        let timeout = Duration::from_secs(8);
        let goes_on = &|| began.elapsed() < Duration::from_millis(300);
        match Socket::connect_tcp("127.0.0.1", port, timeout, Vigilance::default(), goes_on) {
            Ok(socket) => taken.push(socket),
            Err(cause) => break cause,
        }
    };
    assert_eq!(left.kind(), io::ErrorKind::Interrupted);
    assert!(began.elapsed() < Duration::from_secs(2));
}
