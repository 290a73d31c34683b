//! A disk's files: made, verified, counted, removed.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use host::blocks::Access;
use host::claim::FileClaim;
use host::disk::{Layer, LayerCounters};
use host::scratch::Scratch;
use host::target::{Flaw, Marker, MarkerState, Sound, TargetVerdict};

use super::host_failure;
use super::place::DiskPlace;
use crate::kept::claim_file;
use load::counters::Devices;
use load::error::{Failure, FailureKind};
use workloads::dataset::{DataFile, FileLayout};
use workloads::disk::size_to_make;
use workloads::permits::Permits;
use workloads::system::Consent;

pub(super) struct Making<'a> {
    pub(super) place: &'a DiskPlace,
    pub(super) consent: Consent,
    pub(super) permits: &'a Permits,
    pub(super) interrupt: &'a AtomicBool,
    pub(super) scratch: &'a Scratch,
}

#[derive(Clone, Debug)]
pub(super) struct DiskFile {
    pub(super) path: PathBuf,
    pub(super) sound: Sound,
    ownership: Ownership,
    layout: FileLayout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ownership {
    /// Made by this run, removed at the end.
    Ours,
    Foreign,
}

#[derive(Debug, Default)]
pub(super) struct Files {
    known: BTreeMap<PathBuf, DiskFile>,
    paths: Vec<(DataFile, PathBuf)>,
    current: Vec<PathBuf>,
    /// Layers of devices under the files.
    layers: Option<Result<Vec<Layer>, String>>,
    /// Keep other étalons away.
    claims: BTreeMap<PathBuf, FileClaim>,
}

impl Files {
    /// Makes missing files, verifies new ones, and evicts them from the page cache.
    pub(super) fn prepare_files(&mut self, wanted: &[DataFile], making: &Making<'_>) -> Result<(), Failure> {
        let paths: Vec<PathBuf> = wanted
            .iter()
            .map(|file| match making.place {
                // A made volume is not in its image's folder.
                DiskPlace::Volume { path, .. } => {
                    path_on_volume(path, path_of_file(file, making.place), making.permits)
                }
                _ => making.permits.check_path(&path_of_file(file, making.place)),
            })
            .collect::<Result<_, _>>()?;
        if let Err(failure) = self.prepare_all(wanted, &paths, making) {
            // Unused files need not be claimed.
            self.claims.retain(|path, _| self.known.contains_key(path));
            return Err(failure);
        }
        if self.layers.is_none() {
            let place = paths.first().cloned().unwrap_or_else(|| making.place.folder_path());
            self.layers = Some(host::disk::layers_of(&place).map_err(|error| error.to_string()));
        }
        self.current = paths;
        Ok(())
    }

    /// Claims the wanted files at these paths, then makes or verifies each.
    fn prepare_all(&mut self, wanted: &[DataFile], paths: &[PathBuf], making: &Making<'_>) -> Result<(), Failure> {
        for (file, path) in wanted.iter().zip(paths) {
            self.claim_file(file, path, making)?;
        }
        self.check_space_for_files(wanted, paths, making)?;
        for (file, path) in wanted.iter().zip(paths) {
            self.prepare_one(file, path, making)?;
            // If that fails, cells served by the cache are marked.
            let _ = host::disk::evict_from_cache(path);
            if !self.paths.iter().any(|(known, _)| known == file) {
                self.paths.push((file.clone(), path.clone()));
            }
        }
        Ok(())
    }

    /// Claims a file for this étalon, unless it has it; a device is claimed by itself.
    /// Other étalons would make the file again, or load the same disk.
    fn claim_file(&mut self, file: &DataFile, path: &Path, making: &Making<'_>) -> Result<(), Failure> {
        if matches!(making.place, DiskPlace::Device(_)) || self.claims.contains_key(path) {
            return Ok(());
        }
        match claim_file(path) {
            // A read-only file may lie where nothing can be put next to it.
            Err(failure) if failure.kind == FailureKind::Permission && file.access == Access::Read => {}
            claimed => {
                self.claims.insert(path.to_owned(), claimed?);
            }
        }
        Ok(())
    }

    /// Makes or verifies one file, and remembers it.
    fn prepare_one(&mut self, file: &DataFile, path: &Path, making: &Making<'_>) -> Result<(), Failure> {
        let is_to_be_made_anew = self.known.get(path).is_some_and(|known| {
            let has_other_size = file.size_bytes.is_some_and(|bytes| bytes != known.sound.size_bytes);
            known.ownership == Ownership::Ours && (has_other_size || known.layout != file.layout)
        });
        if is_to_be_made_anew {
            self.known.remove(path);
        } else if let Some(known) = self.known.get(path) {
            return refuse_beyond(file, path, known.sound.size_bytes)
                .and_then(|()| refuse_foreign(file, path, known.ownership, making));
        }
        let ownership = match making.place {
            DiskPlace::Device(device) => {
                fill_device(device, file, making)?;
                Ownership::Foreign
            }
            _ if is_to_be_made_anew || must_be_made(file, path) => {
                make_file(file, path, making)?;
                Ownership::Ours
            }
            // Left by an earlier run: a name of étalon's with its mark.
            DiskPlace::Folder { .. } | DiskPlace::Volume { .. }
                if file.name.is_none() && Marker::read_marker(path).is_some() =>
            {
                Ownership::Ours
            }
            _ => Ownership::Foreign,
        };
        refuse_foreign(file, path, ownership, making)?;
        let sound = verify_content(path, file.reach_bytes)?;
        let layout = file.layout;
        self.known.insert(path.to_owned(), DiskFile { path: path.to_owned(), sound, ownership, layout });
        Ok(())
    }

