//! What went on beside a run on one of its machines, as a run keeps it.

use host::watch::Watched;
use model::{Direction, Mark, Measurement, Reading, Role, RunRecord, RunState};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    pub measurements: Vec<Measurement>,
    pub marks: Vec<Mark>,
}

impl Surroundings {
    /// `host` is the name of an agent's machine; one that has none is that of the only étalon.
    pub fn of(watched: &Watched, host: Option<&str>) -> Surroundings {
        let others = watched.others.as_ref();
        let cpu = watched.cpu.as_ref();
        let reading = |value: Result<f64, &String>| value.map_err(Clone::clone).into();
        let cores = watched.cores().ok_or_else(|| "the machine's processors do not tell their time".to_owned());
        let readings: [(&str, &str, Direction, Reading); 5] = [
            ("other_load", "cores", Direction::Lower, reading(others.map(|load| load.mean_cores))),
            ("other_load_peak", "cores", Direction::Lower, reading(others.map(|load| load.peak_cores))),
            ("machine_cores", "cores", Direction::Neither, cores.into()),
            ("machine_busy_share", "", Direction::Neither, reading(cpu.map(|cpu| cpu.busy_share))),
            ("machine_steal_share", "", Direction::Neither, reading(cpu.map(|cpu| cpu.steal_share))),
        ];
        let measurement = |(id, unit, direction, reading): (&str, &str, Direction, Reading)| {
            let id = host.map_or_else(|| id.to_string(), |host| format!("{id}_on_{host}"));
            Measurement::new(&id, unit, direction, Role::Diagnostic, reading)
        };
        let on_host = |mark: Mark| match host {
            Some(host) => Mark { detail: format!("{host}: {}", mark.detail), ..mark },
            None => mark,
        };
        Surroundings {
            measurements: readings.into_iter().map(measurement).collect(),
            marks: host::doctor::disturbances(watched).into_iter().map(on_host).collect(),
        }
    }

    /// A run without a result has nothing that could be disturbed.
    pub fn add_to(self, record: &mut RunRecord) {
        if record.state == RunState::Measured {
            record.measurements.extend(self.measurements);
            record.marks.extend(self.marks);
        }
    }
}
