//! Once warm, a reactor does not allocate: the allocator of this program counts.
#![cfg(unix)]
#![allow(unsafe_code, reason = "an allocator has no safe form")]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};

use host::reactor::{Choice, EventKind, Reactor};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller vouches.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller vouches.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller vouches.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Each of the peers answers once, and each answer is taken.
fn round(
    reactor: &mut Reactor,
    pairs: &mut [(host::reactor::Token, UnixStream)],
    events: &mut Vec<host::reactor::Event>,
) {
    let mut request = [0; 40];
    for (token, _) in pairs.iter() {
        reactor.send(*token, &[7; 40]);
    }
    let now_ns = host::clock::now_ns();
    reactor.wait(now_ns, events).unwrap();
    for (_, peer) in pairs.iter_mut() {
        peer.read_exact(&mut request).unwrap();
        peer.write_all(&[9; 100]).unwrap();
    }
    let mut bytes = 0;
    while bytes < 100 * pairs.len() {
        for event in events.drain(..) {
            assert_eq!(event.kind, EventKind::Data);
            let length = reactor.received(event.token).len();
            reactor.consume(event.token, length);
            bytes += length;
        }
        if bytes < 100 * pairs.len() {
            reactor.wait(host::clock::now_ns() + 1_000_000_000, events).unwrap();
        }
    }
}

#[test]
fn a_warm_reactor_does_not_allocate() {
    for choice in [Choice::Auto, Choice::Poller] {
        let mut reactor = Reactor::new(choice, 50).unwrap();
        let mut pairs: Vec<_> = (0..50)
            .map(|_| {
                let (here, there) = UnixStream::pair().unwrap();
                (reactor.register(here).unwrap(), there)
            })
            .collect();
        let mut events = Vec::with_capacity(64);
        for _ in 0..20 {
            round(&mut reactor, &mut pairs, &mut events);
        }
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..200 {
            round(&mut reactor, &mut pairs, &mut events);
        }
        assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), before, "{}", reactor.kind());
    }
}
