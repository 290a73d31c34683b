//! Latencies against a server whose delays are known: what étalon stores must be what the server itself noted.
//!
//! The server is a real one behind a relay that holds each answer of the load back until it is due, and notes when a
//! request arrived and when its answer left. Étalon runs whole: plan, conductor, lane, store.
//!
//! 1 % or 20 µs, whichever is more, is allowed for the median, the 99th percentile and the maximum, and the rounding of a
//! histogram of three digits. Between the relay's notes and étalon's the operating system has to wake two sleepers, the
//! relay and étalon; the [`Witness`]
//! measures how late it does so at the time. The rule:
//!
//! - the ordinary suite checks the median, the slow one all three;
//! - étalon's figures may never lie below the server's;
//! - a figure that is off counts if others took less than [`QUIET_SHARE`] of the machine and twice the witness's
//!   lateness at the same quantile is within what is allowed; [`HONEST_ATTEMPTS`] of those fail the test;
//! - an attempt that is off and does not count is repeated, up to [`ATTEMPTS`] in all. After the last one the test
//!   accepts medians that are not far off, and says that the machine cannot show more.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use host::watch::Watched;
use model::SeriesKind;

use crate::experiment::{Outcome, conduct};
use crate::file;
use crate::relay::{Answer, Delays, MARK, Relay};
use crate::server::Server;
use crate::slow::is_slow;
use crate::witness::{Lateness, Witness};

/// Share of the machine that others may take in an attempt that counts, stolen time included.
const QUIET_SHARE: f64 = 0.02;
/// Attempts on a quiet machine that must be off for the test to fail.
const HONEST_ATTEMPTS: u32 = 3;
const ATTEMPTS: u32 = 4;
/// Sleepers between the relay's notes and étalon's.
const SLEEPERS: f64 = 2.0;
/// Allowed error: a share, or an absolute one.
const ALLOWED_SHARE: f64 = 0.01;
const ALLOWED_NS: f64 = 20_000.0;
/// Allowed error of a median if no attempt was quiet.
const BUSY_SHARE: f64 = 0.25;
/// A histogram of three digits rounds by at most this.
const ROUNDING: f64 = 0.001;

const MS: u64 = 1_000_000;

struct Case {
    name: &'static str,
    delays: Delays,
    clients: u32,
    /// Transactions a second; 0 for the closed loop.
    rate: u32,
    length_ms: u32,
}

struct Seen {
    expected: Vec<u64>,
    stored: Histogram<u64>,
    disturbed: f64,
    lateness: Lateness,
}

struct Figure {
    name: &'static str,
    server_ns: f64,
    etalon_ns: f64,
    /// What the machine alone may have added.
    late_ns: f64,
}

impl Figure {
    fn allowed_ns(&self) -> f64 {
        (self.server_ns * ALLOWED_SHARE).max(ALLOWED_NS)
    }

    fn off_ns(&self) -> f64 {
        self.etalon_ns - self.server_ns
    }

    /// The histogram's rounding is not the clock's: it may go up as well as down.
    fn is_off(&self) -> bool {
        self.off_ns() > self.allowed_ns() + self.server_ns * ROUNDING
    }
}

impl Case {
    fn run(&self, server: &Server) -> Seen {
        let relay = Relay::start(server.folder().join(".s.PGSQL.5432"), self.delays);
        let folder = tempfile::tempdir().unwrap();
        let script = file(folder.path(), "mark.sql", &format!("SELECT 1 AS {MARK};\n"));
        let plan = format!(
            "[systems.known]\nurl = \"{}\"\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"{}\"\n\
             clients = {}\nrate = {}\n[schedule]\nrounds = 1\nwarmup = \"0s\"\nduration = \"{}ms\"\nseed = 1\n",
            relay.url(),
            script.display(),
            self.clients,
            self.rate,
            self.length_ms
        );
        relay.watch();
        let witness = Witness::start();
        let outcome = conduct(&plan);
        let (lateness, answers) = (witness.ask(), relay.answers());
        Seen { expected: self.expected(&answers), stored: stored(&outcome), disturbed: relay.disturbed(), lateness }
    }