    /// Fails if the files that are to be made do not fit, before the first byte is written.
    fn check_space_for_files(
        &self,
        wanted: &[DataFile],
        paths: &[PathBuf],
        making: &Making<'_>,
    ) -> Result<(), Failure> {
        if matches!(making.place, DiskPlace::Device(_)) {
            return Ok(());
        }
        let to_make =
            wanted.iter().zip(paths).filter(|(file, path)| !self.known.contains_key(*path) && must_be_made(file, path));
        let needed = to_make.map(|(file, _)| match file.layout {
            FileLayout::Fresh => size_to_make(file),
            // It takes its size twice while it is made.
            FileLayout::Fragmented { .. } => 2 * size_to_make(file),
        });
        let needed: u64 = needed.sum();
        let folder = making.place.folder_path();
        let tried = format!("make files of {} in {}", bytes_as_mib(needed), folder.display());
        let free = host::disk::free_bytes(&folder).map_err(|error| host_failure(&tried, error))?;
        if needed > 0 && needed.saturating_add(host::target::RESERVE_BYTES) > free {
            let left = bytes_as_mib(host::target::RESERVE_BYTES);
            let cause = format!("its volume has {} free, and {left} are left to others", bytes_as_mib(free));
            let hint = "lower `size_mb`, or name a folder on a larger volume";
            return Err(Failure::new(FailureKind::DiskFull, tried, cause).with_hint(hint));
        }
        Ok(())
    }

    /// Finds files that were prepared, in the order wanted; fails if one was not.
    pub(super) fn prepared_files(&self, wanted: &[DataFile]) -> Result<Vec<DiskFile>, Failure> {
        let files: Option<Vec<DiskFile>> = wanted.iter().map(|file| self.find_prepared(file)).collect();
        files.ok_or_else(|| Failure::new(FailureKind::Other, "work on the files", "they have not been prepared"))
    }

    /// Finds a file of the load among those that were prepared.
    fn find_prepared(&self, file: &DataFile) -> Option<DiskFile> {
        let (_, path) = self.paths.iter().find(|(known, _)| known == file)?;
        self.known.get(path).cloned()
    }

    /// Has the operating system write the current files to the disk.
    pub(super) fn sync_files(&self) -> Result<(), Failure> {
        for path in &self.current {
            let tried = format!("sync {}", path.display());
            let file = std::fs::File::open(path).map_err(|error| Failure::from_io(&tried, &error))?;
            match file.sync_all() {
                // Windows does not sync a read-only file; nothing writes to it.
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {}
                other => other.map_err(|error| Failure::from_io(&tried, &error))?,
            }
        }
        Ok(())
    }

    /// Reads the current counters, temperature and extents of the devices under the files.
    pub(super) fn device_counters(&self, folder: &Path) -> Devices {
        let layers = match &self.layers {
            Some(found) => found.clone(),
            None => host::disk::layers_of(folder).map_err(|error| error.to_string()),
        };
        let counters = layers.clone().and_then(|l| LayerCounters::read_layers(&l).map_err(|error| error.to_string()));
        Devices {
            layers: counters,
            celsius: layers.and_then(|layers| hottest_celsius(&layers)),
            extents: self.count_extents(),
        }
    }

    /// Counts the extents in which the current files lie.
    fn count_extents(&self) -> Result<u64, String> {
        let mut sum = 0;
        for path in &self.current {
            let file = self.known.get(path).ok_or("the file has not been verified")?;
            sum += file.sound.extents.as_ref().map_err(Clone::clone)?.count;
        }
        Ok(sum)
    }

