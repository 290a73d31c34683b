//! How many rounds a plan will take, by an experiment that was run before.

use std::fmt::Write as _;
use std::path::Path;

use model::share::EFFECT;
use model::{Length, Plan, Schedule};
use report::number::{Script, count_noun, percent_text};
use report::pilot::{Rounds, RoundsForecast, forecast_rounds};
use report::text::wrap_to_width;
use serde_json::json;

use super::report::parse_share;
use crate::error::CliError;
use crate::results::{Side, open_results};

/// Fewer rounds do not show the spread between them.
const FEWEST: u32 = 3;

/// A column of the table.
type Column = fn(&Rounds) -> Option<u32>;

/// Those of an experiment that ends when it is sure.
const UNTIL_SURE: [Column; 3] = [|row| row.as_seen, |row| row.equal, |row| row.until_sure];

/// The column of a fixed number of rounds.
const ONCE: [Column; 1] = [|row| row.once];

pub struct PilotForecast {
    rounds: u32,
    /// Its runs are as long as the plan's.
    is_alike: bool,
    detect: f64,
    margin: f64,
    schedule: Schedule,
    forecast: RoundsForecast,
}

/// Forecasts the plan's rounds from the store of an earlier experiment.
pub fn forecast_from_pilot(pilot: &Path, detect: Option<&str>, plan: &Plan) -> Result<PilotForecast, CliError> {
    let detect = parse_share("--detect", detect, EFFECT)?.unwrap_or(plan.comparison.margin);
    let evidence = open_results(&[Side { store: pilot.to_owned(), system: None }])?.evidence;
    let rounds = evidence.round_count();
    if rounds < FEWEST {
        let what = format!("the pilot {} has {}", pilot.display(), count_noun(rounds as usize, "round"));
        return Err(CliError::user_error(what).with_hint(format!("run the plan with `--rounds {FEWEST}` first")));
    }
    let forecast = forecast_rounds(&evidence, plan, detect).map_err(|error| CliError::user_error(error.to_string()))?;
    if forecast.rows.is_empty() {
        let what = format!("the pilot {} has no row with the systems and benchmarks of the plan", pilot.display());
        return Err(CliError::user_error(what).with_hint(format!("run the plan itself with `--rounds {FEWEST}` first")));
    }
    let pilots = &evidence.header.plan.schedule;
    let is_alike = (pilots.warmup, pilots.length) == (plan.schedule.warmup, plan.schedule.length);
    let (margin, schedule) = (plan.comparison.margin, plan.schedule.clone());
    Ok(PilotForecast { rounds, is_alike, detect, margin, schedule, forecast })
}

impl PilotForecast {
    /// Writes the forecast as a table, with what its columns mean and how many rounds are enough.
    pub fn text(&self, width: usize) -> String {
        let [detect, margin] = [self.detect, self.margin].map(|share| percent_text(share, Script::Plain));
        let pilot = count_noun(self.rounds as usize, "round");
        let head = format!("rounds after which a row is sure in 6 of 10 experiments or more, by {pilot} of the pilot");
        let mut text = format!("\n{}", wrap_to_width(&head, width, 0));
        self.write_table(&mut text, width);
        for (column, meaning) in [
            ("seen", "how B differed from A in the pilot, of which so few rounds tell little"),
            ("noise", "two of three rounds lie within so much of that (the standard deviation)"),
            ("as seen", "rounds until it is sure, if B differs by what the pilot saw"),
            ("equal", "the same, if it does not differ"),
            (&*detect, "the same, if it differs by so much"),
            ("fixed", &format!("rounds, judged once, that find {detect} in four of five experiments")),
        ] {
            text.push_str(&wrap_to_width(&format!("{column}: {meaning}"), width, 2));
        }
        let mut say = |line: &str| text.push_str(&wrap_to_width(line, width, 2));
        self.propose_rounds(&mut say);
        if self.is_within_margin() {
            say(&format!(
                "A difference of {detect} lies within the margin of {margin} and is called equivalent, in a fixed number of rounds, \
                 too: `--set margin={}` asks for it.",
                self.detect
            ));
        }
        if !self.forecast.missing.is_empty() {
            say(&format!("Not in the pilot, so nothing is known of them: {}.", self.forecast.missing.join("; ")));
        }
        if !self.is_alike {
            say("The pilot's runs are not as long as the plan's: longer ones differ less.");
        }
        text
    }

