//! From counts and histograms to measurements and marks.

use hdrhistogram::Histogram;
use model::{Direction, Mark, MarkKind, Measurement, Reading, Role, TrialRecord, TrialState};

use stats::Steadiness;

use crate::lane::ErrorClass;
use crate::series::Collector;
use crate::target::{Counters, Placement};
use crate::worker::{Pace, Tally};

/// A thread of the load generator that is busier than this is the bottleneck.
const SATURATED_SHARE: f64 = 0.8;
/// A quantile is shown only with so many samples beyond it.
const SAMPLES_BEYOND: f64 = 10.0;
/// A rate is met if the load came so close to it.
const RATE_MET: f64 = 0.98;
/// Fewer intervals than this say nothing about steadiness.
const FEWEST_INTERVALS: usize = 8;

/// Everything that a trial showed.
pub struct Evidence {
    /// Counts of all workers.
    pub tally: Tally,
    /// Latencies of all workers.
    pub collector: Collector,
    /// How many threads made the load.
    pub workers: usize,
    /// Where the engine worked.
    pub placement: Placement,
    /// What happened by the engine's own counters.
    pub counters: Counters,
    /// CPU seconds of the server's processes, from before the warm-up to the end.
    pub server_cpu_s: Result<f64, String>,
    /// What the machine's processors did from before the warm-up to the end.
    pub machine: Result<host::cpu::MachineCpu, String>,
    /// How the clients were paced.
    pub pace: Pace,
    /// Marks found so far.
    pub marks: Vec<Mark>,
}

/// The record of a trial that ran to its end.
pub fn record(evidence: Evidence) -> TrialRecord {
    let window_s = evidence.tally.window_ns as f64 / 1e9;
    let rate = evidence.tally.succeeded_in_window as f64 / window_s;
    let mut measurements = vec![Measurement::value("throughput", "tx/s", Direction::Higher, Role::Primary, rate)];
    let service = evidence.collector.service.as_ref().unwrap_or(&evidence.collector.response);
    latencies("response", &evidence.collector.response, Role::Primary, &mut measurements);
    latencies("service", service, Role::Secondary, &mut measurements);
    errors(&evidence.tally, &mut measurements);
    client_cost(&evidence, &mut measurements);
    server_cost(&evidence, &mut measurements);
    let mut marks = evidence.marks.clone();
    marks.extend(error_marks(&evidence.tally));
    marks.extend(saturation(&evidence));
    marks.extend(rate_not_met(&evidence, rate));
    marks.extend(steadiness(&evidence.collector.rates_per_s(evidence.tally.window_ns)));
    TrialRecord {
        state: TrialState::Measured,
        reason: None,
        elapsed_s: window_s,
        measurements,
        series: evidence.collector.into_series("local", evidence.tally.window_ns),
        marks,
    }
}

/// Quantiles, mean and extremes of one kind of latency, in microseconds.
fn latencies(kind: &str, histogram: &Histogram<u64>, role: Role, into: &mut Vec<Measurement>) {
    let mut push = |name: &str, role: Role, reading: Reading| {
        into.push(Measurement::new(&format!("{kind}_{name}"), "us", Direction::Lower, role, reading));
    };
    let us = |ns: u64| Reading::Value(ns as f64 / 1e3);
    push("mean", Role::Secondary, Reading::Value(histogram.mean() / 1e3));
    for (name, quantile, own_role) in [
        ("p50", 0.5, role),
        ("p90", 0.9, Role::Secondary),
        ("p95", 0.95, Role::Secondary),
        ("p99", 0.99, role),
        ("p999", 0.999, Role::Secondary),
    ] {
        let needed = (SAMPLES_BEYOND / (1.0 - quantile)).ceil();
        let reading = if histogram.len() as f64 >= needed {
            us(histogram.value_at_quantile(quantile))
        } else {
            Reading::Unavailable(format!("fewer than {needed} transactions in the trial"))
        };
        push(name, own_role, reading);
    }
    push("max", Role::Secondary, us(histogram.max()));
}

