//! How many rounds a plan will take, by an experiment that was run before.

use std::fmt::Write as _;
use std::path::Path;

use model::Plan;
use model::share::EFFECT;
use report::number::{Script, count, percent};
use report::pilot::{Foretold, Rounds, foretell};
use report::text::wrapped;
use serde_json::json;

use super::report::share;
use crate::error::CliError;
use crate::results::{Side, open};

/// With fewer rounds the spread between them is anybody's guess.
const FEWEST: u32 = 3;

pub struct Piloted {
    rounds: u32,
    /// Its runs are as long as the plan's.
    is_alike: bool,
    detect: f64,
    margin: f64,
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
    let of = |schedule: &model::Schedule| (schedule.warmup, schedule.length);
    let is_alike = of(&evidence.header.plan.schedule) == of(&plan.schedule);
    Ok(Piloted { rounds, is_alike, detect, margin: plan.comparison.margin, foretold })
}

impl Piloted {
    pub fn text(&self, width: usize) -> String {
        let [detect, margin] = [self.detect, self.margin].map(|share| percent(share, Script::Plain));
        let mut text = format!(
            "rounds after which a row is sure in 6 of 10 experiments or more, by {} of\nthe pilot\n",
            count(self.rounds as usize, "round")
        );
        let rows = &self.foretold.rows;
        let named = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or_default();
        let _ = writeln!(text, "  {:named$}  varies    seen  as seen  equal  {detect:>6}  fixed", "");
        for row in rows {
            let figures = row.rounds.as_ref().map_or_else(|why| format!("n/a: {why}"), |rounds| self.figures(rounds));
            let _ = writeln!(text, "  {:named$}  {figures}", row.name);
        }
        let mut say = |line: &str| text.push_str(&wrapped(line, width, 2));
        say(&format!(
            "as seen: if B differs by what the pilot saw, of which so few rounds tell little; equal: if it does not differ; {detect}: \
             if by so much; fixed: a number of rounds that finds {detect} in four of five experiments."
        ));
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

    fn propose(&self, say: &mut impl FnMut(&str)) {
        let known = || self.foretold.rows.iter().filter_map(|row| row.rounds.as_ref().ok());
        let most = |of: fn(&Rounds) -> Option<u32>| known().map(of).try_fold(0, |a, b| b.map(|b| a.max(b)));
        if let Some(until_sure) = most(|row| row.until_sure).filter(|rounds| *rounds > 0) {
            let together = if known().count() > 1 { "; all rows together may take longer" } else { "" };
            say(&format!(
                "`--rounds {}..{}` ends after about {until_sure}, earlier where differences are larger{together}.",
                stats::MIN_ROUNDS,
                (until_sure * 3).max(60)
            ));
        }
        if let Some(once) = most(|row| row.once).filter(|rounds| *rounds > 0) {
            say(&format!("`--rounds {once}` finds it in four of five experiments, in each row."));
        }
    }

    fn figures(&self, rounds: &Rounds) -> String {
        let told = |rounds: Option<u32>| rounds.map_or_else(|| "> 200".to_owned(), |rounds| rounds.to_string());
        let [varies, seen] = [rounds.log_sd.exp_m1(), rounds.seen - 1.0].map(|share| percent(share, Script::Plain));
        let seen = if rounds.seen > 1.0 { format!("+{seen}") } else { seen };
        let [as_seen, equal, until_sure] = [rounds.as_seen, rounds.equal, rounds.until_sure].map(told);
        // Within the margin no number finds it.
        let once = if self.is_within() { "–".to_owned() } else { told(rounds.once) };
        format!("{varies:>6}  {seen:>6}  {as_seen:>7}  {equal:>5}  {until_sure:>6}  {once:>5}")
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
