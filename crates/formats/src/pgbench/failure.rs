//! Why a run that pgbench printed is none.

use super::PgbenchSummary;
use super::import::not_succeeded;

/// The tps are without the time of the first connections, and so higher than transactions by seconds, but not by so much.
const MOST_BEYOND: f64 = 1.25;

/// Explains why a run's figures are not those of the load that was asked for; `None` if they are.
pub(super) fn failure_reason(run: &PgbenchSummary) -> Option<String> {
    if let Some(said) = &run.aborted {
        return Some(format!("pgbench was aborted: {said}"));
    }
    let Some(tps) = run.tps else {
        return Some("it printed no tps: pgbench was stopped, or no transaction ended well".to_owned());
    };
    if let (Some(processed), Some(seconds), None) = (run.processed, run.duration_s, run.skipped)
        && tps * seconds > MOST_BEYOND * processed as f64
    {
        return Some(format!(
            "its figures contradict each other: {tps} tps, and {processed} transactions in {seconds} s"
        ));
    }
    if let (Some(latency_ms), Some(clients), None) = (run.latency_ms, run.clients, run.lag_ms)
        && latency_ms / 1_000.0 * tps > MOST_BEYOND * clients as f64
    {
        return Some(format!(
            "its figures contradict each other: {tps} tps of {latency_ms} ms each are more than {clients} clients have time for"
        ));
    }
    let (planned, ended) = (run.planned?, run.processed?.saturating_add(not_succeeded(run)));
    (ended < planned)
        .then(|| format!("{ended} of {planned} transactions ended: pgbench or some of its clients were stopped"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_cannot_all_be_true_are_no_run() {
        let run = PgbenchSummary {
            tps: Some(2_000.0),
            processed: Some(20_000),
            duration_s: Some(10.0),
            clients: Some(1),
            ..PgbenchSummary::default()
        };
        for (latency_ms, is_true) in [(None, true), (Some(0.5), true), (Some(0.55), true), (Some(5.0), false)] {
            let reason = failure_reason(&PgbenchSummary { latency_ms, ..run.clone() });
            assert_eq!(reason.is_none(), is_true, "{latency_ms:?}: {reason:?}");
        }
        // A schedule's lag is in the latency.
        let scheduled = PgbenchSummary { latency_ms: Some(5.0), lag_ms: Some(4.6), ..run };
        assert_eq!(failure_reason(&scheduled), None);
    }
}