fn errors(tally: &Tally, into: &mut Vec<Measurement>) {
    let mut push = |id: &str, count: u64| {
        into.push(Measurement::value(id, "", Direction::Lower, Role::Diagnostic, count as f64));
    };
    push("errors", tally.failures());
    if tally.retries > 0 {
        push("retried", tally.retried);
        push("retries", tally.retries);
    }
    for (class, count) in ErrorClass::ALL.iter().zip(tally.failed).filter(|(_, count)| *count > 0) {
        push(&format!("errors_{}", class.as_str()), count);
    }
}

/// What the load generator itself took.
fn client_cost(evidence: &Evidence, into: &mut Vec<Measurement>) {
    let tally = &evidence.tally;
    let unavailable = || {
        Reading::Unavailable(match evidence.placement {
            Placement::InProcess => "the engine works in the client's own threads".to_owned(),
            Placement::Server => "the operating system did not tell, or time is virtual".to_owned(),
        })
    };
    let cpu_ns = tally.cpu_ns.filter(|_| evidence.placement == Placement::Server);
    let per_transaction = cpu_ns
        .map_or_else(unavailable, |cpu| Reading::Value(cpu as f64 / 1e3 / tally.succeeded_in_window.max(1) as f64));
    into.push(Measurement::new("client_cpu_per_tx", "us", Direction::Lower, Role::Diagnostic, per_transaction));
    let share = share_of_a_core(evidence).map_or_else(unavailable, Reading::Value);
    into.push(Measurement::new("client_busy_share", "", Direction::Neither, Role::Diagnostic, share));
    if let (Placement::InProcess, Some(cpu)) = (evidence.placement, tally.cpu_ns) {
        let per_transaction = cpu as f64 / 1e3 / tally.succeeded_in_window.max(1) as f64;
        into.push(Measurement::value("process_cpu_per_tx", "us", Direction::Lower, Role::Diagnostic, per_transaction));
    }
}

/// The share that the load generator's threads were busy of the cores that they can use: one each, but no more than
/// there are.
fn share_of_a_core(evidence: &Evidence) -> Option<f64> {
    let cpu_ns = evidence.tally.cpu_ns.filter(|_| evidence.placement == Placement::Server)?;
    let cores = evidence.workers.clamp(1, host::cpu::available_cores().max(1));
    Some(cpu_ns as f64 / evidence.tally.window_ns.max(1) as f64 / cores as f64)
}

/// What the server took, and what its counters say happened.
fn server_cost(evidence: &Evidence, into: &mut Vec<Measurement>) {
    let transactions = evidence.tally.succeeded.max(1) as f64;
    let per_transaction = match &evidence.server_cpu_s {
        Ok(cpu_s) => Reading::Value(cpu_s * 1e6 / transactions),
        Err(reason) => Reading::Unavailable(reason.clone()),
    };
    into.push(Measurement::new("server_cpu_per_tx", "us", Direction::Lower, Role::Diagnostic, per_transaction));
    for (name, counter) in &evidence.counters.counts {
        let id = format!("server_{name}");
        into.push(Measurement::new(&id, counter.unit, Direction::Neither, Role::Diagnostic, counter.reading.clone()));
    }
    if let Ok(machine) = &evidence.machine {
        for (id, share) in [("machine_busy_share", machine.busy_share), ("machine_steal_share", machine.steal_share)] {
            into.push(Measurement::value(id, "", Direction::Neither, Role::Diagnostic, share));
        }
    }
}

/// Says which errors there were, with the first message of each class.
fn error_marks(tally: &Tally) -> Vec<Mark> {
    let of_class = |(class, count): (&ErrorClass, u64)| {
        let message = tally.messages.iter().find(|error| error.class == *class).map_or("", |error| &error.message);
        Mark { kind: MarkKind::Errors, detail: format!("{count} × {}: {message}", class.as_str()) }
    };
    ErrorClass::ALL.iter().zip(tally.failed).filter(|(_, count)| *count > 0).map(of_class).collect()
}

fn saturation(evidence: &Evidence) -> Option<Mark> {
    let share = share_of_a_core(evidence).filter(|share| *share > SATURATED_SHARE)?;
    let share = share * 100.0;
    let detail = format!("the client's {} threads were busy {share:.0} % of the time of their cores", evidence.workers);
    Some(Mark { kind: MarkKind::ClientSaturated, detail })
}

