//! Figures of a run.

use std::collections::BTreeMap;

use model::{Direction, Mark, MarkKind, Measurement, Reading, Role, RunRecord};

use super::procedure::cpu_reading;
use crate::backup::archive::{Class, ClassSize};
use crate::backup::backups::TakenBackup;
use crate::backup::codec::{Codec, Compression};
use crate::backup::meter::{Growth, Meter, at_twentieths};
use crate::step::StepOutcome;
use load::counters::Placement;

/// CPU time is reported per GiB.
const GIB: f64 = (1u64 << 30) as f64;
const MIB: f64 = (1u64 << 20) as f64;

#[derive(Clone, Debug)]
pub(super) struct Cost {
    pub(super) elapsed_s: f64,
    pub(super) parts: Vec<(&'static str, f64)>,
    server: Reading,
    client: Reading,
    compressor: f64,
    placement: Placement,
    pub(super) source_bytes: Option<u64>,
}

/// CPU seconds of étalon's process without compression, and of its programs.
fn client_cpu(meter: &Meter, compressor: f64) -> Reading {
    meter.tools_cpu_s.clone().unwrap_or(Ok(0.0)).map(|tools| (meter.own_cpu_s - compressor).max(0.0) + tools).into()
}

impl Cost {
    /// Computes what a backup cost: time, and the CPU of server, client and compressor.
    pub(super) fn of_backup(meter: &Meter, compressor: f64, server: Result<f64, String>, placement: Placement) -> Cost {
        Cost {
            elapsed_s: meter.elapsed_s(),
            parts: meter.parts.clone(),
            server: cpu_reading(server, placement),
            client: client_cpu(meter, compressor),
            compressor,
            placement,
            source_bytes: meter.source_bytes,
        }
    }

    /// Computes what a restore cost: time, and the CPU of server, client and decompressor.
    pub(super) fn of_restore(meter: &Meter, server: Result<f64, String>, placement: Placement) -> Cost {
        Cost::of_backup(meter, meter.codec_cpu_s, server, placement)
    }

    /// Counts all of étalon's CPU time for the compressor.
    ///
    /// Codec workers cannot be asked one by one, and the client's part is little.
    pub(super) fn attribute_cpu_to_compressor(&mut self, meter: &Meter) {
        self.compressor = meter.own_cpu_s;
        self.client = client_cpu(meter, self.compressor);
    }

    /// Marks the server's and the client's CPU time as unknown, since both also worked for the load.
    ///
    /// Compression threads are measured themselves.
    pub(super) fn discard_shared_cpu(&mut self) {
        (self.server, self.client) = (shared_with_transactions(), shared_with_transactions());
        self.placement = Placement::Server;
    }

