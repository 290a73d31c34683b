//! Sessions counted by the server: asked before the load's first operation and after its last, so that other users do
//! not count.

use crate::server::dialogue::{Vigil, Waiting};
use load::error::{Failure, FailureKind};
use load::lane::{
    Completion, Instants, KeptRow, Lane, OpError, OpOutcome, RowCounts, SessionCounts, Submitted, SyncPoint, Transfer,
};
use load::worker::WorkerContext;
use model::DurabilityTier;
use workloads::transactions::{Program, Protocol, Rows, StatementOp};

/// Timeout of a session's answer.
const TIMEOUT_NS: u64 = 30_000_000_000;
/// Longest wait without a look at an interrupt.
const SLICE_NS: u64 = 200_000_000;
/// Concurrent questions of a worker: PostgreSQL's answer scans all sessions' locks, so asking all at once would be
/// quadratic.
const ASKED_AT_ONCE: usize = 32;

/// Asks a session for its server's counts. The question counts itself.
#[derive(Clone)]
pub(crate) struct CountsQuery {
    /// The first column identifies the session; counts follow.
    pub(crate) sql: &'static str,
    /// Meaning of the columns after the first.
    pub(crate) columns: &'static [Counting],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// Begun, the question's own included.
    Transactions,
    /// The question included.
    Statements,
    /// `COMMIT`s.
    Commits,
    /// 0 if the session's commits do not wait for the log, else 1.
    Waits,
}

impl CountsQuery {
    /// Makes the operation that asks a session for its counts.
    fn counts_op(&self, program: &Program) -> StatementOp {
        let text = if program.protocol() == Protocol::Simple { self.sql.to_owned() } else { String::new() };
        StatementOp { statement: program.statements().len(), text, rows: Rows::Keep, ..StatementOp::default() }
    }

    /// Reads a session's number and counts from its answer; `None` if it has no such row.
    fn read_counts(&self, results: &[KeptRow]) -> Option<(i64, SessionCounts)> {
        let row = results.last().filter(|row| row.rows == 1)?;
        let session = row.values.first()?.as_int()?;
        let mut counts = SessionCounts::default();
        for (column, value) in self.columns.iter().zip(row.values.get(1..)?) {
            let value = u64::try_from(value.as_int()?).ok()?;
            match column {
                Counting::Transactions => counts.transactions = Some(value),
                Counting::Statements => counts.statements = Some(value),
                Counting::Commits => counts.commits = Some(value),
                Counting::Waits => {
                    counts.promise = Some(if value == 0 { DurabilityTier::Delayed } else { DurabilityTier::Durable });
                }
            }
        }
        Some((session, counts))
    }
}

/// Forwards methods to an inner lane.
macro_rules! delegate_to_lane {
    () => {
        fn flush(&mut self) {
            self.lane.flush();
        }

        fn kept_rows(&self, client: usize) -> &[KeptRow] {
            self.lane.kept_rows(client)
        }

        fn reap(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) {
            self.lane.reap(deadline_ns, into);
        }

        fn recover(&mut self, client: usize) -> Option<OpOutcome> {
            self.lane.recover(client)
        }

        fn helpers_cpu_ns(&self) -> u64 {
            self.lane.helpers_cpu_ns()
        }

        fn helper_threads(&self) -> usize {
            self.lane.helper_threads()
        }

        fn end_transaction(&mut self, client: usize) -> Result<(), OpError> {
            self.lane.end_transaction(client)
        }

        fn instants_ns(&self, client: usize) -> (u64, u64) {
            self.lane.instants_ns(client)
        }

        fn begin_measurement(&mut self) {
            self.lane.begin_measurement();
        }

        fn block_transfer(&mut self) -> Option<Transfer> {
            self.lane.block_transfer()
        }

        fn session_number(&self, client: usize) -> Option<u32> {
            self.lane.session_number(client)
        }

        fn row_counts(&self, connection: usize) -> Option<RowCounts> {
            self.lane.row_counts(connection)
        }

        fn kernel_entries(&self) -> Option<u64> {
            self.lane.kernel_entries()
        }

        fn close(self) {
            self.lane.close();
        }
    };
}

