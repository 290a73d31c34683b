//! A run that finds the highest load at which a promise is kept.

use std::time::Duration;

use model::metric::{CAPACITY, CAPACITY_CLIENTS, FAILED_SHARE};
use model::{
    Case, Direction, Length, LoadPoint, Mark, MarkKind, Measurement, Metric, Point, Price, Promise, Reading, Role,
    RunRecord, RunState, Schedule, SeriesKind, Value,
};

use crate::capacity::{CLIENT_RUNS, MOST_CLIENT_RUNS, MOST_RUNS, RUNS};
use crate::capacity::{Found, Search};
use load::error::{Failure, FailureKind};
use load::measure::client::SATURATED_SHARE;
use load::measure::shape::over_limit_id;
use load::observer::{Observer, StepProgress};
use load::series::share_beyond;
use workloads::workload::Task;

/// The fewest operations of which a share of 99 in 100 says something.
const FEWEST: f64 = 100.0;

/// A short run at a low rate is lengthened up to this many times the schedule's length.
pub const LONGEST: u32 = 10;

/// A short run of the case that it is given, whose keys name its load, of a length; the number is its own within the search.
pub type ShortRun<'a> = dyn FnMut(&Case, u32, Duration, &mut dyn Observer) -> Result<RunRecord, Failure> + 'a;

/// Length of a short run at a rate: the schedule's, or longer, so that it has [enough](Promise::ENOUGH) operations.
fn length_at(rate: f64, length: Duration) -> Duration {
    /// Chance has some more or fewer of them come.
    const ROOM: f64 = 1.02;
    let longest = length * LONGEST;
    Duration::try_from_secs_f64(ROOM * Promise::ENOUGH / rate).unwrap_or(longest).clamp(length, longest)
}

/// Searches by short runs for the load that a case's promise allows, and makes one record of them.
/// `phase` and `between` are those of [`Search`], `unit` is that of the rate.
///
/// # Errors
/// A short run failed: with the points of those before it.
pub fn seek_capacity(
    (case, promise, length): (&Case, Promise, Duration),
    (phase, between): (f64, f64),
    unit: &str,
    run: &mut ShortRun<'_>,
    observer: &mut dyn Observer,
) -> Result<RunRecord, (Failure, Vec<LoadPoint>)> {
    let mut tried = Tried { promise, records: Vec::new() };
    if let Some(max_clients) = promise.max_clients {
        let search = Search::for_clients(promise, max_clients, phase);
        return seek_from(search, tried, (case, length, between), unit, run, observer);
    }
    observer.step_started(StepProgress { what: "as fast as it answers", done: 0, of: RUNS as usize });
    let first = run(&case_at(case, None), 0, length, observer).map_err(|failure| (failure, Vec::new()))?;
    let reached = match tried.take_record(None, first) {
        Ok(point) => point.throughput,
        Err(aborted) => return Ok(*aborted),
    };
    seek_from(Search::new(promise, reached, phase), tried, (case, length, between), unit, run, observer)
}

/// Makes the short runs that a search asks for until it is over, and makes one record of them.
fn seek_from(
    mut search: Search,
    mut tried: Tried,
    (case, length, between): (&Case, Duration, f64),
    unit: &str,
    run: &mut ShortRun<'_>,
    observer: &mut dyn Observer,
) -> Result<RunRecord, (Failure, Vec<LoadPoint>)> {
    let of_clients = tried.promise.max_clients.is_some();
    let least = if of_clients { 0.0 } else { FEWEST / (length * LONGEST).as_secs_f64() };
    while let Some(load) = search.next_load().filter(|load| *load >= least) {
        // Of the first clients it is not known how fast they are answered.
        let rate = if of_clients { search.throughput_at(load) } else { Some(load) };
        let longer = rate.map(|rate| length_at(rate, length)).filter(|longer| *longer > length);
        let lasting = longer.map_or(String::new(), |longer| format!(", {:.0} s", longer.as_secs_f64().ceil()));
        let tried_load = if of_clients { Load::Clients(load as u32) } else { Load::Rate(load) };
        let what = format!("{}{lasting}", tried_load.in_words(unit));
        observer.step_started(StepProgress {
            what: &what,
            done: tried.records.len(),
            of: tried.records.len().max(usual_loads(case) as usize - 1) + 1,
        });
        let next = run(&case_at(case, Some(tried_load)), tried.run_count(), longer.unwrap_or(length), observer)
            .map_err(|failure| (failure, tried.points()))?;
        match tried.take_record(Some(tried_load), next) {
            Ok(point) => search.take_point(point),
            Err(aborted) => return Ok(*aborted),
        }
    }
    Ok(tried.search_record(&search, (between, length), unit))
}

