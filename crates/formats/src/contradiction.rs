//! Figures of one run that cannot all be true.

use std::collections::{BTreeMap, BTreeSet};

use model::{Measurement, Reading};

use crate::experiment::keys_text;
use crate::{FormatError, ImportedResult};

/// Percentiles by the latency that they are of: its name and unit. Each has the share beyond it, its value and its metric.
type Latencies<'m> = BTreeMap<(String, &'m str), Vec<(f64, f64, &'m str)>>;

/// Factor that a lower percentile may be above a higher one by: tools round each on its own.
const ROUNDING: f64 = 1.05;

/// Explains which lower percentile of a latency is larger than a higher one; `None` if none is.
pub(crate) fn find_contradiction(measurements: &[Measurement]) -> Option<String> {
    let mut latencies = Latencies::new();
    for Measurement { metric, reading } in measurements {
        let (Some(tail), Reading::Value(value)) = (metric.tail(), reading) else { continue };
        if tail.share > 0.0 {
            let latency = (metric.name_without_rank(), metric.unit.as_str());
            latencies.entry(latency).or_default().push((tail.share, *value, &metric.id));
        }
    }
    for ((_, unit), mut percentiles) in latencies {
        percentiles.sort_by(|a, b| b.0.total_cmp(&a.0));
        let pairs = percentiles.iter().zip(percentiles.iter().skip(1));
        for ((_, low, low_name), (_, high, high_name)) in pairs {
            if *low > high * ROUNDING {
                return Some(format!(
                    "its figures contradict each other: {low_name} is {low} {unit}, and {high_name} {high} {unit}"
                ));
            }
        }
    }
    None
}

/// Fails if a metric stands twice in a result, or has a value that is not finite.
pub(crate) fn check_result(result: &ImportedResult) -> Result<(), FormatError> {
    let mut seen = BTreeSet::new();
    for measurement in &result.measurements {
        let id = &measurement.metric.id;
        if !seen.insert(id) {
            return Err(FormatError::of_whole(format!("metric {id:?} stands twice in {}", place_in_error(result))));
        }
        if matches!(measurement.reading, Reading::Value(value) if !value.is_finite()) {
            return Err(FormatError::of_whole(format!(
                "metric {id:?} has no finite value in {}",
                place_in_error(result)
            )));
        }
    }
    Ok(())
}

fn place_in_error(result: &ImportedResult) -> String {
    format!("{} on {} ({})", result.benchmark, result.system, keys_text(&result.keys))
}

#[cfg(test)]
mod tests {
    use model::{Direction, Role};

    use super::*;

    fn found(figures: &[(&str, &str, f64)]) -> Option<String> {
        let measurements: Vec<Measurement> = figures
            .iter()
            .map(|(id, unit, value)| Measurement::value(id, unit, Direction::Lower, Role::Primary, *value))
            .collect();
        find_contradiction(&measurements)
    }

    #[test]
    fn a_lower_percentile_is_not_the_larger() {
        for (low, high) in [
            ("latency_p50", "latency_p99"),
            ("response_p99_reads", "response_p999_reads"),
            ("p50", "p99.9"),
            ("latency 95th", "latency 99th"),
            ("median_latency", "p99_latency"),
        ] {
            let said = found(&[(low, "ms", 9.0), (high, "ms", 4.0)]).unwrap_or_default();
            assert!(said.contains(low) && said.contains(high) && said.contains("9 ms"), "{low}: {said}");
            assert_eq!(found(&[(low, "ms", 4.0), (high, "ms", 9.0)]), None, "{low}");
            assert_eq!(found(&[(low, "ms", 4.0), (high, "ms", 4.0)]), None, "{low}");
        }
        // Of two latencies, of rounding, and of no latency.
        for other in [
            [("response_p50", "ms", 9.0), ("pool_wait_p99", "ms", 4.0)],
            [("latency_p50_reads", "ms", 9.0), ("latency_p99_writes", "ms", 4.0)],
            [("latency_p50", "ms", 0.31), ("latency_p99", "ms", 0.3)],
            [("latency_p50", "ms", 900.0), ("latency_p99", "s", 1.0)],
            [("latency_mean", "ms", 9.0), ("latency_p99", "ms", 4.0)],
            [("throughput", "tx/s", 9.0), ("latency_p99", "ms", 4.0)],
        ] {
            assert_eq!(found(&other), None, "{other:?}");
        }
    }
}