    /// The latencies by the server's notes, ascending. In the closed loop a transaction begins when it is sent. Under
    /// a rate it begins at its intended instant: request number i at i periods after the start, which is where the
    /// earliest request puts it.
    fn expected(&self, answers: &[Answer]) -> Vec<u64> {
        let mut latencies: Vec<u64> = if self.rate == 0 {
            answers.iter().map(|answer| answer.left_ns - answer.arrived_ns).collect()
        } else {
            let period_ns = 1_000_000_000 / u64::from(self.rate);
            let offset = |number: usize| number as u64 * period_ns;
            let starts = answers.iter().enumerate().map(|(number, answer)| answer.arrived_ns - offset(number));
            let start_ns = starts.min().unwrap();
            answers.iter().enumerate().map(|(number, answer)| answer.left_ns - start_ns - offset(number)).collect()
        };
        latencies.sort_unstable();
        latencies
    }

    /// Repeats until the figures agree, by the rule above.
    fn prove(&self, server: &Server) -> Seen {
        let mut honest = 0;
        for attempt in 1.. {
            let seen = self.run(server);
            let figures = seen.figures();
            for figure in &figures {
                let rounding = figure.server_ns * ROUNDING;
                assert!(figure.off_ns() >= -rounding, "less than the server noted: {}", self.row(figure));
            }
            let held = if is_slow() { &figures[..] } else { &figures[..1] };
            let off: Vec<&Figure> = held.iter().filter(|figure| figure.is_off()).collect();
            let is_quiet = seen.disturbed < QUIET_SHARE;
            honest += u32::from(is_quiet && off.iter().any(|figure| figure.late_ns <= figure.allowed_ns()));
            let is_last = off.is_empty() || honest == HONEST_ATTEMPTS || attempt == ATTEMPTS;
            let prefix = if is_last { "latency truth".to_owned() } else { format!("attempt {attempt} of {ATTEMPTS}") };
            figures.iter().for_each(|figure| eprintln!("{prefix}: {}", self.row(figure)));
            if off.is_empty() {
                return seen;
            }
            let busy = format!("others took {:.1} % of the machine", seen.disturbed * 100.0);
            assert!(honest < HONEST_ATTEMPTS, "{}: {} figures are off, and {busy}", self.name, off.len());
            if is_last {
                let median = &figures[0];
                assert!(median.off_ns() < median.server_ns * BUSY_SHARE, "{}", self.row(median));
                eprintln!("{}: NOT SHOWN: this machine wakes sleepers too late, or {busy}", self.name);
                return seen;
            }
        }
        unreachable!("the last attempt returns")
    }

    fn row(&self, figure: &Figure) -> String {
        let us = |ns: f64| format!("{:.1}", ns / 1e3);
        let (server, etalon, late) = (us(figure.server_ns), us(figure.etalon_ns), us(figure.late_ns));
        let (off, allowed) = (us(figure.off_ns()), us(figure.allowed_ns()));
        format!("{}; {}; {server}; {etalon}; {late}; {off}; {allowed}", self.name, figure.name)
    }
}

impl Seen {
    fn figures(&self) -> Vec<Figure> {
        assert_eq!(self.expected.len() as u64, self.stored.len(), "a transaction has no latency, or two");
        let count = self.expected.len();
        // As in the histogram: the smallest value that at least this share does not exceed.
        let exact = |quantile: f64| self.expected[((quantile * count as f64).ceil() as usize).max(1) - 1] as f64;
        let figure = |name, quantile: f64| Figure {
            name,
            server_ns: exact(quantile),
            etalon_ns: self.stored.value_at_quantile(quantile) as f64,
            late_ns: SLEEPERS * self.lateness.quantile_ns(quantile),
        };
        vec![figure("p50", 0.5), figure("p99", 0.99), figure("maximum", 1.0)]
    }