/// A load that a short run is made at.
#[derive(Clone, Copy)]
enum Load {
    /// Operations a second that are due.
    Rate(f64),
    /// Clients that ask as soon as they are answered.
    Clients(u32),
}

impl Load {
    /// The load that a point was tried at; `None` for one as fast as the system answers.
    fn from_point(point: &LoadPoint) -> Option<Load> {
        point.clients.map(Load::Clients).or(point.rate.map(Load::Rate))
    }

    /// Says a load in words: `at 1700 tx/s`, `with 44 clients`.
    fn in_words(self, unit: &str) -> String {
        match self {
            Load::Rate(rate) => format!("at {} {unit}", rate.round()),
            Load::Clients(1) => "with 1 client".to_owned(),
            Load::Clients(clients) => format!("with {clients} clients"),
        }
    }
}

/// Says in words the load that a point was tried at; empty if it had none.
fn load_words(point: &LoadPoint, unit: &str) -> String {
    Load::from_point(point).map_or_else(String::new, |load| load.in_words(unit))
}

/// Makes the case of a short run at a load; without a load each client asks as soon as it is answered.
/// A number of clients replaces the most that there may be.
fn case_at(case: &Case, load: Option<Load>) -> Case {
    let mut point: Point = case.point.clone();
    match load {
        Some(Load::Rate(rate)) => point.insert("rate".to_owned(), Value::Float(rate)),
        Some(Load::Clients(clients)) => point.insert(Promise::MAX_CLIENTS.to_owned(), Value::Int(i64::from(clients))),
        None => point.remove("arrivals"),
    };
    Case { point, ..case.clone() }
}

/// Short runs in their order.
struct Tried {
    promise: Promise,
    records: Vec<(LoadPoint, RunRecord)>,
}

impl Tried {
    /// Number of short runs so far.
    fn run_count(&self) -> u32 {
        self.records.len() as u32
    }

    /// Lists the points of the short runs so far, in order.
    fn points(&self) -> Vec<LoadPoint> {
        self.records.iter().map(|(point, _)| point.clone()).collect()
    }

    /// Keeps a measured short run and returns its point; a run that was broken off is returned, with the points so far.
    fn take_record(&mut self, load: Option<Load>, record: RunRecord) -> Result<LoadPoint, Box<RunRecord>> {
        if record.state != RunState::Measured {
            return Err(Box::new(RunRecord { points: self.points(), ..record }));
        }
        let point = make_load_point(&self.promise, load, &record);
        self.records.push((point.clone(), record));
        Ok(point)
    }

    /// Lists the short runs that were made at a rate, each with its rate.
    fn at_rates(&self) -> impl DoubleEndedIterator<Item = (f64, &RunRecord)> {
        self.records.iter().filter_map(|(point, record)| Some((point.rate?, record)))
    }

    /// Makes the mark that more clients may carry more, if operations were late only by waiting for a free one.
    /// From sending on they kept half of the promised time, so they came late by waiting for a client; and where the system itself
    /// slows down under all clients, more of them would only wait there instead.
    fn make_too_few_clients_mark(&self, search: &Search, unit: &str) -> Option<Mark> {
        const SHARE_OF_PROMISE: f64 = 0.5;
        /// Below it chance and rare stalls let operations wait for a client as well.
        const BUSY_SHARE: f64 = 0.5;
        const SLOWED: f64 = 1.1;
        let broke = search.worst_point().filter(|point| point.late_share > Promise::LATE)?;
        let (closed, under_all) = self.records.first()?;
        let (_, under_least) = self.at_rates().min_by(|(x, _), (y, _)| x.total_cmp(y))?;
        let at_break = self.at_rates().rfind(|(rate, _)| Some(*rate) == broke.rate)?.1;
        let limit = self.promise.response_p99.mul_f64(SHARE_OF_PROMISE);
        let is_alone_kept = share_beyond(&at_break.series, SeriesKind::Service, limit)? <= Promise::LATE;
        let is_busy = broke.throughput >= BUSY_SHARE * closed.throughput;
        let is_slowed = service_us(under_all, "p50")? > SLOWED * service_us(under_least, "p50")?;
        let key = concurrency_key(unit);
        let place = if key == "depth" { "a place among those under way" } else { "a free client" };
        let is_disturbed = at_break.marks.iter().any(|mark| mark.kind.is_disturbance());
        let unless = if is_disturbed { " (unless what else went on at the machine held them up)" } else { "" };
        (is_alone_kept && is_busy && !is_slowed).then(|| {
            let detail = format!(
                "at {} {unit}, where the promise was not kept, 99 of 100 operations were answered within {} of being sent: they \
                 were late by waiting for {place}{unless}, and the system was no slower when all were busy. More `{key}` \
                 may carry more",
                broke.rate.unwrap_or_default().round(),
                model::duration::spaced_text(limit)
            );
            Mark::new(MarkKind::TooFewClients, detail)
        })
    }

