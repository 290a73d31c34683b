//! A system between a workload and the engine, which changes what is sent and what comes back.

use std::ops::Range;

use load::counters::{Counters, Placement};
use load::datum::Datum;
use load::error::Failure;
use load::generator::ThreadLimit;
use load::worker::{LoadCounts, WorkerContext};
use model::Facts;
use workloads::backup::backups::Backups;
use workloads::dataset::{Dataset, Dialect};
use workloads::pages::dialect::PagesDialect;
use workloads::session::{Session, SessionKind};
use workloads::spatial::dialect::SpatialDialect;
use workloads::system::{CpuHold, OsIo, System};
use workloads::work::Load;

type Rows = Vec<Vec<Datum>>;

/// What is done to the traffic of a session, and what the engine is said to be able to.
#[derive(Clone, Copy)]
pub struct Tamper {
    /// The statements that are sent in place of the session's n-th, which counts from 0.
    pub statements: fn(&str, u64) -> Vec<String>,
    /// What is told of an answer to a query that the session has been asked so many times before.
    pub answer: fn(&str, Rows, usize) -> Rows,
    /// Whether failures are told as successes.
    pub swallows: bool,
    /// Whether a query that was asked before is answered without the engine.
    pub remembers: bool,
    pub pages: fn(&'static dyn PagesDialect) -> &'static dyn PagesDialect,
    pub spatial: fn(&'static dyn SpatialDialect) -> &'static dyn SpatialDialect,
    pub backups: for<'b> fn(Box<dyn Backups + 'b>) -> Box<dyn Backups + 'b>,
    pub data: fn(&Dataset) -> Dataset,
    pub drive: fn(&dyn System, Load<'_>, WorkerContext<'_>) -> Result<LoadCounts, Failure>,
}

impl Tamper {
    /// Everything goes through as it is.
    pub const NONE: Tamper = Tamper {
        statements: |sql, _| vec![sql.to_owned()],
        answer: |_, rows, _| rows,
        swallows: false,
        remembers: false,
        pages: |dialect| dialect,
        spatial: |dialect| dialect,
        backups: |backups| backups,
        data: Dataset::clone,
        drive: |system, load, context| system.drive(load, context),
    };
}

pub struct Faulty<'s> {
    pub inner: &'s dyn System,
    pub tamper: Tamper,
}

struct FaultySession {
    inner: Box<dyn Session>,
    tamper: Tamper,
    sent: u64,
    answers: Vec<(String, Rows)>,
}

impl FaultySession {
    /// Sends all but the last of what takes the statement's place, which is given back.
    fn send(&mut self, sql: &str) -> Result<Option<String>, Failure> {
        let mut all = (self.tamper.statements)(sql, self.sent);
        self.sent += 1;
        let last = all.pop();
        all.iter().try_for_each(|sql| self.inner.execute(sql))?;
        Ok(last)
    }

    fn judge(&self, ended: Result<(), Failure>) -> Result<(), Failure> {
        if self.tamper.swallows { Ok(()) } else { ended }
    }
}

impl Session for FaultySession {
    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        let ended = self.send(sql).and_then(|last| last.map_or(Ok(()), |sql| self.inner.execute(&sql)));
        self.judge(ended)
    }

    fn execute_repeated(&mut self, sql: &str) -> Result<(), Failure> {
        let ended = self.send(sql).and_then(|last| last.map_or(Ok(()), |sql| self.inner.execute_repeated(&sql)));
        self.judge(ended)
    }

    fn reported_cpu_s(&self) -> Option<f64> {
        self.inner.reported_cpu_s()
    }

    fn committed_count(&self) -> Option<u64> {
        self.inner.committed_count()
    }

    fn query_count(&self) -> Option<u64> {
        self.inner.query_count()
    }

    fn query(&mut self, sql: &str) -> Result<Rows, Failure> {
        let before = self.answers.iter().filter(|(known, _)| known == sql).count();
        if let Some((_, rows)) = self.answers.iter().find(|(known, _)| known == sql && self.tamper.remembers) {
            return Ok(rows.clone());
        }
        let rows = match self.send(sql)? {
            Some(sent) => (self.tamper.answer)(sql, self.inner.query(&sent)?, before),
            None => Vec::new(),
        };
        self.answers.push((sql.to_owned(), rows.clone()));
        Ok(rows)
    }
}

impl System for Faulty<'_> {
    fn facts(&self) -> Result<Facts, Failure> {
        self.inner.facts()
    }

    fn dialect(&self) -> &'static dyn Dialect {
        self.inner.dialect()
    }

    fn placement(&self) -> Placement {
        self.inner.placement()
    }

    fn prepare(&self, data: &Dataset) -> Result<(), Failure> {
        self.inner.prepare(&(self.tamper.data)(data))
    }

    fn settle(&self) -> Result<(), Failure> {
        self.inner.settle()
    }

    fn counters(&self) -> Result<Counters, Failure> {
        self.inner.counters()
    }

    fn scalar(&self, sql: &str) -> Result<i64, Failure> {
        self.inner.scalar(sql)
    }

    fn split_clients(&self, clients: Range<u32>, threads: ThreadLimit) -> Vec<Range<u32>> {
        self.inner.split_clients(clients, threads)
    }

    fn drive(&self, load: Load<'_>, context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        (self.tamper.drive)(self.inner, load, context)
    }

    fn connect_session(&self, kind: SessionKind) -> Result<Box<dyn Session>, Failure> {
        let inner = self.inner.connect_session(kind)?;
        Ok(Box::new(FaultySession { inner, tamper: self.tamper, sent: 0, answers: Vec::new() }))
    }

    fn read_session_facts(&self, kind: SessionKind) -> Result<Facts, Failure> {
        self.inner.read_session_facts(kind)
    }

    fn empty_caches(&self) -> Result<(), Failure> {
        self.inner.empty_caches()
    }

    fn pages_dialect(&self) -> Option<&'static dyn PagesDialect> {
        self.inner.pages_dialect().map(self.tamper.pages)
    }

    fn spatial_dialect(&self) -> Option<&'static dyn SpatialDialect> {
        self.inner.spatial_dialect().map(self.tamper.spatial)
    }

    fn backups(&self) -> Result<Box<dyn Backups + '_>, Failure> {
        self.inner.backups().map(self.tamper.backups)
    }

    fn server_cpu_s(&self) -> Result<f64, String> {
        self.inner.server_cpu_s()
    }

    fn own_file_traffic(&self) -> Result<host::sqlite_vfs::Traffic, String> {
        self.inner.own_file_traffic()
    }

    fn os_io(&self) -> Result<OsIo, String> {
        self.inner.os_io()
    }

    fn limit_cpu(&self, cores: f64) -> Result<Box<dyn CpuHold>, Failure> {
        self.inner.limit_cpu(cores)
    }

    fn drop_all(&self) -> Result<(), Failure> {
        self.inner.drop_all()
    }
}