    /// Writes the table of rows and figures; a name that leaves the figures no room has a line of its own.
    fn write_table(&self, text: &mut String, width: usize) {
        let head = format!("   seen  noise  as seen  equal  {:>6}  fixed", percent_text(self.detect, Script::Plain));
        let room = width.saturating_sub(head.len() + 4);
        let sizes = self.forecast.rows.iter().map(|row| row.name.chars().count());
        let named = sizes.filter(|size| *size <= room).max().unwrap_or_default();
        let _ = writeln!(text, "  {:named$}  {head}", "");
        for row in &self.forecast.rows {
            let figures =
                row.rounds.as_ref().map_or_else(|why| format!("n/a: {why}"), |rounds| self.rounds_figures(rounds));
            let line = format!("  {:named$}  {figures}", row.name);
            let whole = match line.chars().count() > width {
                false => format!("{line}\n"),
                true if row.rounds.is_err() => format!("  {}", wrap_to_width(&line, width.saturating_sub(2), 4)),
                true => {
                    format!("  {}  {:named$}  {figures}\n", wrap_to_width(&row.name, width.saturating_sub(2), 4), "")
                }
            };
            text.push_str(&whole);
        }
    }

    /// Says how many rounds would be enough, or what takes fewer.
    fn propose_rounds(&self, say: &mut impl FnMut(&str)) {
        let rows = self.known_rows().count();
        if let Some(until_sure) = self.most_rounds(|row| row.until_sure).filter(|rounds| *rounds > 0) {
            let together = if rows > 1 { "; all rows together may take longer" } else { "" };
            say(&format!(
                "`--rounds {}` ends after about {until_sure}, earlier where differences are larger{together}.",
                rounds_range(until_sure)
            ));
        }
        if let Some(once) = self.most_rounds(|row| row.once).filter(|rounds| *rounds > 0) {
            say(&format!("`--rounds {once}` finds it in four of five experiments, in each row."));
        }
        self.warn_too_few_rounds().iter().for_each(|line| say(line));
        if UNTIL_SURE
            .iter()
            .chain(ONCE.iter().filter(|_| !self.is_within_margin()))
            .any(|of| self.known_rows().any(|row| of(row).is_none()))
        {
            say(&self.what_takes_fewer());
        }
    }

    /// The most rounds that any row needs; `None` if one needs too many.
    fn most_rounds(&self, of: Column) -> Option<u32> {
        self.known_rows().map(of).try_fold(0, |a, b| b.map(|b| a.max(b)))
    }

    /// The rows that have a forecast.
    fn known_rows(&self) -> impl Iterator<Item = &Rounds> {
        self.forecast.rows.iter().filter_map(|row| row.rounds.as_ref().ok())
    }