    /// Makes the mark that short runs at the load found have too few operations, even lengthened; `None` if they have enough.
    fn make_too_few_operations_mark(&self, search: &Search, load: f64, length: Duration, unit: &str) -> Option<Mark> {
        let (rate, load) = match self.promise.max_clients {
            Some(_) => (search.throughput_at(load)?, Load::Clients(load as u32)),
            None => (load, Load::Rate(load)),
        };
        let length = length_at(rate, length);
        let operations = rate * length.as_secs_f64();
        (operations < Promise::ENOUGH).then(|| {
            let length = model::duration::spaced_text(length);
            let detail = format!(
                "{} a short run of {length}, {LONGEST} times the schedule's, has {}: with fewer than {} a capacity may read \
                 some percent too much, more for one system than for another",
                load.in_words(unit),
                operations.round(),
                Promise::ENOUGH
            );
            Mark::new(MarkKind::TooFewOperations, detail)
        })
    }

    /// Makes one record of the search's short runs.
    fn search_record(self, search: &Search, (between, length): (f64, Duration), unit: &str) -> RunRecord {
        let of_clients = self.promise.max_clients.is_some();
        let mut marks = collect_marks_once(&self.records);
        // The highest load that kept the promise; what none or all kept is known as a bound.
        let load = match search.capacity_found(between) {
            Some(Found::Load(load)) => {
                marks.extend(self.make_too_few_operations_mark(search, load, length, unit));
                Ok(load)
            }
            Some(Found::NoneKeeps(point)) => {
                marks.push(Mark::new(MarkKind::NoLoadKept, explain_none_keeps(&self.promise, &point, unit)));
                point.load().ok_or_else(String::new)
            }
            Some(Found::AllKeep(point)) => {
                marks.push(Mark::new(MarkKind::EveryLoadKept, explain_all_keep(&point, unit)));
                point.load().ok_or_else(String::new)
            }
            None => Err(format!(
                "at a rate that the system may keep a short run has fewer than {FEWEST} operations: make them longer"
            )),
        };
        let rate = match &load {
            Ok(clients) if of_clients => {
                search.throughput_at(*clients).ok_or_else(|| "nothing was answered".to_owned())
            }
            other => other.clone(),
        };
        let mut measurements: Vec<Measurement> =
            of_clients.then(|| primary_measurement(CAPACITY_CLIENTS, "clients", load)).into_iter().collect();
        measurements.push(primary_measurement(CAPACITY, unit, rate));
        let held_back = make_client_limit_mark(search, unit);
        marks
            .extend(held_back.or_else(|| if of_clients { None } else { self.make_too_few_clients_mark(search, unit) }));
        let elapsed_s = self.records.iter().map(|(_, record)| record.elapsed_s).sum();
        let began_unix_ms = self.records.first().and_then(|(_, record)| record.began_unix_ms);
        let points = self.points();
        let best = search.best_point().or(search.worst_point()).cloned();
        let mut series = Vec::new();
        // What else is known is known of the highest load that kept the promise, or of the lowest where none did.
        if let Some((_, of_best)) = self.records.into_iter().find(|(point, _)| Some(point) == best.as_ref()) {
            measurements.extend(of_best.measurements.into_iter().map(as_diagnostic));
            marks.extend(of_best.marks.into_iter().filter(|mark| !is_kept_mark(mark)));
            series = of_best.series;
        }
        RunRecord {
            state: RunState::Measured,
            reason: None,
            began_unix_ms,
            elapsed_s,
            measurements,
            series,
            marks,
            points,
            query_plans: Vec::new(),
        }
    }
}

