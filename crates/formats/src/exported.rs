//! Remarks that étalon writes into a tidy table so that an import is compared and reported like the original.

use std::collections::BTreeMap;

use model::plan::{FEWEST_TO_JUDGE, MAX_ROUNDS};
use model::{Begun, Order, Stop};
use serde_json::Value;

/// Begins the remark with the rules.
const SIGN: &str = "etalon:";
/// Begins a benchmark's remark; a JSON object follows.
const BENCHMARK_SIGN: &str = "etalon-benchmark:";
/// Begins a system alias's remark; a JSON object follows.
const ALIAS_SIGN: &str = "etalon-alias:";

/// Names of plan keys.
const UNEQUAL: &str = "allow_unequal_durability";
const SEQUENTIAL: &str = "allow_sequential_order";
const DIFFERENT_ROWS: &str = "allow_different_rows";
/// The key of an experiment that was judged after each round.
const FIRST_LOOK: &str = "first_look";
const BEGUN: &str = "begun";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repetitions {
    #[default]
    Numbered,
    Rounds,
}

/// Rules by which étalon compared the exported results.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedRules {
    pub repetitions: Repetitions,
    pub order: Order,
    /// The system to compare with.
    pub baseline: String,
    pub margin: f64,
    pub level: f64,
    /// The seed of the order, the permutation test and the bootstrap.
    pub seed: u64,
    /// Whether systems of unequal durability get a verdict.
    pub allow_unequal_durability: bool,
    pub allow_sequential_order: bool,
    pub allow_different_rows: bool,
    /// What each row of the table names as its experiment, if its repetitions are rounds of one.
    pub experiment: Option<String>,
    /// How many rounds had ended, or in sequential order runs, of how many, if not all had.
    pub ended: Option<(usize, usize)>,
    /// The fewest rounds that were judged, if each was from then on; an interval for one look is none of theirs.
    pub first_look: Option<u32>,
    /// How an experiment that was extended was started.
    pub begun: Option<Begun>,
    pub benchmarks: Vec<ExportedBenchmark>,
    /// Alias to system.
    pub aliases: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedBenchmark {
    pub name: String,
    pub workload: String,
    /// The published test that its cases repeat.
    pub stands_for: Option<String>,
}

impl ExportedBenchmark {
    /// Writes the benchmark as a remark of an exported table.
    fn to_remark(&self) -> String {
        let mut remark = serde_json::json!({ "name": self.name, "workload": self.workload });
        if let Some(text) = &self.stands_for {
            remark["stands_for"] = Value::from(text.as_str());
        }
        format!("{BENCHMARK_SIGN} {remark}")
    }

    /// Reads a benchmark back from its remark.
    fn from_remark(remark: &str) -> Option<ExportedBenchmark> {
        let json = remark_object(remark, BENCHMARK_SIGN)?;
        Some(ExportedBenchmark {
            name: text_of(&json, "name")?,
            workload: text_of(&json, "workload")?,
            stands_for: text_of(&json, "stands_for"),
        })
    }
}

/// Writes the rounds that an experiment was begun with: `6` for a fixed number, `6..` for a range.
fn begun_text(begun: Begun) -> String {
    format!("{}{}", begun.rounds, if begun.stop.is_some() { ".." } else { "" })
}

/// Reads the rounds of [`begun_text`] back; which rounds a range spared is not written.
fn read_begun(text: &str) -> Option<Begun> {
    let (rounds, stop) = match text.strip_suffix("..") {
        Some(rounds) => (rounds, Some(Stop::default())),
        None => (text, None),
    };
    Some(Begun { rounds: rounds.parse().ok()?, stop, max_time: None })
}

/// Reads the JSON of a remark that begins with this sign.
fn remark_object(remark: &str, sign: &str) -> Option<Value> {
    serde_json::from_str(remark.strip_prefix(sign)?).ok()
}

/// Reads a system's other name from its remark.
fn alias_from_remark(remark: &str) -> Option<(String, String)> {
    let json = remark_object(remark, ALIAS_SIGN)?;
    Some((text_of(&json, "system")?, text_of(&json, "of")?))
}

