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
    /// Of named hosts only.
    pub fn of(shares: &[HostLoad]) -> Vec<HostFigures> {
        shares.iter().filter(|share| share.host != LOCAL_HOST).map(HostFigures::of_one).collect()
    }

    fn of_one(share: &HostLoad) -> HostFigures {
        let window_ns = share.counts.window_ns.max(1) as f64;
        let quantile = |quantile| share.latencies.response.quantile(quantile, "transactions on this host");
        let of_cpu = |figure: &dyn Fn(f64) -> f64| match share.counts.cpu_ns {
            Some(cpu_ns) => Reading::Value(figure(cpu_ns as f64)),
            None => Reading::unavailable("the operating system did not tell, or time is virtual"),
        };
        let transactions = share.counts.succeeded_in_window.max(1) as f64;
        HostFigures {
            host: share.host.clone(),
            throughput: share.counts.completed.total() * 1e9 / window_ns,
            p50_us: quantile(0.5),
            p99_us: quantile(0.99),
            errors: share.counts.failures(),
            cpu_us: of_cpu(&|cpu_ns| cpu_ns / 1e3 / transactions),
            busy_share: of_cpu(&|cpu_ns| cpu_ns / window_ns / share.cores.max(f64::MIN_POSITIVE)),
        }
    }
}

pub(super) fn measurements(hosts: &[HostFigures], into: &mut Vec<Measurement>) {
    for host in hosts {
        let mut push = |id: &str, unit: &str, direction, reading| {
            let id = format!("{id}_on_{}", host.host);
            into.push(Measurement::new(&id, unit, direction, Role::Diagnostic, reading));
        };
        push("throughput", "tx/s", Direction::Higher, Reading::Value(host.throughput));
        push("response_p50", "us", Direction::Lower, host.p50_us.clone());
        push("response_p99", "us", Direction::Lower, host.p99_us.clone());
        push("errors", "", Direction::Lower, Reading::Value(host.errors as f64));
        push("client_cpu_per_tx", "us", Direction::Lower, host.cpu_us.clone());
        push("client_busy_share", "", Direction::Neither, host.busy_share.clone());
    }
}

/// Far slower than the middle one.
pub(super) fn slow(hosts: &[HostFigures]) -> Vec<Mark> {
    let known: Vec<(&str, f64)> =
        hosts.iter().filter_map(|host| Some((host.host.as_str(), host.p99_us.value()?))).collect();
    let mut sorted: Vec<f64> = known.iter().map(|(_, us)| *us).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    // Of two the faster is the reference.
    let Some(middle) = sorted.get(sorted.len().saturating_sub(1) / 2).copied() else { return Vec::new() };
    let is_slow = |us: f64| us > SLOW * middle && us - middle > SLOW_FLOOR_US;
    let mark = |(host, us): &(&str, f64)| Mark {
        kind: MarkKind::Note,
        detail: format!(
            "the client host {host} is slow: its 99th percentile is {:.2} ms, that of the middle host {:.2} ms",
            us / 1e3,
            middle / 1e3
        ),
    };
    known.iter().filter(|(_, us)| is_slow(*us)).map(mark).collect()
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
        assert_eq!(slow(&[host("a", 1_000.0), host("b", 1_100.0)]), []);
        let marks = slow(&[host("a", 1_000.0), host("b", 5_000.0)]);
        assert!(marks.len() == 1 && marks[0].detail.contains("host b is slow"), "{marks:?}");
        assert_eq!(slow(&[host("a", 10.0), host("b", 90.0)]), [], "the scheduler's doing");
        assert_eq!(slow(&[]), []);
    }

    #[test]
    fn each_host_has_its_own_rows() {
        let mut all = Vec::new();
        measurements(&[host("a", 7.0), host("b", 9.0)], &mut all);
        let ids: Vec<&str> = all.iter().map(|one| one.metric.id.as_str()).collect();
        assert!(ids.contains(&"response_p99_on_a") && ids.contains(&"throughput_on_b"), "{ids:?}");
    }
}
