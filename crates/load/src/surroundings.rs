//! Other activity on one of a run's machines while it ran, as a run keeps it.

use host::watch::Watched;
use model::{Direction, Mark, Measurement, Role, RunRecord, RunState};
use serde::{Deserialize, Serialize};

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
        let cores = watched.cores().ok_or_else(|| "the machine's processors do not tell their time".to_owned());
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
        let marks = host::doctor::disturbances(watched).into_iter().map(|mark| match host {
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