    /// Warns that the plan has fewer rounds than are forecast; `None` if it has enough.
    fn warn_too_few_rounds(&self) -> Option<String> {
        let has = self.schedule.rounds;
        let is_range = self.schedule.until_sure.is_some();
        let columns = if is_range { &UNTIL_SURE[..] } else { &ONCE[..] };
        let short =
            self.known_rows().filter(|row| columns.iter().any(|of| of(row).is_none_or(|rounds| rounds > has))).count();
        if short == 0 || (!is_range && self.is_within_margin()) {
            return None;
        }
        let of_rows = format!("{short} of {}", count_noun(self.known_rows().count(), "row"));
        let said = match is_range {
            true if self.known_rows().all(|row| row.as_seen.is_some_and(|rounds| rounds <= has)) => {
                format!(" at most, and {of_rows} may take more, though none if B differs as seen")
            }
            true => format!(" at most, and {of_rows} may take more"),
            false => format!(", and {of_rows} would take more to find {}", percent_text(self.detect, Script::Plain)),
        };
        let typed = self
            .known_rows()
            .filter_map(|row| if is_range { UNTIL_SURE.iter().filter_map(|of| of(row)).max() } else { row.until_sure })
            .max()
            .filter(|rounds| *rounds > has)
            .map(|rounds| {
                let is_known = self.known_rows().all(|row| columns.iter().all(|of| of(row).is_some()));
                let but = if is_known { String::new() } else { format!(" for all that are not `{}`", beyond_text()) };
                format!(": `--rounds {}` leaves room{but}", rounds_range(rounds))
            });
        Some(format!("The plan has {}{said}{}.", count_noun(has as usize, "round"), typed.unwrap_or_default()))
    }

    /// Says what lowers the number of rounds: longer runs, a wider margin or a larger difference.
    fn what_takes_fewer(&self) -> String {
        let length = match self.schedule.length {
            Length::Duration(_) => "duration=TIME",
            Length::Transactions(_) => "transactions=COUNT",
        };
        let larger = if self.known_rows().all(|row| row.until_sure.is_some()) {
            String::new()
        } else {
            format!(", or for a larger difference (`--detect {}`)", self.detect * 2.0)
        };
        format!(
            "Where `{}` stands fewer are enough with less noise, by longer runs (`--set schedule.{length}`) or a quieter \
             machine, or with a wider margin (`--set margin={}`){larger}.",
            beyond_text(),
            self.margin * 2.0
        )
    }

    /// Writes the figures of a row for the table's columns.
    fn rounds_figures(&self, rounds: &Rounds) -> String {
        let rounds_text = |rounds: Option<u32>| rounds.map_or_else(beyond_text, |rounds| rounds.to_string());
        let [noise, seen] = [rounds.log_sd.exp_m1(), rounds.seen - 1.0].map(|share| percent_text(share, Script::Plain));
        let seen = if rounds.seen > 1.0 { format!("+{seen}") } else { seen };
        let [as_seen, equal, until_sure] = [rounds.as_seen, rounds.equal, rounds.until_sure].map(rounds_text);
        // Within the margin no number finds it.
        let once = if self.is_within_margin() { "–".to_owned() } else { rounds_text(rounds.once) };
        format!("{seen:>7}  {noise:>5}  {as_seen:>7}  {equal:>5}  {until_sure:>6}  {once:>5}")
    }

    /// Tests whether the difference to detect is smaller than the margin.
    fn is_within_margin(&self) -> bool {
        self.detect < self.margin
    }

    /// Writes the forecast as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        json!({
            "detect": self.detect,
            "pilot_rounds": self.rounds,
            "runs_alike": self.is_alike,
            "rows": self.forecast.rows.iter().map(|row| {
            let (known, why) = (row.rounds.as_ref().ok(), row.rounds.as_ref().err());
            json!({
                "row": row.name,
                "log_sd": known.map(|rounds| rounds.log_sd),
                "seen": known.map(|rounds| rounds.seen),
                "as_seen": known.map(|rounds| rounds.as_seen),
                "equal": known.map(|rounds| rounds.equal),
                "until_sure": known.map(|rounds| rounds.until_sure),
                "fixed": known.map(|rounds| rounds.once),
                "unavailable": why,
            })
        }).collect::<Vec<_>>(),
            "not_in_pilot": self.forecast.missing,
        })
    }
}

/// The text for more rounds than are forecast.
fn beyond_text() -> String {
    format!("> {}", stats::MAX_ROUNDS)
}

