//! How many rounds a plan will take, by an experiment that was run before.

use std::fmt::Write as _;
use std::path::Path;

use model::share::EFFECT;
use model::{Length, Plan, Schedule};
use report::number::{Script, count, percent};
use report::pilot::{Foretold, Rounds, foretell};
use report::text::wrapped;
use serde_json::json;

use super::report::share;
use crate::error::CliError;
use crate::results::{Side, open};

/// With fewer rounds the spread between them is anybody's guess.
const FEWEST: u32 = 3;

/// A column of the table.
type Column = fn(&Rounds) -> Option<u32>;

/// Those of an experiment that ends when it is sure.
const UNTIL_SURE: [Column; 3] = [|row| row.as_seen, |row| row.equal, |row| row.until_sure];

/// That of a number of rounds.
const ONCE: [Column; 1] = [|row| row.once];

pub struct Piloted {
    rounds: u32,
    /// Its runs are as long as the plan's.
    is_alike: bool,
    detect: f64,
    margin: f64,
    schedule: Schedule,
    foretold: Foretold,
}

/// By the store of an earlier experiment.
pub fn piloted(pilot: &Path, detect: Option<&str>, plan: &Plan) -> Result<Piloted, CliError> {
    let detect = share("--detect", detect, EFFECT)?.unwrap_or(plan.comparison.margin);
    let evidence = open(&[Side { store: pilot.to_owned(), system: None }])?.evidence;
    let rounds = evidence.rounds();
    if rounds < FEWEST {
        let what = format!("the pilot {} has {}", pilot.display(), count(rounds as usize, "round"));
        return Err(CliError::user(what).hint(format!("run the plan with `--rounds {FEWEST}` first")));
    }
    let foretold = foretell(&evidence, plan, detect).map_err(|error| CliError::user(error.to_string()))?;
    if foretold.rows.is_empty() {
        let what = format!("the pilot {} has no row with the systems and benchmarks of the plan", pilot.display());
        return Err(CliError::user(what).hint(format!("run the plan itself with `--rounds {FEWEST}` first")));
    }
    let of = |schedule: &Schedule| (schedule.warmup, schedule.length);
    let is_alike = of(&evidence.header.plan.schedule) == of(&plan.schedule);
    let (margin, schedule) = (plan.comparison.margin, plan.schedule.clone());
    Ok(Piloted { rounds, is_alike, detect, margin, schedule, foretold })
}

impl Piloted {
    pub fn text(&self, width: usize) -> String {
        let [detect, margin] = [self.detect, self.margin].map(|share| percent(share, Script::Plain));
        let pilot = count(self.rounds as usize, "round");
        let head = format!("rounds after which a row is sure in 6 of 10 experiments or more, by {pilot} of the pilot");
        let mut text = format!("\n{}", wrapped(&head, width, 0));
        self.table(&mut text, width);
        for (column, meaning) in [
            ("seen", "how B differed from A in the pilot, of which so few rounds tell little"),
            ("noise", "two of three rounds lie within so much of that (the standard deviation)"),
            ("as seen", "rounds until it is sure, if B differs by what the pilot saw"),
            ("equal", "the same, if it does not differ"),
            (&*detect, "the same, if it differs by so much"),
            ("fixed", &format!("rounds, judged once, that find {detect} in four of five experiments")),
        ] {
            text.push_str(&wrapped(&format!("{column}: {meaning}"), width, 2));
        }
        let mut say = |line: &str| text.push_str(&wrapped(line, width, 2));
        self.propose(&mut say);
        if self.is_within() {
            say(&format!(
                "A difference of {detect} lies within the margin of {margin} and is called equivalent, in a fixed number of rounds, \
                 too: `--set margin={}` asks for it.",
                self.detect
            ));
        }
        if !self.foretold.missing.is_empty() {
            say(&format!("Not in the pilot, so nothing is known of them: {}.", self.foretold.missing.join("; ")));
        }
        if !self.is_alike {
            say("The pilot's runs are not as long as the plan's: longer ones differ less.");
        }
        text
    }

