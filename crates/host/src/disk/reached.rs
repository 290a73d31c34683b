//! How much of what was asked for reached the devices.

use super::counters::DeviceCounters;
use super::layers::Layer;
use crate::error::HostError;

/// The counters of the devices under a file at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerCounters {
    layers: Vec<(Layer, DeviceCounters)>,
}

/// What one device did between two readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerTraffic {
    pub layer: Layer,
    /// What it did, whoever asked for it.
    pub did: DeviceCounters,
}

/// What a benchmark asked for between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub read_bytes: u64,
    pub written_bytes: u64,
}

/// A share of what was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    NothingAsked,
    /// Practically all of it, or more: the devices did what was asked. More comes from reading ahead, from journals and
    /// mirrors, and from others who use them.
    Reached(f64),
    /// Less: something above the devices answered for the rest.
    Cached(f64),
}

/// Below this a cache has answered for a part that counts.
const PRACTICALLY_ALL: f64 = 0.95;

impl Share {
    fn of(asked_bytes: u64, device_bytes: u64) -> Share {
        if asked_bytes == 0 {
            return Share::NothingAsked;
        }
        let share = device_bytes as f64 / asked_bytes as f64;
        if share >= PRACTICALLY_ALL { Share::Reached(share) } else { Share::Cached(share) }
    }

    /// The figure; `None` if nothing was asked for.
    pub fn value(self) -> Option<f64> {
        match self {
            Share::NothingAsked => None,
            Share::Reached(share) | Share::Cached(share) => Some(share),
        }
    }

    /// The smaller of two.
    fn least(self, other: Share) -> Share {
        match (self.value(), other.value()) {
            (Some(one), Some(two)) if two < one => other,
            (None, _) => other,
            _ => self,
        }
    }
}

/// What the devices did for a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// The smallest share of the bytes to be read that any depth of devices read.
    pub read: Share,
    /// The same for writing. Writes that end in the page cache reach the devices late: sync before the second reading.
    pub written: Share,
    pub layers: Vec<LayerTraffic>,
}

impl LayerCounters {
    /// Reads the counters of devices, as [`super::layers_of`] has found them.
    pub fn read(layers: &[Layer]) -> Result<LayerCounters, HostError> {
        let one = |layer: &Layer| {
            let reason = |reason| HostError::unavailable(format!("read the counters of {}", layer.name), reason);
            demand_counting(&layer.name).map_err(reason)?;
            Ok((layer.clone(), DeviceCounters::read(&layer.name).map_err(reason)?))
        };
        Ok(LayerCounters { layers: layers.iter().map(one).collect::<Result<_, HostError>>()? })
    }

    /// What the devices did since an earlier reading of the same ones, held against what was asked for.
    pub fn since(&self, earlier: &LayerCounters, asked: Asked) -> Reached {
        let traffic = |(layer, now): &(Layer, DeviceCounters)| {
            let (_, then) = earlier.layers.iter().find(|(other, _)| other.name == layer.name)?;
            Some(LayerTraffic { layer: layer.clone(), did: now.since(then) })
        };
        let layers: Vec<LayerTraffic> = self.layers.iter().filter_map(traffic).collect();
        let mut reached = Reached { read: Share::NothingAsked, written: Share::NothingAsked, layers };
        let deepest = reached.layers.iter().map(|traffic| traffic.layer.depth).max().unwrap_or(0);
        for depth in 0..=deepest {
            let here = || reached.layers.iter().filter(|traffic| traffic.layer.depth == depth);
            let read = Share::of(asked.read_bytes, here().map(|traffic| traffic.did.read_bytes).sum());
            let written = Share::of(asked.written_bytes, here().map(|traffic| traffic.did.written_bytes).sum());
            (reached.read, reached.written) = (reached.read.least(read), reached.written.least(written));
        }
        reached
    }
}

/// A device can be told not to count, and then stands still.
fn demand_counting(device: &str) -> Result<(), String> {
    let folder = std::path::Path::new("/sys/class/block").join(device);
    let own = crate::system::text::read(folder.join("queue/iostats")).ok();
    match own.as_deref() {
        Some("0") => Err(format!("they are off: write 1 to /sys/block/{device}/queue/iostats")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::layers::LayerKind;
    use super::*;

    fn reading(devices: &[(&str, u32, u64, u64)]) -> LayerCounters {
        let one = |&(name, depth, read_bytes, written_bytes): &(&str, u32, u64, u64)| {
            let layer = Layer { name: name.to_owned(), kind: LayerKind::Disk, depth };
            (layer, DeviceCounters { read_bytes, written_bytes, ..DeviceCounters::default() })
        };
        LayerCounters { layers: devices.iter().map(one).collect() }
    }

    #[test]
    fn the_depth_that_did_least_tells() {
        let before = reading(&[("md0", 0, 100, 0), ("sda", 1, 50, 7), ("sdb", 1, 50, 7)]);
        let after = reading(&[("md0", 0, 1100, 1000), ("sda", 1, 550, 1007), ("sdb", 1, 500, 1007)]);
        let reached = after.since(&before, Asked { read_bytes: 1000, written_bytes: 1000 });
        // Both halves of the stripe together.
        assert_eq!(reached.read, Share::Reached(0.95));
        assert_eq!(reached.written, Share::Reached(1.0));
        assert_eq!(reached.layers[2].did.read_bytes, 450);
        let reached = after.since(&before, Asked { read_bytes: 2000, written_bytes: 0 });
        assert_eq!((reached.read, reached.written), (Share::Cached(0.475), Share::NothingAsked));
    }

    #[test]
    fn without_devices_nothing_reached_them() {
        let none = reading(&[]);
        let reached = none.since(&none, Asked { read_bytes: 10, written_bytes: 0 });
        assert_eq!(reached.read, Share::Cached(0.0));
    }
}
