//! Cost of the load generator, and whether it was the bottleneck.

use model::{Direction, Mark, MarkKind, Measurement, Reading, Role};

use super::LoadResult;
use crate::counters::Placement;
use crate::lag::LoopLag;
use crate::surroundings::stood_still;
use crate::worker::Pace;

/// A busier load generator thread is the bottleneck.
pub const SATURATED_SHARE: f64 = 0.8;
/// Larger lag, as a share of a latency, spoils it.
const LAG_SHARE: f64 = 0.1;
/// Any system's scheduler may take this long to wake a thread.
const LAG_FLOOR_NS: u64 = 100_000;
/// A closed loop does not wait for a thread that idles more than this.
const IDLE_SHARE: f64 = 0.5;
/// Hosts that begin this share of the measured part apart are still measured at one time.
const SKEW_SHARE: f64 = 0.1;
/// An agent on a busy machine may begin so late, whatever is measured.
const HARMLESS_SKEW_NS: u64 = 100_000_000;
/// Reported individually up to this many.
const MOST_THREADS: usize = 16;

/// Adds CPU time and kernel entries per transaction, the shares of cores, and the loop's lag.
pub fn add_cost(evidence: &LoadResult<'_>, into: &mut Vec<Measurement>) {
    let counts = &evidence.counts;
    let transactions = counts.succeeded_in_window.max(1) as f64;
    let cpu_ns = if evidence.placement == Placement::InProcess { None } else { counts.cpu_ns };
    let per_transaction =
        cpu_ns.map_or_else(|| cost_unavailable(evidence), |cpu| Reading::Value(cpu as f64 / 1e3 / transactions));
    let id = "client_cpu_per_tx";
    into.push(Measurement::new(id, "us", Direction::Lower, Role::Diagnostic, per_transaction));
    add_shares(evidence, into);
    if let (Placement::InProcess, Some(cpu)) = (evidence.placement, counts.cpu_ns) {
        let cost = cpu as f64 / 1e3 / transactions;
        into.push(Measurement::value("process_cpu_per_tx", "us", Direction::Lower, Role::Diagnostic, cost));
    }
    let entries = match (evidence.placement, counts.kernel_entries) {
        (Placement::InProcess, _) => cost_unavailable(evidence),
        (_, Some(entries)) => Reading::Value(entries as f64 / transactions),
        (_, None) => Reading::unavailable("this way to the server does not count its entries into the kernel"),
    };
    into.push(Measurement::new("kernel_entries", "/tx", Direction::Lower, Role::Diagnostic, entries));
    add_lag(evidence, into);
}

/// The reason why the client's own cost is unknown.
fn cost_unavailable(evidence: &LoadResult<'_>) -> Reading {
    Reading::unavailable(match evidence.placement {
        Placement::InProcess => "the engine works in the client's own threads".to_owned(),
        Placement::OwnThreads | Placement::Server => "the operating system did not tell, or time is virtual".to_owned(),
    })
}

/// Adds the load generator's share of its cores, its busiest thread's and, if they are few, each thread's.
pub fn add_shares(evidence: &LoadResult<'_>, into: &mut Vec<Measurement>) {
    let counts = &evidence.counts;
    let [busy, busiest] = [share_of_cores(evidence), busiest_thread(evidence)]
        .map(|share| share.map_or_else(|| cost_unavailable(evidence), Reading::Value));
    let mut shares = vec![("client_busy_share".to_owned(), busy), ("busiest_thread".to_owned(), busiest)];
    if evidence.placement != Placement::InProcess && (2..=MOST_THREADS).contains(&counts.threads.len()) {
        shares.extend(counts.threads.iter().enumerate().map(|(number, cpu_ns)| {
            let share = Reading::Value(*cpu_ns as f64 / counts.window_ns.max(1) as f64);
            (format!("thread_{}_busy", number + 1), share)
        }));
    }
    into.extend(
        shares
            .into_iter()
            .map(|(id, reading)| Measurement::new(&id, "", Direction::Neither, Role::Diagnostic, reading)),
    );
}