/// Makes the measurement of how many operations a unit of money buys at the capacity that was found.
pub fn measure_per_money(record: &RunRecord, price: &Price) -> Option<Measurement> {
    let found = record.measurements.iter().find(|measurement| measurement.metric.id == CAPACITY)?;
    let of = found.metric.unit.split('/').next().unwrap_or_default();
    let (id, unit) = (format!("{CAPACITY}_per_{}", price.currency), format!("{of}/{}", price.currency));
    let reading = match &found.reading {
        Reading::Value(per_s) => Reading::Value(price.operations_bought(*per_s)),
        Reading::Unavailable(why) => Reading::Unavailable(why.clone()),
    };
    Some(Measurement::new(&id, &unit, Direction::Higher, Role::Primary, reading))
}

/// Makes a measurement a diagnostic one.
fn as_diagnostic(measurement: Measurement) -> Measurement {
    let metric = Metric { role: Role::Diagnostic, ..measurement.metric };
    Measurement { metric, ..measurement }
}

/// Makes the point of a short run: its load, throughput and response times, and whether it kept the promise.
fn make_load_point(promise: &Promise, load: Option<Load>, record: &RunRecord) -> LoadPoint {
    // What is not known to have succeeded keeps no promise.
    let failed_share = value_of(record, FAILED_SHARE).unwrap_or(100.0) / 100.0;
    let late_share = late_share(promise, record, failed_share);
    let is_in_time = late_share <= Promise::LATE && failed_share <= promise.errors;
    LoadPoint {
        rate: if let Some(Load::Rate(rate)) = load { Some(rate) } else { None },
        clients: if let Some(Load::Clients(clients)) = load { Some(clients) } else { None },
        throughput: value_of(record, "throughput").or_else(|| value_of(record, "iops")).unwrap_or_default(),
        response_p50_us: value_of(record, "response_p50"),
        response_p99_us: value_of(record, "response_p99"),
        late_share,
        failed_share,
        is_kept: load.map(|_| is_in_time && !has_mark(record, MarkKind::RateNotMet)),
        is_client_saturated: [MarkKind::ClientSaturated, MarkKind::WokenLate]
            .iter()
            .any(|kind| has_mark(record, *kind))
            && is_client_full(promise, record),
    }
}

/// Whether a run has a mark of this kind.
fn has_mark(record: &RunRecord, kind: MarkKind) -> bool {
    record.marks.iter().any(|mark| mark.kind == kind)
}

/// A run's value of the metric with this id, if it has one.
fn value_of(record: &RunRecord, id: &str) -> Option<f64> {
    record.measurements.iter().find(|found| found.metric.id == id).and_then(|found| found.reading.value())
}

/// Whether a run's client is at its own limit: late by a tenth of the promised time, or with a saturated processor.
fn is_client_full(promise: &Promise, record: &RunRecord) -> bool {
    const SHARE_OF_PROMISE: f64 = 0.1;
    let promised_us = promise.response_p99.as_secs_f64() * 1e6;
    record.measurements.iter().any(|Measurement { metric, reading }| match (metric.id.as_str(), reading.value()) {
        ("loop_lag_p99", Some(lag_us)) => lag_us > SHARE_OF_PROMISE * promised_us,
        (id, Some(share)) => (id.starts_with("client_busy_share") || id == "busiest_thread") && share > SATURATED_SHARE,
        (_, None) => false,
    })
}

/// A quantile of the time from sending to the answer, µs; of a disk its latency.
fn service_us(record: &RunRecord, quantile: &str) -> Option<f64> {
    record
        .measurements
        .iter()
        .find(|found| ["service", "latency"].iter().any(|kind| found.metric.id == format!("{kind}_{quantile}")))?
        .reading
        .value()
}

