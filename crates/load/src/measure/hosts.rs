//! Figures per client host, so that one slow client cannot hide.

use model::{Direction, Mark, MarkKind, Measurement, Reading, Role};

use crate::generator::{HostLoad, LOCAL_HOST};

/// A host at this multiple of the middle p99 is named.
const SLOW: f64 = 2.0;
/// Smaller differences are the scheduler's.
const SLOW_FLOOR_US: f64 = 200.0;

#[derive(Clone, Debug)]
pub struct HostFigures {
    pub host: String,
    pub throughput: f64,
    /// Median response time in microseconds.
    pub p50_us: Reading,
    /// 99th percentile of the response time in microseconds.
    pub p99_us: Reading,
    pub errors: u64,
    pub cpu_us: Reading,
    /// The share of its cores' time that the load generator's threads were busy.
    pub busy_share: Reading,
}

impl HostFigures {
    /// The figures of named hosts only.
    pub fn from_loads(loads: &[HostLoad]) -> Vec<HostFigures> {
        loads.iter().filter(|load| load.host != LOCAL_HOST).map(HostFigures::from_load).collect()
    }

    /// The figures of one host.
    fn from_load(share: &HostLoad) -> HostFigures {
        let window_ns = share.counts.window_ns.max(1) as f64;
        let [p50_us, p99_us] = [0.5, 0.99]
            .map(|quantile| share.latencies.response.quantile_reading(quantile, "transactions on this host"));
        let transactions = share.counts.succeeded_in_window.max(1) as f64;
        let (cpu_us, busy_share) = match share.counts.cpu_ns {
            Some(cpu_ns) => {
                let cpu_ns = cpu_ns as f64;
                let busy_share = cpu_ns / window_ns / share.cores.max(f64::MIN_POSITIVE);
                (Reading::Value(cpu_ns / 1e3 / transactions), Reading::Value(busy_share))
            }
            None => {
                let unknown = Reading::unavailable("the operating system did not tell, or time is virtual");
                (unknown.clone(), unknown)
            }
        };
        HostFigures {
            host: share.host.clone(),
            throughput: share.counts.completed.total() * 1e9 / window_ns,
            p50_us,
            p99_us,
            errors: share.counts.failures(),
            cpu_us,
            busy_share,
        }
    }
}

/// Adds the figures of each host.
pub(super) fn add_measurements(hosts: &[HostFigures], into: &mut Vec<Measurement>) {
    for host in hosts {
        let figures = [
            ("throughput", "tx/s", Direction::Higher, Reading::Value(host.throughput)),
            ("response_p50", "us", Direction::Lower, host.p50_us.clone()),
            ("response_p99", "us", Direction::Lower, host.p99_us.clone()),
            ("errors", "", Direction::Lower, Reading::Value(host.errors as f64)),
            ("client_cpu_per_tx", "us", Direction::Lower, host.cpu_us.clone()),
            ("client_busy_share", "", Direction::Neither, host.busy_share.clone()),
        ];
        into.extend(figures.map(|(id, unit, direction, reading)| {
            let id = format!("{id}_on_{}", host.host);
            Measurement::new(&id, unit, direction, Role::Diagnostic, reading)
        }));
    }
}

/// Marks hosts that were far slower than the middle one.
pub(super) fn slow_host_marks(hosts: &[HostFigures]) -> Vec<Mark> {
    let known: Vec<(&str, f64)> =
        hosts.iter().filter_map(|host| Some((host.host.as_str(), host.p99_us.value()?))).collect();
    let mut sorted: Vec<f64> = known.iter().map(|(_, us)| *us).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    // Of two the faster is the reference.
    let Some(middle) = sorted.get(sorted.len().saturating_sub(1) / 2).copied() else { return Vec::new() };
    let slow = known.iter().filter(|(_, us)| *us > SLOW * middle && us - middle > SLOW_FLOOR_US);
    let marks = slow.map(|(host, us)| {
        let detail = format!(
            "the client host {host} is slow: its 99th percentile is {:.2} ms, that of the middle host {:.2} ms",
            us / 1e3,
            middle / 1e3
        );
        Mark::new(MarkKind::Note, detail)
    });
    marks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, p99_us: f64) -> HostFigures {
        HostFigures {
            host: name.to_owned(),
            throughput: 1.0,
            p50_us: Reading::Value(1.0),
            p99_us: Reading::Value(p99_us),
            errors: 0,
            cpu_us: Reading::Value(20.0),
            busy_share: Reading::Value(0.1),
        }
    }

    #[test]
    fn one_slow_host_is_named_and_alike_ones_are_not() {
        assert_eq!(slow_host_marks(&[host("a", 1_000.0), host("b", 1_100.0)]), []);
        let marks = slow_host_marks(&[host("a", 1_000.0), host("b", 5_000.0)]);
        assert!(marks.len() == 1 && marks[0].detail.contains("host b is slow"), "{marks:?}");
        assert_eq!(slow_host_marks(&[host("a", 10.0), host("b", 90.0)]), [], "the scheduler's doing");
        assert_eq!(slow_host_marks(&[]), []);
    }

    #[test]
    fn each_host_has_its_own_rows() {
        let mut all = Vec::new();
        add_measurements(&[host("a", 7.0), host("b", 9.0)], &mut all);
        let ids: Vec<&str> = all.iter().map(|one| one.metric.id.as_str()).collect();
        assert!(ids.contains(&"response_p99_on_a") && ids.contains(&"throughput_on_b"), "{ids:?}");
    }
}