/// Gives a text of a JSON object by its name.
fn text_of(json: &Value, name: &str) -> Option<String> {
    json.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// Tests whether étalon wrote a remark on export.
pub(crate) fn is_export_remark(remark: &str) -> bool {
    ExportedRules::read_first(remark).is_some()
        || ExportedBenchmark::from_remark(remark).is_some()
        || alias_from_remark(remark).is_some()
}

impl ExportedRules {
    /// Writes the rules as remarks of an exported table.
    /// Read back by [`ExportedRules::from_remarks`].
    pub fn to_remarks(&self) -> Vec<String> {
        let benchmarks = self.benchmarks.iter().map(ExportedBenchmark::to_remark);
        std::iter::once(self.first_remark())
            .chain(benchmarks)
            .chain(
                self.aliases
                    .iter()
                    .map(|(system, of)| format!("{ALIAS_SIGN} {}", serde_json::json!({ "system": system, "of": of }))),
            )
            .collect()
    }

    /// Writes the remark that holds the rules.
    fn first_remark(&self) -> String {
        let repetitions = match self.repetitions {
            Repetitions::Numbered => "numbered",
            Repetitions::Rounds => "rounds",
        };
        let order = match self.order {
            Order::Interleaved => "interleaved",
            Order::Sequential => "sequential",
        };
        let allows = [
            (self.allow_unequal_durability, UNEQUAL),
            (self.allow_sequential_order, SEQUENTIAL),
            (self.allow_different_rows, DIFFERENT_ROWS),
        ];
        let allowed: String = allows.iter().filter(|(is, _)| *is).map(|(_, name)| format!(" {name}")).collect();
        let experiment = self.experiment.as_ref().map(|id| format!(" experiment={id}")).unwrap_or_default();
        let ended = self.ended.map(|(ended, of)| format!(" ended={ended}/{of}")).unwrap_or_default();
        let first_look = self.first_look.map(|first| format!(" {FIRST_LOOK}={first}")).unwrap_or_default();
        let begun = self.begun.map(|begun| format!(" {BEGUN}={}", begun_text(begun))).unwrap_or_default();
        // A system's name may hold blanks, so it comes last.
        format!(
            "{SIGN} repetitions={repetitions} order={order} margin={} level={} seed={}{experiment}{allowed}{ended}{first_look}{begun} baseline={}",
            self.margin, self.level, self.seed, self.baseline
        )
    }

    /// Reads the rules back from a table's remarks; `None` if étalon did not write the table.
    pub fn from_remarks(remarks: &[String]) -> Option<ExportedRules> {
        let mut rules = remarks.iter().find_map(|remark| ExportedRules::read_first(remark))?;
        rules.benchmarks = remarks.iter().filter_map(|remark| ExportedBenchmark::from_remark(remark)).collect();
        rules.aliases = remarks.iter().filter_map(|remark| alias_from_remark(remark)).collect();
        Some(rules)
    }

    /// Reads the rules from their remark; `None` for another or incomplete one.
    fn read_first(remark: &str) -> Option<ExportedRules> {
        let (fields, baseline) = remark.strip_prefix(SIGN)?.split_once(" baseline=")?;
        Some(ExportedRules {
            repetitions: match field_value(fields, "repetitions")? {
                "rounds" | "blocks" => Repetitions::Rounds,
                "numbered" => Repetitions::Numbered,
                _ => return None,
            },
            order: match field_value(fields, "order")? {
                "interleaved" => Order::Interleaved,
                "sequential" => Order::Sequential,
                _ => return None,
            },
            baseline: baseline.to_owned(),
            margin: share_field(fields, "margin")?,
            level: share_field(fields, "level").filter(|level| *level < 1.0)?,
            seed: field_value(fields, "seed")?.parse().ok()?,
            allow_unequal_durability: fields.split_whitespace().any(|field| field == UNEQUAL),
            allow_sequential_order: fields.split_whitespace().any(|field| field == SEQUENTIAL),
            allow_different_rows: fields.split_whitespace().any(|field| field == DIFFERENT_ROWS),
            experiment: field_value(fields, "experiment").map(str::to_owned),
            ended: field_value(fields, "ended")
                .and_then(|text| text.split_once('/'))
                .and_then(|(ended, all)| Some((ended.parse().ok()?, all.parse().ok()?))),
            // What cannot be read must not be taken for one look.
            first_look: match field_value(fields, FIRST_LOOK) {
                None => None,
                Some(text) => {
                    Some(text.parse().ok().filter(|first| (FEWEST_TO_JUDGE..=MAX_ROUNDS as u32).contains(first))?)
                }
            },
            begun: field_value(fields, BEGUN).and_then(read_begun),
            benchmarks: Vec::new(),
            aliases: BTreeMap::new(),
        })
    }
}

/// Parses a positive number among `name=value` fields.
fn share_field(fields: &str, name: &str) -> Option<f64> {
    field_value(fields, name)?.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)
}

/// Finds the value of a name among `name=value` fields.
fn field_value<'f>(fields: &'f str, name: &str) -> Option<&'f str> {
    fields.split_whitespace().find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for (repetitions, order, allow_unequal_durability) in
            [(Repetitions::Rounds, Order::Interleaved, true), (Repetitions::Numbered, Order::Sequential, false)]
        {
            let rules = ExportedRules {
                repetitions,
                order,
                baseline: "my baseline=a".to_owned(),
                margin: 0.03,
                level: 0.95,
                seed: u64::MAX,
                allow_unequal_durability,
                allow_sequential_order: !allow_unequal_durability,
                allow_different_rows: allow_unequal_durability,
                experiment: allow_unequal_durability.then(|| "3f9ac2b4-19a0".to_owned()),
                ended: allow_unequal_durability.then_some((4, 6)),
                first_look: allow_unequal_durability.then_some(8),
                begun: allow_unequal_durability.then_some(Begun {
                    rounds: 9,
                    stop: Some(Stop::default()),
                    max_time: None,
                }),
                benchmarks: vec![benchmark(None), benchmark(Some("figure 1: {time}"))],
                aliases: [("a, (B)".to_owned(), "a, (A)".to_owned())].into(),
            };
            let remarks = rules.to_remarks();
            assert_eq!(remarks.len(), 4);
            assert!(remarks.iter().all(|remark| is_export_remark(remark) && !remark.contains('\n')), "{remarks:?}");
            assert_eq!(ExportedRules::from_remarks(&remarks), Some(rules));
            assert_eq!(ExportedRules::from_remarks(&remarks[1..]), None, "without the rules étalon did not write it");
        }
        for other in [
            "",
            "etalon: baseline=a",
            "a remark",
            "etalon-benchmark: {}",
            "etalon-alias: no JSON",
            "etalon: repetitions=x order=y margin=1 level=2 seed=3 baseline=a",
            "etalon: repetitions=rounds order=interleaved margin=0.03 level=0.95 seed=3 first_look=1 baseline=a",
        ] {
            assert!(!is_export_remark(other), "{other}");
        }
    }

    fn benchmark(stands_for: Option<&str>) -> ExportedBenchmark {
        ExportedBenchmark {
            name: "a \"b\"\nc".to_owned(),
            workload: "backup".to_owned(),
            stands_for: stands_for.map(str::to_owned),
        }
    }
}
