//! When a statement is sent.

use std::str::FromStr;
use std::time::{Duration, Instant};

use load::error::{Failure, FailureKind};

/// Times as fast as captured: less would last for ever.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.01..=10_000.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// At its captured time, so many times as fast.
    Timed(f64),
    /// After the captured pause in its session.
    Think,
    /// Once all have ended that had ended before.
    None,
}

/// The instant that a statement is meant to be sent at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Due {
    At(Instant),
    /// After the statement before it in its session.
    After(Duration),
}

impl Due {
    /// The instant to send at, in a session whose last statement ended at `ended`.
    pub fn instant(self, ended: Instant) -> Instant {
        match self {
            Due::At(instant) => instant,
            Due::After(pause) => ended + pause,
        }
    }
}

impl FromStr for Pace {
    type Err = Failure;

    /// Parses the key `pace`: `original`, `think`, `none`, or a speed such as `2x`.
    fn from_str(text: &str) -> Result<Pace, Failure> {
        match text {
            "original" => return Ok(Pace::Timed(1.0)),
            "think" => return Ok(Pace::Think),
            "none" => return Ok(Pace::None),
            _ => {}
        }
        let speed = text.strip_suffix('x').and_then(|number| number.trim().parse::<f64>().ok());
        speed.filter(|speed| SPEEDS.contains(speed)).map(Pace::Timed).ok_or_else(|| {
            let cause = format!("`{text}` is no pace");
            Failure::new(FailureKind::Plan, "read the key `pace`", cause)
                .with_hint("write `original`, `think`, `none`, or how many times as fast: `2x`")
        })
    }
}

/// Divides a captured length of time, in microseconds, by the replay's speed.
pub fn scale_time(us: i64, speed: f64) -> Duration {
    Duration::from_secs_f64(us.max(0) as f64 / 1e6 / speed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_a_word_or_a_number_of_times() {
        assert_eq!("original".parse::<Pace>().unwrap(), Pace::Timed(1.0));
        assert_eq!("0.5x".parse::<Pace>().unwrap(), Pace::Timed(0.5));
        assert_eq!("none".parse::<Pace>().unwrap(), Pace::None);
        for wrong in ["2", "x", "0x", "-1x", "NaNx", "infx", "fast"] {
            let refused = wrong.parse::<Pace>().unwrap_err().to_string();
            assert!(refused.contains(&format!("`{wrong}` is no pace")), "{refused}");
        }
        assert_eq!((scale_time(3_000_000, 2.0), scale_time(-1, 1.0)), (Duration::from_millis(1_500), Duration::ZERO));
    }
}