    /// A name that leaves the figures no room has a line of its own.
    fn table(&self, text: &mut String, width: usize) {
        let head = format!("   seen  noise  as seen  equal  {:>6}  fixed", percent(self.detect, Script::Plain));
        let room = width.saturating_sub(head.len() + 4);
        let size = |text: &str| text.chars().count();
        let sizes = self.foretold.rows.iter().map(|row| size(&row.name));
        let named = sizes.filter(|size| *size <= room).max().unwrap_or_default();
        let _ = writeln!(text, "  {:named$}  {head}", "");
        for row in &self.foretold.rows {
            let figures = row.rounds.as_ref().map_or_else(|why| format!("n/a: {why}"), |rounds| self.figures(rounds));
            let line = format!("  {:named$}  {figures}", row.name);
            let whole = match size(&line) > width {
                false => format!("{line}\n"),
                true if row.rounds.is_err() => format!("  {}", wrapped(&line, width.saturating_sub(2), 4)),
                true => {
                    format!("  {}  {:named$}  {figures}\n", wrapped(&row.name, width.saturating_sub(2), 4), "")
                }
            };
            text.push_str(&whole);
        }
    }

    fn propose(&self, say: &mut impl FnMut(&str)) {
        let rows = self.known().count();
        let most = |of: Column| self.known().map(of).try_fold(0, |a, b| b.map(|b| a.max(b)));
        if let Some(until_sure) = most(|row| row.until_sure).filter(|rounds| *rounds > 0) {
            let together = if rows > 1 { "; all rows together may take longer" } else { "" };
            say(&format!(
                "`--rounds {}` ends after about {until_sure}, earlier where differences are larger{together}.",
                range(until_sure)
            ));
        }
        if let Some(once) = most(|row| row.once).filter(|rounds| *rounds > 0) {
            say(&format!("`--rounds {once}` finds it in four of five experiments, in each row."));
        }
        self.too_few().iter().for_each(|line| say(line));
        let is_beyond = |of: &Column| self.known().any(|row| of(row).is_none());
        if UNTIL_SURE.iter().chain(ONCE.iter().filter(|_| !self.is_within())).any(is_beyond) {
            say(&self.what_takes_fewer());
        }
    }

    fn known(&self) -> impl Iterator<Item = &Rounds> {
        self.foretold.rows.iter().filter_map(|row| row.rounds.as_ref().ok())
    }

    /// Where the plan itself has fewer rounds than are foretold.
    fn too_few(&self) -> Option<String> {
        let has = self.schedule.rounds;
        let is_range = self.schedule.until_sure.is_some();
        let columns = if is_range { &UNTIL_SURE[..] } else { &ONCE[..] };
        let takes_more = |row: &&Rounds| columns.iter().any(|of| of(row).is_none_or(|rounds| rounds > has));
        let short = self.known().filter(takes_more).count();
        if short == 0 || (!is_range && self.is_within()) {
            return None;
        }
        let of_rows = format!("{short} of {}", count(self.known().count(), "row"));
        let said = match is_range {
            true if self.known().all(|row| row.as_seen.is_some_and(|rounds| rounds <= has)) => {
                format!(" at most, and {of_rows} may take more, though none if B differs as seen")
            }
            true => format!(" at most, and {of_rows} may take more"),
            false => format!(", and {of_rows} would take more to find {}", percent(self.detect, Script::Plain)),
        };
        let ended =
            |row: &Rounds| if is_range { UNTIL_SURE.iter().filter_map(|of| of(row)).max() } else { row.until_sure };
        let typed = self.known().filter_map(ended).max().filter(|rounds| *rounds > has).map(|rounds| {
            let is_known = self.known().all(|row| columns.iter().all(|of| of(row).is_some()));
            let but = if is_known { String::new() } else { format!(" for all that are not `{}`", beyond()) };
            format!(": `--rounds {}` leaves room{but}", range(rounds))
        });
        Some(format!("The plan has {}{said}{}.", count(has as usize, "round"), typed.unwrap_or_default()))
    }

    fn what_takes_fewer(&self) -> String {
        let length = match self.schedule.length {
            Length::Duration(_) => "duration=TIME",
            Length::Transactions(_) => "transactions=COUNT",
        };
        let larger = match self.known().all(|row| row.until_sure.is_some()) {
            true => String::new(),
            false => format!(", or for a larger difference (`--detect {}`)", self.detect * 2.0),
        };
        format!(
            "Where `{}` stands fewer are enough with less noise, by longer runs (`--set schedule.{length}`) or a quieter \
             machine, or with a wider margin (`--set margin={}`){larger}.",
            beyond(),
            self.margin * 2.0
        )
    }