/// Share of a run's operations, failed ones left out, that came later than promised or still waited that long at its end.
fn late_share(promise: &Promise, record: &RunRecord, failed_share: f64) -> f64 {
    let limit_ns = u64::try_from(promise.response_p99.as_nanos()).unwrap_or(u64::MAX);
    let rate = value_of(record, "throughput").or_else(|| value_of(record, "iops")).unwrap_or_default();
    let ended = rate * record.elapsed_s / (1.0 - failed_share).max(f64::EPSILON);
    // Failures are beyond every limit.
    let late = value_of(record, &over_limit_id(limit_ns)).unwrap_or(ended) - failed_share * ended;
    if ended > 0.0 { (late / ended).clamp(0.0, 1.0) } else { 1.0 }
}

/// Whether a mark is worth keeping besides the search's own: of a disturbance, of a void verdict or of an unsteady run.
/// Rates above the capacity are not met, and a mark says what limits them; a short run's rate is the search's own.
fn is_kept_mark(mark: &Mark) -> bool {
    let is_of_rate = matches!(mark.kind, MarkKind::NotSteady | MarkKind::WarmUpTooShort);
    mark.kind.is_disturbance() || mark.kind.voids_verdict() || is_of_rate
}

/// Whether a mark says only what the search itself provokes: a rate that is not met, a backlog, a saturated client.
/// What a backlog of the warm-up delays is late.
fn is_search_mark(mark: &Mark) -> bool {
    use MarkKind::{Backlog, ClientSaturated, RateNotMet, WokenLate};
    matches!(mark.kind, RateNotMet | Backlog | ClientSaturated | WokenLate)
}

/// Makes a primary measurement from a value, or from the reason why there is none.
fn primary_measurement(id: &str, unit: &str, found: Result<f64, String>) -> Measurement {
    let reading = found.map_or_else(Reading::unavailable, Reading::Value);
    Measurement::new(id, unit, Direction::Higher, Role::Primary, reading)
}

/// Collects the short runs' marks of disturbances and of what voids a verdict, each kind once.
fn collect_marks_once(records: &[(LoadPoint, RunRecord)]) -> Vec<Mark> {
    let mut found: Vec<Mark> = Vec::new();
    for mark in records.iter().flat_map(|(_, record)| &record.marks) {
        let is_wanted = mark.kind.is_disturbance() || (mark.kind.voids_verdict() && !is_search_mark(mark));
        if is_wanted && found.iter().all(|known| known.kind != mark.kind) {
            found.push(mark.clone());
        }
    }
    found
}

/// Makes the mark that the limit found is the load generator's own, if the client was saturated next to it.
fn make_client_limit_mark(search: &Search, unit: &str) -> Option<Mark> {
    let point =
        [search.worst_point(), search.best_point()].into_iter().flatten().find(|point| point.is_client_saturated)?;
    let load = load_words(point, unit);
    let kept = if point.is_kept == Some(true) { "the promise was kept" } else { "the promise was not kept" };
    let detail = format!("{load}, where {kept}, the client was at its own limit, not the system");
    Some(Mark::new(MarkKind::ClientSaturated, detail))
}

/// Makes the sentence that not even the lowest load kept the promise.
fn explain_none_keeps(promise: &Promise, lowest: &LoadPoint, unit: &str) -> String {
    let load = load_words(lowest, unit);
    let late = lowest.late_share * 100.0;
    let failed = lowest.failed_share * 100.0;
    let within = model::duration::spaced_text(promise.response_p99);
    format!("{load}, the least that was tried, {late:.1} % came later than {within}, {failed:.1} % failed")
}

/// Makes the sentence that even the highest load kept the promise, and what to ask with.
fn explain_all_keep(highest: &LoadPoint, unit: &str) -> String {
    let load = load_words(highest, unit);
    if highest.clients.is_some() {
        return format!("{load}, the most that were to be tried: ask with more `--max-clients`");
    }
    let key = concurrency_key(unit);
    format!("{load}, more than its clients reach one after the other: ask with more `{key}`, or promise less time")
}

/// The workload's key for how many operations are under way at once, from the unit of its rate: `depth` or `clients`.
fn concurrency_key(unit: &str) -> &'static str {
    if unit == "io/s" { "depth" } else { "clients" }
}