    /// How many latencies are longer than this, by the server's notes and by étalon's.
    fn longer_than(&self, limit_ns: u64) -> (u64, u64) {
        let expected = self.expected.iter().filter(|latency| **latency > limit_ns).count();
        let stored = self.stored.iter_recorded().filter(|value| value.value_iterated_to() > limit_ns);
        (expected as u64, stored.map(|value| value.count_at_value()).sum())
    }
}

fn stored(outcome: &Outcome) -> Histogram<u64> {
    let run = outcome.store().runs().unwrap()[0].id;
    let series = outcome.store().series_of(run).unwrap();
    let whole = series.iter().find(|one| one.kind == SeriesKind::Response && one.interval.is_none()).unwrap();
    Deserializer::new().deserialize(&mut whole.histogram.as_slice()).unwrap()
}

/// The share of the machine's time that others or the hypervisor took; all of it if that is not known.
pub fn disturbance(watched: &Watched) -> f64 {
    let others = watched.others.as_ref().ok().zip(watched.core_count()).map(|(load, cores)| load.mean_cores / cores);
    let steal = watched.cpu.as_ref().map(|cpu| cpu.steal_share);
    others.zip(steal.ok()).map_or(1.0, |(others, steal)| others + steal)
}

/// Longer where there is time for it.
fn length_ms(usual: u32) -> u32 {
    if is_slow() { usual * 6 } else { usual }
}

#[test]
fn latencies_are_those_that_the_server_noted() {
    let server = Server::start(&[]);
    let fixed =
        Case { name: "fixed, 60 ms", delays: Delays::Fixed(60 * MS), clients: 1, rate: 0, length_ms: length_ms(3_000) };
    let seen = fixed.prove(&server);
    assert!(seen.stored.len() > u64::from(fixed.length_ms) / 60 * 9 / 10, "{}", seen.stored.len());
}

#[test]
fn slow_answers_among_usual_ones_are_those_that_the_server_noted() {
    let server = Server::start(&[]);
    let delays = Delays::Bimodal { usual_ns: 60 * MS, slow_ns: 400 * MS, slow_every: 10 };
    let bimodal = Case { name: "bimodal, 60 and 400 ms", delays, clients: 4, rate: 0, length_ms: length_ms(2_000) };
    let seen = bimodal.prove(&server);
    let (expected, stored) = seen.longer_than(200 * MS);
    assert_eq!(expected, stored);
    assert!((expected as f64 / seen.expected.len() as f64 - 0.1).abs() < 0.03, "{expected}");
}

/// The server stops for a second. The requests that it kept waiting, sent late and answered at once, would look fast;
/// they are charged from their intended instants.
#[test]
fn a_stall_is_charged_to_every_request_that_it_delayed() {
    let server = Server::start(&[]);
    let stall_ns = 1_000 * MS;
    let delays = Delays::Stall { usual_ns: 2 * MS, from_ns: 500 * MS, length_ns: stall_ns };
    let stall = Case { name: "2 ms, a stall of 1 s, 200 a second", delays, clients: 1, rate: 200, length_ms: 2_600 };
    let seen = stall.prove(&server);

    // Those intended while at least a tenth of a second of the stall was left, and those behind them.
    let (expected, stored) = seen.longer_than(100 * MS);
    let at_least = f64::from(stall.rate) * (stall_ns - 100 * MS) as f64 / 1e9;
    assert!(expected.abs_diff(stored) <= 1, "{expected} {stored}");
    assert!(stored as f64 > 0.98 * at_least, "{stored} were charged, and {at_least:.0} were intended meanwhile");
    assert!(seen.stored.max() as f64 > 0.98 * stall_ns as f64, "{}", seen.stored.max());
    // In a closed loop the same server looks good: one request was slow.
    let (slow_answers, _) = Case { rate: 0, ..stall }.run(&server).longer_than(100 * MS);
    assert_eq!(slow_answers, 1);
}
