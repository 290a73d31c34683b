//! How much of what was requested reached the devices.

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
    /// The layer's traffic, no matter who caused it.
    pub did: DeviceCounters,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestedBytes {
    pub read_bytes: u64,
    pub written_bytes: u64,
}

/// The share of the requested bytes that reached devices.
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
    fn from_bytes(asked_bytes: u64, device_bytes: u64) -> ReachedShare {
        if asked_bytes == 0 {
            return ReachedShare::NothingAsked;
        }
        let share = device_bytes as f64 / asked_bytes as f64;
        if share >= PRACTICALLY_ALL { ReachedShare::Reached(share) } else { ReachedShare::Cached(share) }
    }

    /// The share, if something was asked.
    pub fn share(self) -> Option<f64> {
        match self {
            ReachedShare::NothingAsked => None,
            ReachedShare::Reached(share) | ReachedShare::Cached(share) => Some(share),
        }
    }

    /// The lesser of both shares; one where nothing was asked does not count.
    fn lesser(self, other: ReachedShare) -> ReachedShare {
        match (self.share(), other.share()) {
            (Some(one), Some(two)) if two < one => other,
            (None, _) => other,
            _ => self,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// Share of the bytes read: the smallest of any depth of devices.
    pub read: ReachedShare,
    /// Share of the bytes written, likewise. Buffered writes reach devices late: sync before the second reading.
    pub written: ReachedShare,
    pub layers: Vec<LayerTraffic>,
}

impl LayerCounters {
    /// Reads the counters of all layers.
    pub fn read_layers(layers: &[Layer]) -> Result<LayerCounters, HostError> {
        let layers = layers.iter().map(|layer| {
            let counters = demand_counting(&layer.name).and_then(|()| DeviceCounters::read_device(&layer.name));
            let counters = counters
                .map_err(|reason| HostError::unavailable(format!("read the counters of {}", layer.name), reason))?;
            Ok((layer.clone(), counters))
        });
        Ok(LayerCounters { layers: layers.collect::<Result<_, HostError>>()? })
    }

    /// Compares the devices' counters with what was requested.
    pub fn reached_since(&self, earlier: &LayerCounters, requested: RequestedBytes) -> Reached {
        let layers = self.layers.iter().filter_map(|(layer, now)| {
            let (_, then) = earlier.layers.iter().find(|(other, _)| other.name == layer.name)?;
            Some(LayerTraffic { layer: layer.clone(), did: now.since(then) })
        });
        let layers: Vec<LayerTraffic> = layers.collect();
        let mut reached = Reached { read: ReachedShare::NothingAsked, written: ReachedShare::NothingAsked, layers };
        let deepest = reached.layers.iter().map(|traffic| traffic.layer.depth).max().unwrap_or(0);
        for depth in 0..=deepest {
            let (mut read_bytes, mut written_bytes) = (0, 0);
            for traffic in reached.layers.iter().filter(|traffic| traffic.layer.depth == depth) {
                read_bytes += traffic.did.read_bytes;
                written_bytes += traffic.did.written_bytes;
            }
            let read = ReachedShare::from_bytes(requested.read_bytes, read_bytes);
            let written = ReachedShare::from_bytes(requested.written_bytes, written_bytes);
            (reached.read, reached.written) = (reached.read.lesser(read), reached.written.lesser(written));
        }
        reached
    }
}

/// Counting can be turned off, and the counters then stand still.
fn demand_counting(device: &str) -> Result<(), String> {
    let folder = std::path::Path::new("/sys/class/block").join(device);
    let counting = crate::system::text::read(folder.join("queue/iostats")).ok();
    match counting.as_deref() {
        Some("0") => Err(format!("they are off: write 1 to /sys/block/{device}/queue/iostats")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::layers::LayerKind;
    use super::*;

    fn reading(devices: &[(&str, u32, u64, u64)]) -> LayerCounters {
        let layers = devices.iter().map(|&(name, depth, read_bytes, written_bytes)| {
            let layer = Layer { name: name.to_owned(), kind: LayerKind::Disk, depth };
            (layer, DeviceCounters { read_bytes, written_bytes, ..DeviceCounters::default() })
        });
        LayerCounters { layers: layers.collect() }
    }

    #[test]
    fn the_depth_that_did_least_decides() {
        let before = reading(&[("md0", 0, 100, 0), ("sda", 1, 50, 7), ("sdb", 1, 50, 7)]);
        let after = reading(&[("md0", 0, 1100, 1000), ("sda", 1, 550, 1007), ("sdb", 1, 500, 1007)]);
        let reached = after.reached_since(&before, RequestedBytes { read_bytes: 1000, written_bytes: 1000 });
        // Both halves of the stripe together.
        assert_eq!(reached.read, ReachedShare::Reached(0.95));
        assert_eq!(reached.written, ReachedShare::Reached(1.0));
        assert_eq!(reached.layers[2].did.read_bytes, 450);
        let reached = after.reached_since(&before, RequestedBytes { read_bytes: 2000, written_bytes: 0 });
        assert_eq!((reached.read, reached.written), (ReachedShare::Cached(0.475), ReachedShare::NothingAsked));
    }

    #[test]
    fn without_devices_nothing_reached_them() {
        let none = reading(&[]);
        let reached = none.reached_since(&none, RequestedBytes { read_bytes: 10, written_bytes: 0 });
        assert_eq!(reached.read, ReachedShare::Cached(0.0));
    }
}