/// A lane with counted sessions.
pub(crate) struct Counted<L> {
    lane: L,
    question: CountsQuery,
    op: StatementOp,
    /// Each session's counts before the load.
    before: Result<Vec<(i64, SessionCounts)>, String>,
    waiting: Waiting,
}

impl<L: Lane<Op = StatementOp>> Counted<L> {
    /// Wraps a lane, and asks each of its sessions for the counts before the load.
    /// `lane` has prepared the program's statements, and the question after them. A silent session is an error: its
    /// late answer would be taken for the load's first.
    pub(crate) fn new(
        lane: L,
        question: CountsQuery,
        program: &Program,
        context: &WorkerContext<'_>,
        waiting: Waiting,
    ) -> Result<Counted<L>, Failure> {
        let op = question.counts_op(program);
        Counted::from_op(lane, question, op, context.open_connections(), waiting)
    }

    /// Wraps a lane whose sessions are asked by `op` for their counts, and asks each once.
    fn from_op(
        lane: L,
        question: CountsQuery,
        op: StatementOp,
        connections: usize,
        waiting: Waiting,
    ) -> Result<Counted<L>, Failure> {
        let mut counted = Counted { lane, question, op, before: Err(String::new()), waiting };
        counted.before = counted.ask_counts(connections)?.and_then(|before| {
            counted.check_sessions_are_logins(&before)?;
            let mut sessions: Vec<i64> = before.iter().map(|(session, _)| *session).collect();
            sessions.sort_unstable();
            sessions.dedup();
            if sessions.len() == before.len() { Ok(before) } else { Err(SHARED.to_owned()) }
        });
        Ok(counted)
    }

    /// Fails if a session that answers is not the one of its client's login: a proxy may route reads elsewhere.
    fn check_sessions_are_logins(&self, answers: &[(i64, SessionCounts)]) -> Result<(), String> {
        let is_elsewhere = answers.iter().enumerate().any(|(client, (session, _))| {
            // MySQL's login reports the last 32 bits of longer numbers.
            self.lane.session_number(client).is_some_and(|number| number != *session as u32)
        });
        if is_elsewhere { Err(ELSEWHERE.to_owned()) } else { Ok(()) }
    }

    /// Asks each session for its counts so far: an inner error says why there are none.
    fn ask_counts(&mut self, connections: usize) -> Result<Result<Vec<(i64, SessionCounts)>, String>, Failure> {
        let (mut asked, mut waiting) = (0, 0);
        let mut failed = None;
        let mut ended = Vec::new();
        let mut deadline_ns = host::clock::now_ns() + TIMEOUT_NS;
        let mut vigil = Vigil::new(self.waiting.clone(), COUNTS);
        loop {
            while asked < connections && waiting < ASKED_AT_ONCE && failed.is_none() {
                match self.lane.submit(asked, &self.op) {
                    Submitted::Queued => waiting += 1,
                    Submitted::Done(OpOutcome::Ok) => {}
                    Submitted::Done(OpOutcome::Failed(error)) => failed = Some(error.message),
                    Submitted::Busy => failed = Some("the connection was busy".to_owned()),
                }
                asked += 1;
            }
            if waiting == 0 {
                break;
            }
            self.lane.flush();
            let slice_ns = host::clock::now_ns() + SLICE_NS;
            self.lane.reap(deadline_ns.min(slice_ns), &mut ended);
            match (ended.is_empty(), host::clock::now_ns()) {
                (true, now_ns) if now_ns >= deadline_ns => {
                    return Err(silent_failure(waiting + connections - asked, connections));
                }
                (true, now_ns) if now_ns >= slice_ns => {
                    vigil.check_silence().map_err(|cause| Failure::new(FailureKind::Interrupted, ASK, cause))?;
                }
                (true, _) => {}
                (false, now_ns) => {
                    deadline_ns = now_ns + TIMEOUT_NS;
                    vigil.note_answer();
                }
            }
            for Completion { outcome, .. } in ended.drain(..) {
                waiting -= 1;
                if let OpOutcome::Failed(error) = outcome {
                    failed = Some(error.message);
                }
            }
        }
        if let Some(message) = failed {
            return Ok(Err(format!("the server does not tell a session what it has counted of it: {message}")));
        }
        let all: Option<Vec<_>> =
            (0..connections).map(|client| self.question.read_counts(self.lane.kept_rows(client))).collect();
        Ok(all.ok_or_else(|| "the server tells no session what it has counted of it".to_owned()))
    }
}

