//! `etalon extend`: more rounds for an experiment that has ended.

use std::collections::BTreeMap;

use conductor::Registry;
use conductor::experiment::ExperimentOptions;
use model::plan::{FEWEST_TO_JUDGE, MAX_ROUNDS};
use model::{Order, RunState, Schedule, Stop, UntilSure};
use report::comparison::MOST_MORE;
use report::number::count_noun;
use store::Store;

use super::changes::Changes;
use super::resume::{check_same_build, check_writable_by_this_build, plan_of};
use super::run::{conduct, experiment_options, finish, resume_command};
use crate::args::ExtendArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::leftovers;
use crate::printer::Printer;
use crate::source::Loaded;

/// Runs `etalon extend`: runs more rounds of an experiment that has ended.
pub fn run(args: &ExtendArgs, printer: Printer) -> Result<Exit, CliError> {
    let registry = Registry::built_in();
    check_writable_by_this_build("extend", &args.store, |_| Ok(true))?;
    let mut store = Store::open(&args.store)?;
    refuse_what_cannot_grow(&store)?;
    refuse_nothing_to_be_sure_of(store.header(), args)?;
    let stored = plan_of(store.header(), &registry, printer)?;
    let has = report::Evidence::read_store(&store)?.round_count();
    let added = Added::from_arguments(args, has, store.header())?;
    let schedule = extended_schedule(&stored.plan.schedule, has, added)?;
    let further = match added.rounds {
        Some(rounds) => format!("{} more", count_noun(rounds as usize, "round")),
        None => {
            let most = schedule.until_sure.and_then(|until| until.max_time);
            let within = most.map_or_else(String::new, |most| {
                format!(
                    ", within `schedule.max_time` ({}): `--rounds N` is not held to it",
                    model::duration::format(most)
                )
            });
            format!("up to {MOST_MORE} rounds more, as many as it takes to be sure{within}")
        }
    };
    printer.print_note(&format!("{}: {} so far, {further}", stored.plan.name, count_noun(has as usize, "round")));
    if stored.plan.schedule.until_sure.is_none() && stored.plan.systems.len() > 1 {
        printer.print_note(
            "it was planned with a fixed number of rounds; from now on it is judged after each, by an interval that \
             is wider and holds however often one looks. The judgement before it was for one look: to take whichever of the \
             two finds a difference errs in 6 to 7 of 100 experiments between equals instead of 5",
        );
    }
    leftovers::offer_removal(leftovers::RemovalConsent::from_flag(args.conduct.yes), printer);
    let plan = model::Plan { schedule, ..stored.plan };
    let loaded = Loaded { plan, ..stored };
    let options =
        ExperimentOptions { extends: true, ..experiment_options(args.conduct.yes, &args.conduct.loading, printer) };
    let task_log = args.conduct.task_log.as_deref();
    let result = conduct(&registry, &loaded.plan, &mut store, options, task_log, printer);
    finish(result, store, &loaded, &args.store, args.conduct.format, printer)
}

/// Fails if an experiment is imported, of another build, sequential, or not ended.
fn refuse_what_cannot_grow(store: &Store) -> Result<(), CliError> {
    let header = store.header();
    if header.build == report::evidence::IMPORTED {
        let what = "its runs were imported, and étalon cannot make more of them";
        return Err(
            CliError::user_error(what).with_hint("measure anew with the tool that they are of, and import that")
        );
    }
    check_same_build(header)?;
    if header.plan.schedule.order == Order::Sequential {
        let what = "its runs are in a sequential order, in which more of them would be far from the others in time";
        return Err(CliError::user_error(what).with_hint("run the plan anew without `order = \"sequential\"`"));
    }
    // The last attempt at each place; one that failed has ended.
    let last: BTreeMap<u32, RunState> = store.runs()?.iter().map(|run| (run.planned.position, run.state)).collect();
    let open = last.len()
        - last
            .values()
            .filter(|state| matches!(state, RunState::Measured | RunState::Failed | RunState::Superseded))
            .count();
    if open > 0 {
        let what =
            format!("{} of it {} not been measured", count_noun(open, "run"), if open == 1 { "has" } else { "have" });
        return Err(CliError::user_error(what).with_hint(format!("end it first: `{}`", resume_command(store.path()))));
    }
    Ok(())
}

/// Fails if rounds are to be added until it is sure to an experiment of a single system, which has nothing to compare.
fn refuse_nothing_to_be_sure_of(header: &store::Header, args: &ExtendArgs) -> Result<(), CliError> {
    let has_rounds = args.rounds.is_some() || args.set.iter().any(|pair| pair.starts_with("schedule.rounds="));
    if has_rounds || header.plan.systems.len() > 1 {
        return Ok(());
    }
    let what =
        "it is of a single system: with nothing to compare there is nothing to be sure of, and no end to its rounds";
    Err(CliError::user_error(what).with_hint("say how many rounds more: `--rounds N`"))
}

/// What a command adds.
#[derive(Clone, Copy)]
struct Added {
    /// Rounds to add; `None`: as many as it takes to be sure.
    rounds: Option<u32>,
    /// What else `--set` changes.
    changes: Changes,
}

impl Added {
    /// Reads how many rounds `--rounds` and `--set` add, and what else `--set` changes.
    fn from_arguments(args: &ExtendArgs, has: u32, header: &store::Header) -> Result<Added, CliError> {
        let changes = Changes::from_pairs(&args.set, header)?;
        let Some(all) = changes.rounds else { return Ok(Added { rounds: args.rounds, changes }) };
        match all.checked_sub(has).filter(|more| *more > 0) {
            Some(more) => Ok(Added { rounds: Some(more), changes }),
            None => Err(CliError::user_error(format!("`--set schedule.rounds={all}`: it has {has} rounds already"))
                .with_hint(format!(
                    "say how many in all, `--set schedule.rounds={}`, or how many more, `--rounds 4`",
                    has + 4
                ))),
        }
    }
}

/// Makes the schedule with further rounds, run until it is sure or to a given number.
/// One of a fixed number is judged from the fewest that carry a verdict on, which were
/// not chosen after a look.
fn extended_schedule(started: &Schedule, has: u32, added: Added) -> Result<Schedule, CliError> {
    let rounds = has + added.rounds.unwrap_or(MOST_MORE);
    if u64::from(rounds) > MAX_ROUNDS {
        let what = format!("{has} rounds and {} are more than the {MAX_ROUNDS} of an experiment", rounds - has);
        return Err(CliError::user_error(what));
    }
    let until = started.until_sure;
    let before = started.as_begun();
    let stop = match before.stop {
        _ if added.rounds.is_some() => Stop::Never,
        // An end when it is sure excludes running all of the plan's rounds.
        Some(Stop::Never) | None => Stop::Rows,
        Some(stop) => stop,
    };
    let until_sure = Some(UntilSure {
        first: until.map_or(FEWEST_TO_JUDGE, |until| until.first),
        stop,
        // A given number of rounds is run whole.
        max_time: if added.rounds.is_none() { added.changes.max_time.or(before.max_time) } else { None },
        begun: Some(before),
    });
    let on_error = added.changes.on_error.unwrap_or(started.on_error);
    Ok(Schedule { rounds, until_sure, on_error, ..started.clone() })
}
