//! A folder, a file, a made volume or a device.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use host::claim::FileClaim;
use host::target::{Marker, RawDevice};
use host::volume::{MadeVolume, VolumeFs, VolumeSpec};
use model::SystemPlan;

use super::{host_failure, lock_mutex, parent_folder};
use crate::kept::claim_file;
use load::error::{Failure, FailureKind};
use workloads::system::OpenRequest;

#[derive(Debug)]
pub(super) enum DiskPlace {
    /// `made`: folders made by étalon, the innermost first.
    Folder { path: PathBuf, made: Vec<PathBuf> },
    /// Made if missing.
    File { path: PathBuf, made: Vec<PathBuf> },
    /// Mounted at `path`. The claim keeps other étalons from its image.
    Volume { volume: Mutex<Option<Box<(MadeVolume, FileClaim)>>>, path: PathBuf, made: Vec<PathBuf> },
    /// All its data may be lost.
    Device(RawDevice),
}

/// Reads from a plan the path after `disk:`, or of a volume's image.
pub(super) fn path_from_plan(system: &SystemPlan) -> Result<PathBuf, Failure> {
    if let Some(volume) = &system.volume {
        return Ok(PathBuf::from(&volume.image));
    }
    let path = system.url.strip_prefix("disk:").unwrap_or(&system.url);
    if path.is_empty() {
        let failure =
            Failure::new(FailureKind::Plan, format!("use `{}`", system.url), "it names no folder and no file");
        return Err(failure.with_hint("write `disk:some/folder`"));
    }
    Ok(PathBuf::from(path))
}

/// Tests whether a path is a folder; a missing one is if its name has no extension.
fn is_folder(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(data) => data.is_dir(),
        Err(_) => path.extension().is_none(),
    }
}

/// Returns the path itself if it is a folder, else the folder that it is in.
pub(super) fn folder_of_path(path: &Path) -> PathBuf {
    if is_folder(path) { path.to_owned() } else { parent_folder(path).to_owned() }
}

/// Says what étalon would make at a path; `None` for an existing file.
pub(super) fn describe_new(path: &Path) -> Option<String> {
    let shown = path.display();
    match (is_folder(path), path.exists()) {
        (true, _) => Some(format!("files in {shown}")),
        (false, true) => None,
        (false, false) => Some(format!("the file {shown}")),
    }
}

/// Says what étalon would remove at a path.
pub(super) fn describe_dropped(path: &Path) -> String {
    let shown = path.display();
    if is_folder(path) {
        return format!("nothing but files that étalon makes in {shown}");
    }
    match (path.exists(), Marker::read_marker(path)) {
        (false, _) => format!("nothing: {shown} does not exist yet"),
        (true, Some(_)) => format!("the file {shown}, which étalon made, if it has not the size that is asked for"),
        (true, None) => format!("nothing: étalon did not make {shown}, and writes to it with `--yes` only"),
    }
}

impl DiskPlace {
    /// Opens the place that the system names: makes its folders or volume, or claims its device.
    pub(super) fn open_place(request: &OpenRequest) -> Result<DiskPlace, Failure> {
        if let Some(volume) = &request.system.volume {
            return DiskPlace::make_volume(volume, request);
        }
        let path = request.permits.check_path(&path_from_plan(request.system)?)?;
        if host::target::is_device(&path) {
            return DiskPlace::claim_device(&path, &request.forfeited);
        }
        let folder = folder_of_path(&path);
        let made = make_folders(&folder)?;
        // Checked again, now that it exists.
        request.permits.check_path(&folder)?;
        Ok(if is_folder(&path) { DiskPlace::Folder { path, made } } else { DiskPlace::File { path, made } })
    }