    /// Removes the files that étalon made, and forgets all files.
    pub(super) fn remove_made(&mut self) -> Result<(), Failure> {
        for (path, file) in &self.known {
            if file.ownership == Ownership::Ours {
                let tried = format!("remove {}", path.display());
                host::target::remove_with_companions(path).map_err(|error| host_failure(&tried, error))?;
            }
        }
        *self = Files::default();
        Ok(())
    }
}

/// Reads the temperature of the hottest device, °C.
fn hottest_celsius(layers: &[Layer]) -> Result<f64, String> {
    let mut reason = "there are no devices".to_owned();
    let mut warmest: Option<f64> = None;
    for layer in layers {
        match host::disk::device_temperatures(&layer.name) {
            Ok(sensors) => {
                warmest = sensors.iter().map(|sensor| sensor.celsius).chain(warmest).reduce(f64::max);
            }
            Err(why) => reason = why,
        }
    }
    warmest.ok_or(reason)
}

/// Checks a file's path on a volume that étalon made, by its name only; elsewhere the whole path.
fn path_on_volume(volume: &Path, file: PathBuf, permits: &Permits) -> Result<PathBuf, Failure> {
    match file.strip_prefix(volume) {
        Ok(name) => permits.check_name(&name.to_string_lossy()).map(|()| file.clone()),
        Err(_) => permits.check_path(&file),
    }
}

/// Makes the path of a file of the load in this place; a file without a name is named by its size.
fn path_of_file(file: &DataFile, place: &DiskPlace) -> PathBuf {
    match (&file.name, place) {
        (_, DiskPlace::Device(device)) => device.path.clone(),
        (Some(name), _) => place.folder_path().join(name),
        (None, DiskPlace::File { path, .. }) => path.clone(),
        (None, _) => {
            let size = size_to_make(file) >> 20;
            let name = match file.layout {
                FileLayout::Fresh => format!("etalon-{size}m.dat"),
                FileLayout::Fragmented { piece_bytes } => format!("etalon-{size}m-in-{}k.dat", piece_bytes >> 10),
            };
            place.folder_path().join(name)
        }
    }
}

/// Tests whether a file is missing, or étalon's own but unfinished or of another size.
fn must_be_made(file: &DataFile, path: &Path) -> bool {
    if !path.exists() {
        return true;
    }
    Marker::read_marker(path).is_some_and(|marker| {
        marker.state == MarkerState::Making || file.size_bytes.is_some_and(|bytes| bytes != marker.size_bytes)
    })
}

/// Makes a file of the size and layout that the load wants, and fills it.
fn make_file(file: &DataFile, path: &Path, making: &Making<'_>) -> Result<(), Failure> {
    let size_bytes = size_to_make(file);
    refuse_beyond(file, path, size_bytes)?;
    let tried = format!("make {}", path.display());
    making.scratch.claim_file(path).map_err(|error| host_failure(&tried, error))?;
    let go_on = &mut |_| continue_unless_interrupted(making.interrupt);
    let made = match file.layout {
        FileLayout::Fresh => host::target::make_file(path, size_bytes, go_on),
        FileLayout::Fragmented { piece_bytes } => {
            host::target::make_fragmented(path, size_bytes, piece_bytes, go_on).map(|_| ())
        }
    };
    made.map_err(|error| host_failure(&tried, error))
}

/// Fills a raw device with étalon's blocks.
fn fill_device(device: &host::target::RawDevice, file: &DataFile, making: &Making<'_>) -> Result<(), Failure> {
    let bytes = file.size_bytes.unwrap_or(device.size_bytes);
    refuse_beyond(file, &device.path, bytes.min(device.size_bytes))?;
    let filled =
        device.fill_with_blocks(bytes.min(device.size_bytes), &mut |_| continue_unless_interrupted(making.interrupt));
    filled.map_err(|error| host_failure(&format!("fill {}", device.path.display()), error))
}

/// Breaks once the interrupt is set, else continues.
fn continue_unless_interrupted(interrupt: &AtomicBool) -> ControlFlow<()> {
    if interrupt.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Fails if a file or device is smaller than what the load reaches.
fn refuse_beyond(file: &DataFile, path: &Path, size_bytes: u64) -> Result<(), Failure> {
    if file.reach_bytes <= size_bytes {
        return Ok(());
    }
    let flaw = Flaw::TooSmall { size_bytes, span_bytes: file.reach_bytes };
    Err(Failure::new(FailureKind::Plan, format!("work on {}", path.display()), flaw)
        .with_hint("lower `span_mb` or `offset_kb`, or raise `size_mb`"))
}

/// Fails if the load writes to a file that étalon did not make, unless the user agreed to lose it.
fn refuse_foreign(file: &DataFile, path: &Path, ownership: Ownership, making: &Making<'_>) -> Result<(), Failure> {
    let is_asked = file.access == Access::ReadWrite && ownership == Ownership::Foreign;
    let is_allowed = making.consent == Consent::DropForeign
        || matches!(making.place, DiskPlace::Device(_))
        || Marker::read_marker(path).is_some();
    if !is_asked || is_allowed {
        return Ok(());
    }
    let cause = "étalon did not make it, and what is in it would be lost";
    Err(Failure::new(FailureKind::NotOurs, format!("write over {}", path.display()), cause).with_hint(
        "name a folder, in which étalon makes a file of its own; or say `--yes` to lose what is in this one",
    ))
}

/// Fails if a file is not sound to measure on, as far as the load reaches; returns what was found.
fn verify_content(path: &Path, reach_bytes: u64) -> Result<Sound, Failure> {
    let tried = format!("measure on {}", path.display());
    match host::target::verify_target(path, reach_bytes).map_err(|error| host_failure(&tried, error))? {
        TargetVerdict::Sound(sound) => Ok(sound),
        TargetVerdict::Refused(flaw) => {
            let hint = "let étalon make the file: name a folder, or a file that is not there";
            Err(Failure::new(FailureKind::Verification, tried, flaw).with_hint(hint))
        }
    }
}

/// Writes a number of bytes in MiB, rounded down.
fn bytes_as_mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}