/// Makes the failure that `silent` sessions of all connections did not answer.
fn silent_failure(silent: usize, connections: usize) -> Failure {
    let cause = format!("{silent} of {connections} sessions did not answer");
    Failure::new(FailureKind::Other, ASK, cause)
}

const ASK: &str = "ask the sessions what the server has counted of them";
/// The question, in notices.
const COUNTS: &str = "question for a session's counts";

const ELSEWHERE: &str = "the session that answers is not the one that the client was let into: is there a pooler or a proxy before the server?";
const SHARED: &str = "the connections do not keep to sessions of their own: is there a pooler before the server?";

impl<L: Lane<Op = StatementOp>> Lane for Counted<L> {
    const INSTANTS: Instants = L::INSTANTS;

    type Op = StatementOp;

    /// Begins a client's operation on the inner lane.
    fn submit(&mut self, client: usize, op: &StatementOp) -> Submitted {
        self.lane.submit(client, op)
    }

    fn sync_pipeline(&mut self, client: usize, point: SyncPoint) -> Submitted {
        self.lane.sync_pipeline(client, point)
    }

    /// Reconnects a client, after which no session's counts are believed.
    fn reconnect(&mut self, client: usize) -> Option<OpOutcome> {
        self.before = Err("connections were made anew, and what a session has counted ends with it".to_owned());
        self.lane.reconnect(client)
    }

    /// Sums what all sessions have counted since before the load.
    fn session_counts(&mut self) -> Result<SessionCounts, String> {
        let before = std::mem::replace(&mut self.before, Err("it was asked before".to_owned()))?;
        let after = self.ask_counts(before.len()).map_err(|failure| failure.cause)??;
        let mut all: Option<SessionCounts> = None;
        for ((session, before), (same, after)) in before.into_iter().zip(after) {
            if session != same {
                return Err(SHARED.to_owned());
            }
            let counted = after.since(before).ok_or(SHARED)?;
            all = Some(all.map_or(counted, |sum| sum.plus(counted)));
        }
        all.ok_or_else(|| "there are no sessions".to_owned())
    }

    delegate_to_lane!();
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use load::datum::Datum;

    /// A server with many sessions that answers in order. Some answers come from a foreign session.
    struct Sessions {
        logins: Vec<u32>,
        answering: Vec<i64>,
        queue: std::collections::VecDeque<usize>,
        most_at_once: usize,
        kept: Vec<Vec<KeptRow>>,
        ops: i64,
    }

    impl Sessions {
        fn new(logins: Vec<u32>, answering: Vec<i64>) -> Sessions {
            let kept = vec![Vec::new(); logins.len()];
            Sessions { logins, answering, queue: std::collections::VecDeque::new(), most_at_once: 0, kept, ops: 0 }
        }
    }

    impl Lane for Sessions {
        type Op = StatementOp;

        fn submit(&mut self, client: usize, _op: &StatementOp) -> Submitted {
            self.queue.push_back(client);
            self.most_at_once = self.most_at_once.max(self.queue.len());
            Submitted::Queued
        }