fn rate_not_met(evidence: &Evidence, measured: f64) -> Option<Mark> {
    let Pace::Rate(asked) = evidence.pace else { return None };
    let detail = format!("{measured:.0} of {asked:.0} transactions a second");
    (measured < asked * RATE_MET).then_some(Mark { kind: MarkKind::RateNotMet, detail })
}

/// Whether the rate changed within the measured part.
fn steadiness(rates_per_s: &[f64]) -> Option<Mark> {
    if rates_per_s.len() < FEWEST_INTERVALS {
        return None;
    }
    let mark = |kind, detail| Some(Mark { kind, detail });
    if let Some(end) = stats::warm_up_end(rates_per_s) {
        let count = rates_per_s.len();
        let detail = format!("the rate changed its level after {end} of {count} intervals");
        return mark(MarkKind::WarmUpTooShort, detail);
    }
    match stats::classify(rates_per_s)? {
        Steadiness::Steady => None,
        Steadiness::Drifting { p, relative_change } => {
            let change = relative_change * 100.0;
            mark(MarkKind::NotSteady, format!("the rate drifted by {change:+.1} % within the trial (p = {p:.3})"))
        }
        Steadiness::Bimodal { low, high, low_share } => {
            let share = low_share * 100.0;
            mark(
                MarkKind::NotSteady,
                format!("the rate had two levels: {low:.0} for {share:.0} % of the time, else {high:.0}"),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One second of one thread: so many transactions of 1 ms, so much CPU time.
    fn evidence(transactions: u64, cpu_ns: u64, pace: Pace) -> Evidence {
        let mut collector = Collector::new(1, 1_000_000_000);
        collector.response.record_n(1_000_000, transactions).unwrap();
        let tally = Tally {
            succeeded: transactions,
            succeeded_in_window: transactions,
            cpu_ns: Some(cpu_ns),
            window_ns: 1_000_000_000,
            ..Tally::default()
        };
        Evidence {
            tally,
            collector,
            workers: 1,
            placement: Placement::Server,
            counters: Counters::default(),
            server_cpu_s: Err("not seen".to_owned()),
            machine: Err("not seen".to_owned()),
            pace,
            marks: Vec::new(),
        }
    }

    fn reading(record: &TrialRecord, id: &str) -> Reading {
        record.measurements.iter().find(|m| m.metric.id == id).unwrap().reading.clone()
    }

    #[test]
    fn a_client_that_is_the_bottleneck_is_marked_and_voids_the_verdict() {
        assert_eq!(record(evidence(5_000, 790_000_000, Pace::Closed)).marks, []);
        let marks = record(evidence(5_000, 900_000_000, Pace::Closed)).marks;
        assert_eq!(marks.len(), 1);
        assert!(marks[0].kind == MarkKind::ClientSaturated && marks[0].kind.voids_verdict(), "{marks:?}");
        assert!(marks[0].detail.contains("90 %"), "{}", marks[0].detail);
    }

    #[test]
    fn a_quantile_takes_ten_samples_beyond_it() {
        let few = record(evidence(999, 0, Pace::Closed));
        assert_eq!(
            reading(&few, "response_p99"),
            Reading::Unavailable("fewer than 1000 transactions in the trial".to_owned())
        );
        assert!(matches!(reading(&few, "response_p95"), Reading::Value(us) if (us - 1_000.0).abs() < 1.0));
        assert!(matches!(reading(&record(evidence(1_000, 0, Pace::Closed)), "response_p99"), Reading::Value(_)));
    }

    #[test]
    fn a_rate_that_was_not_met_is_marked() {
        assert_eq!(record(evidence(990, 0, Pace::Rate(1_000.0))).marks, []);
        let marks = record(evidence(900, 0, Pace::Rate(1_000.0))).marks;
        assert_eq!(marks[0].detail, "900 of 1000 transactions a second");
    }

    #[test]
    fn what_is_not_known_is_a_reason_and_not_a_zero() {
        let record = record(evidence(1_000, 0, Pace::Closed));
        assert_eq!(reading(&record, "server_cpu_per_tx"), Reading::Unavailable("not seen".to_owned()));
    }
}
