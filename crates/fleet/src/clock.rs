//! Another host's clock as seen from here. Only durations cross hosts: an agent gets instants on its own clock.

use std::time::Duration;

use crate::bus::{Bus, BusError};
use crate::protocol::{Pong, subject_prefix};

/// The reading with the shortest round trip counts.
const READINGS: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The offset is known within half of it.
    pub round_trip_ns: u64,
    /// The agent's monotonic clock less ours: each began when its host did, so that this says nothing about the time of
    /// day.
    pub offset_ns: i64,
    /// The agent's time of day less ours, within half of the round trip and a millisecond.
    pub day_offset_ms: i64,
}

impl Clock {
    /// Reads an agent's clock several times, and keeps the reading of the shortest round trip, taken for its middle.
    /// After Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989.
    pub fn read_agent(bus: &Bus, agent: &str, within: Duration) -> Result<Clock, BusError> {
        let subject = format!("{}.ping", subject_prefix(agent));
        let mut best: Option<Clock> = None;
        for _ in 0..READINGS {
            let before_ns = host::clock::now_ns();
            let answer = bus.request(&subject, Vec::new(), within)?;
            let after_ns = host::clock::now_ns();
            let Pong { now_ns, unix_ms } = serde_json::from_slice(&answer).map_err(|error| BusError::Other {
                tried: format!("read the clock of the agent `{agent}`"),
                cause: error.to_string(),
            })?;
            let half_way_ms = ((after_ns - before_ns) / 2_000_000) as i64;
            let day_offset_ms = unix_ms.saturating_sub(host::clock::unix_ms() - half_way_ms);
            let reading = Clock { day_offset_ms, ..Clock::from_instants(before_ns, now_ns, after_ns) };
            if best.is_none_or(|best| reading.round_trip_ns < best.round_trip_ns) {
                best = Some(reading);
            }
        }
        best.ok_or(BusError::Silent(subject))
    }

    /// Makes a reading from our instants before and after the agent's own, which counts for their middle.
    fn from_instants(before_ns: u64, there_ns: u64, after_ns: u64) -> Clock {
        let round_trip_ns = after_ns - before_ns;
        let middle_ns = before_ns + round_trip_ns / 2;
        Clock { round_trip_ns, offset_ns: there_ns.wrapping_sub(middle_ns) as i64, day_offset_ms: 0 }
    }

    /// Converts an instant of our clock to the agent's.
    pub fn agent_ns(&self, here_ns: u64) -> u64 {
        here_ns.wrapping_add_signed(self.offset_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_taken_at_the_middle_of_the_round_trip() {
        let ahead = Clock::from_instants(1_000, 5_100, 1_200);
        assert_eq!(ahead, Clock { round_trip_ns: 200, offset_ns: 4_000, day_offset_ms: 0 });
        assert_eq!(ahead.agent_ns(2_000), 6_000);
        let behind = Clock::from_instants(10_000, 150, 10_100);
        assert_eq!(behind.offset_ns, -9_900);
        assert_eq!(behind.agent_ns(20_000), 10_100);
    }
}
