//! Temperatures of devices that report one.

use std::path::{Path, PathBuf};

use crate::system::text;

#[derive(Clone, Debug, PartialEq)]
pub struct Temperature {
    /// Such as `Composite`; a number if unnamed.
    pub sensor: String,
    pub celsius: f64,
}

/// `device` without `/dev/`. NVMe disks have sensors; for others the kernel module `drivetemp` asks the disk.
pub fn device_temperatures(device: &str) -> Result<Vec<Temperature>, String> {
    if !cfg!(target_os = "linux") {
        return Err("the temperature of a device is read on Linux only".to_owned());
    }
    sensors_in(&Path::new("/sys/class/block").join(device), device)
}

/// The temperatures that the sensors of a device report.
fn sensors_in(device: &Path, name: &str) -> Result<Vec<Temperature>, String> {
    let mut found = Vec::new();
    for place in ["device/hwmon", "device/device/hwmon", "device", "device/device"] {
        for sensor in sorted_entries(&device.join(place), "hwmon") {
            found.extend(read_sensors(&sensor));
        }
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Err(format!("{name} shows no sensor (for SATA and SAS disks, load the module drivetemp)"))
}

/// The entries of a folder whose names begin so, sorted.
fn sorted_entries(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)));
    found.sort();
    found
}

/// `temp1_input` etc., in thousandths of a degree; see hwmon's "Naming and data format standards for sysfs files".
fn read_sensors(folder: &Path) -> Vec<Temperature> {
    let inputs = sorted_entries(folder, "temp").into_iter().filter_map(|path| {
        let file = path.file_name()?.to_str()?;
        let sensor = file.strip_suffix("_input")?.to_owned();
        let thousandths: f64 = text::read(&path).ok()?.parse().ok()?;
        let label = text::read(folder.join(format!("{sensor}_label"))).ok().filter(|label| !label.is_empty());
        Some(Temperature { sensor: label.unwrap_or(sensor), celsius: thousandths / 1000.0 })
    });
    inputs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sensors_are_read_where_they_are() {
        let scratch = crate::scratch::Scratch::new("warm", None).unwrap();
        let device = scratch.path().join("nvme0n1");
        let sensor = device.join("device/hwmon3");
        std::fs::create_dir_all(&sensor).unwrap();
        for (file, text) in [
            ("temp1_input", "41850\n"),
            ("temp1_label", "Composite\n"),
            ("temp1_max", "84850\n"),
            ("temp2_input", "39000\n"),
            ("name", "nvme\n"),
        ] {
            std::fs::write(sensor.join(file), text).unwrap();
        }
        let found = sensors_in(&device, "nvme0n1").unwrap();
        assert_eq!(found[0], Temperature { sensor: "Composite".to_owned(), celsius: 41.85 });
        assert_eq!(found[1], Temperature { sensor: "temp2".to_owned(), celsius: 39.0 });
        assert_eq!(found.len(), 2);
        assert!(sensors_in(&scratch.path().join("vda"), "vda").unwrap_err().contains("vda shows no sensor"));
    }
}
