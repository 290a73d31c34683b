//! Holds what a script's clients have asked, and which scripts they have chosen, against the scripts' text and weights.

use load::error::Failure;
use load::worker::LoadCounts;

use super::Program;
use super::known::untrusted;
use super::program::ScriptCommand;
use super::turns::TurnRule;

/// Standard deviations that chance is given.
const CHANCE: f64 = 6.0;

impl Program {
    /// Computes the fewest and the most statements that a transaction sends, by the scripts' text.
    fn statements_per_transaction(&self) -> (u64, u64) {
        // Jumps go forward only, so the counts from each step to the end are filled in from behind.
        let mut to_the_end = vec![(0u64, 0u64); self.steps.len() + 1];
        for (at, step) in self.steps.iter().enumerate().rev() {
            to_the_end[at] = match &step.command {
                ScriptCommand::End => (0, 0),
                ScriptCommand::Jump(target) => to_the_end[*target],
                ScriptCommand::JumpUnless(_, target) => {
                    let (here, there) = (to_the_end[at + 1], to_the_end[*target]);
                    (here.0.min(there.0), here.1.max(there.1))
                }
                ScriptCommand::Execute(number) => {
                    let (rest, own) = (to_the_end[at + 1], self.statements[*number].after[0].asked.statements);
                    (rest.0 + own, rest.1 + own)
                }
                _ => to_the_end[at + 1],
            };
        }
        let chosen = self.scripts.iter().filter(|script| script.weight > 0).map(|script| to_the_end[script.start]);
        chosen.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or_default()
    }

    /// Fails if the transactions asked more or fewer statements than their scripts have.
    pub(super) fn check_statements(&self, counts: &LoadCounts) -> Result<(), Failure> {
        // Statements of a pipeline's last transaction may be left, and native loads know their own.
        if self.native.is_some() || self.rule != TurnRule::ByWeight || counts.asked.statements == 0 {
            return Ok(());
        }
        let (least, most) = self.statements_per_transaction();
        let (done, asked) = (counts.succeeded, counts.asked.statements);
        if (done * least..=done * most).contains(&asked) {
            return Ok(());
        }
        let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
        untrusted(format!("{done} transactions of {range} statements asked the server {asked} times"))
    }

    /// Fails if a script of a mix was chosen more or less often than its weight, beyond chance.
    pub(super) fn check_shares(&self, counts: &LoadCounts) -> Result<(), Failure> {
        let never_begun = counts.skipped + counts.not_begun + counts.broken_off;
        if self.native.is_some() || self.rule != TurnRule::ByWeight || counts.kinds.len() < 2 || never_begun > 0 {
            return Ok(());
        }
        let weights: u64 = self.scripts.iter().map(|script| u64::from(script.weight)).sum();
        let ended: Vec<u64> = counts.kinds.iter().map(|kind| kind.in_window + kind.failed).collect();
        let all = ended.iter().sum::<u64>() as f64;
        for script in &self.scripts {
            let (Some(kind), Some(seen)) = (counts.kinds.get(script.kind), ended.get(script.kind)) else { continue };
            let share = f64::from(script.weight) / weights.max(1) as f64;
            let expected = all * share;
            // Those under way at either edge are of the longer kinds.
            let edges = 2.0 * f64::from(self.clients);
            if (*seen as f64 - expected).abs() > CHANCE * (expected * (1.0 - share)).sqrt() + edges {
                let percent = 100.0 * share;
                return untrusted(format!(
                    "of {all} transactions {seen} were {}, whose share is {percent:.1} %",
                    kind.name
                ));
            }
        }
        Ok(())
    }
}
