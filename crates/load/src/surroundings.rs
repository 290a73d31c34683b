//! Other activity on one of a run's machines while it ran, as a run keeps it.

use host::watch::Watched;
use model::{Direction, Mark, MarkKind, Measurement, Role, RunRecord, RunState};
use serde::{Deserialize, Serialize};

/// A shorter pause of étalon, as a share of what was measured, is none that a verdict rests on.
const PAUSED_SHARE: f64 = 0.01;

/// Marks a run of `of_s` seconds in which étalon stood still.
pub fn stood_still(still_s: f64, of_s: f64) -> Option<Mark> {
    let detail = format!(
        "étalon stood still for {still_s:.2} of {of_s:.2} s: it was stopped, or the machine was suspended or had no processor \
         for it"
    );
    (still_s > PAUSED_SHARE * of_s).then(|| Mark::new(MarkKind::Paused, detail))
}

/// Fewer stops are those of a terminal.
const MANY_STOPS: usize = 5;

/// Marks a run that is no load, which looks at its own clock, and in which étalon stood still.
pub fn stopped_often_or_long(watched: &Watched) -> Option<Mark> {
    let stops = watched.times_continued;
    stood_still(watched.stood_still.as_secs_f64(), watched.elapsed.as_secs_f64()).or_else(|| {
        let detail = format!("étalon was stopped and let go on {stops} times");
        (stops >= MANY_STOPS).then(|| Mark::new(MarkKind::Paused, detail))
    })
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    pub measurements: Vec<Measurement>,
    pub marks: Vec<Mark>,
}

impl Surroundings {
    /// `host` is the name of an agent's machine; one that has none is that of the only étalon.
    pub fn from_watched(watched: &Watched, host: Option<&str>) -> Surroundings {
        let others = watched.others.as_ref();
        let cpu = watched.cpu.as_ref();
        let cores = watched.core_count().ok_or_else(|| "the machine's processors do not tell their time".to_owned());
        let readings: [(&str, &str, Direction, Result<f64, String>); 5] = [
            ("other_load", "cores", Direction::Lower, others.map(|load| load.mean_cores).map_err(Clone::clone)),
            ("other_load_peak", "cores", Direction::Lower, others.map(|load| load.peak_cores).map_err(Clone::clone)),
            ("machine_cores", "cores", Direction::Neither, cores),
            ("machine_busy_share", "", Direction::Neither, cpu.map(|cpu| cpu.busy_share).map_err(Clone::clone)),
            ("machine_steal_share", "", Direction::Neither, cpu.map(|cpu| cpu.steal_share).map_err(Clone::clone)),
        ];
        let measurements = readings.into_iter().map(|(id, unit, direction, reading)| {
            let id = host.map_or_else(|| id.to_string(), |host| format!("{id}_on_{host}"));
            Measurement::new(&id, unit, direction, Role::Diagnostic, reading.into())
        });
        let marks = host::doctor::disturbance_marks(watched).into_iter().map(|mark| match host {
            Some(host) => Mark { host: Some(host.to_owned()), ..mark },
            None => mark,
        });
        Surroundings { measurements: measurements.collect(), marks: marks.collect() }
    }

    /// A run without a result has nothing that could be disturbed.
    pub fn add_to(self, record: &mut RunRecord) {
        if record.state == RunState::Measured {
            record.measurements.extend(self.measurements);
            record.marks.extend(self.marks);
        }
    }
}