/// Writes the rounds as a range, with room for an experiment that takes longer than most.
fn rounds_range(rounds: u32) -> String {
    format!("{}..{}", stats::MIN_ROUNDS, (rounds * 3).max(60))
}

#[cfg(test)]
mod tests {
    use model::{Caches, OnError, Order, Stop, UntilSure};
    use report::pilot::Expected;

    use super::*;

    fn forecast_from_pilot(
        rounds: u32,
        until_sure: Option<UntilSure>,
        found: &[(&str, Option<Rounds>)],
    ) -> PilotForecast {
        let rows = found
            .iter()
            .map(|(name, rounds)| {
                let why = "fewer than 1000 transactions in the run";
                Expected { name: (*name).to_owned(), rounds: rounds.ok_or_else(|| why.to_owned()) }
            })
            .collect();
        let schedule = Schedule {
            rounds,
            until_sure,
            warmup: std::time::Duration::ZERO,
            length: Length::Transactions(10),
            order: Order::Interleaved,
            seed: 1,
            on_error: OnError::Stop,
            caches: Caches::Warmed,
        };
        let forecast = RoundsForecast { rows, missing: Vec::new() };
        PilotForecast { rounds: 3, is_alike: true, detect: 0.05, margin: 0.03, schedule, forecast }
    }

    const FEW: Rounds =
        Rounds { log_sd: 0.02, seen: 4.75, as_seen: Some(6), equal: Some(12), until_sure: Some(9), once: Some(8) };
    const MANY: Rounds =
        Rounds { log_sd: 0.3, seen: 0.95, as_seen: None, equal: None, until_sure: None, once: Some(140) };

    fn words(forecast_from_pilot: &PilotForecast) -> String {
        forecast_from_pilot.text(80).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rows_of_long_names_stay_within_a_terminal() {
        let long = "order-entry, clients=64, isolation=repeatable-read, response p99 of new order, old → new";
        let text =
            forecast_from_pilot(6, None, &[("points, p50", Some(FEW)), (long, Some(MANY)), (long, None)]).text(80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("  points, p50   +375 %    2 %        6     12       9      8\n"), "{text}");
        assert!(text.contains("\n                  -5 %   35 %    > 200  > 200   > 200    140\n"), "{text}");
        assert_eq!(text.matches("order-entry, clients=64").count(), 2, "{text}");
        assert!(text.contains("noise: two of three rounds lie within so much"), "{text}");
    }

    #[test]
    fn what_takes_more_than_the_plan_or_anybody_has_is_told_with_what_helps() {
        let until = |first| Some(UntilSure { first, stop: Stop::Rows, max_time: None, begun: None });
        let enough = words(&forecast_from_pilot(12, until(6), &[("a", Some(FEW))]));
        assert!(!enough.contains("The plan has") && !enough.contains("Fewer than"), "{enough}");
        let range = words(&forecast_from_pilot(10, until(6), &[("a", Some(FEW)), ("b", None)]));
        let says = "The plan has 10 rounds at most, and 1 of 1 row may take more, though none if B differs as seen: \
                    `--rounds 6..60` leaves room";
        assert!(range.contains(says), "{range}");
        let number = words(&forecast_from_pilot(6, None, &[("a", Some(FEW))]));
        assert!(
            number.contains("The plan has 6 rounds, and 1 of 1 row would take more to find 5 %: `--rounds 6..60`"),
            "{number}"
        );
        let beyond = words(&forecast_from_pilot(30, until(6), &[("a", Some(FEW)), ("b", Some(MANY))]));
        assert!(beyond.contains("The plan has 30 rounds at most, and 1 of 2 rows may take more."), "{beyond}");
        let helps = "Where `> 200` stands fewer are enough with less noise, by longer runs (`--set schedule.transactions=COUNT`) or a \
                     quieter machine, or with a wider margin (`--set margin=0.06`), or for a larger difference (`--detect 0.1`).";
        assert!(beyond.contains(helps), "{beyond}");
    }
}