    /// CPU time of server, client and compressor together; unavailable if the server's is.
    fn total_cpu(&self) -> Reading {
        match (&self.server, &self.client) {
            (Reading::Value(server), Reading::Value(client)) => Reading::Value(server + client + self.compressor),
            (Reading::Unavailable(_), Reading::Value(client)) if self.placement != Placement::Server => {
                Reading::Value(client + self.compressor)
            }
            (Reading::Unavailable(reason), _) | (_, Reading::Unavailable(reason)) => {
                Reading::Unavailable(reason.clone())
            }
        }
    }
}

/// Makes the reading of a CPU time that transactions share, so that it is unavailable.
fn shared_with_transactions() -> Reading {
    Reading::unavailable("the CPU time is that of the transactions beside it, too")
}

pub(super) struct RestoredFigures {
    pub(super) cost: Cost,
    pub(super) growth: Growth,
    pub(super) figures: Vec<Measurement>,
    /// If étalon counted.
    pub(super) source_bytes: Option<u64>,
}

const NO_RESTORE: [(&str, &str, Direction); 2] =
    [("restore_rate", "MiB/s", Direction::Higher), ("restore_cpu_per_gib", "s/GiB", Direction::Lower)];

const NO_BACKUP: [(&str, &str, Direction); 3] = [
    ("backup_rate", "MiB/s", Direction::Higher),
    ("backup_cpu_per_gib", "s/GiB", Direction::Lower),
    ("backup_size", "bytes", Direction::Lower),
];

/// Makes an outcome that gives a reason in place of every primary figure.
pub(super) fn unavailable_outcome(reason: &str) -> StepOutcome {
    StepOutcome {
        measurements: NO_BACKUP
            .into_iter()
            .chain(NO_RESTORE)
            .map(|(id, unit, direction)| {
                Measurement::new(id, unit, direction, Role::Primary, Reading::unavailable(reason))
            })
            .collect(),
        ..StepOutcome::default()
    }
}

const NOT_RESTORED: &str = "the backup was thrown away, as the plan says, and cannot be restored";

pub(super) struct Figures {
    pub(super) source_bytes: u64,
    pub(super) stored_bytes: u64,
    pub(super) rows: u64,
    pub(super) backup: Cost,
    pub(super) restored: Option<RestoredFigures>,
    pub(super) growth: Result<Growth, String>,
    pub(super) classes: BTreeMap<Class, ClassSize>,
    pub(super) compression: Compression,
    pub(super) taken: TakenBackup,
    /// The transactions that ran meanwhile.
    pub(super) load: Option<RunRecord>,
}

/// Makes a measurement with a value.
fn measurement(id: &str, unit: &str, direction: Direction, role: Role, value: f64) -> Measurement {
    Measurement::value(id, unit, direction, role, value)
}

/// How much smaller `stored` is than `source`, in percent.
fn percent_saved(source: u64, stored: u64) -> f64 {
    100.0 * (1.0 - stored as f64 / source.max(1) as f64)
}

impl Figures {
    /// Makes the step's outcome with all of its measurements, series and marks.
    pub(super) fn outcome(mut self) -> StepOutcome {
        let load = self.load.take();
        let (mut all, series, mut marks) =
            load.map_or_else(Default::default, |load| (load.measurements, load.series, load.marks));
        let step = |all: &mut Vec<Measurement>, name: &str, cost: &Cost| {
            let rate = self.source_bytes as f64 / MIB / cost.elapsed_s.max(1e-9);
            all.push(measurement(&format!("{name}_rate"), "MiB/s", Direction::Higher, Role::Primary, rate));
            let per_gib = match cost.total_cpu() {
                Reading::Value(seconds) => Reading::Value(seconds / (self.source_bytes.max(1) as f64 / GIB)),
                unavailable => unavailable,
            };
            let id = format!("{name}_cpu_per_gib");
            all.push(Measurement::new(&id, "s/GiB", Direction::Lower, Role::Primary, per_gib));
            if name == "backup" {
                let size = self.stored_bytes as f64;
                all.push(measurement("backup_size", "bytes", Direction::Lower, Role::Primary, size));
            }
        };
        step(&mut all, "backup", &self.backup);
        match &self.restored {
            Some(restored) => step(&mut all, "restore", &restored.cost),
            None => all.extend(NO_RESTORE.map(|(id, unit, direction)| {
                let none = Reading::unavailable(NOT_RESTORED);
                Measurement::new(id, unit, direction, Role::Primary, none)
            })),
        }
        all.push(measurement("source_size", "bytes", Direction::Neither, Role::Diagnostic, self.source_bytes as f64));
        let saved = percent_saved(self.source_bytes, self.stored_bytes);
        all.push(measurement("saving", "%", Direction::Neither, Role::Diagnostic, saved));
        let rows = match self.restored {
            Some(_) => Reading::Value(self.rows as f64),
            None => Reading::unavailable(NOT_RESTORED),
        };
        all.push(Measurement::new("rows_verified", "", Direction::Neither, Role::Diagnostic, rows));
        self.add_cost("backup", &self.backup, &mut all);
        if let Some(restored) = &self.restored {
            self.add_cost("restore", &restored.cost, &mut all);
        }
        self.add_class_figures(&mut all);
        match &self.growth {
            Ok(seen) => add_growth("backup_file", seen, &mut all),
            Err(reason) => {
                let unknown = Reading::unavailable(reason);
                all.push(Measurement::new("backup_file", "bytes", Direction::Neither, Role::Diagnostic, unknown));
            }
        }
        if let Some(restored) = &self.restored {
            add_growth("restored_files", &restored.growth, &mut all);
            all.extend(restored.figures.iter().cloned());
        }
        all.extend(self.taken.served.iter().flat_map(|served| served.figures.iter().cloned()));
        marks.extend(self.taken.notes.iter().map(|detail| Mark::new(MarkKind::Note, detail.clone())));
        let restored_s = self.restored.as_ref().map_or(0.0, |restored| restored.cost.elapsed_s);
        let elapsed_s = self.backup.elapsed_s + restored_s;
        StepOutcome { elapsed_s, measurements: all, series, marks, ..StepOutcome::default() }
    }

