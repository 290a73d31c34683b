//! Units and better ways of metrics, which must be the same in all runs that are compared.

use std::collections::BTreeMap;

use model::Direction;

type Sizes = &'static [(&'static str, f64)];

const TIMES: Sizes = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("μs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("sec", 1e9),
    ("min", 6e10),
    ("h", 3.6e12),
];
const BINARY: Sizes = &[
    ("B", 1.0),
    ("bytes", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];
/// Apart from [`BINARY`], since many tools print MB and mean MiB.
const DECIMAL: Sizes = &[("B", 1.0), ("bytes", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)];
/// Short names of rates.
const SHORT: [(&str, &str); 5] =
    [("tps", "tx/s"), ("tpm", "tx/min"), ("qps", "queries/s"), ("iops", "io/s"), ("IOPS", "io/s")];

/// A value in one unit, times the first and divided by the second, is the value in the other; one of them is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio(f64, f64);

impl Ratio {
    /// Makes the ratio of two units that are the same or of one family; `None` for others.
    pub fn between(from: &str, to: &str) -> Option<Ratio> {
        let (from, to) = (long_name(from), long_name(to));
        if from == to {
            return Some(Ratio(1.0, 1.0));
        }
        let (of, to_of, per, to_per) = match (from.split_once('/'), to.split_once('/')) {
            (Some((of, per)), Some((to_of, to_per))) => (of, to_of, per, to_per),
            (None, None) => (from.as_str(), to.as_str(), "", ""),
            _ => return None,
        };
        let (large, small) = unit_sizes(of, to_of)?;
        let (divides, multiplies) = unit_sizes(per, to_per)?;
        let (times, by) = (large * multiplies, small * divides);
        Some(if times >= by { Ratio(times / by, 1.0) } else { Ratio(1.0, by / times) })
    }

    /// Converts a value to the other unit.
    pub fn apply(self, value: f64) -> f64 {
        value * self.0 / self.1
    }
}

/// Gives the long name of a unit, or the unit itself if none is known.
fn long_name(unit: &str) -> String {
    let unit = unit.trim();
    SHORT.iter().find(|(short, _)| *short == unit).map_or(unit, |(_, long)| long).to_owned()
}

/// Gives the sizes of two units of one family, in the smallest of it.
fn unit_sizes(one: &str, other: &str) -> Option<(f64, f64)> {
    if one == other {
        return Some((1.0, 1.0));
    }
    [TIMES, BINARY, DECIMAL].into_iter().find_map(|family| {
        let size = |unit: &str| family.iter().find(|(name, _)| *name == unit).map(|(_, size)| *size);
        size(one).zip(size(other))
    })
}

/// What two places say of one metric, in words, and the earlier place.
#[derive(Debug)]
pub struct Clash<P> {
    pub here: String,
    pub there: String,
    pub place: P,
}

impl<P> Clash<P> {
    pub const HINT: &str =
        "a metric of a benchmark has one unit and one better way: write the same, or give what differs its own name";
}

#[derive(Debug)]
struct Dimension<'a, P> {
    unit: Option<(&'a str, P)>,
    direction: Option<(Direction, P)>,
}

/// The unit and the better way of each benchmark's metrics, as the first place gave them.
#[derive(Debug)]
pub struct Dimensions<'a, P>(BTreeMap<(&'a str, &'a str), Dimension<'a, P>>);

impl<P> Default for Dimensions<'_, P> {
    fn default() -> Self {
        Dimensions(BTreeMap::new())
    }
}

impl<'a, P: Copy> Dimensions<'a, P> {
    /// Learns a metric's unit and better direction; fails if an earlier place had others.
    /// `unit` is `None` where there is no value that would need one.
    ///
    /// # Errors
    /// An earlier place had a unit of another family or another direction.
    pub fn learn_metric(
        &mut self,
        (benchmark, metric): (&'a str, &'a str),
        unit: Option<&'a str>,
        direction: Option<Direction>,
        place: P,
    ) -> Result<(), Clash<P>> {
        let known = self.0.entry((benchmark, metric)).or_insert(Dimension { unit: None, direction: None });
        if let Some(unit) = unit {
            let (first, there) = *known.unit.get_or_insert((unit, place));
            if Ratio::between(unit, first).is_none() {
                return Err(Clash { here: unit_words(unit), there: unit_words(first), place: there });
            }
        }
        if let Some(direction) = direction {
            let (first, there) = *known.direction.get_or_insert((direction, place));
            if direction != first {
                return Err(Clash {
                    here: direction_words(direction).to_owned(),
                    there: direction_words(first).to_owned(),
                    place: there,
                });
            }
        }
        Ok(())
    }

    /// The unit of a metric, if it is known.
    pub fn unit(&self, benchmark: &str, metric: &str) -> Option<&'a str> {
        Some(self.0.get(&(benchmark, metric))?.unit.as_ref()?.0)
    }

    /// The better direction of a metric, if it is known.
    pub fn direction(&self, benchmark: &str, metric: &str) -> Option<Direction> {
        Some(self.0.get(&(benchmark, metric))?.direction.as_ref()?.0)
    }
}

/// Says in which unit something is.
fn unit_words(unit: &str) -> String {
    if unit.trim().is_empty() { "without a unit".to_owned() } else { format!("in `{}`", unit.trim()) }
}

/// Says which direction is better.
fn direction_words(direction: Direction) -> &'static str {
    match direction {
        Direction::Higher => "better when higher",
        Direction::Lower => "better when lower",
        Direction::Neither => "without a better way",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_one_family_are_converted_and_others_are_not() {
        for (value, from, to, wanted) in [
            (0.1, "s", "ms", 100.0),
            (100.0, "ms", "s", 0.1),
            (1500.0, "µs", "ms", 1.5),
            (2.0, "h", "min", 120.0),
            (3.0, "GiB", "MiB", 3072.0),
            (2.0, "MB", "kB", 2000.0),
            (1.0, "KiB", "B", 1024.0),
            (6000.0, "tx/min", "tx/s", 100.0),
            (100.0, "tps", "tx/min", 6000.0),
            (7.0, "tps", "tx/s", 7.0),
            (1.0, "MiB/s", "KiB/min", 61_440.0),
            (1.0, "s/GiB", "ms/MiB", 1000.0 / 1024.0),
            (0.3, "%", " % ", 0.3),
        ] {
            assert_eq!(converted(value, from, to), Some(wanted), "{value} {from} in {to}");
        }
        for (from, to) in [("ms", ""), ("MB", "MiB"), ("ms", "MB"), ("tx/s", "s"), ("tx/s", "queries/s"), ("%", "")] {
            assert_eq!(converted(1.0, from, to), None, "{from} in {to}");
        }
    }

    fn converted(value: f64, from: &str, to: &str) -> Option<f64> {
        Ratio::between(from, to).map(|ratio| ratio.apply(value))
    }
}