/// How late the loop handled due work.
pub fn add_lag(evidence: &LoadResult<'_>, into: &mut Vec<Measurement>) {
    let lag = &evidence.counts.lag;
    let max = if lag.count() == 0 { never_waited() } else { Reading::Value(lag.max_ns() as f64 / 1e3) };
    let readings =
        [("loop_lag_p50", lag_quantile(lag, 0.5)), ("loop_lag_p99", lag_quantile(lag, 0.99)), ("loop_lag_max", max)];
    for (id, reading) in readings {
        into.push(Measurement::new(id, "us", Direction::Lower, Role::Diagnostic, reading));
    }
}

/// A quantile of the loop's lag, µs; unavailable if it has too few turns.
fn lag_quantile(lag: &LoopLag, quantile: f64) -> Reading {
    match stats::censored::rank_of_quantile(quantile, lag.count(), 0) {
        Ok(_) => lag.quantile_ns(quantile).map_or_else(never_waited, |ns| Reading::Value(ns as f64 / 1e3)),
        Err(_) if lag.count() == 0 => never_waited(),
        Err(why) => Reading::unavailable(format!("{why} turns of the loop")),
    }
}

/// The reading of the lag of a loop that never waited.
fn never_waited() -> Reading {
    Reading::unavailable("the loop never waited for anything")
}

/// The share that the load generator's threads, those that make connections again among them, were busy of the cores that
/// they can use: one each, but no more than affinity and quotas leave.
fn share_of_cores(evidence: &LoadResult<'_>) -> Option<f64> {
    if evidence.placement == Placement::InProcess {
        return None;
    }
    let cpu_ns = evidence.counts.cpu_ns?;
    Some(cpu_ns as f64 / evidence.counts.window_ns.max(1) as f64 / evidence.cores.max(f64::MIN_POSITIVE))
}

/// The share of a core that the busiest thread used.
fn busiest_thread(evidence: &LoadResult<'_>) -> Option<f64> {
    if evidence.placement == Placement::InProcess {
        return None;
    }
    let most_ns = evidence.counts.threads.iter().max()?;
    let of_one = evidence.cores.clamp(f64::MIN_POSITIVE, 1.0);
    Some(*most_ns as f64 / evidence.counts.window_ns.max(1) as f64 / of_one)
}

/// Marks a load generator that could not keep up, or stood still.
pub fn generator_marks(evidence: &LoadResult<'_>) -> Vec<Mark> {
    let saturated = saturation(evidence).map(|detail| Mark::new(MarkKind::ClientSaturated, detail));
    let mark = saturated.or_else(|| late_mark(evidence));
    pause_mark(evidence).into_iter().chain(started_apart(evidence)).chain(mark).collect()
}

/// The clients stood still with étalon, and the system may have caught up meanwhile.
fn pause_mark(evidence: &LoadResult<'_>) -> Option<Mark> {
    stood_still(evidence.counts.paused_ns as f64 / 1e9, evidence.counts.window_ns as f64 / 1e9)
}

/// The measured parts of several hosts do not cover one another: each had the system for itself at one end, and the sum of
/// their rates is more than the system has carried.
fn started_apart(evidence: &LoadResult<'_>) -> Option<Mark> {
    let skew_ns = evidence.start_skew_ns?;
    let window_ns = evidence.counts.window_ns as f64;
    if skew_ns <= HARMLESS_SKEW_NS || skew_ns as f64 <= SKEW_SHARE * window_ns {
        return None;
    }
    let [skew_s, window_s] = [skew_ns as f64, window_ns].map(|ns| ns / 1e9);
    let detail = format!(
        "the hosts may have begun {skew_s:.2} s apart, and {window_s:.2} s were measured: their figures do not belong to one time"
    );
    Some(Mark::new(MarkKind::StartedApart, detail))
}