    /// Adds measurements of a backup's or a restore's times and CPU times to `all`.
    fn add_cost(&self, name: &str, cost: &Cost, all: &mut Vec<Measurement>) {
        all.push(seconds_measurement(format!("{name}_time"), Role::Secondary, Reading::Value(cost.elapsed_s)));
        if cost.parts.len() > 1 {
            for (part, elapsed_s) in &cost.parts {
                let id = format!("{name}_time/{}", part.replace(' ', "_"));
                all.push(seconds_measurement(id, Role::Diagnostic, Reading::Value(*elapsed_s)));
            }
        }
        let compressor = match self.taken.compression.codec {
            Codec::None if self.compression.codec == Codec::None => Reading::unavailable("nothing compresses"),
            // Compressed by the server or a program, whose figure includes it.
            _ if cost.compressor == 0.0 => {
                Reading::unavailable("no thread of étalon's compresses: it is in the server's or the client's")
            }
            _ => Reading::Value(cost.compressor),
        };
        all.push(seconds_measurement(format!("{name}_cpu"), Role::Secondary, cost.total_cpu()));
        for (part, reading) in
            [("server", cost.server.clone()), ("client", cost.client.clone()), ("compressor", compressor)]
        {
            all.push(seconds_measurement(format!("{name}_cpu/{part}"), Role::Diagnostic, reading));
        }
    }

    /// Adds each file class's size, saving and zero pages to `all`; zero pages save even when encrypted.
    fn add_class_figures(&self, all: &mut Vec<Measurement>) {
        for (class, name) in Class::ALL {
            let Some(share) = self.classes.get(&class).filter(|share| share.source_bytes > 0) else { continue };
            all.push(diagnostic(format!("source_size/{name}"), "bytes", share.source_bytes as f64));
            all.push(diagnostic(format!("saving/{name}"), "%", percent_saved(share.source_bytes, share.stored_bytes)));
            all.push(diagnostic(format!("zero_pages/{name}"), "bytes", share.zero_bytes as f64));
            if share.zero_bytes > 0 && share.zero_bytes < share.source_bytes {
                let content = share.source_bytes - share.zero_bytes;
                let saved = percent_saved(content, share.stored_content_bytes);
                if self.compression.codec != Codec::None {
                    all.push(diagnostic(format!("saving_without_zero_pages/{name}"), "%", saved));
                }
            }
        }
    }
}

/// Makes a diagnostic measurement in which neither direction is better.
fn diagnostic(id: String, unit: &str, value: f64) -> Measurement {
    measurement(&id, unit, Direction::Neither, Role::Diagnostic, value)
}

/// Makes a measurement in seconds, of which fewer are better.
fn seconds_measurement(id: String, role: Role, reading: Reading) -> Measurement {
    Measurement::new(&id, "s", Direction::Lower, role, reading)
}

/// Adds measurements of how large the files were at each twentieth of the time.
fn add_growth(name: &str, growth: &Growth, all: &mut Vec<Measurement>) {
    let points: Vec<(f64, f64)> = growth.iter().map(|(at, bytes)| (*at, *bytes as f64)).collect();
    for (percent, bytes) in at_twentieths(&points) {
        let id = format!("{name}/{percent:03}");
        all.push(measurement(&id, "bytes", Direction::Neither, Role::Diagnostic, bytes));
    }
}