    fn figures(&self, rounds: &Rounds) -> String {
        let told = |rounds: Option<u32>| rounds.map_or_else(beyond, |rounds| rounds.to_string());
        let [noise, seen] = [rounds.log_sd.exp_m1(), rounds.seen - 1.0].map(|share| percent(share, Script::Plain));
        let seen = if rounds.seen > 1.0 { format!("+{seen}") } else { seen };
        let [as_seen, equal, until_sure] = [rounds.as_seen, rounds.equal, rounds.until_sure].map(told);
        // Within the margin no number finds it.
        let once = if self.is_within() { "–".to_owned() } else { told(rounds.once) };
        format!("{seen:>7}  {noise:>5}  {as_seen:>7}  {equal:>5}  {until_sure:>6}  {once:>5}")
    }

    fn is_within(&self) -> bool {
        self.detect < self.margin
    }

    pub fn as_json(&self) -> serde_json::Value {
        let row = |row: &report::pilot::Expected| {
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
        };
        json!({
            "detect": self.detect,
            "pilot_rounds": self.rounds,
            "runs_alike": self.is_alike,
            "rows": self.foretold.rows.iter().map(row).collect::<Vec<_>>(),
            "not_in_pilot": self.foretold.missing,
        })
    }
}

/// More rounds than are foretold.
fn beyond() -> String {
    format!("> {}", stats::MAX_ROUNDS)
}

/// With room for an experiment that takes longer than most.
fn range(rounds: u32) -> String {
    format!("{}..{}", stats::MIN_ROUNDS, (rounds * 3).max(60))
}

#[cfg(test)]
mod tests {
    use model::{Caches, OnError, Order, Stop, UntilSure};
    use report::pilot::Expected;

    use super::*;

    fn piloted(rounds: u32, until_sure: Option<UntilSure>, found: &[(&str, Option<Rounds>)]) -> Piloted {
        let row = |(name, rounds): &(&str, Option<Rounds>)| {
            let why = "fewer than 1000 transactions in the run";
            Expected { name: (*name).to_owned(), rounds: rounds.ok_or_else(|| why.to_owned()) }
        };
        let rows = found.iter().map(row).collect();
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
        let foretold = Foretold { rows, missing: Vec::new() };
        Piloted { rounds: 3, is_alike: true, detect: 0.05, margin: 0.03, schedule, foretold }
    }

    const FEW: Rounds =
        Rounds { log_sd: 0.02, seen: 4.75, as_seen: Some(6), equal: Some(12), until_sure: Some(9), once: Some(8) };
    const MANY: Rounds =
        Rounds { log_sd: 0.3, seen: 0.95, as_seen: None, equal: None, until_sure: None, once: Some(140) };

    fn words(piloted: &Piloted) -> String {
        piloted.text(80).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rows_of_long_names_stay_within_a_terminal() {
        let long = "order-entry, clients=64, isolation=repeatable-read, response p99 of new order, old → new";
        let text = piloted(6, None, &[("points, p50", Some(FEW)), (long, Some(MANY)), (long, None)]).text(80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("  points, p50   +375 %    2 %        6     12       9      8\n"), "{text}");
        assert!(text.contains("\n                  -5 %   35 %    > 200  > 200   > 200    140\n"), "{text}");
        assert_eq!(text.matches("order-entry, clients=64").count(), 2, "{text}");
        assert!(text.contains("noise: two of three rounds lie within so much"), "{text}");
    }

    #[test]
    fn what_takes_more_than_the_plan_or_anybody_has_is_told_with_what_helps() {
        let until = |first| Some(UntilSure { first, stop: Stop::Rows, max_time: None, begun: None });
        let enough = words(&piloted(12, until(6), &[("a", Some(FEW))]));
        assert!(!enough.contains("The plan has") && !enough.contains("Fewer than"), "{enough}");
        let range = words(&piloted(10, until(6), &[("a", Some(FEW)), ("b", None)]));
        let says = "The plan has 10 rounds at most, and 1 of 1 row may take more, though none if B differs as seen: \
                    `--rounds 6..60` leaves room";
        assert!(range.contains(says), "{range}");
        let number = words(&piloted(6, None, &[("a", Some(FEW))]));
        assert!(
            number.contains("The plan has 6 rounds, and 1 of 1 row would take more to find 5 %: `--rounds 6..60`"),
            "{number}"
        );
        let beyond = words(&piloted(30, until(6), &[("a", Some(FEW)), ("b", Some(MANY))]));
        assert!(beyond.contains("The plan has 30 rounds at most, and 1 of 2 rows may take more."), "{beyond}");
        let helps = "Where `> 200` stands fewer are enough with less noise, by longer runs (`--set schedule.transactions=COUNT`) or a \
                     quieter machine, or with a wider margin (`--set margin=0.06`), or for a larger difference (`--detect 0.1`).";
        assert!(beyond.contains(helps), "{beyond}");
    }
}
