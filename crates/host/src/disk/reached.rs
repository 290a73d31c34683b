//! How much of what was asked for reached the devices.

use super::counters::DeviceCounters;
use super::layers::Layer;
use crate::error::HostError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerCounters {
    layers: Vec<(Layer, DeviceCounters)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerTraffic {
    pub layer: Layer,
    /// Whoever asked for it.
    pub did: DeviceCounters,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub read_bytes: u64,
    pub written_bytes: u64,
}

/// Of what was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReachedShare {
    NothingAsked,
    /// Practically all, or more: from reading ahead, journals, mirrors, and others' use.
    Reached(f64),
    /// Something above the devices answered for the rest.
    Cached(f64),
}

/// Below this a cache has answered for a relevant part.
const PRACTICALLY_ALL: f64 = 0.95;

impl ReachedShare {
    fn of(asked_bytes: u64, device_bytes: u64) -> ReachedShare {
        if asked_bytes == 0 {
            return ReachedShare::NothingAsked;
        }
        let share = device_bytes as f64 / asked_bytes as f64;
        if share >= PRACTICALLY_ALL { ReachedShare::Reached(share) } else { ReachedShare::Cached(share) }
    }

    pub fn value(self) -> Option<f64> {
        match self {
            ReachedShare::NothingAsked => None,
            ReachedShare::Reached(share) | ReachedShare::Cached(share) => Some(share),
        }
    }

    fn least(self, other: ReachedShare) -> ReachedShare {
        match (self.value(), other.value()) {
            (Some(one), Some(two)) if two < one => other,
            (None, _) => other,
            _ => self,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// Of the bytes read: the smallest share of any depth of devices.
    pub read: ReachedShare,
    /// Of the bytes written, likewise. Buffered writes reach devices late: sync before the second reading.
    pub written: ReachedShare,
    pub layers: Vec<LayerTraffic>,
}

impl LayerCounters {
    pub fn read(layers: &[Layer]) -> Result<LayerCounters, HostError> {
        let one = |layer: &Layer| {
            let reason = |reason| HostError::unavailable(format!("read the counters of {}", layer.name), reason);
            demand_counting(&layer.name).map_err(reason)?;
            Ok((layer.clone(), DeviceCounters::read(&layer.name).map_err(reason)?))
        };
        Ok(LayerCounters { layers: layers.iter().map(one).collect::<Result<_, HostError>>()? })
    }

    /// Compares the devices' counters with what was asked for.
    pub fn since(&self, earlier: &LayerCounters, asked: Asked) -> Reached {
        let traffic = |(layer, now): &(Layer, DeviceCounters)| {
            let (_, then) = earlier.layers.iter().find(|(other, _)| other.name == layer.name)?;
            Some(LayerTraffic { layer: layer.clone(), did: now.since(then) })
        };
        let layers: Vec<LayerTraffic> = self.layers.iter().filter_map(traffic).collect();
        let mut reached = Reached { read: ReachedShare::NothingAsked, written: ReachedShare::NothingAsked, layers };
        let deepest = reached.layers.iter().map(|traffic| traffic.layer.depth).max().unwrap_or(0);
        for depth in 0..=deepest {
            let here = || reached.layers.iter().filter(|traffic| traffic.layer.depth == depth);
            let read = ReachedShare::of(asked.read_bytes, here().map(|traffic| traffic.did.read_bytes).sum());
            let written = ReachedShare::of(asked.written_bytes, here().map(|traffic| traffic.did.written_bytes).sum());
            (reached.read, reached.written) = (reached.read.least(read), reached.written.least(written));
        }
        reached
    }
}

/// Counting can be turned off, and the counters then stand still.
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
        assert_eq!(reached.read, ReachedShare::Reached(0.95));
        assert_eq!(reached.written, ReachedShare::Reached(1.0));
        assert_eq!(reached.layers[2].did.read_bytes, 450);
        let reached = after.since(&before, Asked { read_bytes: 2000, written_bytes: 0 });
        assert_eq!((reached.read, reached.written), (ReachedShare::Cached(0.475), ReachedShare::NothingAsked));
    }

    #[test]
    fn without_devices_nothing_reached_them() {
        let none = reading(&[]);
        let reached = none.since(&none, Asked { read_bytes: 10, written_bytes: 0 });
        assert_eq!(reached.read, ReachedShare::Cached(0.0));
    }
}