/// Fails if the schedule or a set load contradicts a case's promise, or the task cannot run by the schedule.
///
/// # Errors
/// It cannot be run so; a promise with a rate, or by a count of transactions.
pub fn check_task(task: &Task, case: &Case, schedule: &Schedule) -> Result<(), Failure> {
    let has_rate = case.point.get("rate").and_then(Value::as_float).is_some_and(|rate| rate > 0.0);
    let has_clients = case.point.get("clients").and_then(Value::as_int).is_some_and(|clients| clients > 1);
    match (Promise::from_point(&case.point), schedule.length) {
        (Some(_), _) if has_rate => {
            refuse_promise("it is the load that is sought, and a rate is set", "leave out `rate`, or `promise`")
        }
        (Some(Promise { max_clients: Some(_), .. }), _) if has_clients => refuse_promise(
            "it is the number of clients that is sought, and one is set",
            "leave out `clients`, or `max_clients`",
        ),
        (Some(promise), Length::Duration(length)) if promise.response_p99 >= length => refuse_promise(
            "a response that takes as long as the whole short run would keep it",
            "promise less time, or set a longer `schedule.duration`",
        ),
        (Some(_), Length::Transactions(_)) => refuse_promise(
            "short runs at a rate last a time, and the schedule counts transactions",
            "set `schedule.duration`",
        ),
        _ => task.check_schedule(schedule),
    }
}

/// Always fails, with this cause and hint.
fn refuse_promise(cause: &str, hint: &str) -> Result<(), Failure> {
    Err(Failure::new(FailureKind::Plan, "keep the promise", cause).with_hint(hint))
}

/// Number of loads that a run of the case usually consists of: 1 without a promise.
pub fn usual_loads(case: &Case) -> u32 {
    Promise::from_point(&case.point).map_or(1, |promise| if promise.max_clients.is_some() { CLIENT_RUNS } else { RUNS })
}

/// The most loads that a run of the case consists of.
pub fn most_loads(case: &Case) -> u32 {
    let promise = Promise::from_point(&case.point);
    promise.map_or(1, |promise| if promise.max_clients.is_some() { MOST_CLIENT_RUNS } else { MOST_RUNS })
}

#[cfg(test)]
mod tests {
    use load::observer::Silent;

    use super::*;

    const PROMISE: Promise = Promise { response_p99: Duration::from_millis(20), errors: 0.001, max_clients: None };
    const SERVED_PER_S: f64 = 5_000.0;

    fn case() -> Case {
        let point: Point = [("arrivals".to_owned(), Value::Text("poisson".to_owned()))].into();
        Case { point, benchmark: "b".to_owned(), workload: "transactions".to_owned(), system: "a".to_owned() }
    }

    /// What limits a load that comes too late, and how late the client itself is.
    #[derive(Clone, Copy)]
    struct Limit {
        by_client: bool,
        lag_us: f64,
    }

    /// Ten seconds of one server with exponential times.
    fn short_run(rate: Option<f64>, rate_metric: &str, limit: Limit) -> RunRecord {
        let is_met = rate.is_none_or(|rate| rate < SERVED_PER_S);
        let throughput = rate.unwrap_or(SERVED_PER_S).min(SERVED_PER_S);
        let room = SERVED_PER_S - throughput;
        let late = throughput * 10.0 * if is_met && rate.is_some() { (-room * 0.02).exp() } else { 1.0 };
        let mut marks = Vec::new();
        if !is_met {
            marks.push(Mark::new(MarkKind::RateNotMet, "as made up".to_owned()));
        }
        if limit.by_client && rate.is_some() && room < 100.0_f64.ln() / 0.02 {
            marks.push(Mark::new(MarkKind::ClientSaturated, "as made up".to_owned()));
        }
        RunRecord {
            state: RunState::Measured,
            elapsed_s: 10.0,
            marks,
            measurements: vec![
                measured(rate_metric, "1/s", throughput),
                measured("response_p99", "us", if is_met { 100.0_f64.ln() / room.max(1.0) * 1e6 } else { 1e9 }),
                measured(FAILED_SHARE, "%", 0.0),
                measured(&over_limit_id(20_000_000), "", late),
                measured("loop_lag_p99", "us", limit.lag_us),
            ],
            ..RunRecord::without_result(RunState::Measured, "")
        }
    }

    fn measured(id: &str, unit: &str, value: f64) -> Measurement {
        Measurement::new(id, unit, Direction::Lower, Role::Primary, Reading::Value(value))
    }