/// Marks of a load by lanes with their own timestamps: the loop's lag is in no latency of a closed loop.
pub fn marks_of_blocks(evidence: &LoadResult<'_>) -> Vec<Mark> {
    if evidence.pace != Pace::Closed {
        return generator_marks(evidence);
    }
    let mark = saturation(evidence).map(|detail| Mark::new(MarkKind::ClientSaturated, detail));
    pause_mark(evidence).into_iter().chain(started_apart(evidence)).chain(mark).collect()
}

/// All threads together, one alone, or those that share processors, used up what they may use.
fn saturation(evidence: &LoadResult<'_>) -> Option<String> {
    if evidence.placement != Placement::InProcess {
        // One of several hosts may be full while others idle.
        let mut shares = evidence.hosts.iter().filter_map(|host| Some((&host.host, host.busy_share.value()?)));
        if let Some((host, share)) = shares.find(|(_, share)| *share > SATURATED_SHARE) {
            return Some(format!(
                "the client's threads on {host} were busy {:.0} % of the time of their cores",
                share * 100.0
            ));
        }
    }
    if let Some(share) = share_of_cores(evidence).filter(|share| *share > SATURATED_SHARE) {
        let threads = evidence.workers + evidence.counts.helper_threads;
        let (share, of_cores) = (share * 100.0, time_of(evidence.cores));
        return Some(format!("the client's {threads} threads were busy {share:.0} % of {of_cores}"));
    }
    if let Some(share) = busiest_thread(evidence).filter(|share| *share > SATURATED_SHARE) {
        return Some(format!("one of the client's threads was busy {:.0} % of the time", share * 100.0));
    }
    if evidence.placement == Placement::InProcess {
        return None;
    }
    let window_ns = evidence.counts.window_ns;
    let full = evidence.counts.confined.iter().find(|group| group.busy_share(window_ns) > SATURATED_SHARE)?;
    let share = full.busy_share(window_ns) * 100.0;
    Some(format!("{} of the client's threads were busy {share:.0} % of {}", full.threads, time_of(full.usable_cores())))
}

/// Names cores as what they are of: a quota leaves parts of one.
fn time_of(cores: f64) -> String {
    if cores.fract() == 0.0 {
        "the time of their cores".to_owned()
    } else {
        format!("the {cores:.2} cores that they may use")
    }
}

/// Whether the loop was so late that the latencies are its own.
///
/// Compared with the median response, above what waking a thread takes anywhere. In a closed loop the last of a batch
/// of answers waits without lateness, so lag counts only if the thread was busy as well: a client sharing cores with
/// the server is not marked at an easy load. Under a rate a late start is never the system's: it is the client's if its
/// thread was busy, else the machine's. An engine in the client's threads causes the waiting itself.
fn late_mark(evidence: &LoadResult<'_>) -> Option<Mark> {
    let response = &evidence.latencies.response;
    if evidence.placement == Placement::InProcess {
        return None;
    }
    let is_idle = busiest_thread(evidence).is_none_or(|share| share < IDLE_SHARE);
    if evidence.pace == Pace::Closed && is_idle {
        return None;
    }
    let (lag_ns, median_ns) = (evidence.counts.lag.quantile_ns(0.99)?, response.quantile_ns(0.5).ok()?);
    let is_late = lag_ns >= LAG_FLOOR_NS && lag_ns as f64 > LAG_SHARE * median_ns as f64;
    let (kind, idle) = match busiest_thread(evidence) {
        Some(share) if share < IDLE_SHARE => {
            let idle = format!("; it was busy {:.0} % of the time, so the machine gave it no processor", share * 100.0);
            (MarkKind::WokenLate, idle)
        }
        _ => (MarkKind::ClientSaturated, String::new()),
    };
    is_late.then(|| {
        let detail = format!(
            "the client turned to 1 % of what was due more than {:.2} ms late, and the median response is {:.2} ms{idle}",
            lag_ns as f64 / 1e6,
            median_ns as f64 / 1e6
        );
        Mark::new(kind, detail)
    })
}
