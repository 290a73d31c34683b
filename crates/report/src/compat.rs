//! Puts failures back into latencies of older stores, which left them out.

use std::collections::BTreeMap;

use model::metric::FAILED_SHARE;
use model::{Measurement, Reading, SeriesKind};
use store::StoredMeasurement;

use crate::evidence::SeriesSource;
use crate::latency::Latency;

/// Reason of a latency over successes only.
const LEFT_OUT: &str = "it was taken of those that succeeded alone, before étalon counted failures in";

/// Restores the failures of older runs that count errors without a failed share.
/// Adds the share and latencies over all
/// operations. Kinds of operations have no histogram and become unavailable.
pub fn restore_failures(measurements: &mut Vec<StoredMeasurement>, source: &dyn SeriesSource) {
    let mut runs: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (place, stored) in measurements.iter().enumerate() {
        runs.entry(stored.run_id).or_default().push(place);
    }
    let mut shares = Vec::new();
    for (run, places) in runs {
        let of = |id: &str| places.iter().copied().find(|place| measurements[*place].measurement.metric.id == id);
        let (Some(errors), None) = (of("errors"), of(FAILED_SHARE)) else { continue };
        let Reading::Value(failed) = measurements[errors].measurement.reading else { continue };
        // Skipped transactions are counted separately, in no series.
        let skipped = of("skipped").and_then(|place| measurements[place].measurement.reading.value()).unwrap_or(0.0);
        let counted = failed + skipped;
        let response = if counted > 0.0 { merged_latency(source, run, SeriesKind::Response) } else { None };
        let response = response.map(|latency| latency.with_failures(skipped as u64));
        let share = match &response {
            _ if counted == 0.0 => Reading::Value(0.0),
            Some(latency) => Reading::percent_failed(latency.failed(), latency.succeeded().len()),
            None => Reading::unavailable(format!("of how many operations {counted} failed was not recorded")),
        };
        if let Some(response) = response.filter(|latency| latency.failed() > 0) {
            let service = merged_latency(source, run, SeriesKind::Service);
            for place in &places {
                recount(&mut measurements[*place].measurement, &response, service.as_ref());
            }
        }
        let measurement = Measurement::failed_share(share);
        shares.push(StoredMeasurement { measurement, ..measurements[errors].clone() });
    }
    measurements.extend(shares);
}

/// Reads a run's latency on all hosts together; `None` if it is unreadable or missing.
fn merged_latency(source: &dyn SeriesSource, run: i64, kind: SeriesKind) -> Option<Latency> {
    let series = source.series(run).ok()?;
    let mut parts = series.iter().filter(|part| part.kind == kind && part.interval.is_none());
    let mut all = Latency::decode(parts.next()?).ok()?;
    for part in parts {
        all.add(&Latency::decode(part).ok()?).ok()?;
    }
    Some(all)
}

/// Counts failed operations into a latency, or into a count beyond a limit.
fn recount(measurement: &mut Measurement, response: &Latency, service: Option<&Latency>) {
    let id = measurement.metric.id.as_str();
    if let (true, Reading::Value(beyond)) = (id.starts_with("over_") || id == "late", &mut measurement.reading) {
        *beyond += response.failed() as f64;
        return;
    }
    let (rest, latency) = match (id.strip_prefix("response_"), id.strip_prefix("service_"), id.strip_prefix("latency_"))
    {
        (Some(rest), ..) => (rest, Some(response)),
        (_, Some(rest), _) | (_, _, Some(rest)) => (rest, service),
        _ => return,
    };
    let quantile = match rest {
        "p50" => 0.5,
        "p90" => 0.9,
        "p95" => 0.95,
        "p99" => 0.99,
        "p999" => 0.999,
        // Over successes, by definition.
        "mean" | "min" => return,
        _ if rest.contains("_on_") => return,
        _ => {
            measurement.reading = Reading::unavailable(LEFT_OUT);
            return;
        }
    };
    measurement.reading =
        latency.map_or_else(|| Reading::unavailable(LEFT_OUT), |latency| latency.quantile_reading(quantile));
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer as _, V2Serializer};
    use model::{Direction, Role, Series};

    use super::*;

    fn stored(id: &str, value: f64) -> StoredMeasurement {
        let measurement = Measurement::value(id, "us", Direction::Lower, Role::Primary, value);
        StoredMeasurement { run_id: 1, round: 0, case: 0, position: 0, measurement }
    }

    fn reading<'a>(all: &'a [StoredMeasurement], id: &str) -> Option<&'a Reading> {
        all.iter().find(|one| one.measurement.metric.id == id).map(|one| &one.measurement.reading)
    }

    /// Operations of 1 to 1000 µs, with that many failures.
    fn series(errors: u64) -> BTreeMap<i64, Vec<Series>> {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        (1..=1_000).for_each(|us| histogram.record(us * 1_000).unwrap());
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
        BTreeMap::from([(
            1,
            vec![one_series(SeriesKind::Response, &bytes, errors), one_series(SeriesKind::Service, &bytes, errors)],
        )])
    }

    fn one_series(kind: SeriesKind, bytes: &[u8], errors: u64) -> Series {
        Series { host: "local".to_owned(), kind, interval: None, length_ms: 1_000, errors, histogram: bytes.to_vec() }
    }

    #[test]
    fn what_failed_is_put_back() {
        let of_kind = "response_p99_reads";
        let older = || {
            [
                stored("errors", 250.0),
                stored("response_p50", 500.0),
                stored("response_p99", 990.0),
                stored(of_kind, 9.0),
                stored("over_1s", 3.0),
            ]
        };
        let mut all = older().to_vec();
        restore_failures(&mut all, &series(250));
        assert_eq!(reading(&all, FAILED_SHARE), Some(&Reading::Value(20.0)));
        let Some(Reading::Value(p50)) = reading(&all, "response_p50") else { panic!("a median") };
        assert!((p50 / 625.0 - 1.0).abs() < 0.002, "of 1,250: {p50}");
        assert_eq!(reading(&all, "over_1s"), Some(&Reading::Value(253.0)), "what failed is beyond every limit");
        for id in ["response_p99", of_kind] {
            assert!(matches!(reading(&all, id), Some(Reading::Unavailable(_))), "{id}");
        }
        let mut none = vec![stored("errors", 0.0), stored("response_p99", 990.0)];
        restore_failures(&mut none, &series(0));
        assert_eq!(reading(&none, FAILED_SHARE), Some(&Reading::Value(0.0)));
        assert_eq!(reading(&none, "response_p99"), Some(&Reading::Value(990.0)));
        let mut foreign = older().to_vec();
        restore_failures(&mut foreign, &BTreeMap::new());
        let share = reading(&foreign, FAILED_SHARE);
        assert!(matches!(share, Some(Reading::Unavailable(_))), "nobody knows of how many: {share:?}");
        assert_eq!(reading(&foreign, "response_p99"), Some(&Reading::Value(990.0)));
    }
}
