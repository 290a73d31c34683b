//! Runs that were limited to a rate: their throughput is what was asked for, and says nothing of the system.

use model::{Direction, Measurement, Role, Value};

use crate::ImportedResult;

/// Marks a result of pgbench as one of a run whose rate was limited (`-R`), which it does not print: the rate becomes a key, the
/// throughput is not judged.
pub fn mark_rate_limited(result: &mut ImportedResult, asked: Option<f64>) {
    result.keys.insert("rate_limited".to_owned(), Value::Text("yes".to_owned()));
    if let Some(rate) = asked.and_then(round_rate) {
        result.keys.insert("rate".to_owned(), Value::Text(format!("about {rate}")));
    }
    rename_limited(&mut result.measurements, &["throughput"]);
    result.notes.push(
        "the load was limited to a rate (-R), which pgbench does not print: the key `rate` is rounded from what it was, \
         and the throughput has no verdict"
            .to_owned(),
    );
}

/// Renames rates to `limited_…`, which are not judged: in one benchmark a metric has one better way.
pub fn rename_limited(measurements: &mut [Measurement], ids: &[&str]) {
    for measurement in measurements.iter_mut().filter(|one| ids.contains(&one.metric.id.as_str())) {
        let (id, unit) = (format!("limited_{}", measurement.metric.id), measurement.metric.unit.clone());
        *measurement = Measurement::new(&id, &unit, Direction::Neither, Role::Diagnostic, measurement.reading.clone());
    }
}

/// Rounds a rate to two digits, of which the second is 0 or 5 unless the first is 1.
/// The transactions of a schedule are random, so that 60 s at 100 a second have 98 to 102 a second.
fn round_rate(rate: f64) -> Option<String> {
    if !(1e-6..1e12).contains(&rate) {
        return None;
    }
    let exponent = rate.log10().floor();
    let scale = 10_f64.powf(exponent);
    let step = if rate < 1.95 * scale { scale / 10.0 } else { scale / 2.0 };
    // At least the digits of the step.
    let decimals = (1.0 - exponent).max(0.0) as usize;
    let text = format!("{:.decimals$}", (rate / step).round() * step);
    Some(if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_rounded_alike_in_spite_of_chance() {
        for asked in [0.5, 1.0, 5.0, 10.0, 50.0, 100.0, 150.0, 180.0, 200.0, 250.0, 450.0, 950.0, 1e3, 7.5e4] {
            for chance in [0.98, 0.99, 1.0, 1.01, 1.02] {
                assert_eq!(round_rate(asked * chance), Some(asked.to_string()), "{asked} × {chance}");
            }
        }
        assert_eq!((round_rate(0.0), round_rate(f64::NAN), round_rate(f64::INFINITY)), (None, None, None));
    }
}
