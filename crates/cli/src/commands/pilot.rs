//! How many rounds a plan will take, by an experiment that was run before.

use std::fmt::Write as _;
use std::path::Path;

use model::Plan;
use model::share::EFFECT;
use report::number::{Script, count, percent};
use report::pilot::{Expected, expected};
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
    rows: Vec<Expected>,
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
    let rows = expected(&evidence, plan, detect).map_err(|error| CliError::user(error.to_string()))?;
    if rows.is_empty() {
        let what = format!("the pilot {} has no row with the systems and benchmarks of the plan", pilot.display());
        return Err(CliError::user(what).hint(format!("run the plan itself with `--rounds {FEWEST}` first")));
    }
    let of = |schedule: &model::Schedule| (schedule.warmup, schedule.length);
    let is_alike = of(&evidence.header.plan.schedule) == of(&plan.schedule);
    Ok(Piloted { rounds, is_alike, detect, rows })
}

impl Piloted {
    pub fn text(&self) -> String {
        let mut text = format!(
            "rounds that show a difference of {}, by the {} of the pilot\n",
            percent(self.detect, Script::Plain),
            count(self.rounds as usize, "round")
        );
        let width = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or_default();
        let told = |rounds: Option<u32>| rounds.map_or_else(|| "> 200".to_owned(), |rounds| rounds.to_string());
        let _ = writeln!(text, "  {:width$}  a round varies  until sure  fixed", "");
        for row in &self.rows {
            let spread = percent(row.log_sd.exp_m1(), Script::Plain);
            let (until_sure, once) = (told(row.until_sure), told(row.once));
            let _ = writeln!(text, "  {:width$}  {spread:>14}  {until_sure:>10}  {once:>5}", row.name);
        }
        let most = |of: fn(&Expected) -> Option<u32>| self.rows.iter().map(of).try_fold(0, |a, b| b.map(|b| a.max(b)));
        let (until_sure, once) = (most(|row| row.until_sure), most(|row| row.once));
        if let (Some(until_sure), Some(once)) = (until_sure, once) {
            let _ = writeln!(
                text,
                "`--rounds {}..{}` ends after about {until_sure}, earlier where differences are larger; `--rounds {once}` \
                 finds it in four of five experiments",
                stats::MIN_ROUNDS,
                (until_sure * 3).max(60)
            );
        }
        if !self.is_alike {
            text.push_str("the pilot's runs are not as long as the plan's: longer ones differ less\n");
        }
        text
    }

    pub fn as_json(&self) -> serde_json::Value {
        let rows = self.rows.iter().map(
            |row| json!({ "row": row.name, "log_sd": row.log_sd, "until_sure": row.until_sure, "fixed": row.once }),
        );
        json!({ "detect": self.detect, "pilot_rounds": self.rounds, "runs_alike": self.is_alike, "rows": rows.collect::<Vec<_>>() })
    }
}
