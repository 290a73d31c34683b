//! Sessions and their application locks.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Shutdown, TcpStream};

/// One that is no client's: another étalon's.
const RIVAL: u64 = 0;
/// Étalon's lock, with the database in which it is.
const CLAIM: &str = "master etalon";

#[derive(Default)]
pub struct Sessions {
    last: u64,
    streams: BTreeMap<u64, TcpStream>,
    /// The session that has a lock.
    locks: BTreeMap<String, u64>,
    /// Sessions whose clients are gone, without the server's knowledge.
    remnants: BTreeSet<u64>,
}

impl Sessions {
    pub(super) fn begin(&mut self, stream: TcpStream) -> u64 {
        self.last += 1;
        self.streams.insert(self.last, stream);
        self.last
    }

    pub(super) fn end(&mut self, session: u64) {
        self.streams.remove(&session);
        if !self.remnants.contains(&session) {
            self.locks.retain(|_, holder| *holder != session);
        }
    }

    /// The session that has étalon's claim.
    pub fn holder(&self) -> Option<u64> {
        self.locks.get(CLAIM).copied()
    }

    /// Ends a session.
    pub fn cut(&mut self, session: u64) {
        self.locks.retain(|_, holder| *holder != session);
        self.close(session);
    }

    /// Ends a session's connection, which the server does not notice.
    pub fn leave_remnant(&mut self, session: u64) {
        self.remnants.insert(session);
        self.close(session);
    }

    pub fn end_remnants(&mut self) {
        let remnants = std::mem::take(&mut self.remnants);
        self.locks.retain(|_, holder| !remnants.contains(holder));
    }

    /// Another étalon takes the claim in the moment in which its session ends.
    pub fn rob(&mut self, session: u64) {
        self.cut(session);
        self.locks.insert(CLAIM.to_owned(), RIVAL);
    }

    pub fn end_rival(&mut self) {
        self.locks.retain(|_, holder| *holder != RIVAL);
    }

    fn close(&self, session: u64) {
        if let Some(stream) = self.streams.get(&session) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn get(&mut self, lock: String, session: u64) -> bool {
        *self.locks.entry(lock).or_insert(session) == session
    }

    /// Answers étalon's question for its claim by a session in `database`. `None`: it is another question.
    pub(super) fn claim(&mut self, session: u64, database: &str, sql: &str) -> Option<&'static str> {
        if !sql.contains("sp_getapplock") {
            return None;
        }
        let database = if sql.contains("master.sys.sp_getapplock") { "master" } else { database };
        let resources = sql.split("@Resource = N'").skip(1).filter_map(|rest| rest.split('\'').next());
        let mut locks = resources.map(|resource| format!("{database} {resource}"));
        let (claim, of_process) = (locks.next()?, locks.next()?);
        if self.get(claim, session) {
            return Some(if self.get(of_process, session) { "held" } else { "taken" });
        }
        Some(if self.locks.contains_key(&of_process) { "shared" } else { "taken" })
    }
}
