//! Shared connections, first come, first served.

use std::collections::VecDeque;

use crate::traffic::PoolSize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingClient {
    pub client: usize,
    pub since_ns: u64,
}

#[derive(Debug)]
pub struct ConnectionPool {
    /// Either this queue or the waiting one is empty.
    free: VecDeque<usize>,
    waiting: VecDeque<WaitingClient>,
    /// The client of each connection.
    holders: Vec<Option<usize>>,
    timeout_ns: Option<u64>,
}

impl ConnectionPool {
    pub fn new(open: usize, size: PoolSize) -> ConnectionPool {
        ConnectionPool {
            free: (0..open).collect(),
            waiting: VecDeque::new(),
            holders: vec![None; open],
            timeout_ns: size.acquire_timeout_ns,
        }
    }

    /// Takes a connection if one is free; else the client waits in line.
    pub fn acquire(&mut self, client: usize, now_ns: u64) -> Option<usize> {
        let Some(connection) = self.free.pop_front() else {
            self.waiting.push_back(WaitingClient { client, since_ns: now_ns });
            return None;
        };
        self.holders[connection] = Some(client);
        Some(connection)
    }

    /// Gives a connection back; it goes to the client that has waited longest.
    pub fn release(&mut self, connection: usize) -> Option<WaitingClient> {
        let next = self.waiting.pop_front();
        self.holders[connection] = next.map(|waiting| waiting.client);
        if next.is_none() {
            self.free.push_back(connection);
        }
        next
    }

    /// The client that has a connection.
    pub fn holder(&self, connection: usize) -> Option<usize> {
        self.holders.get(connection).copied().flatten()
    }

    /// Number of clients in line.
    pub fn waiting_count(&self) -> usize {
        self.waiting.len()
    }

    /// All waits are equally long, so the first in line gives up first.
    pub fn deadline_ns(&self) -> Option<u64> {
        Some(self.waiting.front()?.since_ns.saturating_add(self.timeout_ns?))
    }

    /// Takes the first client out of the line if it has waited too long.
    pub fn give_up(&mut self, now_ns: u64) -> Option<WaitingClient> {
        if self.deadline_ns()? <= now_ns { self.waiting.pop_front() } else { None }
    }

    /// Takes all clients out of the line.
    pub fn dismiss_waiting(&mut self) -> impl Iterator<Item = WaitingClient> {
        self.waiting.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(open: usize, acquire_timeout_ns: Option<u64>) -> ConnectionPool {
        ConnectionPool::new(open, PoolSize { connections: open as u32, acquire_timeout_ns })
    }

    #[test]
    fn first_come_is_first_served() {
        let mut pool = pool(2, None);
        assert_eq!((pool.acquire(10, 0), pool.acquire(11, 1)), (Some(0), Some(1)));
        assert_eq!((pool.acquire(12, 2), pool.acquire(13, 3)), (None, None));
        assert_eq!(pool.waiting_count(), 2);
        assert_eq!(pool.release(1), Some(WaitingClient { client: 12, since_ns: 2 }));
        assert_eq!((pool.holder(0), pool.holder(1)), (Some(10), Some(12)));
        assert_eq!(pool.acquire(11, 4), None, "who comes back stands at the end");
        assert_eq!(pool.release(1).map(|next| next.client), Some(13));
        assert_eq!(pool.release(0).map(|next| next.client), Some(11));
        assert_eq!(pool.release(1), None);
        assert_eq!((pool.waiting_count(), pool.holder(1)), (0, None));
        assert_eq!(pool.acquire(14, 5), Some(1));
    }

    #[test]
    fn who_waits_too_long_leaves() {
        let mut pool = pool(1, Some(100));
        assert_eq!((pool.acquire(0, 0), pool.deadline_ns()), (Some(0), None));
        pool.acquire(1, 50);
        pool.acquire(2, 60);
        assert_eq!((pool.deadline_ns(), pool.give_up(149)), (Some(150), None));
        assert_eq!(pool.give_up(150).map(|waiting| waiting.client), Some(1));
        assert_eq!((pool.give_up(150), pool.deadline_ns()), (None, Some(160)));
        assert_eq!(pool.release(0).map(|next| next.client), Some(2));
    }
}
