//! What étalon writes into a tidy table so that it is compared as before.

use model::Order;

/// How the remark begins.
const SIGN: &str = "etalon:";

/// What repetitions of one number have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repetitions {
    /// Their number.
    #[default]
    Numbered,
    /// The stretch of time: they are blocks, and comparisons are paired by them.
    Blocks,
}

/// What étalon writes into a table besides the results, so that they are compared as before.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedRules {
    /// What repetitions have in common.
    pub repetitions: Repetitions,
    /// The order of the trials.
    pub order: Order,
    /// The system to compare with.
    pub baseline: String,
    /// Half width of the zone of equivalence, as a share.
    pub margin: f64,
    /// Level of the intervals.
    pub level: f64,
    /// The seed of the order, of the permutation test and of the bootstrap.
    pub seed: u64,
    /// Whether systems of unequal durability get a verdict.
    pub allow_unequal_durability: bool,
}

impl ExportedRules {
    /// The remark that holds them; [`ExportedRules::read`] reads it back.
    pub fn remark(&self) -> String {
        let repetitions = match self.repetitions {
            Repetitions::Numbered => "numbered",
            Repetitions::Blocks => "blocks",
        };
        let order = match self.order {
            Order::Interleaved => "interleaved",
            Order::Sequential => "sequential",
        };
        let allowed = if self.allow_unequal_durability { " allow_unequal_durability" } else { "" };
        // A system's name may hold blanks, so it comes last.
        format!(
            "{SIGN} repetitions={repetitions} order={order} margin={} level={} seed={}{allowed} baseline={}",
            self.margin, self.level, self.seed, self.baseline
        )
    }

    /// Reads a remark; `None` if it is another one, or not whole.
    pub fn read(remark: &str) -> Option<ExportedRules> {
        let (fields, baseline) = remark.strip_prefix(SIGN)?.split_once(" baseline=")?;
        let of = |name: &str| fields.split_whitespace().find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
        let share = |name| of(name)?.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
        Some(ExportedRules {
            repetitions: match of("repetitions")? {
                "blocks" => Repetitions::Blocks,
                "numbered" => Repetitions::Numbered,
                _ => return None,
            },
            order: match of("order")? {
                "interleaved" => Order::Interleaved,
                "sequential" => Order::Sequential,
                _ => return None,
            },
            baseline: baseline.to_owned(),
            margin: share("margin")?,
            level: share("level").filter(|level| *level < 1.0)?,
            seed: of("seed")?.parse().ok()?,
            allow_unequal_durability: fields.split_whitespace().any(|field| field == "allow_unequal_durability"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for (repetitions, order, allow_unequal_durability) in
            [(Repetitions::Blocks, Order::Interleaved, true), (Repetitions::Numbered, Order::Sequential, false)]
        {
            let rules = ExportedRules {
                repetitions,
                order,
                baseline: "my baseline=a".to_owned(),
                margin: 0.03,
                level: 0.95,
                seed: u64::MAX,
                allow_unequal_durability,
            };
            assert_eq!(ExportedRules::read(&rules.remark()), Some(rules));
        }
        for other in
            ["", "etalon: baseline=a", "a remark", "etalon: repetitions=x order=y margin=1 level=2 seed=3 baseline=a"]
        {
            assert_eq!(ExportedRules::read(other), None, "{other}");
        }
    }
}