        fn kept_rows(&self, client: usize) -> &[KeptRow] {
            &self.kept[client]
        }

        fn reap(&mut self, _deadline_ns: u64, into: &mut Vec<Completion>) {
            let Some(client) = self.queue.pop_front() else { return };
            self.ops += 1;
            let values = vec![Datum::Int(self.answering[client]), Datum::Int(self.ops)];
            self.kept[client] = vec![KeptRow { rows: 1, columns: Vec::new(), values }];
            into.push(Completion { client, outcome: OpOutcome::Ok });
        }

        fn recover(&mut self, _client: usize) -> Option<OpOutcome> {
            Some(OpOutcome::Ok)
        }

        fn session_number(&self, client: usize) -> Option<u32> {
            self.logins.get(client).copied()
        }

        fn close(self) {}
    }

    const QUESTION: CountsQuery = CountsQuery { sql: "SELECT", columns: &[Counting::Transactions] };

    fn counted(logins: &[u32], answering: &[i64]) -> Counted<Sessions> {
        let lane = Sessions::new(logins.to_vec(), answering.to_vec());
        Counted::from_op(lane, QUESTION, StatementOp::default(), logins.len(), Waiting::default()).unwrap()
    }

    #[test]
    fn sessions_are_asked_in_turn_and_all_of_them() {
        let logins: Vec<u32> = (1..=1_000).collect();
        let mut counted = counted(&logins, &(1..=1_000).collect::<Vec<_>>());
        assert_eq!(counted.lane.most_at_once, ASKED_AT_ONCE);
        // Each answers a thousand answers later, one of them the question's own.
        let seen = counted.session_counts().unwrap();
        assert_eq!((seen.transactions, counted.lane.ops), (Some(999 * 1_000), 2_000));
        assert_eq!(counted.lane.most_at_once, ASKED_AT_ONCE);
    }

    #[test]
    fn sessions_that_are_not_those_of_the_logins_are_not_counted() {
        for (logins, answering, reason, why) in [
            (&[1, 2, 3][..], &[1, 7, 3][..], ELSEWHERE, "a proxy has sent the question to another server"),
            (&[0], &[7], ELSEWHERE, "what answered the login reported no number"),
            (&[1, 1], &[1, 1], SHARED, "two clients share a session"),
        ] {
            assert_eq!(counted(logins, answering).session_counts().unwrap_err(), reason, "{why}");
        }
        let long = counted(&[5], &[(1 << 32) + 5]).session_counts().unwrap();
        assert_eq!(long.transactions, Some(0), "the login tells the last 32 bits");
    }

    /// Reports every n-th operation as a success without submitting it.
    pub(crate) struct Lying<L> {
        lane: L,
        every: u64,
        ops: u64,
    }

    impl<L> Lying<L> {
        pub(crate) fn new(lane: L, every: u64) -> Lying<L> {
            Lying { lane, every, ops: 0 }
        }
    }

    impl<L: Lane<Op = StatementOp>> Lane for Lying<L> {
        const INSTANTS: Instants = L::INSTANTS;

        type Op = StatementOp;

        fn submit(&mut self, client: usize, op: &StatementOp) -> Submitted {
            self.ops += 1;
            if op.rows == Rows::Discard && self.ops.is_multiple_of(self.every) {
                return Submitted::Done(OpOutcome::Ok);
            }
            self.lane.submit(client, op)
        }

        fn sync_pipeline(&mut self, client: usize, point: SyncPoint) -> Submitted {
            self.lane.sync_pipeline(client, point)
        }

        fn reconnect(&mut self, client: usize) -> Option<OpOutcome> {
            self.lane.reconnect(client)
        }

        fn session_counts(&mut self) -> Result<SessionCounts, String> {
            self.lane.session_counts()
        }

        delegate_to_lane!();
    }
}