    fn sought(
        run: &mut dyn FnMut(Option<f64>, u32) -> Result<RunRecord, Failure>,
    ) -> Result<RunRecord, (Failure, Vec<LoadPoint>)> {
        seek_capacity(
            (&case(), PROMISE, Duration::from_secs(10)),
            (0.3, 0.5),
            "tx/s",
            &mut |case: &Case, number: u32, _: Duration, _: &mut dyn Observer| {
                run(case.point.get("rate").and_then(Value::as_float), number)
            },
            &mut Silent,
        )
    }

    fn capacity(record: &RunRecord) -> &Reading {
        &record.measurements.iter().find(|found| found.metric.id == CAPACITY).unwrap().reading
    }

    #[test]
    fn saturated_clients_differ_from_saturated_servers() {
        let knee = SERVED_PER_S - 100.0_f64.ln() / 0.02;
        let server = found_under(Limit { by_client: false, lag_us: 50.0 });
        assert!((capacity(&server).value().unwrap() / knee - 1.0).abs() < 0.03, "{server:?}");
        assert_eq!(kinds(&server), [], "rates above the capacity are the search's own");
        assert!(server.points.iter().all(|point| !point.is_client_saturated));
        let client = found_under(Limit { by_client: true, lag_us: 9_000.0 });
        assert_eq!(kinds(&client), [MarkKind::ClientSaturated]);
        let detail = &client.marks[0].detail;
        assert!(detail.contains("where the promise was not kept, the client was at its own limit"), "{detail}");
        let saturated = client.points.iter().filter(|point| point.is_client_saturated);
        assert!(
            saturated.clone().count() > 0 && saturated.clone().all(|point| point.is_kept == Some(false)),
            "{client:?}"
        );
        // A tenth of the promised time.
        let late = found_under(Limit { by_client: true, lag_us: 1_900.0 });
        assert_eq!(kinds(&late), [], "it is little of the promised time");
    }

    fn kinds(record: &RunRecord) -> Vec<MarkKind> {
        record.marks.iter().map(|mark| mark.kind).collect::<Vec<_>>()
    }

    fn found_under(limit: Limit) -> RunRecord {
        sought(&mut |rate, _| Ok(short_run(rate, "throughput", limit))).unwrap()
    }

    #[test]
    fn a_promise_of_a_disk_is_held_against_its_ios() {
        let server = Limit { by_client: false, lag_us: 0.0 };
        let (disk, other) = (sought_by("iops", server), sought_by("throughput", server));
        assert_eq!((capacity(&disk), &disk.points), (capacity(&other), &other.points));
        assert!(disk.points.iter().all(|point| point.throughput > 0.0), "{disk:?}");
    }

    fn sought_by(metric: &'static str, server: Limit) -> RunRecord {
        sought(&mut move |rate, _| Ok(short_run(rate, metric, server))).unwrap()
    }

    #[test]
    fn every_rate_that_keeps_the_promise_is_said_to() {
        let record = sought(&mut |rate: Option<f64>, _| {
            let mut record = short_run(rate.map(|_| 100.0), "throughput", Limit { by_client: false, lag_us: 0.0 });
            record.measurements[0].reading = Reading::Value(rate.unwrap_or(500.0));
            Ok(record)
        })
        .unwrap();
        let highest = record.points.iter().filter_map(|point| point.rate).fold(0.0, f64::max);
        assert_eq!(capacity(&record).value(), Some(highest), "it is at least that");
        let mark = record.marks.iter().find(|mark| mark.kind == MarkKind::EveryLoadKept).unwrap();
        assert!(mark.detail.starts_with("at ") && mark.detail.contains("more `clients`"), "{mark:?}");
    }

    #[test]
    fn what_was_tried_before_a_run_ended_badly_is_kept() {
        let server = Limit { by_client: false, lag_us: 0.0 };
        let (_, points) = sought(&mut |rate, number| match number {
            3 => Err(Failure::new(FailureKind::Other, "ask", "it went away")),
            _ => Ok(short_run(rate, "throughput", server)),
        })
        .unwrap_err();
        let aborted = sought(&mut |rate, number| match number {
            3 => Ok(RunRecord::without_result(RunState::Aborted, "interrupted")),
            _ => Ok(short_run(rate, "throughput", server)),
        })
        .unwrap();
        assert_eq!(
            (points.len(), aborted.state, aborted.reason.as_deref()),
            (3, RunState::Aborted, Some("interrupted"))
        );
        assert_eq!(points, aborted.points);
        assert!(points[0].rate.is_none() && points[1].rate.is_some(), "{points:?}");
    }
}