    /// Claims a raw device; fails unless the user gave up its data by name.
    fn claim_device(path: &Path, forfeited: &[PathBuf]) -> Result<DiskPlace, Failure> {
        let named =
            forfeited.iter().find(|named| std::fs::canonicalize(named).ok() == std::fs::canonicalize(path).ok());
        let consent = named.or(forfeited.first());
        let claimed = RawDevice::claim(path, consent.map(PathBuf::as_path));
        let device = claimed.map_err(|error| {
            let failure = Failure { kind: FailureKind::NotOurs, ..host_failure("use the device", error) };
            match named {
                Some(_) => failure,
                None => failure.with_hint(format!(
                    "everything on it is lost: say so with `--i-will-lose-the-data-on {}`, if nothing uses it",
                    path.display()
                )),
            }
        })?;
        Ok(DiskPlace::Device(device))
    }

    /// Makes and mounts the volume that the plan describes.
    fn make_volume(volume: &model::VolumePlan, request: &OpenRequest) -> Result<DiskPlace, Failure> {
        let tried = format!("make the volume of system `{}`", request.system.name);
        let fs = VolumeFs::from_name(&volume.fs)
            .ok_or_else(|| Failure::new(FailureKind::Plan, &tried, format!("`{}` is not known", volume.fs)))?;
        let image = request.permits.check_path(Path::new(&volume.image))?;
        let made = make_folders(parent_folder(&image))?;
        let claim = claim_file(&image).inspect_err(|_| remove_folders(&made))?;
        let spec = VolumeSpec {
            image,
            size_bytes: volume.size_bytes,
            fs,
            block_bytes: volume.block_bytes,
            cluster_bytes: volume.cluster_bytes,
        };
        let interrupt = &request.interrupt;
        let result = MadeVolume::make(&spec, request.scratch_base.as_deref(), &mut |_| {
            if interrupt.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let made_volume = result.map_err(|error| {
            remove_folders(&made);
            let failure = host_failure(&tried, error);
            match failure.kind {
                FailureKind::Permission => {
                    failure.with_hint("run étalon as root, or name a mounted volume: `url = \"disk:DIR\"`")
                }
                _ => failure,
            }
        })?;
        let path = made_volume.path().to_owned();
        Ok(DiskPlace::Volume { volume: Mutex::new(Some(Box::new((made_volume, claim)))), path, made })
    }

    /// Returns the folder in which the files lie; a device's own path.
    pub(super) fn folder_path(&self) -> PathBuf {
        match self {
            DiskPlace::Folder { path, .. } | DiskPlace::Volume { path, .. } => path.clone(),
            DiskPlace::File { path, .. } => parent_folder(path).to_owned(),
            DiskPlace::Device(device) => device.path.clone(),
        }
    }

    /// Removes the volume and the empty folders that étalon made.
    pub(super) fn remove_made(&self) -> Result<(), Failure> {
        match self {
            DiskPlace::Folder { made, .. } | DiskPlace::File { made, .. } => remove_folders(made),
            DiskPlace::Volume { volume, made, .. } => {
                if let Some((volume, _claim)) = lock_mutex(volume).take().map(|held| *held) {
                    volume.remove().map_err(|error| host_failure("remove the volume", error))?;
                }
                remove_folders(made);
            }
            DiskPlace::Device(_) => {}
        }
        Ok(())
    }
}

impl Drop for DiskPlace {
    /// Removes the folders that étalon made, as far as they are empty.
    /// By now other systems' files are gone from these folders, too.
    fn drop(&mut self) {
        match self {
            DiskPlace::Folder { made, .. } | DiskPlace::File { made, .. } | DiskPlace::Volume { made, .. } => {
                remove_folders(made)
            }
            DiskPlace::Device(_) => {}
        }
    }
}

/// Makes a folder with those above it, and returns the ones that were missing, the innermost first.
fn make_folders(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let missing = folder.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
    let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    let tried = format!("make the folder {}", folder.display());
    std::fs::create_dir_all(folder).map_err(|error| Failure::from_io(&tried, &error))?;
    Ok(missing)
}

/// Removes these folders in their order, up to the first that is not empty.
fn remove_folders(made: &[PathBuf]) {
    for folder in made {
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
